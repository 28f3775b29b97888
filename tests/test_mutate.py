"""`rulelang mutate`: small changes of the rules, and who notices them."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest
from attrs import evolve

from rulelang import mutate, pipeline
from rulelang.api import Match, load
from rulelang.diagnostics import Problems
from rulelang.mutants import mutants, own_modules, sorts
from rulelang.mutate import Report
from tests.test_cli import fails
from tests.test_cli import rulelang as command
from tests.test_docs import DOCS, FILES, write
from tests.test_playthroughs import variants

POT = """game pot "The Pot", players 2..2

# A comment with a 5 and the word most.
pieces Coin(worth: 1..3)
    1
    2

counter pot: 0.., public, starts at 5
pile purse: Coin, hidden, starts with all Coin

each player
    counter points: 0.., public
    zone coins: Coin, private, number public

step pay "All 2 get the first" {R-1}
    lower pot by 2
    together each player {R-2}
        raise points by 2

step bonus
    in turn each player starting with (first player)
        if points > 1
            raise points by 7  # 7, not 8

step draw
    shuffle purse
    in turn each player starting with (first player)
        choose
            take "the first of 2"
                move top of purse to coins
            leave "take no 3"

ranking by most points, ties shared

always true "nobody has more than 9"
    every player has points <= 9

example "two each"
    players anna, ben
    run pay
    expect points: 2, 2
    expect pot: 3
"""
SEEN = ("zone coins: Coin, private, number public", "`private` -> `public`")
SMALLER = ("raise points by 7", "`7` -> `6`")


def made(folder: Path, text: str = POT) -> str:
    (folder / "pot.rule").write_text(text, encoding="utf-8")
    return str(folder / "pot.rule")


def judged(game: str, matches: Iterable[tuple[str, Match]] = (), layers: tuple[str, ...] = (), processes: int = 1) -> Report:
    plan = mutate.plan(game, layers, matches)
    return mutate.run(plan, mutate.choose(plan), processes)


def verdicts(report: Report) -> dict[tuple[str, str], tuple[str, str]]:
    return {(v.mutant.line, v.mutant.change): (v.sort, v.by) for v in report.verdicts}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return judged(made(tmp_path_factory.mktemp("pot")))


@pytest.mark.parametrize(
    ("line", "change", "sort", "by"),
    [
        ("raise points by 2", "`2` -> `3`", mutate.EXAMPLE, "two each"),
        ("raise points by 2", "`raise` -> `lower`", mutate.EXAMPLE, "two each"),
        ("lower pot by 2", "without this line", mutate.EXAMPLE, "two each"),
        ('step pay "All 2 get the first"', "without this line", mutate.EXAMPLE, "two each"),
        ("raise points by 7", "`7` -> `8`", mutate.CLAIM, "nobody has more than 9"),
        (*SMALLER, mutate.NOTHING, ""),
        (*SEEN, mutate.NOTHING, ""),
        ("zone coins: Coin, private, number public", "without `, number public`", mutate.NOTHING, ""),
        ("if points > 1", "`>` -> `<=`", mutate.NOTHING, ""),
        ("ranking by most points, ties shared", "`most` -> `fewest`", mutate.NOTHING, ""),
        ('take "the first of 2"', "without this line", mutate.NOTHING, ""),
        ('step pay "All 2 get the first"', "after `step bonus`", mutate.NOTHING, ""),
        ("raise points by 7", "`raise` -> `lower`", mutate.REFUSED, "R340"),
    ],
)
def test_who_notices_a_change(report: Report, line: str, change: str, sort: str, by: str) -> None:
    found = verdicts(report)[line, change]
    assert found[0] == sort and found[1].startswith(by)


def test_every_change_is_judged_once_and_counted(report: Report) -> None:
    found = [v.sort for v in report.verdicts]
    assert len({v.mutant for v in report.verdicts}) == len(found) > 40
    assert report.share == pytest.approx(100 - 100 * found.count(mutate.NOTHING) / len(found))
    assert not report.of(mutate.FAULT)


def test_a_recorded_match_notices_what_no_example_does(tmp_path: Path) -> None:
    game = made(tmp_path)
    saved = tmp_path / "saved"
    saved.mkdir()
    (saved / "one").write_text(load(game).start(seed=3).play_out(Random(1)).to_text(), encoding="utf-8")
    (saved / "other").write_text(load("visby").start(seed=3).to_text(), encoding="utf-8")
    (saved / "broken").write_text("rulelang match 1\n", encoding="utf-8")
    read = dict(mutate.read_matches(saved, game, ()))
    one, broken = read["one"], read["broken"]
    assert set(read) == {"one", "broken"} and isinstance(one, Match) and isinstance(broken, str) and "line 2" in broken
    found = verdicts(judged(game, [("one", one)]))
    assert found[SMALLER] == found[SEEN] == (mutate.MATCH, "one")
    assert found["raise points by 2", "`2` -> `3`"] == (mutate.EXAMPLE, "two each")


def test_chance_that_was_scripted_is_as_it_was(tmp_path: Path) -> None:
    match = load(made(tmp_path)).start(chance=lambda what, things: things[::-1])
    while not match.is_over:
        match.choose(match.decisions[0].player, 0)
    kept = mutate.record("one", match)
    assert kept.chance == (("purse", (1, 0)),)
    assert tuple(mutate.course(match.game, kept)) == kept.course
    assert tuple(mutate.course(match.game, evolve(kept, chance=(("purse", (0, 1)),)))) != kept.course


def test_the_outcome_does_not_depend_on_the_number_of_processes(report: Report, tmp_path: Path) -> None:
    again = judged(made(tmp_path), processes=2)
    assert verdicts(again) == verdicts(report)
    assert [(v.mutant.start, v.mutant.after) for v in again.verdicts] == [(v.mutant.start, v.mutant.after) for v in report.verdicts]


def test_a_seed_draws_the_same_changes_again(report: Report) -> None:
    drawn = mutate.choose(report.plan, 10, 1)
    assert drawn == mutate.choose(report.plan, 10, 1) != mutate.choose(report.plan, 10, 2)
    assert len(set(drawn)) == 10 and drawn == sorted(drawn)


# ---------------------------------------------------------------- what is changed, and what is not

SAID = re.compile(r'"[^"\n]*"|#[^\n]*|\{[^}\n]*\}|\bsource \w+|^(?:example|always true)\b.*(?:\n(?: .*)?)*', re.M)
LAYERS = {"visby": ("long_winter",), "tallinn": ("tower_order", "envoy", "chronicles"), "hansa": ("storm",)}


@pytest.mark.parametrize("game", LAYERS)
def test_a_rule_is_changed_never_what_is_said_about_it(game: str) -> None:
    loaded = pipeline.load(game, LAYERS[game])
    known = sorts(loaded)
    for module in own_modules(loaded):
        for mutant in mutants(module, known):
            gone = module.source.text[mutant.start : mutant.end]
            assert mutant.text != module.source.text
            if "\n" in mutant.after:  # two steps the other way round
                assert sorted(SAID.findall(mutant.text)) == sorted(SAID.findall(module.source.text)), mutant.change
            elif mutant.after or "\n" not in gone:
                assert SAID.findall(mutant.text) == SAID.findall(module.source.text), mutant.change
            else:  # a block goes with its headings and marks
                assert "example" not in gone and "always true" not in gone, mutant.change


def changes(rules: str) -> set[str]:
    text = f'game g "G", players 2..4\n\n{rules}'
    loaded = pipeline.load_file(Path("g.rule"), (), Problems(), pipeline.decode(text.encode(), "g.rule"))
    assert loaded.names is not None, loaded.problems.sorted()
    return {m.change for m in mutants(loaded.modules[-1], sorts(loaded))}


@pytest.mark.parametrize(
    ("rules", "change"),
    [
        ("define a(n: 1..9) = n > 2 and n < 5", "`and` -> `or`"),
        ("define a(n: 1..9) = n > 2 and n < 5", "without `n > 2 and`"),
        ("define a(n: 1..9) = n > 2 and n < 5", "without `and n < 5`"),
        ("define a(n: 1..9) = n > 2 or (n < 5 and n > 3)", "without `or (n < 5 and n > 3)`"),
        ("define a(n: 1..9) = n > 2", "`>` -> `>=`"),
        ("define a(n: 1..9) = n > 2", "`>` -> `<=`"),
        ("define a(n: 1..9, m: 1..9) = n - m", "`-` -> `+`"),
        ("define a(n: 1..9, m: 1..9) = n - m", "`= n` -> `= m`"),
        ("define a(n: 1..9) = not n is 3", "without `not`"),
        ("define a(n: 1..9) = n is 3", "`is` -> `is not`"),
        ("define a(n: 1..9) = n / 2 rounded down", "`rounded down` -> `rounded up`"),
        ("define a = some n in 1..9 where n > 2", "without `where n > 2`"),
        ("define a = some n in 1..9 where n > 2", "`some` -> `no`"),
        ("define a = every n in 1..9 has n > 2", "`every` -> `some`"),
        ("define a = first n in 1..9 where n > 2", "`first` -> `last`"),
        ("define a = largest of n over n in 1..9", "`largest of` -> `smallest of`"),
        ("kind K: x, y\ndefine a(k: K) = k is x", "`x` -> `y`"),
        ("kind K(n: 1..9, ok: yes or no)\n    x: 3 yes\n    y: 3 no", "`yes` -> `no`"),
        ("kind K(n: 1..9, ok: yes or no)\n    x: 3 yes\n    y: 3 no", "`no` -> `yes`"),
        ("kind K(n: 1..9, ok: yes or no)\n    x: 3 yes\n    y: 3 no", "without this line"),
        ("table t(n: 1..2)\n    1: 4\n    2: 6", "`4` -> `5`"),
        ("define a = 2\ndefine b = 3\ndefine c = a + 1", "`a` -> `b`"),
        ("counter a: 0..9, public, starts at 3, excess beyond 9 is lost", "without `, starts at 3`"),
        ("counter a: 0..9, public, starts at 3, excess beyond 9 is lost", "without `, excess beyond 9 is lost`"),
        ("counter a: 0..9, public, starts at 3, excess beyond 9 is lost", "`beyond 9` -> `beyond 8`"),
        ("counter a: 0..9, public", "`public` -> `hidden`"),
        ("each player\n    counter a: 0..9, public", "`public` -> `private`"),
        ("counter a: 0.., public\ncounter b: 0.., public\nstep s\n    raise a by 1", "`a` -> `b`"),
        ("counter a: 0.., public\nstep s\n    raise a by 1\n    raise a by 2", "without this line"),
        ("counter a: 0.., public\nstep s\n    if a > 1\n        raise a by 1\n    otherwise\n        lower a by 1", "without this line"),
        ("option o: 3 or 4, usually 3, only if o is 3", "without `, only if o is 3`"),
        ("each player\n    counter a: 0.., public\n    counter b: 0.., public\nranking by most a, then most b, ties shared",
         "without `, then most b`"),
        ("each player\n    counter a: 0.., public\nranking by most a, ties shared", "`shared` -> `by_seat`"),
        ("use split\ncounter a: 0.., public\neach player\n    counter b: 0.., public\nstep s\n"
         "    share_equally a into b among players, remainder stays", "`stays` -> `lost`"),
        ("each player\n    counter a: 0.., public\nstep s\n    in turn each player starting with (first player)\n"
         "        choose up to 2 ordered n in 1..3 such that n is not empty\n            raise a by 1",
         "without `such that n is not empty`"),
        ("each player\n    counter a: 0.., public\nstep s\n    in turn each player starting with (first player)\n"
         "        choose any n in 1..3 with any m in 1..3\n            raise a by n", "`n` -> `m`"),
        ("step s\n    repeat r\n        end r if yes", "`r` -> `s`"),
        ("pieces Card: 4\npile p: Card, hidden, starts with all Card\npile q: Card, hidden\nstep s\n    move p to q", "`to` -> `under`"),
    ],
)  # fmt: skip
def test_a_small_change_that_is_made(rules: str, change: str) -> None:
    assert change in changes(rules)


@pytest.mark.parametrize(
    ("rules", "all_changes"),
    [
        ('step s "Raise 2 most" {R-1}\n    say "2 most {1}"  # 3', {"without this line"}),
        ("kind K(east: 0..99, south: 0..99)\n    x: 10 20\n\nmap m(k: K), drawn at east and south\n    x: []", set()),
        ("table t(n: 1..2), source rulebook\n    1: none\n    2: none", set()),  # with other keys it is refused anyway
        ('always true "2 most"\n    2 > 1\n\nexample "3"\n    players anna, ben\n    expect that 3 > 2', set()),
    ],
)
def test_what_is_left_alone(rules: str, all_changes: set[str]) -> None:
    assert changes(rules) - {"`2` -> `1`", "`2` -> `3`", "`4` -> `3`", "`4` -> `5`"} == all_changes  # those of the header


# ---------------------------------------------------------------- layers


def test_a_layer_is_tried_on_its_game_and_the_game_alone(tmp_path: Path) -> None:
    game = made(tmp_path)
    (tmp_path / "rich.rule").write_text(
        'variant rich of pot "Rich"\n\nreplace pay\n    together each player\n        raise points by 1\n\n'
        'example "one each"\n    players anna, ben\n    run pay\n    expect points: 1, 1\n',
        encoding="utf-8",
    )
    report = judged(game, layers=("rich",))
    found = verdicts(report)
    assert not report.plan.left_out  # `two each` holds in the game alone
    assert found["raise points by 2", "`2` -> `3`"] == (mutate.EXAMPLE, "two each")
    assert found["raise points by 1", "`1` -> `2`"] == (mutate.EXAMPLE, "one each")
    assert found["replace pay", "`pay` -> `bonus`"][0] == mutate.EXAMPLE


# ---------------------------------------------------------------- the command


def test_the_command_lists_what_nothing_notices(tmp_path: Path) -> None:
    done = command("mutate", made(tmp_path))
    assert done.returncode == 1 and not done.stderr
    assert f"pot.rule:23: {SMALLER[1]}\n    {SMALLER[0]}\n" in done.stdout
    assert re.search(r"\d+ changes, held against 1 example, 1 claim, recorded matches: 0\n(  +\d+ .+\n)+\d+\.\d % noticed\n$", done.stdout)
    some = command("mutate", str(tmp_path / "pot.rule"), "--sample", "5", "--seed", "3", "--format", "json")
    found = json.loads(some.stdout)
    assert len(found["changes"]) == sum(found["figures"].values()) == 5


def test_a_reason_counts_wherever_its_line_stands_and_is_said_to_be_of_no_use(tmp_path: Path) -> None:
    line, change = SMALLER
    made(tmp_path, POT.replace("step bonus", "# a line more\n\nstep bonus"))
    reasons = f"## pot.rule\n\n`{line}`\n- {change}: so what\n\n`lower pot by 2`\n- `2` -> `3`: why not\n- `5` -> `6`: gone\n"
    (tmp_path / mutate.REASONS).write_text(reasons, encoding="utf-8")
    report = judged(str(tmp_path / "pot.rule"))
    assert (line, change) not in {(v.mutant.line, v.mutant.change) for v in report.unexplained}
    assert len(report.unexplained) == len(report.of(mutate.NOTHING)) - 1
    outdated = {(change, why) for (_, _, change), why in report.outdated.items()}
    assert outdated == {("`2` -> `3`", "it is noticed"), ("`5` -> `6`", "no such change is made")}


def test_broken_files_are_findings(tmp_path: Path) -> None:
    (tmp_path / "g.rule").write_text('game g "G", players 2..2\n\nstep s\n    raise pot by 1\n', encoding="utf-8")
    fails(command("mutate", str(tmp_path / "g.rule")), 1, "unknown place `pot`")
    (tmp_path / "j.rule").write_text('library j "J"\n\ndefine one = 1\n', encoding="utf-8")
    fails(command("mutate", str(tmp_path / "j.rule")), 2, "name the game that it belongs to")


def test_the_document_shows_what_the_command_prints(tmp_path: Path) -> None:
    write(tmp_path, next(f for f in FILES if f.name == "fog"))
    done = command("mutate", "fog.rule", cwd=tmp_path)
    shown = "".join(f"    {line}\n" if line else "\n" for line in done.stdout.splitlines()[-11:])
    assert done.returncode == 1 and shown in (DOCS[0].parent / "language.md").read_text(encoding="utf-8"), shown


# ---------------------------------------------------------------- the bundled games


@pytest.mark.parametrize("file", sorted(pipeline.bundled("games").glob(f"*/{mutate.REASONS}")), ids=lambda p: p.parent.name)
def test_every_reason_is_for_a_change_that_is_made(file: Path) -> None:
    loaded = pipeline.load(file.parent.name, variants(file.parent.name))
    known = sorts(loaded)
    made = {mutate.key(m) for module in own_modules(loaded) for m in mutants(module, known)}
    reasons = mutate.read_reasons(file.parent.name)
    assert reasons and set(reasons) <= made, set(reasons) - made
    assert file.read_text(encoding="utf-8").count("\n- ") == len(reasons)

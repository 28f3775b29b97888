"""Random matches under watch: what goes wrong is found and cut short, what never fires is said, and counting changes nothing."""

import os
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest

import rulelang
from rulelang import pipeline, report, series, shrink, telling
from rulelang.api import Dice
from rulelang.cli import cli
from rulelang.coverage import Coverage, Line, count_examples, own_files, shortened, told, told_decisions
from rulelang.errors import UsageError
from rulelang.page import page
from rulelang.playouts import CHOICES, Mishap, Watched, Way, at_random
from rulelang.runtime.counting import Item, Tally
from rulelang.runtime.machine import Machine
from rulelang.series import Report
from tests.test_cli import ROOT, fails
from tests.test_cli import rulelang as command
from tests.test_playthroughs import variants

TOY = """game toy "Toy", players 2..2

table worth(n: 0..3)
    0: 1
    1..2: 2
    3: 4

define bonus(n: 0..9)
    give 0 if n < 9
    give 7 otherwise
define reach = 2
define unread = 5

each player
    counter points: 0.., public, starts at 0

repeat rounds
    in turn each player starting with (first player)
        step pick
            choose
                take any n in 0..reach
                    raise points by worth(n) + bonus(n)
                    if points > 1000
                        raise points by unread
                        step feast
                            raise points by 1
                rest
                cheat, only if points > 1000
                    raise points by 50
    end rounds if rounds is 3

ranking by most points, ties shared

example "a point for nothing"
    players anna, ben
    run pick for anna
    anna chooses take 0
    expect points: 1, 0
    expect that worth(3) is 4
"""


def written(folder: Path, text: str) -> str:
    path = folder / f"{text.split()[1]}.rule"
    path.write_text(text, encoding="utf-8")
    return str(path)


def played(source: str, matches: int = 30, layers: tuple[str, ...] = (), processes: int = 1, seed: int = 0) -> Report:
    loaded = pipeline.load(source, layers)
    pipeline.require(loaded)
    return series.run(series.plan(source, loaded, layers, matches), seed, processes)


def words(made: Report, item: Item) -> str:
    return made.sources[item.path].text[item.start : item.end].split("\n")[0]


def said(lines: object) -> str:
    return "\n".join(str(line) for line in lines)  # type: ignore[attr-defined]


# ---------------------------------------------------------------- what never fired


def test_rules_options_and_cells_that_never_fired_are_named(tmp_path: Path) -> None:
    found = played(written(tmp_path, TOY))
    never = [(i.sort, i.name or words(found, i)) for i, n in found.coverage.hits.items() if not n]
    assert sorted(never) == [
        ("cell", "worth(3)"),
        ("option", "cheat"),
        ("rule", "5"),
        ("rule", "give 7 otherwise"),
        ("rule", "raise points by 1"),
        ("rule", "raise points by 50"),
        ("rule", "raise points by unread"),
        ("rule", "step feast"),
    ]
    text = said(report.lines(found))
    assert "step feast   (and 1 rule in it)" in text and "`cheat` was never offered" in text and "toy.rule:6: worth(3)" in text
    assert "every match ended" in text and "nobody was stuck" in text
    assert not found.mishaps


def test_an_end_fires_when_it_ends(tmp_path: Path) -> None:
    lines = ["    end rounds if rounds is 3", "    end rounds if some player has points > 9999"]
    found = played(written(tmp_path, TOY.replace(lines[0], "\n".join(lines))), 5)
    ends = [i for i in found.coverage.hits if words(found, i).startswith("end ")]
    assert [found.coverage.hits[i] for i in ends] == [5, 0]


def test_what_a_layer_replaced_is_no_part_of_the_game(tmp_path: Path) -> None:
    source = written(tmp_path, TOY)
    written(tmp_path, 'variant poor of toy "Poor"\n\nreplace define reach = 0\n\nreplace pick\n    raise points by 1\n')
    alone, together = played(source, 5, ("poor",)), played(source, 5)
    known = {i.name or words(alone, i) for i in alone.coverage.hits}
    assert not {"take", "cheat", "give 7 otherwise", "worth(3)", "5"} & known and "raise points by 1" in known
    assert alone.coverage.never("rule") == []
    assert [p.way.layers for p in together.played] == [(), ("poor",)]
    assert "cheat" in {i.name for i in together.coverage.never("option")}


def test_the_original_of_a_definition_fires_with_the_line_that_calls_it(tmp_path: Path) -> None:
    source = written(tmp_path, TOY)
    written(tmp_path, 'variant same of toy "Same"\n\nreplace define reach = original\n')
    found = played(source, 3, ("same",))
    assert [n for i, n in found.coverage.hits.items() if words(found, i) in ("2", "original")] == [3, 3]


def test_what_only_the_ranking_reads_fires_at_the_end(tmp_path: Path) -> None:
    text = TOY.replace("ranking by most points", "ranking by most points, then most odd")
    found = played(written(tmp_path, text.replace("    counter", "    define odd = points mod 2\n    counter")), 3)
    assert [n for i, n in found.coverage.hits.items() if words(found, i) == "points mod 2"] == [3]


def test_the_tree_of_a_match_is_counted_once_however_often_it_is_built(tmp_path: Path) -> None:
    """The end of a range and a start are worked out before the first match: they count once for each match."""
    text = TOY.replace("0.., public, starts at 0", "0..limit, public, starts at 0, excess beyond limit is lost")
    found = played(written(tmp_path, text.replace("define reach", "define limit = 5000\ndefine reach")), 60)
    assert next(n for i, n in found.coverage.hits.items() if words(found, i) == "5000") == 60


HEAPS = """game heaps "Heaps", players 2..2

kind Size: small, large

pieces Stone(size: Size, weight: 1..3)
    small 1
    small 2
    large 3

table price(weight: 1..3)
    1: 1
    2: 1
    3: 5

zone heap: Stone, public, starts with all Stone
pile row: Stone, public

each player
    counter points: 0.., public, starts at 0

define heavy among place: zone = stone in place where weight > 1
define large_ones among place: zone = stone in place where size is large
define light among place: zone = stone in place where weight < 2
define lying among place: pile = stone in place where weight > 0
define half = 2

step play
    in turn each player starting with (first player)
        choose any n in 1..2
            raise points by number of (heavy among heap)
            raise points by number of (large_ones among heap)
            raise points by number of (lying among row)
            if (first s in (light among heap)) is not none and n > half
                raise points by number of stone in heap where price(weight) > 4

ranking by most points, ties shared
"""


def test_no_short_cut_hides_what_fired_and_none_counts_what_did_not(tmp_path: Path) -> None:
    """A group is counted without being listed, and what is printed is looked up before any match: not where it counts."""
    found = played(written(tmp_path, HEAPS), 4)
    fired = {i.name or words(found, i): n for i, n in found.coverage.hits.items()}
    given = ("weight > 1", "size is large", "weight < 2", "weight > 0")
    assert [fired[f"stone in place where {test}"] for test in given] == [4] * 4 and fired["2"] == 4
    assert [n for text, n in fired.items() if text.startswith(("price", "raise points by number of stone"))] == [0] * 4


def test_the_same_seed_gives_the_same_report_on_one_core_and_on_two(tmp_path: Path) -> None:
    source = written(tmp_path, TOY.replace("ranking", 'always true "few points"\n    every player has points < 3\n\nranking'))

    def everything(processes: int, seed: int) -> tuple[object, ...]:
        made = played(source, 60, processes=processes, seed=seed)
        return said(report.lines(made)), list(made.coverage.hits.items()), [(m.seed, m.choices) for m in made.mishaps]

    one = everything(1, 5)
    assert one == everything(2, 5)
    assert one[1] != everything(1, 6)[1]


@pytest.mark.parametrize("game", list(pipeline.games()))
def test_counting_changes_no_match(game: str) -> None:
    """The counted build takes the same choices to the same table as the fast one, in every game with every layer."""
    every = variants(game)
    for layers in dict.fromkeys([(), tuple(every)]):
        loaded = rulelang.load(game, layers)
        players, settings, dice = loaded.players[-1], loaded.settings(loaded.players[-1], None), Dice(0, None)
        tables = []
        for tally in (None, Tally(own_files(loaded.loaded))):
            program = loaded.program(players, settings, dice, tally=tally)
            machine, choices = Machine(program, program.start[:]), list[tuple[int, int]]()
            machine.begin()
            machine.play_out(Random(3), choices, 10_000)
            tables.append((choices, program.key(machine.s)[1:]))
            assert tally is None or not [i for i in tally.numbers if i.path.startswith("stdlib")], "the library counts in its own tests"
        assert tables[0] == tables[1]


# ---------------------------------------------------------------- what goes wrong

PURSE = """game purse "Purse", players 2..3

each player
    counter talers: 0.., public, starts at 2

repeat rounds, 9 times
    in turn each player starting with (first player)
        step turn
            choose
                wait
                earn any n in 1..2
                    raise talers by n
                pay
                    lower talers by 1

ranking by most talers, ties shared
"""


def mishap(made: Report, sort: str) -> Mishap:
    (found,) = [m for m in made.mishaps if m.item.sort == sort]
    return found


def test_rules_that_stop_are_found_with_the_shortest_way_there(tmp_path: Path) -> None:
    made = played(written(tmp_path, PURSE))
    stop = mishap(made, "stop")
    assert stop.message == "`talers` would be -1, below 0" and stop.way.players == 2
    assert len(stop.choices) == 5, "pay three times, and the other waits in between"
    replay = report.replay(stop)
    assert replay is not None and replay.last is not None and replay.last.label == "pay"
    again = rulelang.resume(replay.match.to_text())
    assert len(again.choices) == 4
    with pytest.raises(rulelang.RuleError, match="talers"):
        again.choose(*stop.choices[-1])
    found = report.finding(made, stop, replay, "x.match")
    assert found.code == "R406" and found.span.text == "lower talers by 1" and "at choice 5: seat" in found.hint
    assert "`rulelang play --resume x.match --seats human,human` leads there" in found.hint
    asked = [text for level, text in telling.asked(again) if level]
    assert asked == [f"{again.names[stop.choices[-1][0]]} chooses turn: {', '.join(o.label for o in again.decisions[0].options)}"]


def test_a_decision_without_an_option_is_a_dead_end(tmp_path: Path) -> None:
    text = PURSE.replace("                wait\n", "").replace("any n in 1..2", "any n in 1..2, only if talers > 2")
    made = played(written(tmp_path, text.replace("pay\n", "pay, only if talers > 0\n").replace("starts at 2", "starts at 4")))
    stop = mishap(made, "stop")
    assert stop.message == "nothing can be chosen at `turn`"
    replay = report.replay(stop)
    assert replay is not None and replay.last is not None


def test_a_broken_claim_comes_with_its_shortest_match(tmp_path: Path) -> None:
    claim = 'always true "nobody is rich"\n    every player has talers < 7\n\nranking'
    made = played(written(tmp_path, PURSE.replace("lower talers by 1", "raise talers by 0").replace("ranking", claim)))
    broken = mishap(made, "claim")
    assert len(broken.choices) == 5, "twice 2 and once 1 or 2, and the other waits in between"
    replay = report.replay(broken)
    assert replay is not None and replay.last is None
    again = rulelang.resume(replay.match.to_text())
    assert max(again.get("talers", player=p) for p in range(again.players)) >= 7
    again.undo()
    assert max(again.get("talers", player=p) for p in range(again.players)) < 7
    found = report.finding(made, broken, replay, "x.match")
    assert found.code == "R405" and "nobody is rich" in found.message and "after 5 choices" in found.hint


@pytest.mark.parametrize(("again", "cut"), [(0, 9999), (9999, 0)])
def test_other_matches_are_shorter_and_so_is_one_with_choices_left_out(
    again: int, cut: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shrink, "AGAIN", again)
    monkeypatch.setattr(shrink, "CUT", cut)
    game = rulelang.load(written(tmp_path, PURSE))
    way = Way(game.source, (), 2, ())
    table, found = Watched(game, way), []
    for seed in map(str, range(40)):
        outcome = table.play(seed, at_random(seed))
        found += [Mishap(item, "", "", way, seed, tuple(outcome.choices[:after])) for item, (_, _, after) in outcome.found.items()]
    longest = max(found, key=lambda m: len(m.choices))
    assert len(longest.choices) > 12
    best = shrink.shrink(longest)
    assert len(best.choices) == 5 and (best.seed == longest.seed) == (again == 0)


def test_a_claim_that_cannot_be_worked_out_does_not_hold(tmp_path: Path) -> None:
    claim = 'always true "somebody earned"\n    6 / (largest of talers over players) rounded down > 0\n\nranking'
    text = PURSE.replace("pay\n", "pay, only if talers > 0\n").replace("ranking", claim)
    assert "cannot be worked out: divided by 0" in mishap(played(written(tmp_path, text), 100), "claim").message


def test_a_match_without_an_end_is_said_to_have_none(tmp_path: Path) -> None:
    made = played(written(tmp_path, PURSE.replace(", 9 times", "").replace("lower talers by 1", "end rounds if talers > 99999")), 2)
    assert not made.mishaps
    assert f"4 of 4 matches had not ended after {CHOICES} choices" in said(report.lines(made))
    assert "3 players: 0 of 2 ended" in said(report.lines(made))


FORCED = """game forced "Forced", players 2..2

kind Gift: apple, pear

each player
    counter points: 0.., public, starts at 0

repeat rounds, 2 times
    in turn each player starting with (first player)
        step same
            choose any g in [apple]
                raise points by 1
        step other
            choose any g in Gift where (g is apple and rounds is 1) or (g is pear and rounds is 2)
                raise points by 1
        step real
            choose any g in Gift
                raise points by 1

ranking by most points, ties shared
"""


def test_decisions_that_never_had_a_choice(tmp_path: Path) -> None:
    made = played(written(tmp_path, FORCED), 3)
    lines = said(told_decisions(made.coverage, made.sources))
    assert "decisions: 3, 2 never with a choice" in lines
    assert "`same`, met 12 times: always `apple`" in lines
    assert "`other`, met 12 times: one option each time, not always the same" in lines
    assert "`real`" not in lines


# ---------------------------------------------------------------- which matches

OPTIONS = """option short: yes or no, usually no
option goal: 5 or 6, usually 5, only if goal is 5 or number of players is 3

each player"""


def test_every_player_count_option_and_layer_gets_its_matches(tmp_path: Path) -> None:
    text = PURSE.replace("each player", OPTIONS, 1).replace("lower talers by 1", "raise talers by goal")
    source = written(tmp_path, text.replace("9 times", "2 times").replace(" wait\n", " wait, only if not short\n"))
    written(tmp_path, 'variant one of purse "One"\n\nreplace turn\n    raise talers by 1\n')
    written(tmp_path, 'variant two of purse "Two"\n\nreplace turn\n    raise talers by 2\n')
    written(tmp_path, 'variant other of nothing "Of another game"\n')
    made = played(source, 4)
    ways = [(p.way.layers, p.way.players, dict(p.way.options)["goal"], dict(p.way.options)["short"], p.matches) for p in made.played]
    wanted = [(ly, 2, 5, s, 4) for ly in ((), ("one",), ("two",)) for s in (0, 1)]
    wanted += [(ly, 3, g, s, 4) for ly in ((), ("one",), ("two",)) for s in (0, 1) for g in (5, 6)]
    assert sorted(ways) == sorted(wanted)
    text = said(report.lines(made))
    assert "18 combinations of player count, options and layers, 4 each" in text
    assert "other" not in text
    assert "with one, two: not played, `rounds.turn` is replaced by two layers" in text
    assert "values of options: 4, all played" in text
    assert "with one: 2 to 3 players, 6 combinations, 24 matches" in said(report.lines(played(str(tmp_path / "one.rule"), 4)))


def test_very_many_combinations_share_and_each_gets_some() -> None:
    ways = [Way("x", (), 2, (("n", n),)) for n in range(100)] + [Way("x", (), 3, ())]
    shares = series._shares(ways, 10)
    assert {n for w, n in shares if w.players == 2} == {6, 7} and sum(n for w, n in shares if w.players == 2) == 640
    assert [n for w, n in shares if w.players == 3] == [10]
    assert {n for _, n in series._shares(ways[:100], 1)} == {1}


def square(n: int) -> int:
    if n == 13:
        raise KeyError("thirteen")
    if n == 14:
        os._exit(3)
    return n * n


def test_work_is_done_everywhere_and_answers_come_in_order() -> None:
    assert list(series.everywhere(square, range(9), 3)) == [n * n for n in range(9)]


@pytest.mark.parametrize(("tasks", "why"), [((1, 13, 2), "KeyError: 'thirteen'"), ((1, 14, 2), "ended from outside")])
def test_a_process_that_fails_is_no_riddle(tasks: tuple[int, ...], why: str) -> None:
    with pytest.raises(RuntimeError, match=why):
        list(series.everywhere(square, tasks, 2))


# ---------------------------------------------------------------- examples and pages


def test_the_examples_are_counted_in_the_same_way(tmp_path: Path) -> None:
    loaded = pipeline.load(written(tmp_path, TOY))
    results, coverage = count_examples(loaded, own_files(loaded))
    assert [r.ok for r in results] == [True]
    fired = {i.name or loaded.sources[0].text[i.start : i.end].split("\n")[0] for i, n in coverage.hits.items() if n}
    assert fired == {
        "worth(0)", "worth(3)", "take", "step pick", "choose", "raise points by worth(n) + bonus(n)", "if points > 1000",
        "give 0 if n < 9", "2",
    }  # fmt: skip
    assert "`rest` was offered, never chosen" in said(told(coverage, {s.path: s for s in loaded.sources}))


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def test_a_page_is_well_formed_and_nothing_of_a_file_is_obeyed(tmp_path: Path) -> None:
    evil = '<script src="http://x/y.js">&amp;</script>'
    text = TOY.replace("step pick", f'step pick "{evil.replace(chr(34), chr(39))}" # \x1b[31m {evil} ]]> --> \u202e')
    text = text.replace('"Toy"', '"<b>Toy</b> & more"').replace(
        "ranking", 'always true "</pre><i>"\n    every player has points < 2\n\nranking'
    )
    made = played(written(tmp_path, text), 5)
    found = [report.finding(made, m, report.replay(m), "<a>.match") for m in made.mishaps]
    assert found
    html = page("<Title>", list(report.lines(made)), found, made.coverage, made.sources)
    root = ElementTree.fromstring(html)
    tags = Tags()
    tags.feed(html)
    known = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "ul", "li", "a", "pre", "p", "span", "table", "tr", "td"}
    assert {tag for tag, _ in tags.seen} == known
    assert all(a["href"].startswith("#f0-") for tag, a in tags.seen if tag == "a")  # type: ignore[union-attr]
    assert not [a for _, a in tags.seen if any(k.startswith("on") or k == "src" for k in a)]
    assert "\x1b" not in html and "\u202e" not in html
    rows = {"".join(tr[3].itertext()): tr.get("class") for tr in root.iter("tr")}
    assert any(evil in row for row in rows)
    assert rows["                        step feast"] == "never" and rows["    3: 4"] == "never" and rows["    1..2: 2"] == "fired"
    assert rows["    give 0 if n < 9"] == "fired" and rows["    give 7 otherwise"] == "never"
    assert rows["ranking by most points, ties shared"] is None and rows["                rest"] == "fired"


def test_a_row_of_which_some_cells_were_read_is_partly_coloured(tmp_path: Path) -> None:
    made = played(written(tmp_path, TOY.replace("define reach = 2", "define reach = 1")), 9)
    root = ElementTree.fromstring(page("x", [], [], made.coverage, made.sources))
    assert [tr.get("class") for tr in root.iter("tr") if "".join(tr[3].itertext()) == "    1..2: 2"] == ["partly"]


def test_a_long_list_is_cut_in_a_terminal() -> None:
    lines = [Line(1, "a"), *(Line(2, str(n)) for n in range(100)), Line(1, "b"), Line(2, "c")]
    assert [str(x) for x in shortened(lines)][-4:] == ["59", "... and 40 more", "b", "c"]


def test_coverages_are_added_up(tmp_path: Path) -> None:
    one, two = (played(written(tmp_path, TOY), 5, seed=s).coverage for s in (1, 2))
    both = Coverage()
    both.add(one)
    both.add(two)
    assert all(both.hits[i] == one.hits[i] + two.hits[i] for i in both.hits) and both.offered == one.offered | two.offered
    assert next(iter(both.asked.values())).times == 5 * 6 * 2


# ---------------------------------------------------------------- the commands


def test_check_plays_and_keeps_the_match_that_went_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["check", written(tmp_path, PURSE), "--playouts", "40", "--html", "out.html"]
    done = command(*args, cwd=tmp_path)
    fails(done, 1, "error[R406]: the rules stop: `talers` would be -1, below 0")
    (file,) = tmp_path.glob("*.match")
    assert f"`rulelang replay {file.name}`" in done.stdout and len(rulelang.resume(file.read_text(encoding="utf-8")).choices) == 4
    assert "the rules stop" in (tmp_path / "out.html").read_text(encoding="utf-8")
    assert done.stderr == "", "no bar where nobody watches"
    monkeypatch.chdir(tmp_path)
    assert cli(args, standalone_mode=False) == 1 and capsys.readouterr().out.split() == done.stdout.split()
    assert len(list(tmp_path.glob("*.match"))) == 1


def test_test_says_what_no_example_brings_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["test", written(tmp_path, TOY), "--coverage", "--html", str(tmp_path / "out.html")], standalone_mode=False) == 0
    said = capsys.readouterr().out
    assert "options of decisions: 3, 2 never chosen" in said and "1 passed, 0 failed" in said
    assert "worth(1), worth(2)" in (tmp_path / "out.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--html", "x.html"], "add --playouts"),
        (["--seed", "3"], "add --playouts"),
        (["--playouts", "5", "--html", "toy.rule"], "something.html"),
        (["--playouts", "5", "--html", "nowhere/x.html"], "no such folder"),
        (["--playouts", "5", "-"], "name a file"),
    ],
)
def test_wrong_uses_of_playouts_are_explained(args: list[str], why: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=why):
        cli(["check", written(tmp_path, TOY), *args], standalone_mode=False)


def test_what_is_no_game_or_has_errors_is_not_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="nothing can be played"):
        cli(["check", str(ROOT / "stdlib/split.rule"), "--playouts", "5"], standalone_mode=False)
    wrong = written(tmp_path, TOY.replace("raise points by 1\n", "raise pints by 1\n"))
    assert cli(["check", wrong, "--playouts", "5"], standalone_mode=False) == 1
    assert "no match was played: mend the errors first" in capsys.readouterr().out


@pytest.mark.skipif(sys.platform != "linux" or series.cores() < 2, reason="looks for its processes, which one core does not need")
def test_whoever_interrupts_leaves_nothing_behind(tmp_path: Path) -> None:
    source = written(tmp_path, TOY.replace("rounds is 3", "rounds is 300"))
    run = subprocess.Popen(
        [sys.executable, "-m", "rulelang", "check", source, "--playouts", "20000"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # whatever began this test may ignore it
    )  # fmt: skip
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
    while run.poll() is None and len(children.read_text().split()) < min(2, series.cores()):
        time.sleep(0.05)
    time.sleep(0.2)
    os.killpg(run.pid, signal.SIGINT)
    out, err = run.communicate(timeout=30)
    assert run.returncode == 130 and not out and not err.strip()
    with pytest.raises(ProcessLookupError):
        os.killpg(run.pid, 0)


def test_a_table_made_for_watching_reads_what_claims_read_without_counting_it(tmp_path: Path) -> None:
    text = TOY.replace("ranking", 'always true "four"\n    worth(3) is 4\n\nranking')
    game = rulelang.load(written(tmp_path, text))
    table = Watched(game, Way("", (), 2, ()), Tally(own_files(game.loaded)))
    assert not table.play("1", lambda n: 0).found
    assert table.tally is not None
    cells = {i.name: table.tally.matches[n] for i, n in table.tally.numbers.items() if i.sort == "cell"}
    assert cells == {"worth(0)": 1, "worth(1)": 0, "worth(2)": 0, "worth(3)": 0}

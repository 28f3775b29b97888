"""It is all the same who of several comes first, and what never happens or makes no difference is found."""

import shutil
from pathlib import Path

import pytest

import rulelang
from rulelang import pipeline
from rulelang.core import nodes
from rulelang.core.threads import merged, walk
from rulelang.playouts import Way
from rulelang.proofs import check_counts
from rulelang.prove.order import lines, togethers
from tests.harden import order
from tests.planted_order import FAULTS, Fault


def planted(fault: Fault, folder: Path) -> list[str]:
    """The codes that `check` gives for a copy of the game with this fault."""
    copy = folder / fault.game
    shutil.copytree(pipeline.find(fault.game).parent, copy)
    main = copy / f"{fault.game}.rule"
    text = main.read_text(encoding="utf-8")
    assert text.count(fault.old) >= 1, f"{fault.game} has changed: {fault.old}"
    main.write_text(text.replace(fault.old, fault.new, 1), encoding="utf-8")
    loaded = pipeline.load(str(main))
    check_counts(loaded)
    return [d.code for d in loaded.problems.found]


# A large game takes a second each: one of them here, all by the row `planted`.
QUICK = [f for f in FAULTS if f.game != "carthago"] + [next(f for f in FAULTS if f.game == "carthago" and f.code == "R342")]


@pytest.mark.parametrize("fault", QUICK, ids=lambda f: f"{f.game}-{f.code}")
def test_a_planted_fault_is_found(fault: Fault, tmp_path: Path) -> None:
    assert fault.code in planted(fault, tmp_path)


@pytest.mark.parametrize(("game", "layers"), [("visby", ()), ("tallinn", ("chronicles", "envoy"))])
def test_threads_in_any_order_come_to_the_same_table(game: str, layers: tuple[str, ...]) -> None:
    core = rulelang.load(game, layers).core
    way = Way(game, layers, 3, tuple((o.name, o.default) for o in core.options.values()))
    done = order.play(order.Task(way, "test", 1))
    assert not done.faults and done.forks > 10 and done.seen == 1


PAY = """game pay "One pays in, one takes out", players 2..2

counter pot: 0.., public, starts at 0
each player
    counter talers: 0.., public

step begin
    in turn each player starting with (first player)
        choose
            rich
                raise talers by 9
            poor
                raise talers by 1

step settle
    together each player
        if talers > 3
            lower talers by 4
            raise pot by 4
        otherwise
            lower pot by 2
            raise talers by 2

ranking by most talers, ties shared
"""


def test_threads_that_are_run_as_a_loop_and_should_not_be_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a loop it would depend on who is first whether the pot is empty.  The row `order` finds it out."""

    def faults(name: str) -> int:
        path = tmp_path / f"{name}.rule"
        path.write_text(PAY.replace("pay", name), encoding="utf-8")
        return sum(bool(order.compare(Way(str(path), (), 2, ()), str(n), order.Done())) for n in range(8))

    assert faults("whole") == 0
    monkeypatch.setattr("rulelang.core.threads._up_and_down", lambda writes, place: False)
    assert faults("broken") > 0


def test_an_order_that_matters_is_shown_on_a_match() -> None:
    loaded = pipeline.load(str(pipeline.bundled("findings") / "R330.rule"))
    check_counts(loaded)
    (note,) = loaded.problems.found[0].notes
    assert note.text.startswith("4 players, before anybody is asked: seat 0 then seat 1")
    assert "`cellar` of seat 2 is 1 or 0" in note.text


@pytest.mark.parametrize("game", list(pipeline.games()))
def test_every_together_has_its_reasons(game: str) -> None:
    """None of them changes a place of which it is not said why the order cannot matter."""
    core = rulelang.load(game).core
    found = [t for all_ in togethers(core).values() for t in all_]
    assert found and [text for level, text in lines(core) if level == 2]
    for t in found:
        assert {m.place for m in merged(t)} == {place for s in walk(t.body) for place in changed(s)}


def changed(s: nodes.Statement) -> set[nodes.Place]:
    match s:
        case nodes.Change() | nodes.SetTo() | nodes.Shuffle():
            return {s.place.place}
        case nodes.MovePieces() | nodes.MoveCount():
            return {s.source.place, s.goal.place}
    return set()

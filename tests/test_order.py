"""It is all the same who of several comes first, and what never happens or makes no difference is found."""

from collections.abc import Iterator
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
from tests.harden.planted import Planted, judge, planted


def few() -> Iterator[Planted]:
    """One of each game and code; of the game where each takes a second only one.  All of them: the row `planted`."""
    seen = {("carthago", code) for code in ("R110", "R330", "R343", "R344", "R345")}
    for fault in planted():
        if fault.name.startswith(("order: ", "idle: ")) and (fault.game, fault.caught.split()[1]) not in seen:
            seen.add((fault.game, fault.caught.split()[1]))
            yield fault


@pytest.mark.parametrize("fault", list(few()), ids=lambda f: f"{f.game}-{f.caught.split()[1]}")
def test_a_planted_fault_is_found(fault: Planted) -> None:
    assert not judge(fault)


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

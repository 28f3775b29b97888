"""`always true`, looked at: after every step and at every decision of some random matches of every player count."""

from random import Random

from rulelang.claims import ClaimResult
from rulelang.core import nodes as core
from rulelang.core.types import Type
from rulelang.diagnostics import Diagnostic
from rulelang.pipeline import Loaded
from rulelang.runtime.machine import Machine
from rulelang.runtime.program import make_program
from rulelang.runtime.values import Fn, State

MATCHES = 4  # random matches for every player count
CHOICES = 5_000  # of one of them


def run_always(loaded: Loaded, matches: int = MATCHES) -> list[ClaimResult]:
    """`always true`: looked at after every step and at every decision of some random matches of every player count."""
    assert loaded.names is not None and loaded.game is not None and loaded.flow is not None
    game = loaded.game
    broken: dict[core.Invariant, str] = {}
    for players in game.players if game.invariants else ():
        _watch(loaded, game, players, matches, broken)
    results = []
    for claim in game.invariants:
        problem = None
        if claim in broken:
            problem = Diagnostic("R405", f"not always true: {claim.text}", claim.span, broken[claim])
        results.append(ClaimResult(claim.text, "", claim.module, claim.span, problem))
    return results


def _watch(loaded: Loaded, game: core.Game, players: int, matches: int, broken: dict[core.Invariant, str]) -> None:
    assert loaded.flow is not None
    tests: list[tuple[core.Invariant, Fn]] = []
    where = ""

    def watch(s: State) -> None:
        for claim, test in tests:
            if claim not in broken and not test(s):
                broken[claim] = f"with {players} players, {where}"

    settings = {o.name: o.default for o in game.options.values()}
    for n in range(matches):
        rng = Random(f"always/{players}/{n}")

        def chance(s: State, name: str, items: tuple[int, ...], t: Type, whole: bool, rng: Random = rng) -> tuple[int, ...]:
            return tuple(rng.sample(items, len(items))) if whole else (rng.choice(items),)

        program = make_program(game, players, settings, chance, watch=watch, loop_counts=tuple(loaded.flow.loop_counts.values()))
        tests[:] = [(claim, program.values.expr(claim.test).fn) for claim in game.invariants]
        machine = Machine(program, program.start[:] + [0] * 64)
        where = f"random match {n + 1}, before the first choice"
        machine.begin()
        for made in range(CHOICES):
            watch(machine.s)
            if machine.over:
                break
            pending = machine.pending[0]
            where = f"random match {n + 1}, after choice {made + 1} (`{pending.ask.decide.name}` of seat {pending.player})"
            machine.choose(pending, rng.randrange(pending.count))

"""Many matches on all cores: which are to be played, who plays them, and what came of all together."""

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from attrs import evolve, frozen

from rulelang import pipeline
from rulelang.api import Game
from rulelang.coverage import Coverage
from rulelang.pipeline import Loaded, require
from rulelang.playouts import GAMES, Mishap, Played, Task, Way, game_of, play, watched, worse
from rulelang.proofs import check_counts
from rulelang.runtime import settings
from rulelang.runtime.counting import Item
from rulelang.shrink import shrink
from rulelang.source import SourceFile

CHUNK = 25  # matches that one process plays before it reports
WAYS = 64  # combinations of one player count that get all their matches; if there are more, they share
COMBINED = 256  # combinations of layers that are looked at

T = TypeVar("T")
R = TypeVar("R")


# ---------------------------------------------------------------- what is to be played


@frozen(eq=False)
class Plan:
    """Which matches are to be played, and what is left out"""

    ways: tuple[tuple[Way, int], ...]
    refused: tuple[tuple[tuple[str, ...], str], ...]  # layers that do not go together, and why
    remarks: tuple[str, ...]

    def tasks(self, seed: int) -> Iterator[Task]:
        for way, matches in self.ways:
            for first in range(0, matches, CHUNK):
                yield Task(way, seed, first, min(CHUNK, matches - first))


def plan(source: str, loaded: Loaded, layers: tuple[str, ...], matches: int) -> Plan:
    """Every player count, every combination of options; every combination of layers, unless some were asked for."""
    assert loaded.names is not None and loaded.folder is not None
    GAMES.clear()  # rule files may have changed since
    watched.cache_clear()
    alone = not layers and not loaded.layers
    known = pipeline.variants(loaded.folder, loaded.names.header.name) if alone else []
    sets = [s for n in range(len(known) + 1) for s in combinations(known, n)] if alone else [layers]
    remarks = [f"only the first {COMBINED} of {len(sets)} combinations of layers are played"] if len(sets) > COMBINED else []
    refused: list[tuple[tuple[str, ...], str]] = []
    ways: list[Way] = []
    for chosen in sets[:COMBINED]:
        found = pipeline.load(source, chosen)
        check_counts(found)
        if not found.ok:
            refused.append((chosen, next(d.message for d in found.problems.sorted() if d.is_error)))
            continue
        game = GAMES[source, chosen] = Game(source, chosen, found, require(found))
        for players in game.players:
            every = settings.combinations(game.core, players)
            if len(every) >= settings.MANY:
                remarks.append(f"with {players} players only the first {settings.MANY} combinations of options are played")
            ways.extend(Way(source, chosen, players, tuple(s.items())) for s in every)
    shares = _shares(ways, matches)
    if any(n != matches for _, n in shares):
        remarks.append(f"where one player count has more than {WAYS} combinations, they share {WAYS * matches} matches")
    return Plan(tuple(shares), tuple(refused), tuple(dict.fromkeys(remarks)))


def _shares(ways: list[Way], matches: int) -> list[tuple[Way, int]]:
    """As many matches for each; where one player count has very many combinations they share, and each gets one at least."""
    made: list[tuple[Way, int]] = []
    for players in sorted({w.players for w in ways}):
        here = [w for w in ways if w.players == players]
        each, more = (matches, 0) if len(here) <= WAYS else divmod(matches * WAYS, len(here))
        made.extend((way, max(1, each + (n < more))) for n, way in enumerate(here))
    return made


# ---------------------------------------------------------------- who plays


def cores() -> int:
    """How many processes can work at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def everywhere(work: Callable[[T], R], tasks: Sequence[T], processes: int) -> Iterator[R]:
    """What came of each task, in the order of the tasks.  Whoever stops listening ends the work."""
    if processes == 1 or len(tasks) < 2:
        yield from map(work, tasks)
        return
    workers = _begin(work, min(processes, len(tasks)))
    try:
        left, done = deque(enumerate(tasks)), dict[int, R]()
        busy = {conn: _give(conn, left.popleft()) for conn, _ in workers}
        for n in range(len(tasks)):
            while n not in done:
                ready: Any = wait(list(busy))
                for conn in ready:
                    done[busy.pop(conn)] = _answer(conn)
                    if left:
                        busy[conn] = _give(conn, left.popleft())
            yield done.pop(n)
    finally:
        for _, process in workers:
            process.terminate()
        for _, process in workers:
            process.join()


def _begin(work: Callable[[T], R], processes: int) -> "list[tuple[Connection, BaseProcess]]":
    """Processes that leave Ctrl-C to the one that began them."""
    context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    can_ask = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if can_ask else None
    made: list[tuple[Connection, BaseProcess]] = []
    try:
        for _ in range(processes):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(work, theirs), daemon=True)
            process.start()
            theirs.close()
            made.append((ours, process))
    finally:
        if can_ask:
            signal.signal(signal.SIGINT, before)
    return made


def _serve(work: Callable[[T], R], conn: Connection) -> None:
    for name in ("SIGTERM", "SIGHUP"):  # the one that began it has its own answer to them
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    while parent is not None and parent.is_alive():
        if conn.poll(1):
            try:
                task = conn.recv()
            except EOFError:
                return
            try:
                answer: tuple[R | None, str] = (work(task), "")
            except Exception:  # a mistake of ours, to be told where somebody listens
                answer = (None, traceback.format_exc())
            conn.send(answer)


def _give(conn: Connection, task: tuple[int, T]) -> int:
    conn.send(task[1])
    return task[0]


def _answer(conn: Connection) -> Any:
    try:
        found, wrong = conn.recv()
    except EOFError:
        raise RuntimeError("a process that played matches was ended from outside") from None
    if wrong:
        mistake = RuntimeError(wrong.strip().splitlines()[-1])
        mistake.add_note(wrong)
        raise mistake
    return found


# ---------------------------------------------------------------- what came of it


@frozen(eq=False)
class Report:
    """Everything that was seen in all matches"""

    plan: Plan
    seed: int
    played: tuple[Played, ...]  # one for each way to play
    mishaps: tuple[Mishap, ...]
    coverage: Coverage
    sources: dict[str, SourceFile]

    @property
    def game(self) -> Game:
        return game_of(self.plan.ways[0][0])


def run(made: Plan, seed: int, processes: int, done: Callable[[int], None] = lambda n: None) -> Report:
    """Plays everything; `done` hears of every few matches."""
    ways: dict[Way, Played] = {}
    mishaps: dict[Item, Mishap] = {}
    coverage = Coverage()
    for some in everywhere(play, list(made.tasks(seed)), processes):
        coverage.add(some.coverage)
        for mishap in some.mishaps:
            worse(mishaps, mishap)
        ways[some.way] = _together(ways.get(some.way), some)
        done(some.matches)
    shortest = tuple(everywhere(shrink, list(mishaps.values()), processes))
    sources = {s.path: s for game in GAMES.values() for s in game.loaded.sources}
    return Report(made, seed, tuple(ways.values()), shortest, coverage, sources)


def _together(old: Played | None, new: Played) -> Played:
    if old is None:
        return evolve(new, mishaps=(), coverage=Coverage())
    return evolve(
        old, matches=old.matches + new.matches, ended=old.ended + new.ended,
        fewest=min(old.fewest, new.fewest), most=max(old.most, new.most),
    )  # fmt: skip

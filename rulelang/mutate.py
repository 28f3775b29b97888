"""`rulelang mutate`: which small changes of the rules does nothing notice?

A change is judged by the checker, then by the examples, the claims and the recorded matches of the game; the first
that notices it ends it.  A game with layers is tried without them and with them, a match with the layers that it was
played with.  An example or claim that does not hold in the rules as they are says nothing, and is left out."""

import os
import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

from attrs import define, evolve, field, frozen

from rulelang import pipeline
from rulelang.always import run_always
from rulelang.api import Game, Match
from rulelang.claims import run_claims, run_example
from rulelang.diagnostics import Problems, near
from rulelang.errors import RuleError, RulelangError, UsageError
from rulelang.matchfile import begin, header, resume
from rulelang.mutants import Mutant, bare, fingerprint, mutants, own_modules, sorts
from rulelang.pipeline import Loaded
from rulelang.proofs import check_counts
from rulelang.source import SourceFile, Span
from rulelang.surface import nodes
from rulelang.surface.parse import parse_cut

ACCEPTED = "mutants.md"
REFUSED, EXAMPLE, CLAIM, MATCH, ENDLESS = "refused", "example", "claim", "match", "endless"  # noticed
SAME, NOTHING, FAULT = "same", "nothing", "fault"
SECONDS = 5  # of the processor, for one example or match: many times what it takes, whatever the machine

Layers = tuple[str, ...]
Name = tuple[str, str]  # the file of an example or claim, and its text
Line = tuple[str, int]  # the path of a file, and a line of it


@frozen
class Verdict:
    """One change, and who noticed it; `by` is an example, a claim, a match, or what the checker said"""

    mutant: Mutant
    sort: str
    by: str = ""


@frozen
class Report:
    """All verdicts, and which of the unnoticed changes a designer has given a reason for"""

    verdicts: tuple[Verdict, ...]
    reasons: "Accepted"

    def of(self, sort: str) -> list[Verdict]:
        return [v for v in self.verdicts if v.sort == sort]

    @property
    def new(self) -> list[Verdict]:
        """Unnoticed, and nobody has said why."""
        return [v for v in self.of(NOTHING) if key(v.mutant) not in self.reasons]

    @property
    def outdated(self) -> list["Key"]:
        """Reasons for changes that are noticed by now."""
        noticed = {key(v.mutant) for v in self.verdicts if v.sort != NOTHING} - {key(v.mutant) for v in self.of(NOTHING)}
        return [k for k in self.reasons if k in noticed]

    @property
    def share(self) -> float:
        """How many of a hundred changes are noticed; those that come to the same do not count."""
        counted = len(self.verdicts) - len(self.of(SAME))
        return 100 * (counted - len(self.of(NOTHING))) / counted if counted else 100.0


@frozen
class Recorded:
    """A match file, and how the match went under the rules as they are: plain data, compared step by step"""

    name: str
    layers: Layers
    text: str
    choices: tuple[tuple[int, int], ...]
    course: tuple[Any, ...]


@frozen
class Plan:
    """What a change is held against; plain data, so that another process can begin from it"""

    game: str
    settings: tuple[Layers, ...]  # the layers that are tried
    held: tuple[frozenset[Name], ...]  # the examples and claims that hold there
    matches: tuple[Recorded, ...]
    left_out: tuple[str, ...]  # and why

    @property
    def claims(self) -> int:
        """How many examples and claims hold."""
        return len(frozenset().union(*self.held))


# ---------------------------------------------------------------- the rules as they are


def plan(game: str, layers: Layers = (), folder: Path | None = None) -> Plan:
    """Loads the game, and sees what holds.  Errors in its files are raised like those of `check`."""
    path, names = _game_file(game, layers)
    settings: tuple[Layers, ...] = ((), names) if names else ((),)
    held, left_out, failed = [], [], set()
    for one in settings:
        loaded = pipeline.load(path, one)
        pipeline.require(loaded)
        results = [*run_claims(loaded), *run_always(loaded, 1)]
        held.append(frozenset((r.module, r.name) for r in results if r.ok))
        failed |= {(r.module, r.name) for r in results if not r.ok}
    for module, text in sorted(failed - frozenset().union(*held)):
        left_out.append(f"{module}: `{text}` does not hold")
    matches = []
    for file in sorted(folder.iterdir()) if folder is not None else ():
        try:
            found = _recorded(path, names, file)
        except (RulelangError, OSError, UnicodeError) as err:
            left_out.append(f"{file}: {err}")
            continue
        matches += [found] if found is not None else []
    return Plan(path, settings, tuple(held), tuple(matches), tuple(left_out))


def _game_file(game: str, layers: Layers) -> tuple[str, Layers]:
    """The file of the game and all its layers; a variant is a layer on its game."""
    whole = pipeline.load(game, layers)
    pipeline.require(whole)
    if whole.main is None or whole.names is None or whole.names.header.word != "game":
        raise UsageError(f"{game}: a library or a data file is changed together with a game that uses it")
    file = pipeline.find(game)
    if file == whole.main:
        return str(file), layers
    return str(whole.main), (*layers, file.stem if file.parent == whole.main.parent else str(file))


def _recorded(path: str, layers: Layers, file: Path) -> Recorded | None:
    """A match of this game with some of these layers; none if it is of another one."""
    text = file.read_text(encoding="utf-8")
    head = header(text)
    used = tuple(head["with"].split())
    if not set(used) <= set(layers) or pipeline.find(head["game"]).resolve() != Path(path).resolve():
        return None
    loaded = pipeline.load(path, used)
    game = Game(path, used, loaded, pipeline.require(loaded))
    choices = tuple(resume(text, game).choices)
    return Recorded(file.name, used, text, choices, tuple(course(game, text, choices)))


def course(game: Game, text: str, choices: Iterable[tuple[int, int]]) -> Iterator[Any]:
    """How a match goes: who is asked what, of how many options, the table at each choice; then what each seat sees, and the result."""
    match, _ = begin(text, game)
    for player, k in choices:
        asked = tuple((p.player, p.ask.decide.name, p.count) for p in match.machine.pending)
        pending = next((p for p in match.machine.pending if p.player == player), None)
        label = match._option(pending, k).label if pending is not None and k < pending.count else None
        yield asked, label, _table(match)
        match.choose(player, k)
    yield match.is_over, _table(match), match.scores, match.ranking
    yield tuple(match.observe(seat) for seat in range(match.players))


def _table(match: Match) -> tuple[Any, ...]:
    layout, s = match.program.layout, match.machine.s
    places = match.game.core.places.values()
    return tuple(
        (p.name, tuple(match._words.held(p, s[at]) for at in range(layout.slots[p], layout.slots[p] + layout.sizes[p]))) for p in places
    )


# ---------------------------------------------------------------- a change


@define(eq=False)
class Bench:
    """The parsed files of a game with each choice of layers; only what a change touches is read again"""

    plan: Plan
    loads: dict[Layers, Loaded] = field(factory=dict)
    prints: dict[Layers, tuple[object, ...]] = field(factory=dict)
    reaches: dict[Layers, dict[Name, set[Line]]] = field(factory=dict)

    def load(self, layers: Layers) -> Loaded:
        if layers not in self.loads:
            self.loads[layers] = pipeline.load(self.plan.game, layers)
        return self.loads[layers]

    def all_mutants(self) -> list[Mutant]:
        loaded = self.load(self.plan.settings[-1])
        known = sorts(loaded)
        return [mutant for module in own_modules(loaded) for mutant in mutants(module, known)]

    def judge(self, group: Iterable[Mutant]) -> list[tuple[str, str]]:
        """The changes of one line.  What noticed the last one is asked first about the next."""
        found: list[tuple[str, str]] = []
        last: list[Name] = []
        for mutant in group:
            try:
                found.append(_Trial(self, mutant, last).run())
            except _TooLong:
                found.append((ENDLESS, ""))
            except Exception as err:  # a mistake of ours; the other changes are judged all the same
                found.append((FAULT, f"{type(err).__name__}: {err}"))
        return found

    def changed(self, layers: Layers, mutant: Mutant) -> Loaded | None:
        """The game with this change; none where it has no part in it."""
        base = self.load(layers)
        module = next((m for m in (*base.modules, *base.layers) if m.source.path == mutant.path), None)
        if module is None:
            return None
        problems = Problems()
        made = _reread(module, mutant, problems)
        modules, layered = (tuple(made if m is module else m for m in group) for group in (base.modules, base.layers))
        loaded = Loaded(problems, modules, layered, folder=base.folder, sources=base.sources)
        if not problems.has_errors:
            with pipeline.uncollected():
                pipeline.understand(loaded)
        return loaded

    def in_order(self, layers: Layers, mutant: Mutant) -> list[Name]:
        """The examples: those first that have to do with the changed line, the most special ones before the others."""
        if layers not in self.reaches:
            self.reaches[layers] = reach(self.load(layers))
        near_by = self.reaches[layers]
        here = (mutant.path, mutant.line_number)
        return sorted(near_by, key=lambda name: len(near_by[name]) if here in near_by[name] else 1 << 20)

    def print_of(self, layers: Layers) -> tuple[object, ...]:
        if layers not in self.prints:
            self.prints[layers] = fingerprint(self.load(layers))
        return self.prints[layers]


class _TooLong(Exception):
    """A change after which the rules go on and on"""


@contextmanager
def _in_time() -> Iterator[None]:
    """Ends what goes on and on, where the system has such an alarm."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def reach(loaded: Loaded) -> dict[Name, set[Line]]:
    """The lines that each example has to do with: what it runs, and whatever is named there, and so on."""
    names = loaded.names
    assert names is not None
    declared: dict[str, list[Span]] = {}
    for name, symbol in names.symbols.items():
        declared.setdefault(name, []).append(symbol.node.span)
    for d in (d for same in names.definitions.values() for d in same):
        declared.setdefault(d.name, []).append(d.node.span)
    found: dict[Name, set[Line]] = {}
    for example, module in names.examples:
        labels = [label for line in example.lines if isinstance(line, nodes.ExRun) for label in line.labels]
        nodes_run = [x.node for label in labels for x in names.label(label) if x.sort != "option"]
        todo = [example.span, *(n.span for n in nodes_run)]
        lines: set[Line] = set()
        seen: set[str] = set()
        while todo:
            span = todo.pop()
            lines.update((span.source.path, n) for n in range(span.line, span.source.line_of(span.end) + 1))
            words = set(re.findall(r"[A-Za-z]\w*", span.text)) - seen
            seen |= words
            todo += [other for word in words for other in declared.get(word, ())]
        found[module.name, example.text] = lines
    return found


def _reread(module: nodes.Module, mutant: Mutant, problems: Problems) -> nodes.Module:
    """The tree of a changed file: one declaration is read anew, or left out; the others stay as they were."""
    source = SourceFile(module.source.path, mutant.text)
    parts = [*([module.header] if module.header is not None else []), *module.items]
    starts = [p.span.start for p in parts]
    at = max(i for i, start in enumerate(starts) if start <= mutant.start)
    end = starts[at + 1] if at + 1 < len(starts) else len(module.source.text)
    end += len(source.text) - len(module.source.text)
    made = parse_cut(source, starts[at], end, problems) if bare(source.text[starts[at] : end]) else None
    if isinstance(made, nodes.Header):
        return evolve(module, source=source, header=made)
    items = tuple(made if i is parts[at] else i for i in module.items)
    return evolve(module, source=source, items=tuple(i for i in items if i is not None))


@define(eq=False)
class _Trial:
    """One change on its way: the checker, the examples, the claims, the matches"""

    bench: Bench
    mutant: Mutant
    last: list[Name]  # examples that noticed something near, the latest first
    loads: dict[Layers, Loaded] = field(factory=dict)

    def run(self) -> tuple[str, str]:
        for test in (self._refused, self._example, self._same, self._refused_later, self._claim, self._match):
            found = test()
            if found is not None:
                return found
        return NOTHING, ""

    def _in_settings(self) -> Iterator[tuple[Layers, frozenset[Name], Loaded]]:
        for layers, held in zip(self.bench.plan.settings, self.bench.plan.held, strict=True):
            loaded = self._load(layers)
            if loaded is not None:
                yield layers, held, loaded

    def _load(self, layers: Layers) -> Loaded | None:
        if layers not in self.loads:
            made = self.bench.changed(layers, self.mutant)
            if made is None:
                return None
            self.loads[layers] = made
        return self.loads[layers]

    def _refused(self) -> tuple[str, str] | None:
        for _, _, loaded in self._in_settings():
            if not loaded.ok:
                return REFUSED, next((f"{d.code}: {d.message}" for d in loaded.problems.sorted() if d.is_error), "")
        return None

    def _example(self) -> tuple[str, str] | None:
        tried: set[Name] = set()
        for layers, held, loaded in self._in_settings():
            assert loaded.names is not None
            written = {(m.name, e.text): (e, m) for e, m in loaded.names.examples}
            order = dict.fromkeys([*self.last, *self.bench.in_order(layers, self.mutant)])
            for name in [n for n in order if n in held and n not in tried and n in written]:
                tried.add(name)
                with _in_time():
                    holds = run_example(loaded, *written[name]).ok
                if not holds:
                    if name in self.last:
                        self.last.remove(name)
                    self.last.insert(0, name)
                    return EXAMPLE, name[1]
        return None

    def _same(self) -> tuple[str, str] | None:
        same = all(fingerprint(loaded) == self.bench.print_of(layers) for layers, _, loaded in self._in_settings())
        return (SAME, "") if same else None

    def _refused_later(self) -> tuple[str, str] | None:
        """What `check` finds when it begins a match: dear, so in the fewest layers that the changed file has a part in."""
        _, _, loaded = next(self._in_settings())
        with _in_time():
            check_counts(loaded)
        return self._refused()

    def _claim(self) -> tuple[str, str] | None:
        """Dearer still: in one random match of each player count."""
        _, held, loaded = next(self._in_settings())
        try:
            with _in_time():
                broken = [r.name for r in run_always(loaded, 1) if not r.ok and (r.module, r.name) in held]
        except RuleError as err:
            broken = [f"a random match stops: {str(err).splitlines()[0]}"]
        return (CLAIM, broken[0]) if broken else None

    def _match(self) -> tuple[str, str] | None:
        for recorded in self.bench.plan.matches:
            loaded = self._load(recorded.layers)
            if loaded is None:
                continue
            if not loaded.ok or loaded.game is None:
                return REFUSED, ""
            game = Game(self.bench.plan.game, recorded.layers, loaded, loaded.game)
            try:
                with _in_time():
                    went = course(game, recorded.text, recorded.choices)
                    same = all(now == before for now, before in zip(went, recorded.course, strict=True))
            except RulelangError:
                same = False
            if not same:
                return MATCH, recorded.name
        return None


# ---------------------------------------------------------------- all changes


def run(the_plan: Plan, chosen: list[Mutant], seen: Callable[[int], None], jobs: int | None = None) -> Report:
    """Judges them in as many processes as there are processors; the order and the outcome do not depend on how many."""
    return Report(tuple(_verdicts(the_plan, chosen, seen, jobs)), accepted(Path(the_plan.game).parent))


def _verdicts(the_plan: Plan, chosen: list[Mutant], seen: Callable[[int], None], jobs: int | None) -> Iterator[Verdict]:
    lines = [list(group) for _, group in groupby(chosen, lambda m: (m.path, m.line_number))]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ExitStack() as stack:
        if min(jobs or cores, len(lines)) > 1:
            pool = stack.enter_context(get_context().Pool(min(jobs or cores, len(lines)), _adopt, (the_plan,)))
            judged: Iterable[list[tuple[str, str]]] = pool.imap(_judge, lines)
        else:
            judged = map(Bench(the_plan).judge, lines)
        for line, found in zip(lines, judged, strict=True):
            seen(len(line))
            yield from (Verdict(mutant, sort, by) for mutant, (sort, by) in zip(line, found, strict=True))


_bench: Bench | None = None  # of this process


def _adopt(the_plan: Plan) -> None:
    global _bench
    _bench = Bench(the_plan)


def _judge(line: list[Mutant]) -> list[tuple[str, str]]:
    assert _bench is not None
    return _bench.judge(line)


def choose(found: list[Mutant], only: str | None, n: int | None, seed: int) -> list[Mutant]:
    """All changes, or those of one file, or n of them drawn with a seed."""
    if only is not None:
        files = {m.path for m in found}
        mine = {f for f in files if Path(f).name == Path(only).name or Path(f).stem == only}
        if not mine:
            raise UsageError(f"no changes of a file `{only}`; {near(only, files) or 'files: ' + ', '.join(sorted(files))}")
        found = [m for m in found if m.path in mine]
    return found if n is None or n >= len(found) else sorted(Random(seed).sample(found, n))


# ---------------------------------------------------------------- what a designer accepts

Key = tuple[str, str, str]  # file, line, change
Accepted = dict[Key, str]  # the reasons
_CHANGE = re.compile(r"- (without this line|without `[^`]*`|`[^`]*` -> `[^`]*`): (.+)")


def accepted(folder: Path) -> Accepted:
    """The changes that `mutants.md` beside the game gives a reason for: under the file and the line, as they stand."""
    path = folder / ACCEPTED
    found: Accepted = {}
    file = line = ""
    for text in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        if text.startswith("## "):
            file = text[3:].strip()
        elif re.fullmatch(r"`[^`]*`", text.strip()):
            line = text.strip()[1:-1]
        elif (change := _CHANGE.match(text)) is not None:
            found[file, line, change.group(1)] = change.group(2)
    return found


def key(mutant: Mutant) -> Key:
    return Path(mutant.path).name, mutant.line, mutant.change

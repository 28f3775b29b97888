"""`rulelang mutate`: which small changes of the rules does nothing notice?

A change is held against the checker, the examples, the claims and the recorded matches of the game; the first that
notices it ends it.  A game with layers is tried without them and with all of them, a match with the layers that it was
played with.  An example that does not hold in the rules as they are says nothing, and is left out."""

import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

from attrs import define, evolve, field, frozen

from rulelang import matchfile, pipeline
from rulelang.api import ChanceScript, Game, Match, seat_names
from rulelang.claims import run_example
from rulelang.core.check import check
from rulelang.coverage import counted, own_files
from rulelang.diagnostics import Problems, several
from rulelang.errors import RuleError, RulelangError, UsageError
from rulelang.files import read_limited
from rulelang.limits import USUAL
from rulelang.mutants import Mutant, mutants, own_modules, sorts
from rulelang.names.collect import collect
from rulelang.pipeline import Loaded
from rulelang.playouts import Watched, Way, at_random
from rulelang.proofs import check_counts
from rulelang.runtime.counting import Tally
from rulelang.series import everywhere
from rulelang.source import SourceFile
from rulelang.surface import nodes
from rulelang.surface.parse import parse

REASONS = "mutants.md"
REFUSED, EXAMPLE, CLAIM, MATCH, ENDLESS = "refused", "example", "claim", "match", "endless"  # noticed
NOTHING, FAULT = "nothing", "fault"
SECONDS = 10  # of the processor, for one example or match: many times what it takes
FAR = 1 << 30  # more characters than a rule has
LOOKS = 12  # choices of a recorded match after which every seat looks at the table

Layers = tuple[str, ...]
Name = tuple[str, str]  # the file of an example, and its text
Piece = tuple[str, int, int]  # of a file, from a character to another
Key = tuple[str, str, str]  # of a change: file, line, what is changed


@frozen
class Verdict:
    """One change, and who noticed it; `by` is an example, a claim, a match, or what the checker said"""

    mutant: Mutant
    sort: str
    by: str = ""


@frozen
class Recorded:
    """A match and how it went under the rules as they are: plain data, compared step by step"""

    name: str
    layers: Layers
    players: int
    options: tuple[tuple[str, int], ...]
    seed: int | str
    chance: tuple[tuple[str, tuple[int, ...]], ...] | None  # where a script stood for it: what it took, of the things in order
    forced: bool
    choices: tuple[tuple[int, int], ...]
    course: tuple[Any, ...] = ()


@frozen(eq=False)
class Plan:
    """What a change is held against; plain data, so that another process can begin from it"""

    game: str
    held: dict[Layers, dict[Name, frozenset[Piece]]]  # with these layers: the examples that hold, and the rules that they bring about
    claims: int
    matches: tuple[Recorded, ...]
    left_out: tuple[str, ...]  # and why

    @property
    def examples(self) -> int:
        return len({name for held in self.held.values() for name in held})


# ---------------------------------------------------------------- the rules as they are


def plan(game: str, layers: Layers = (), matches: Iterable[tuple[str, Match]] = ()) -> Plan:
    """Loads the game, and sees what holds.  Errors in its files are raised like those of `check`."""
    whole = pipeline.load(game, layers)
    pipeline.require(whole)
    assert whole.names is not None and whole.game is not None
    if whole.sources[0].path not in {m.source.path for m in whole.modules} or whole.names.header.word != "game":
        raise UsageError(f"{game}: name the game that it belongs to, and a variant with --with")
    held: dict[Layers, dict[Name, frozenset[Piece]]] = {}
    failed: set[Name] = set()
    for some in ((), layers) if layers else ((),):
        loaded = pipeline.load(game, some)
        pipeline.require(loaded)
        found = dict(_reach(loaded))
        held[some] = {name: pieces for name, pieces in found.items() if pieces is not None}
        failed |= {name for name, pieces in found.items() if pieces is None}
    broken = sorted(failed - {name for names in held.values() for name in names})
    left_out = [f"{module}: `{text}` does not hold" for module, text in broken]
    recorded = tuple(record(name, match) for name, match in matches)
    return Plan(game, held, len(whole.game.invariants), recorded, tuple(left_out))


def _reach(loaded: Loaded) -> Iterator[tuple[Name, frozenset[Piece] | None]]:
    """The rules that each example brings about; none where it does not hold."""
    assert loaded.names is not None
    tally = Tally(own_files(loaded))
    for example, module in loaded.names.examples:
        tally.clear()
        ok = run_example(loaded, example, module, counted(tally)).ok
        fired = frozenset((i.path, i.start, i.end) for i, n in tally.numbers.items() if tally.fired[n])
        yield (module.name, example.text), fired if ok else None


def read_matches(folder: Path, game: str, layers: Layers) -> Iterator[tuple[str, Match | str]]:
    """The match files of a folder that are of this game with some of these layers; text says what is wrong with one."""
    main = pipeline.find(game).resolve()
    for file in sorted(folder.iterdir()):
        try:
            match = matchfile.resume(read_limited(file, USUAL.save, file.name))
        except RulelangError as err:
            yield file.name, str(err)
            continue
        if set(match.game.requested) <= set(layers) and pipeline.find(match.game.source).resolve() == main:
            yield file.name, match


def record(name: str, match: Match) -> Recorded:
    """Which match it is, and how it goes."""
    given = None if match.script is None else tuple((k[1], _taken(k[2], out)) for k, out in match._dice.outcomes.items())
    settings = tuple(match.settings.items())
    made = Recorded(name, match.game.requested, match.players, settings, match.seed, given, match.ask_forced, tuple(match.choices))
    return evolve(made, course=tuple(course(match.game, made)))


def _taken(items: tuple[int, ...], outcome: tuple[int, ...]) -> tuple[int, ...]:
    left = list(enumerate(items))
    return tuple(left.pop(next(n for n, (_, x) in enumerate(left) if x == y))[0] for y in outcome)


def course(game: Game, of: Recorded) -> Iterator[Any]:
    """How a match goes: who is asked what, of how many options, the table at each choice; now and then, and at the end,
    what each seat sees; then the result."""
    script = None if of.chance is None else _script(of.chance, frozenset(game.core.places))
    match = Match(game, of.players, dict(of.options), of.seed, script, of.forced, seat_names(of.players))
    looks = {len(of.choices) * n // LOOKS for n in range(1, LOOKS)}
    for n, (player, k) in enumerate(of.choices):
        asked = tuple((p.player, p.ask.decide.name, p.count) for p in match.machine.pending)
        pending = next((p for p in match.machine.pending if p.player == player), None)
        label = match._option(pending, k).label if pending is not None and k < pending.count else None
        yield asked, label, _table(match)
        if n in looks:
            yield tuple(match.observe(seat) for seat in range(match.players))
        match.choose(player, k)
    yield match.is_over, _table(match), match.scores, match.ranking
    yield tuple(match.observe(seat) for seat in range(match.players))


def _script(given: tuple[tuple[str, tuple[int, ...]], ...], places: frozenset[str]) -> ChanceScript:
    """Chance as it was: from the same place among the things that there are."""
    left = iter(given)

    def answer(what: str, things: list[Any]) -> Any:
        name, taken = next(left, ("", ()))
        if name != what or max(taken, default=0) >= len(things):
            raise RuleError(f"chance was not asked for `{what}` here")
        found = [things[n] for n in taken]
        return found if what in places else found[0]

    return answer


def _table(match: Match) -> tuple[Any, ...]:
    layout, s = match.program.layout, match.machine.s
    return tuple(
        (p.name, tuple(match._words.held(p, s[at]) for at in range(layout.slots[p], layout.slots[p] + layout.sizes[p])))
        for p in match.game.core.places.values()
    )


# ---------------------------------------------------------------- a change


@define(eq=False)
class Bench:
    """The parsed files of a game with each choice of layers; only what a change touches is read again"""

    plan: Plan
    loads: dict[Layers, Loaded] = field(factory=dict)

    def load(self, layers: Layers) -> Loaded:
        if layers not in self.loads:
            self.loads[layers] = pipeline.load(self.plan.game, layers)
        return self.loads[layers]

    def all_mutants(self) -> list[Mutant]:
        loaded = self.load(list(self.plan.held)[-1])
        known = sorts(loaded)
        return [mutant for module in own_modules(loaded) for mutant in mutants(module, known)]

    def judge(self, group: Iterable[Mutant]) -> list[tuple[str, str]]:
        """The changes of one line.  What noticed the last one is asked first about the next."""
        found: list[tuple[str, str]] = []
        last: list[Name] = []
        for mutant in group:
            try:
                found.append(next(self._notices(mutant, last), (NOTHING, "")))
            except _TooLong:
                found.append((ENDLESS, ""))
            except Exception as err:  # a mistake of ours; the other changes are judged all the same
                found.append((FAULT, f"{type(err).__name__}: {err}"))
        return found

    def _notices(self, mutant: Mutant, last: list[Name]) -> Iterator[tuple[str, str]]:
        """Everybody who notices it, those first who are asked cheaply."""
        loads = {some: loaded for some in self.plan.held if (loaded := self._changed(some, mutant)) is not None}
        near: list[tuple[Layers, Name]] = []
        far: list[tuple[Layers, Name]] = []
        seen: set[Name] = set()
        for layers, loaded in loads.items():
            yield from _refused(loaded)
            for name, is_near in _in_order(self.plan.held[layers], mutant, last):
                if name not in seen:
                    (near if is_near else far).append((layers, name))
                seen.add(name)
        yield from _examples(loads, near, last)
        for recorded in self.plan.matches:
            changed = loads.get(recorded.layers) or self._changed(recorded.layers, mutant)
            if changed is not None:
                yield from _refused(changed)
                yield from _goes_otherwise(changed, recorded)
        yield from _examples(loads, far, last)
        loaded = next(iter(loads.values()))  # what is dear, in the fewest layers that the changed file has a part in
        with _in_time():
            check_counts(loaded)
        yield from _refused(loaded)
        with _in_time():
            found = list(_in_random_matches(loaded))
        yield from found

    def _changed(self, layers: Layers, mutant: Mutant) -> Loaded | None:
        """The game with this change; none where it has no part in it."""
        base = self.load(layers)
        module = next((m for m in (*base.modules, *base.layers) if m.source.path == mutant.path), None)
        if module is None:
            return None
        loaded = Loaded(Problems(), folder=base.folder, sources=base.sources)
        made = _reread(module, mutant, loaded.problems)
        loaded.modules, loaded.layers = (tuple(made if m is module else m for m in group) for group in (base.modules, base.layers))
        if not loaded.problems.has_errors:
            with pipeline.uncollected():
                loaded.names = collect(loaded.modules, loaded.layers, loaded.problems, pipeline.library_words())
                if loaded.names is not None:
                    loaded.game, loaded.flow = check(loaded.names, loaded.problems)
        return loaded


def _reread(module: nodes.Module, mutant: Mutant, problems: Problems) -> nodes.Module:
    """The tree of a changed file: only the declarations that a change touches are read anew."""
    whole, text = module.source, mutant.text
    parts = [*([module.header] if module.header is not None else []), *module.items]
    first = max(n for n, part in enumerate(parts) if part.span.start <= mutant.start)
    after = next((n for n, part in enumerate(parts) if part.span.start >= mutant.end), len(parts))
    start = parts[first].span.start
    end = parts[after].span.start if after < len(parts) else len(whole.text)
    above = "\n" * (whole.line_of(start) - 1)  # so that lines keep their numbers
    anew = Problems()
    found = parse(SourceFile(whole.path, above + text[start : end + len(text) - len(whole.text)]), anew)
    problems.found.extend(d for d in anew.found if d.code != "R012")  # a part of a file has no header
    kept = [*parts[:first], *([found.header] if found.header is not None else []), *found.items, *parts[after:]]
    items = tuple(item for item in kept if not isinstance(item, nodes.Header))
    return evolve(module, header=next((h for h in kept if isinstance(h, nodes.Header)), None), items=items)


def _refused(loaded: Loaded) -> Iterator[tuple[str, str]]:
    if not loaded.ok:
        yield REFUSED, next((f"{d.code}: {d.message}" for d in loaded.problems.sorted() if d.is_error), "")


def _in_order(held: dict[Name, frozenset[Piece]], mutant: Mutant, last: list[Name]) -> Iterator[tuple[Name, bool]]:
    """Examples that noticed something near; then those that bring about the changed line, the most special ones first; then
    the others.  With each: is it near?"""

    def distance(name: Name) -> tuple[bool, int, int]:
        around = [end - start for path, start, end in held[name] if path == mutant.path and start <= mutant.start < end]
        return name not in last, min(around, default=FAR), len(held[name])

    for name in sorted(held, key=distance):
        yield name, distance(name)[:2] < (True, FAR)


def _examples(loads: dict[Layers, Loaded], which: Iterable[tuple[Layers, Name]], last: list[Name]) -> Iterator[tuple[str, str]]:
    for layers, name in which:
        if not _holds(loads[layers], name):
            last.insert(0, name)
            yield EXAMPLE, name[1]


def _holds(loaded: Loaded, name: Name) -> bool:
    assert loaded.names is not None
    with _in_time():
        return all(run_example(loaded, e, m).ok for e, m in loaded.names.examples if (m.name, e.text) == name)


def _in_random_matches(loaded: Loaded) -> Iterator[tuple[str, str]]:
    """What is claimed, and that the rules go on to an end: one match of each player count."""
    assert loaded.game is not None
    usual = tuple((o.name, o.default) for o in loaded.game.options.values())
    for players in loaded.game.players:
        try:
            made = Watched(Game("", (), loaded, loaded.game), Way("", (), players, usual)).play("mutate", at_random("mutate"))
        except RuleError as err:
            yield CLAIM, f"a match stops: {str(err).splitlines()[0]}"
            return
        yield from ((CLAIM, item.name or f"a match stops: {message}") for item, (message, _, _) in made.found.items())
        if not made.over:
            yield ENDLESS, ""


def _goes_otherwise(loaded: Loaded, recorded: Recorded) -> Iterator[tuple[str, str]]:
    assert loaded.game is not None
    try:
        with _in_time():
            went = course(Game("", recorded.layers, loaded, loaded.game), recorded)
            same = all(now == before for now, before in zip(went, recorded.course, strict=True))
    except RulelangError:
        same = False
    if not same:
        yield MATCH, recorded.name


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


# ---------------------------------------------------------------- all changes


@lru_cache(maxsize=1)
def bench(made: Plan) -> Bench:
    """Of this process; one that is forked from it takes it over."""
    return Bench(made)


def judge(made: Plan, group: list[Mutant]) -> list[tuple[str, str]]:
    return bench(made).judge(group)


def choose(made: Plan, sample: int | None = None, seed: int = 0) -> list[Mutant]:
    """All changes, or some of them, drawn with a seed."""
    found = bench(made).all_mutants()
    return found if sample is None or sample >= len(found) else sorted(Random(seed).sample(found, sample))


def run(made: Plan, chosen: list[Mutant], processes: int, done: Callable[[int], None] = lambda n: None) -> "Report":
    """Judges them; the order and the outcome do not depend on how many processes do so."""
    lines = [list(group) for _, group in groupby(chosen, lambda m: (m.path, m.line_number))]
    verdicts: list[Verdict] = []
    for line, found in zip(lines, everywhere(partial(judge, made), lines, processes), strict=True):
        verdicts += (Verdict(mutant, sort, by) for mutant, (sort, by) in zip(line, found, strict=True))
        done(len(line))
    return Report(made, tuple(verdicts), read_reasons(made.game), frozenset(map(key, choose(made))))


# ---------------------------------------------------------------- what came of it


@frozen(eq=False)
class Report:
    """All verdicts, and the reasons that a designer gave for changes that nothing notices"""

    plan: Plan
    verdicts: tuple[Verdict, ...]
    reasons: dict[Key, str]
    known: frozenset[Key]  # of every change that could be made, drawn or not

    def of(self, sort: str) -> list[Verdict]:
        return [v for v in self.verdicts if v.sort == sort]

    def reason(self, verdict: Verdict) -> str:
        return self.reasons.get(key(verdict.mutant), "")

    @property
    def unexplained(self) -> list[Verdict]:
        return [v for v in self.of(NOTHING) if not self.reason(v)]

    @property
    def outdated(self) -> dict[Key, str]:
        """Reasons that are of no use, and why."""
        survive = {key(v.mutant) for v in self.of(NOTHING)}
        noticed = {key(v.mutant) for v in self.verdicts} - survive
        words = {k: "it is noticed" for k in self.reasons if k in noticed}
        return words | {k: "no such change is made" for k in self.reasons if k not in self.known}

    @property
    def share(self) -> float:
        """How many of a hundred changes are noticed."""
        return 100 - 100 * len(self.of(NOTHING)) / len(self.verdicts) if self.verdicts else 100.0


def key(mutant: Mutant) -> Key:
    return Path(mutant.path).name, mutant.line, mutant.change


_CHANGE = re.compile(r"- (without this line|without `[^`]*`|`[^`]*` -> `[^`]*`|after `[^`]*`): (.+)")


def read_reasons(game: str) -> dict[Key, str]:
    """Those in `mutants.md` beside the game: under the file and the line, as they stand there."""
    path = pipeline.find(game).parent / REASONS
    found: dict[Key, str] = {}
    file = line = ""
    for text in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        if text.startswith("## "):
            file = text[3:].strip()
        elif re.fullmatch(r"`[^`]*`", text.strip()):
            line = text.strip()[1:-1]
        elif (change := _CHANGE.match(text)) is not None:
            found[file, line, change.group(1)] = change.group(2)
    return found


WORDS = {
    REFUSED: "refused by check", EXAMPLE: "noticed by an example", CLAIM: "noticed by a claim, or by a random match that stops",
    MATCH: "noticed by a recorded match", ENDLESS: "noticed because nothing ends any more",
    NOTHING: "noticed by nothing", FAULT: "faults of rulelang, please report them",
}  # fmt: skip


def told(report: Report) -> Iterator[str]:
    """For people: what needs a look, then the figures."""
    for v in report.of(FAULT):
        yield f"{v.mutant.place}: {v.mutant.change}\n    {v.mutant.line}\n    rulelang itself fails here, please report it: {v.by}\n"
    for v in report.unexplained:
        yield f"{v.mutant.place}: {v.mutant.change}\n    {v.mutant.line}\n"
    for (file, line, change), why in report.outdated.items():
        yield f"{REASONS}: a reason that can go, {why}: {file}, {change}\n    {line}\n"
    yield from (f"left out: {why}" for why in report.plan.left_out)
    made = report.plan
    against = f"{several(made.examples, 'example')}, {several(made.claims, 'claim')}, recorded matches: {len(made.matches)}"
    yield f"{several(len(report.verdicts), 'change')}, held against {against}"
    yield from (f"  {len(report.of(sort)):>5} {word}" for sort, word in WORDS.items() if report.of(sort))
    explained = len(report.of(NOTHING)) - len(report.unexplained)
    yield f"{report.share:.1f} % noticed" + (f"; {REASONS} gives a reason for {explained} of the others" if explained else "")


def plain(report: Report) -> dict[str, Any]:
    """For programs."""
    changes = [
        {"file": v.mutant.path, "line": v.mutant.line_number, "change": v.mutant.change, "text": v.mutant.line,
         "noticed": v.sort, "by": v.by, "reason": report.reason(v)}
        for v in report.verdicts
    ]  # fmt: skip
    outdated = [{"file": k[0], "text": k[1], "change": k[2], "why": why} for k, why in report.outdated.items()]
    figures = {sort: len(report.of(sort)) for sort in WORDS}
    return {"changes": changes, "figures": figures, "noticed": round(report.share, 1), "reasons": outdated}

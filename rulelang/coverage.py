"""What fired: rules, options of decisions, cells of tables and values of options, in random matches or in examples; and
what never did, as lines for people."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from attrs import define, field, frozen

from rulelang.claims import ClaimResult, run_example
from rulelang.core import nodes as core
from rulelang.errors import RuleError
from rulelang.pipeline import Loaded
from rulelang.runtime.counting import Asked, Item, Tally
from rulelang.runtime.program import Program, make_program
from rulelang.runtime.settings import option_word, values_of
from rulelang.source import SourceFile

SHOWN = 60  # lines of one sort in a terminal; the page has all


@define(eq=False)
class Coverage:
    """In how many matches or examples everything fired that could; plain data, to be added up."""

    hits: dict[Item, int] = field(factory=dict)
    offered: set[Item] = field(factory=set)
    asked: dict[Item, Asked] = field(factory=dict)

    def add(self, other: "Coverage") -> None:
        for item, n in other.hits.items():
            self.hits[item] = self.hits.get(item, 0) + n
        self.offered |= other.offered
        for item, asked in other.asked.items():
            self.asked.setdefault(item, Asked()).add(asked)

    def of(self, sort: str) -> list[Item]:
        """In the order of the files and their lines."""
        return sorted((i for i in self.hits if i.sort == sort), key=lambda i: (i.path, i.start, i.end))

    def never(self, sort: str) -> list[Item]:
        return [i for i in self.of(sort) if not self.hits[i]]


@frozen
class Line:
    """One line of a report, and the line of a rule file that it is about"""

    level: int
    text: str
    path: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}" if self.path else self.text


# ---------------------------------------------------------------- counting


def own_files(loaded: Loaded) -> frozenset[str]:
    """The files of a game and its layers, and the file that was asked for; the library it uses is tested elsewhere."""
    modules = (*loaded.modules, *loaded.layers)
    return frozenset({m.source.path for m in modules if m.header is None or m.header.word != "library"} | {loaded.sources[0].path})


def taken(tally: Tally) -> Coverage:
    """What was counted; the tally begins anew."""
    items = list(tally.numbers)
    made = Coverage({item: tally.matches[n] for item, n in tally.numbers.items()}, {items[n] for n in tally.offered})
    made.asked = {item: Asked(a.times, a.most, a.only) for item, a in tally.asked.items()}
    tally.clear()
    return made


def know_options(tally: Tally, game: core.Game, players: int) -> None:
    """Every value that an option of the game can have with so many players."""
    for option in game.options.values():
        for value in values_of(option, players):
            tally.setting(option, option_word(game, option, value))


def count_options(tally: Tally, game: core.Game, settings: dict[str, int]) -> None:
    for name, value in settings.items():
        number = tally.setting(game.options[name], option_word(game, game.options[name], value))
        if number is not None:
            tally.fired[number] = True


def counted(tally: Tally) -> Callable[..., Program]:
    """Builds what runs, with an eye on what fires."""

    def make(game: core.Game, players: int, options: dict[str, int], *args: Any, **more: Any) -> Program:
        count_options(tally, game, options)
        return make_program(game, players, options, *args, tally=tally, **more)

    return make


def count_examples(loaded: Loaded, own: frozenset[str]) -> tuple[list[ClaimResult], Coverage]:
    """Runs the examples of a game, and keeps which of its rules they brought about."""
    tally = Tally(own)
    assert loaded.names is not None and loaded.game is not None
    for players in loaded.game.players:
        know_options(tally, loaded.game, players)
        with suppress(RuleError):  # a count that cannot begin is a finding of `check`
            know_rules(tally, loaded, players)
    tally.clear()
    results = []
    for example, module in loaded.names.examples:
        results.append(run_example(loaded, example, module, counted(tally)))
        tally.settle()
    return results, taken(tally)


def know_rules(tally: Tally, loaded: Loaded, players: int) -> None:
    """Everything that could fire, without a match."""
    assert loaded.game is not None and loaded.flow is not None
    settings = {o.name: o.default for o in loaded.game.options.values()}
    program = make_program(loaded.game, players, settings, _never, tally=tally, loop_counts=loaded.flow.loop_counts.values())
    for _, e, _ in loaded.game.ranking.items if loaded.game.ranking is not None else ():
        program.values.expr(e)


def _never(*_: object) -> tuple[int, ...]:
    raise AssertionError("no match is played here")


# ---------------------------------------------------------------- for people


def told(coverage: Coverage, sources: dict[str, SourceFile]) -> Iterator[Line]:
    """What never fired, sort by sort."""

    def line(item: Item, text: str) -> Line:
        return Line(2, text, item.path, sources[item.path].line_of(item.start))

    yield _heading(coverage, "rule", "rules", "fired")
    for item, inside in _outermost(coverage.never("rule")):
        yield line(item, _rule_text(item, inside, sources))
    yield _heading(coverage, "option", "options of decisions", "chosen")
    for item in coverage.never("option"):
        yield line(item, f"`{item.name}` was " + ("offered, never chosen" if item in coverage.offered else "never offered"))
    yield _heading(coverage, "cell", "cells of tables", "read")
    for row in _by_row(coverage.never("cell")):
        names = [cell.name for cell in row]
        yield line(row[0], ", ".join(names) if len(names) < 6 else f"{', '.join(names[:2])}, ... {names[-1]}: {len(names)} cells")
    yield _heading(coverage, "setting", "values of options", "played")
    for item in coverage.never("setting"):
        yield line(item, item.name)


def told_decisions(coverage: Coverage, sources: dict[str, SourceFile]) -> Iterator[Line]:
    """Decisions that never were one."""
    met = {item: a for item, a in coverage.asked.items() if a.times}
    forced = sorted((i for i, a in met.items() if a.most <= 1), key=lambda i: (i.path, i.start, i.name))
    if met:
        yield Line(1, f"decisions: {len(met)}, " + (f"{len(forced)} never with a choice" if forced else "all with a choice"))
    for i in forced:
        only = f"always `{next(iter(met[i].only))}`" if len(met[i].only) == 1 else "one option each time, not always the same"
        yield Line(2, f"`{i.name}`, met {met[i].times} times: {only}", i.path, sources[i.path].line_of(i.start))


def _heading(coverage: Coverage, sort: str, words: str, done: str) -> Line:
    every, never = len(coverage.of(sort)), len(coverage.never(sort))
    if not every:
        return Line(1, f"{words}: none")
    return Line(1, f"{words}: {every}, {never} never {done}" if never else f"{words}: {every}, all {done}")


def _outermost(items: Iterable[Item]) -> list[tuple[Item, int]]:
    """A block that never began stands for the lines in it: how many."""
    found: list[tuple[Item, int]] = []
    for i in items:
        if found and found[-1][0].is_block and found[-1][0].path == i.path and i.end <= found[-1][0].end:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((i, 0))
    return found


def _rule_text(item: Item, inside: int, sources: dict[str, SourceFile]) -> str:
    source = sources[item.path]
    text = source.line_text(source.line_of(item.start)).strip()
    return text + (f"   (and {inside} {'rule' if inside == 1 else 'rules'} in it)" if inside else "")


def _by_row(cells: list[Item]) -> Iterable[list[Item]]:
    rows: dict[tuple[str, int], list[Item]] = {}
    for cell in cells:
        rows.setdefault((cell.path, cell.start), []).append(cell)
    return rows.values()


def shortened(lines: Iterable[Line]) -> Iterator[Line]:
    """Of a long list only the first lines."""
    below = 0
    for line in (*lines, None):
        if line is not None and line.level > 1:
            below += 1
            if below <= SHOWN:
                yield line
            continue
        if below > SHOWN:
            yield Line(2, f"... and {below - SHOWN} more")
        below = 0
        if line is not None:
            yield line

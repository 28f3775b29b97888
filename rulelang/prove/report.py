"""What is proved and what is not, in the words of somebody who writes rules."""

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from rulelang.core import nodes as core
from rulelang.prove import order
from rulelang.prove.facts import Atom, Because, Lin
from rulelang.prove.numbers import ENDLESS
from rulelang.prove.survey import Answer, Tables, survey
from rulelang.prove.told import secrets_kept
from rulelang.prove.verdict import BOUNDED, PROVED, Verdict, Ways
from rulelang.runtime.settings import option_word
from rulelang.source import Span


@frozen
class Words:
    """What could go wrong; said of one line where it cannot, and where it may; and what to write to have it proved"""

    heading: str
    good: str
    bad: str
    write: str


IF = "ask first with `if`, or say `needs`"
WORDS = {
    "options": Words("a decision without an option", "`{}` always has an option", "`{}` may have no option",
                     "ask with `if` whether there is one, say `up to`, or add an option without a condition"),
    "many": Words("more options than can be offered", "`{}` never has too many options", "`{}` may have more than can be offered",
                  "let fewer be chosen at once, one after the other"),
    "from": Words("more options than can be offered", "there are never too many to pick `{}` from",
                  "there may be more to pick `{}` from than can be listed", "let fewer be chosen from, as with `where`, or in two steps"),
    "end": Words("a loop without an end", "`{}` comes to its end, or can be left", "`{}` may go on for ever",
                 "say how many times, or let something run out in every pass, or offer an option that ends it"),
    "below": Words("a number out of its range", "`{}` does not go below its range", "`{}` may go below its range",
                   f"{IF}, or say `excess below ... is lost`"),
    "beyond": Words("a number out of its range", "`{}` does not go beyond its range", "`{}` may go beyond its range",
                    f"{IF}, or say `excess beyond ... is lost`"),
    "outside": Words("a number out of its range", "`{}` does not leave its range", "`{}` may leave its range", IF),
    "argument": Words("a number out of its range", "{} is in its range", "{} may be outside of its range", IF),
    "start": Words("a number out of its range", "`{}` starts in its range", "`{}` may start outside of its range",
                   "give it a start that is in its range for every player count"),
    "join": Words("a number out of its range", "`{}` does not leave its range when all have changed it at once",
                  "`{}` may leave its range when all change it at once", "say `in turn`, or widen the range"),
    "limit": Words("a number without an end", "`{}` stays small enough to be counted", "`{}` may grow too large to be counted",
                   "give the counter an upper end and say what happens there"),
    "work": Words("a loop without an end", "`{}` does not look at too much", "`{}` may look at so much that a match stops",
                  "look through fewer, or through one after the other"),
    "number": Words("a number without an end", "`{}` stays small enough to be counted", "`{}` may be too large to be counted",
                    "give its parts an upper end, or take the `smaller` of them and a number"),
    "kept": Words("a group that is too large", "`{}` can be kept", "`{}` may hold too many, or numbers that are too large",
                  "only numbers from 0 to 10,000, and no more of them, can be in a group that has a name"),
    "threads": Words("a group that is too large", "`{}` stands for few enough at once", "`{}` may stand for too many at once",
                     "say `in turn`, or take fewer"),
    "drawn": Words("a group that is too large", "`{}` is drawn from few enough", "`{}` may be drawn from too many",
                   "draw from fewer, or in two steps"),
    "fewer": Words("more moved than there is", "`{}` holds enough", "`{}` may hold fewer", f"{IF} whether there are so many"),
    "negative": Words("more moved than there is", "no number below 0 is moved from `{}`", "a number below 0 may be moved from `{}`", IF),
    "nothing": Words("more moved than there is", "`{}` is there to be moved", "`{}` may be nothing", f"{IF} whether it is empty"),
    "owners": Words("pieces of several owners", "all pieces in `{}` are their owner's", "the pieces in `{}` may have several owners",
                    "say which ones: let somebody choose them"),
    "slot": Words("a second piece in a slot", "`{}` is empty then", "`{}` may hold a piece already", f"{IF} whether it is empty"),
    "lies": Words("a piece that lies somewhere else", "the piece lies in `{}`", "the piece may lie in `{}` no longer",
                  "move it before other pieces of that place are moved, or pick it anew"),
    "position": Words("a piece that lies somewhere else", "the piece lies in `{}`", "the piece may not lie in `{}`", IF),
    "none": Words("none where something must be", "`{}` is not none", "`{}` may be none", "ask first with `if ... is not none`"),
    "field": Words("something that is not printed there", "every piece here has `{}`", "a piece without `{}` may be meant",
                   "name the kind of piece, as in `Trade in hand`"),
    "owner": Words("something that is not printed there", "`{}` has an owner", "`{}` may have no owner",
                   "ask for the owner of a player's piece only"),
    "empty": Words("the best of nothing", "the {} of something", "the {} of nothing", f"{IF} whether there is one"),
    "chance": Words("the best of nothing", "there is something for `{}` to be drawn from", "there may be nothing to draw `{}` from",
                    f"{IF} whether there is one"),
    "key": Words("a key that is not there", "`{}` has this key", "`{}` may not have this key", f"{IF} whether it is in the range"),
    "table": Words("a key that is not there", "`{}` has a value for this", "`{}` may have no value for this",
                   f"{IF} whether it is in the range, or give the table more rows"),
    "nth": Words("a key that is not there", "`{}` has so many pieces", "`{}` may have fewer pieces", f"{IF} how many there are"),
    "division": Words("a division by 0", "`{}` is not 0", "`{}` may be 0", f"{IF} whether it is 0"),
    "needs": Words("a need that is not met", "it holds that {}", "it may not hold that {}", "ask the same with `if` at the call"),
}  # fmt: skip


@frozen
class Games:
    """Random matches that were played: how many for each player count, and the lines at which some of them stopped"""

    matches: Mapping[int, int]
    stopped: frozenset[str] = frozenset()


# ---------------------------------------------------------------- lines


def lines(game: core.Game, games: Games | None = None) -> Iterator[tuple[int, str]]:
    """The report, as (level, text)."""
    answers = survey(game)
    places = {a.claim.key for a in answers}
    left = {a.claim.key for a in answers if a.verdict.status != PROVED}
    bounded = {a.claim.key for a in answers if a.verdict.status == BOUNDED}
    yield (
        0,
        (
            f"{game.title}: a match could stop in {len(places)} places; "
            f"for {len(places - left)} it is proved that it does not, for {len(bounded)} up to a bound"
        ),
    )
    for heading in dict.fromkeys(w.heading for w in WORDS.values()):
        here = [a for a in answers if WORDS[a.claim.sort].heading == heading]
        if here:
            all_ = {a.claim.key for a in here}
            yield 1, f"{heading}: {len(all_ - left)} of {len(all_)} proved"
        plain = [a for a in here if a.verdict == Verdict(PROVED)]
        for a in sorted((a for a in here if a not in plain), key=lambda a: ("open", BOUNDED, PROVED).index(a.verdict.status)):
            yield 2, f"{status(a, games)}: {a.claim.span}: {what(a)}{told_tables(game, a.tables)}"
            yield 3, reason(a)
        for tables in dict.fromkeys(a.tables for a in plain):
            at = ", ".join(dict.fromkeys(f"{a.claim.span}" for a in plain if a.tables == tables))
            yield 2, f"proved: {at}{told_tables(game, tables)}"
            yield 3, "because the declared ranges, the printed numbers and the kinds allow nothing else"
    yield from secrets_kept(game)
    yield from order.lines(game)


def status(a: Answer, games: Games | None) -> str:
    if a.verdict.status in (PROVED, BOUNDED):
        return a.verdict.status
    if games is None:
        return "not proved"
    if line_of(a.claim.span) in games.stopped:
        return "not proved, and a random match stopped on this line"
    return f"not seen in {sum(games.matches.get(t.players, 0) for t in a.tables):,} games"


def line_of(span: Span) -> str:
    return f"{span.source.path}:{span.line}"


def what(a: Answer) -> str:
    words = WORDS[a.claim.sort]
    return (words.bad if a.verdict.status not in (PROVED, BOUNDED) else words.good).format(a.claim.about or "this loop")


def reason(a: Answer) -> str:
    v, words = a.verdict, WORDS[a.claim.sort]
    if v.status == PROVED:
        return f"because {f'there are {told_ways(v.ways)}' if v.ways else because(v.because)}"
    if v.status == BOUNDED:
        return f"up to a bound: {v.note}" if v.note else f"up to a bound: for {v.bound:,} changes at least, each as large as it can be"
    unknown = missing(v)
    return f"{unknown}to have it proved, {words.write}"


def because(b: Because) -> str:
    said = []
    if b.lines:
        shown = sorted(b.lines, key=lambda s: (s.source.path, s.start))[:3]
        said.append(" and ".join(f"`{' '.join(s.text.split())}` is asked in line {s.line}" for s in shown))
    if b.words:
        said.append(b.words)
    if b.start:
        said.append("of how the table is laid out and what the rules have changed since")
    return "; ".join(said) or "the declared ranges, the printed numbers and the kinds allow nothing else"


def missing(v: Verdict) -> str:
    if v.ways:
        return f"{told_many(v.ways)}; "
    if v.note:
        return f"{v.note}; "
    if not v.missing:
        return ""
    return f"not known here: {inequality(v.missing[0])}; "


def told_ways(ways: tuple[Ways, ...]) -> str:
    """28 options at most with 2 or 3 players, 21 with 4 to 6 players"""
    groups: dict[int | None, list[int]] = {}
    for w in ways:
        groups.setdefault(w.most, []).append(w.players)
    if len(groups) == 1:
        return f"{ways[0].most or 0:,} options at most"
    said = [f"{n or 0:,}{'' if at else ' options at most'} with {told_players(counts)}" for at, (n, counts) in enumerate(groups.items())]
    return ", ".join(said)


def told_many(ways: tuple[Ways, ...]) -> str:
    """by the declared ranges up to 29,486 options with 4 players, most of them by `free_disc`: 3 for `k` * 9,827 for `payment`"""
    worst = ways[0]
    for w in ways[1:]:
        worst = worst.worse(w)
    open_ = [name for name, n in worst.picks if n is None]
    if open_:
        return f"no range says how many there can be to pick `{open_[0]}` from"
    told = f"by the declared ranges up to {_amount(worst.most)} options with {worst.players} players"
    if not worst.option:
        return told
    factors = " * ".join(f"{_amount(n)} for `{name}`" for name, n in worst.picks if n != 1)
    return f"{told}, most of them by `{worst.option}`: {factors}"


def _amount(n: int | None) -> str:
    return "more than can be counted" if n is None or n >= ENDLESS else f"{n:,}"


def inequality(goal: Lin) -> str:
    """`number of bag` >= `spaces of c`"""
    left = [_times(n, a) for a, n in goal.terms if n > 0]
    right = [_times(-n, a) for a, n in goal.terms if n < 0]
    if goal.const > 0:
        left.append(str(goal.const))
    if goal.const < 0:
        right.append(str(-goal.const))
    return f"`{' + '.join(sorted(left)) or 0} >= {' + '.join(sorted(right)) or 0}`"


def _times(n: int, atom: Atom) -> str:
    return spoken(atom.expr) if n == 1 else f"{n} * {spoken(atom.expr)}"


def spoken(e: core.Expr) -> str:
    """A value as the rules would say it."""
    match e:
        case core.Count():
            return f"number of {spoken(e.base)}"
        case core.Read():
            keys = f"({', '.join(spoken(k) for k in e.place.keys)})" if e.place.keys else ""
            return f"{e.place.place.name}{keys}"
        case core.Var():
            return e.var.name if not e.var.name.startswith("#") else "it"
    return " ".join(e.span.text.split()) if e.span.source.path else "this"


def told_tables(game: core.Game, tables: tuple[Tables, ...]) -> str:
    """` (2 to 4 players)`, ` (3 players with target 45)`"""
    said = []
    groups: dict[tuple[object, ...], list[int]] = {}
    for t in tables:
        groups.setdefault(t.settings, []).append(t.players)
    for settings, counts in groups.items():
        said.append(f"{told_players(counts)}{_told_settings(game, settings)}")
    return f" ({'; '.join(said)})"


def told_players(counts: list[int]) -> str:
    """2 to 4 players"""
    whole = counts == list(range(counts[0], counts[-1] + 1)) and len(counts) > 1
    number = f"{counts[0]} to {counts[-1]}" if whole else " or ".join(map(str, counts))
    return f"{number} players"


def _told_settings(game: core.Game, settings: tuple[Any, ...]) -> str:
    """Of many combinations the values that they have in common."""
    if not settings:
        return ""
    common = [pair for pair in settings[0] if all(pair in s for s in settings)]
    varied = game.options
    shown = [f"{n} {option_word(game, varied[n], v)}" for n, v in common]
    return f" with {', '.join(shown)}" if shown else " with some options"


# ---------------------------------------------------------------- for programs


def as_data(game: core.Game, games: Games | None = None) -> list[dict[str, Any]]:
    """The same for `--format json`; places are spans."""
    made = []
    for a in survey(game):
        seen = None if games is None or a.verdict.status in (PROVED, BOUNDED) else sum(games.matches.get(t.players, 0) for t in a.tables)
        open_ = "not proved" if games is None or line_of(a.claim.span) in games.stopped else "not seen"
        made.append({
            "game": game.name,
            "about": WORDS[a.claim.sort].heading,
            "status": a.verdict.status if a.verdict.status in (PROVED, BOUNDED) else open_,
            "message": what(a),
            "reason": reason(a),
            "place": a.claim.span,
            "matches": seen,
            "most": [{"players": w.players, "options": w.most} for w in a.verdict.ways],
            "tables": [
                {"players": t.players, "options": [{n: option_word(game, game.options[n], v) for n, v in s} for s in t.settings]}
                for t in a.tables
            ],
        })  # fmt: skip
    return made

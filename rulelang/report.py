"""What random matches brought to light, as lines for people, findings, and matches to replay."""

from collections.abc import Iterator

from attrs import frozen

from rulelang.api import Match, Option, seat_names
from rulelang.coverage import Line, told, told_decisions
from rulelang.diagnostics import Diagnostic
from rulelang.playouts import CHOICES, Mishap, diagnostic, game_of
from rulelang.prove.report import Games
from rulelang.series import Report


def lines(report: Report) -> Iterator[Line]:
    """The whole report."""
    game, played = report.game, report.played
    total = sum(p.matches for p in played)
    yield Line(0, f"{game.title}: {_many(total, 'random match', 'random matches')}, seed {report.seed}")
    yield from _ways(report)
    yield from _ends(report)
    for mishap in report.mishaps:
        what = mishap.message if mishap.item.sort == "claim" else f"the rules stop: {mishap.message}"
        yield Line(1, f"{what} (in {mishap.matches} of {total})", *_place(report, mishap))
    if not report.mishaps:
        claims = len({c.text for p in played for c in game_of(p.way).core.invariants})
        held = f", and {_many(claims, 'claim', 'claims')} held at every step" if claims else ""
        yield Line(1, f"nobody was stuck{held}")
    yield from told(report.coverage, report.sources)
    yield from told_decisions(report.coverage, report.sources)


def _ways(report: Report) -> Iterator[Line]:
    """How many matches each player count and each combination of options and layers got."""
    shares = sorted({n for _, n in report.plan.ways})
    each = f"{shares[0]} each" if len(shares) == 1 else f"{shares[0]} to {shares[-1]} each"
    yield Line(1, f"{_many(len(report.plan.ways), 'combination', 'combinations')} of player count, options and layers, {each}")
    for layers in dict.fromkeys(game_of(p.way).layers for p in report.played):
        here = [p for p in report.played if game_of(p.way).layers == layers]
        counts = sorted({p.way.players for p in here})
        players = f"{counts[0]} to {counts[-1]} players" if len(counts) > 1 else f"{counts[0]} players"
        name = f"with {', '.join(layers)}" if layers else "alone"
        ways, matches = _many(len(here), "combination", "combinations"), _many(sum(p.matches for p in here), "match", "matches")
        yield Line(2, f"{name}: {players}, {ways}, {matches}")
    for layers, why in report.plan.refused:
        yield Line(2, f"with {', '.join(layers)}: not played, {why}")
    for remark in report.plan.remarks:
        yield Line(2, remark)


def _ends(report: Report) -> Iterator[Line]:
    """Matches that did not end are no mistake: some games go on as long as their players like."""
    stuck = sum(m.matches for m in report.mishaps if m.item.sort == "stop")
    total, ended = sum(p.matches for p in report.played), sum(p.ended for p in report.played)
    shortest, longest = min(p.fewest for p in report.played), max(p.most for p in report.played)
    if ended + stuck >= total:
        yield Line(1, f"every match ended, after {shortest} to {longest} choices" if not stuck else f"{ended} of {total} matches ended")
        return
    yield Line(1, f"{total - ended - stuck} of {total} matches had not ended after {CHOICES} choices")
    for p in report.played:
        if p.most >= CHOICES:
            yield Line(2, f"{p.way.told(game_of(p.way).core)}: {p.ended} of {p.matches} ended")


def _place(report: Report, mishap: Mishap) -> tuple[str, int]:
    source = report.sources.get(mishap.item.path)
    return (source.path, source.line_of(mishap.item.start)) if source is not None else ("", 0)


def games(report: Report) -> Games:
    """How many matches there were with the layers that were asked for, for what cannot be proved."""
    first = report.plan.ways[0][0].layers
    played = [p for p in report.played if p.way.layers == first]
    counts = {n: sum(p.matches for p in played if p.way.players == n) for n in {p.way.players for p in played}}
    stopped = frozenset("{}:{}".format(*_place(report, m)) for m in report.mishaps if m.item.sort == "stop")
    return Games(counts, stopped)


def _many(n: int, one: str, more: str) -> str:
    return f"{n} {one if n == 1 else more}"


# ---------------------------------------------------------------- mishaps


@frozen(eq=False)
class Replay:
    """The match that led to a mishap; where the rules stop, the choice that nobody can make is left out and named"""

    match: Match
    last: Option | None


def replay(mishap: Mishap) -> Replay | None:
    """Nothing where the rules stop before anybody is asked."""
    is_stop = mishap.item.sort == "stop"
    if is_stop and not mishap.choices:
        return None
    way = mishap.way
    match = Match(game_of(way), way.players, dict(way.options), mishap.seed, None, False, seat_names(way.players))
    for player, k in mishap.choices[:-1] if is_stop else mishap.choices:
        match.choose(player, k)
    if not is_stop:
        return Replay(match, None)
    player, k = mishap.choices[-1]
    return Replay(match, next(d for d in match.decisions if d.player == player).options[k])


def finding(report: Report, mishap: Mishap, made: Replay | None, file: str) -> Diagnostic:
    """A mishap with its shortest match as the hint."""
    names = game_of(mishap.way).loaded.names
    assert names is not None
    how = mishap.way.told(game_of(mishap.way).core)
    if made is None:
        hint = f"{how}: before anybody is asked"
    elif made.last is not None:
        chosen = f"seat {mishap.choices[-1][0]} chooses `{made.last.decision}: {made.last.label}`"
        seats = ",".join(["human"] * mishap.way.players)
        there = f"`rulelang play --resume {file} --seats {seats}` leads there, `rulelang replay {file}` tells what came before"
        hint = f"{how}, at choice {len(mishap.choices)}: {chosen}; {there}"
    else:
        hint = f"{how}, after {_many(len(mishap.choices), 'choice', 'choices')}: `rulelang replay {file}`"
    return diagnostic(mishap, report.sources, names.header.span, hint)

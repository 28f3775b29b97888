"""A declared map for the terminal: a box for each member, about where it lies on the board.

┏ mill ━━━━━━━━━━━━━┓   ╭ ford ──────────────────╮
┃ ● miller          ┃   │ sacks  you: 2, ben: 1  │
┃ price  3          ┃   │ > mill, bridge         │
┃ > ford            ┃   ╰────────────────────────╯
┗━━━━━━━━━━━━━━━━━━━┛
"""

import re
from collections.abc import Iterator, Sequence

from attrs import frozen

from rulelang.diagnostics import cell_width

NARROWEST, WIDEST = 18, 36  # of a box, with its frame
GAP = 1
FEWEST_ROWS, MOST_ROWS = 4, 9  # a row of boxes is what lies within such a part of the height
THIN, THICK = tuple("╭─╮│╰╯"), tuple("┏━┓┃┗┛")


@frozen
class Spot:
    """One member: where it lies, what stands there now, what is there, and where ways lead"""

    name: str
    at: tuple[int, int]
    here: tuple[str, ...]
    entries: tuple[tuple[str, str], ...]  # title and text
    ways: tuple[tuple[str, str], ...]  # the name of the map, where there are several, and its goals

    @property
    def lines(self) -> list[str]:
        found = [f"● {', '.join(self.here)}"] if self.here else []
        found += [f"{title}  {text}" for title, text in self.entries]
        return found + [f"{title} > {goals}".lstrip() for title, goals in self.ways]


def draw(spots: Sequence[Spot], width: int) -> list[str]:
    """The lines of the map; none where it is too wide for them."""
    for parts in range(FEWEST_ROWS, MOST_ROWS + 1):
        rows = _rows(spots, parts)
        limits = [_limit(row, width) for row in rows]
        if all(limits):
            left, right = min(s.at[0] for s in spots), max(s.at[0] for s in spots)
            drawn = [_drawn(row, limit, width, left, max(1, right - left)) for row, limit in zip(rows, limits, strict=True)]
            return [line for lines in drawn for line in lines]
    return []


def _rows(spots: Sequence[Spot], parts: int) -> list[list[Spot]]:
    """From top to bottom; together stands what is no further apart than a part of the height, from left to right."""
    ordered = sorted(spots, key=lambda s: s.at[1])
    height = ordered[-1].at[1] - ordered[0].at[1]
    rows: list[list[Spot]] = []
    for spot in ordered:
        if rows and (spot.at[1] - rows[-1][0].at[1]) * parts <= height:
            rows[-1].append(spot)
        else:
            rows.append([spot])
    return [sorted(row, key=lambda s: s.at[0]) for row in rows]


def _limit(row: list[Spot], width: int) -> int:
    """How wide a box may be so that the row fits; 0 where it does not."""
    least = max(NARROWEST, *(cell_width(s.name) + 4 for s in row))
    for limit in range(max(least, WIDEST), least - 1, -1):
        if sum(_width(s, limit) + GAP for s in row) - GAP <= width:
            return limit
    return 0


def _width(spot: Spot, limit: int) -> int:
    """As wide as the broken lines of this member need."""
    lines = [spot.name, *(part for line in spot.lines for part in _wrapped(line, limit - 4))]
    return max(NARROWEST, *(cell_width(line) + 4 for line in lines))


def _drawn(row: list[Spot], limit: int, width: int, left: int, span: int) -> list[str]:
    boxes = [_box(s, _width(s, limit)) for s in row]
    starts: list[int] = []
    for spot, box in zip(row, boxes, strict=True):  # where it lies, or right of the last
        wanted = (spot.at[0] - left) * (width - cell_width(box[0])) // span
        starts.append(max(wanted, starts[-1] + cell_width(boxes[len(starts) - 1][0]) + GAP if starts else 0))
    end = width
    for n in reversed(range(len(row))):  # and back, as far as the edge demands
        starts[n] = min(starts[n], end - cell_width(boxes[n][0]))
        end = starts[n] - GAP
    lines = []
    for at in range(max(map(len, boxes))):
        line = ""
        for start, box in zip(starts, boxes, strict=True):
            if at < len(box):
                line += " " * (start - cell_width(line)) + box[at]
        lines.append(line)
    return lines


def _box(spot: Spot, width: int) -> list[str]:
    a, flat, b, side, c, d = THICK if spot.here else THIN
    inner = [part for line in spot.lines for part in _wrapped(line, width - 4)]
    head = f"{a} {spot.name} "
    return [
        head + flat * (width - cell_width(head) - 1) + b,
        *(f"{side} {part}{' ' * (width - 4 - cell_width(part))} {side}" for part in inner),
        c + flat * (width - 2) + d,
    ]


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Broken behind a comma or a title; elsewhere only what is longer than a line."""
    line = ""
    for part in re.split(r"(?<=,) |(?<=  )", text):
        joined = line + (" " if line.endswith(",") else "") + part
        if cell_width(joined.rstrip()) > width and line.strip():
            yield line.rstrip()
            joined = f"  {part}"
        while cell_width(joined.rstrip()) > width:
            fits = max(n for n in range(len(joined)) if cell_width(joined[:n]) <= width)
            cut = joined.rfind(" ", 3, fits + 1) if joined.rfind(" ", 3, fits + 1) > 0 else fits
            yield joined[:cut].rstrip()
            joined = f"  {joined[cut:].lstrip()}"
        line = joined
    yield line.rstrip()

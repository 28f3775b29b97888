"""Where everything lies in a state: one integer for each place and key, numbered for one player count.

A counter or status is its value (none is -1).  A zone is a bag: one bit field for each class of pieces that cannot
be told apart, so that moving is adding and taking away, and equal tables are equal.  A pile is a sequence of classes,
the top in the lowest bits.  A slot is its class, or -1."""

from collections import Counter
from functools import cached_property

from attrs import define, field, frozen

from rulelang.core import nodes as core
from rulelang.core.types import BoolT, KindT, NumberT, PieceT, PlayerT, SetT, Type, plain
from rulelang.errors import RuleError

PC, CHANCE, FIRST = 0, 1, 2
HALVED = 512  # longer integers are taken apart and put together by halves


@frozen(eq=False)
class PieceClass:
    """Pieces that cannot be told apart: same kind, same cells, same owner (-1: nobody)"""

    kind: str
    row: int
    owner: int
    count: int


@define(eq=False)
class Universe:
    """The pieces that can meet in one place, as classes."""

    kinds: tuple[str, ...]
    classes: tuple[PieceClass, ...]

    @cached_property
    def width(self) -> int:
        """Bits of one field.  Where pieces are many of a class, wide enough that a sum of fields is a remainder."""
        total = sum(c.count for c in self.classes)
        return 1 if all(c.count == 1 for c in self.classes) else (total + 1).bit_length()

    @cached_property
    def modulus(self) -> int:
        return (1 << self.width) - 1

    @cached_property
    def item_bits(self) -> int:
        return (len(self.classes) + 1).bit_length()

    @cached_property
    def long(self) -> int:
        return 1 << (HALVED * max(self.width, self.item_bits))

    @cached_property
    def units(self) -> tuple[int, ...]:
        return tuple(1 << (c * self.width) for c in range(len(self.classes)))

    @cached_property
    def field_masks(self) -> tuple[int, ...]:
        return tuple(self.modulus << (c * self.width) for c in range(len(self.classes)))

    def unit(self, c: int) -> int:
        return 1 << (c * self.width)

    def field_mask(self, c: int) -> int:
        return self.modulus << (c * self.width)

    def size(self, bag: int) -> int:
        return bag.bit_count() if self.width == 1 else bag % self.modulus

    def items(self, bag: int) -> tuple[tuple[int, int], ...]:
        """(class, how many), in the order of the rows."""
        found = []
        width, mask = self.width, self.modulus
        if bag > self.long:
            half = bag.bit_length() // width // 2
            rest = self.items(bag >> (half * width))
            return (*self.items(bag & ((1 << (half * width)) - 1)), *((c + half, n) for c, n in rest))
        while bag:
            c = ((bag & -bag).bit_length() - 1) // width
            n = (bag >> (c * width)) & mask
            found.append((c, n))
            bag -= n << (c * width)
        return tuple(found)

    def bag(self, classes: "tuple[int, ...] | list[int]") -> int:
        if len(classes) > HALVED:
            return sum(n * self.unit(c) for c, n in Counter(classes).items())
        return sum(self.unit(c) for c in classes)

    def pack(self, classes: "tuple[int, ...] | list[int]") -> int:
        """A sequence as one integer, the first in the lowest bits; a long one from its halves, or it would take for ever."""
        if len(classes) > HALVED:
            half = len(classes) // 2
            return self.pack(classes[:half]) | self.pack(classes[half:]) << (half * self.item_bits)
        made = 0
        for c in reversed(classes):
            made = (made << self.item_bits) | (c + 1)
        return made

    def unpack(self, packed: int) -> tuple[int, ...]:
        if packed > self.long:
            half = self.length(packed) // 2 * self.item_bits
            return self.unpack(packed & ((1 << half) - 1)) + self.unpack(packed >> half)
        found = []
        bits, mask = self.item_bits, (1 << self.item_bits) - 1
        while packed:
            found.append((packed & mask) - 1)
            packed >>= bits
        return tuple(found)

    def length(self, packed: int) -> int:
        return -(-packed.bit_length() // self.item_bits)


@define(eq=False)
class Layout:
    """Slots of all places for one player count and one set of options; variables are numbered as they come."""

    game: core.Game
    players: int
    options: dict[str, int]
    universes: dict[str, Universe] = field(factory=dict)  # by kind of pieces
    slots: dict[core.Place, int] = field(factory=dict)
    strides: dict[core.Place, tuple[int, ...]] = field(factory=dict)  # owner first, then keys
    sizes: dict[core.Place, int] = field(factory=dict)
    variables: dict[core.Variable, int] = field(factory=dict)
    scratch: dict[core.Variable, int] = field(factory=dict)
    size: int = FIRST

    def key_size(self, t: Type) -> int:
        match plain(t):
            case NumberT() as n:
                return (n.high or 0) - (n.low or 0) + 1
            case KindT() as k:
                return len(self.game.kinds[k.kind].members)
            case PlayerT():
                return self.players
            case BoolT():
                return 2
        raise AssertionError(f"no key: {t}")

    def key_low(self, t: Type) -> int:
        return (t.low or 0) if isinstance(t, NumberT) else 0

    def add_place(self, place: core.Place) -> None:
        dims = [*((self.players,) if place.per_player else ()), *(self.key_size(k) for k in place.keys)]
        strides: list[int] = []
        total = 1
        for dim in reversed(dims):
            strides.insert(0, total)
            total *= dim
        if self.size + total > self.game.limits.cells:
            raise error_at(f"`{place.name}` stands for {total} places, which are too many", core.Origin(place.span))
        self.slots[place] = self.size
        self.strides[place] = tuple(strides)
        self.sizes[place] = total
        self.size += total

    def universe(self, t: Type) -> Universe:
        item = plain(t.item if isinstance(t, SetT) else t)
        assert isinstance(item, PieceT), t
        return self.universes[next(iter(item.kinds))]

    def slot_name(self, place: core.Place, index: int) -> tuple[int, tuple[int, ...]]:
        """Which owner and keys the n-th slot of a place is for; nobody is -1."""
        parts = []
        for stride in self.strides[place]:
            parts.append(index // stride)
            index %= stride
        if place.per_player:
            return parts[0], tuple(parts[1:])
        return -1, tuple(parts)


def make_layout(game: core.Game, players: int, options: dict[str, int]) -> Layout:
    layout = Layout(game, players, options)
    for place in game.places.values():
        layout.add_place(place)
    return layout


def add_universes(layout: Layout, counts: dict[str, int]) -> None:
    """Kinds that share a place share a universe; `counts` are the numbers of pieces that are all alike."""
    game = layout.game
    groups = {name: {name} for name in game.pieces}
    for place in game.places.values():
        if place.holds_pieces:
            item = plain(place.type.item if isinstance(place.type, SetT) else place.type)
            assert isinstance(item, PieceT)
            kinds = sorted(item.kinds)
            for other in kinds[1:]:
                joined = groups[kinds[0]] | groups[other]
                for k in joined:
                    groups[k] = joined
    total = 0
    for name, pieces in game.pieces.items():
        here = counts.get(name, sum(copies for _, copies in pieces.rows)) * (layout.players if pieces.per_player else 1)
        total += here
        if here < 0 or total > game.limits.pieces:
            raise error_at(f"{here} pieces `{name}`: there can be up to {game.limits.pieces} in all", core.Origin(pieces.span))
    made: dict[int, Universe] = {}
    for name, group in groups.items():
        if id(group) not in made:
            classes = []
            for kind in sorted(group, key=list(game.pieces).index):
                pieces = game.pieces[kind]
                for owner in range(layout.players) if pieces.per_player else (-1,):
                    for row, (_cells, copies) in enumerate(pieces.rows):
                        classes.append(PieceClass(kind, row, owner, counts.get(kind, copies)))
            if len(classes) > game.limits.different:
                origin = core.Origin(game.pieces[name].span)
                raise error_at(f"more than {game.limits.different} pieces `{name}` that differ", origin)
            made[id(group)] = Universe(tuple(sorted(group)), tuple(classes))
        layout.universes[name] = made[id(group)]


def field_values(layout: Layout, t: Type, name: str) -> tuple[tuple[tuple[int, ...], ...], tuple[Type, ...]]:
    """The values of a field by class or member; a class whose kind has no such field has an empty tuple."""
    t = plain(t)
    if isinstance(t, KindT):
        found = layout.game.kinds[t.kind].fields[name]
        return found.values, found.keys
    assert isinstance(t, PieceT)
    universe = layout.universe(t)
    values = []
    keys: tuple[Type, ...] = ()
    for c in universe.classes:
        has = layout.game.pieces[c.kind].fields.get(name)
        values.append(has.values[c.row] if has is not None else ())
        keys = has.keys if has is not None else keys
    return tuple(values), keys


def error_at(message: str, origin: core.Origin | None) -> RuleError:
    if origin is None:
        return RuleError(message)
    heading = f" ({origin.heading})" if origin.heading else ""
    return RuleError(f"{message}\n  {origin.span}{heading}", origin)

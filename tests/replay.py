"""Replays the recorded matches of another implementation through the rule files.

A record cuts decisions in its own way.  For every option of ours an adapter says which steps of a record it stands for
(`Path`); the driver walks the record along these paths.  So the number of options can be compared also where one of our
decisions is several of theirs: it is the number of different next moves among the options that are still possible.
Where one of theirs is several of ours (a trade in Visby), the adapter plays the step itself.

The match is played twice side by side: every forced decision asked and answered (so that each recorded table can be
compared at its own moment), and as it is by default; both must stay in the same state."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rulelang.api import Decision, Game, Match, Option, load
from rulelang.errors import IllegalChoice, RuleError

Json = Any
Record = dict[str, Any]
Step = dict[str, Any]
Move = tuple[str, Any]  # their name of a decision, and the choice


class Mismatch(AssertionError):
    """The record and the rule files disagree"""


def freeze(x: Json) -> Any:
    """Lists as tuples, so that a choice can be compared and counted."""
    return tuple(freeze(y) for y in x) if isinstance(x, list | tuple) else x


@dataclass
class Tally:
    """How much of a record was compared"""

    choices: int = 0
    options: int = 0  # steps whose number of options was compared
    tables: int = 0
    unasked: int = 0  # recorded steps with one option that no decision of ours stands for
    forced: int = 0  # decisions of ours with one option that no step stands for

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


@dataclass(frozen=True)
class Path:
    """The moves of a record that one option of ours stands for: groups in order, the moves of a group in any order"""

    groups: tuple[tuple[Move, ...], ...] = ()

    @property
    def nexts(self) -> set[Move]:
        return set(self.groups[0]) if self.groups else set()

    def after(self, move: Move) -> "Path | None":
        """What is still to come after a move, if it can be the next one."""
        if move not in self.nexts:
            return None
        first, *others = self.groups
        at = first.index(move)
        left = first[:at] + first[at + 1 :]
        return Path((left, *others) if left else tuple(others))


def path(name: str, *choice: Any) -> Path:
    """One move: a choice that is a list."""
    return Path((((name, freeze(choice)),),))


@dataclass
class Adapter:
    """What a game calls things, in the record and in the rule files"""

    record: Record
    game: ClassVar[str] = ""
    keys: ClassVar[frozenset[str]] = frozenset()  # of a table

    @property
    def players(self) -> int:
        return int(self.record["players"])

    @property
    def seats(self) -> range:
        return range(self.players)

    def settings(self) -> dict[str, Any]:
        return {}

    def chance(self, what: str, items: list[Any]) -> Any:
        raise Mismatch(f"chance is asked for `{what}`, of which the record knows nothing")

    def unused(self) -> list[Json]:
        """Outcomes of chance in the record that nothing asked for."""
        return []

    def move(self, step: Step) -> Move:
        """A recorded step, its choice in a form of its own where the order means nothing."""
        return step["decision"], freeze(step["choice"])

    def path(self, match: Match, decision: Decision, option: Option) -> Path:
        raise NotImplementedError

    def plays(self, step: Step) -> bool:
        """Is this step several decisions of ours?"""
        return False

    def play(self, replay: "Replay", step: Step) -> None:
        raise NotImplementedError

    def begins(self, match: Match, step: Step) -> bool:
        """Has the next round (or turn) begun, which the table after this step shows?"""
        raise NotImplementedError

    def table(self, match: Match) -> dict[str, Json]:
        raise NotImplementedError

    def recorded_table(self, table: dict[str, Json]) -> dict[str, Json]:
        """A recorded table, without what means nothing."""
        return table


def exactly(what: str, order: Iterable[Any], items: list[Any]) -> list[Any]:
    """A whole order that holds just what is to be ordered."""
    found = list(order)
    if Counter(map(freeze, found)) != Counter(map(freeze, items)):
        raise Mismatch(f"the record's order for `{what}` is not made of the same things: {found} instead of {items}")
    return found


# ---------------------------------------------------------------- the driver


@dataclass
class Replay:
    """One record on its way through the rule files"""

    record: Record
    match: Match
    twin: Match  # the same, forced decisions carried out silently
    adapter: Adapter
    tally: Tally = field(default_factory=Tally)
    at: int = -1
    open: dict[int, list[tuple[Option, Path]]] = field(default_factory=dict)

    def fail(self, message: str) -> Mismatch:
        step = self.record["steps"][self.at] if self.at >= 0 else {}
        shown = {k: step[k] for k in ("player", "decision", "choice", "of") if k in step}
        return Mismatch(f"step {self.at} {shown}: {message}")

    def run(self) -> Tally:
        steps = self.record["steps"]
        for self.at, step in enumerate(steps):
            self.follow(step)
            self.tally.choices += 1
            if "then" in step:
                while self.open or not self.adapter.begins(self.match, step):
                    self.answer_forced("the next round or turn begins in the record")
                self.compare(step["then"])
        while not self.match.is_over:
            self.answer_forced("the match is over in the record")
        self.compare(self.record["end"])
        if list(self.match.scores) != self.record["scores"]:
            raise self.fail(f"scores {list(self.match.scores)}, recorded {self.record['scores']}")
        if sorted(self.match.winners) != sorted(self.record["winners"]):
            raise self.fail(f"winners {self.match.winners}, recorded {self.record['winners']}")
        if not self.twin.is_over or self.twin != self.match:
            raise self.fail("with forced decisions carried out silently the match ends otherwise")
        if self.adapter.unused():
            raise self.fail(f"never asked for: {self.adapter.unused()}")
        return self.tally

    # ------------------------------------------------------------ steps

    def follow(self, step: Step) -> None:
        player = step["player"]
        if self.adapter.plays(step):
            self.adapter.play(self, step)
            return
        move = self.adapter.move(step)
        while True:
            decision = self.asked(player)
            if decision is None:
                if self.match.is_over or not self.some_forced():
                    self.not_asked(step)
                    return
                self.answer_forced(f"seat {player} is asked in the record")
                continue
            moves = self.moves(decision)
            if move in moves:
                self.count(step, len(moves))
                self.take(decision, move)
                return
            if len(moves) > 1:
                if step["of"] == 1:
                    self.not_asked(step)
                    return
                shown = sorted(map(repr, moves))
                raise self.fail(f"not offered; `{decision.name}` offers {len(moves)}: {', '.join(shown[:40])}")
            self.force(decision, moves)

    def not_asked(self, step: Step) -> None:
        if step["of"] != 1:
            asked = [(d.player, d.name, len(d.options)) for d in self.match.decisions]
            raise self.fail(f"seat {step['player']} is not asked; awaited: {asked}")
        self.tally.unasked += 1

    def count(self, step: Step, options: int) -> None:
        if step["of"] != options:
            raise self.fail(f"{options} options")
        self.tally.options += 1

    def asked(self, player: int) -> Decision | None:
        return next((d for d in self.match.decisions if d.player == player), None)

    def candidates(self, decision: Decision) -> list[tuple[Option, Path]]:
        if decision.player not in self.open:
            self.open[decision.player] = [(o, self.adapter.path(self.match, decision, o)) for o in decision.options]
        return self.open[decision.player]

    def moves(self, decision: Decision) -> set[Move]:
        return set().union(*(p.nexts for _, p in self.candidates(decision)))

    def take(self, decision: Decision, move: Move) -> None:
        """Narrows down our options; when one is left, and nothing of it to come, it is chosen."""
        left = [(o, rest) for o, p in self.candidates(decision) if (rest := p.after(move)) is not None]
        self.open[decision.player] = left
        self.finish(decision)

    def finish(self, decision: Decision) -> None:
        left = self.open[decision.player]
        done = [o for o, p in left if not p.groups]
        if not done:
            return
        if len(left) > 1:
            raise self.fail(f"options at `{decision.name}` that the record cannot tell apart: {[o.label for o, _ in left]}")
        self.choose(decision, done[0])

    def choose(self, decision: Decision, option: Option) -> None:
        player = decision.player
        self.open.pop(player, None)
        same = next((d for d in self.twin.decisions if d.player == player and d.name == decision.name), None)
        if len(decision.options) > 1 or (same is not None and len(same.options) == 1):
            if same is None or len(same.options) != len(decision.options):
                raise self.fail(f"`{decision.name}` is not asked alike when forced decisions are silent")
            self.twin.choose(player, option)
        self.match.choose(player, option)

    # ------------------------------------------------------------ forced decisions

    def some_forced(self) -> bool:
        return any(len(self.moves(d)) <= 1 for d in self.match.decisions)

    def answer_forced(self, why: str) -> None:
        for decision in self.match.decisions:
            moves = self.moves(decision)
            if len(moves) <= 1:
                self.force(decision, moves)
                return
        asked = [(d.player, d.name, [o.label for o in d.options][:10]) for d in self.match.decisions]
        raise self.fail(f"{why}, but here are awaited: {asked}")

    def force(self, decision: Decision, moves: set[Move]) -> None:
        self.tally.forced += 1
        if moves:
            self.take(decision, *moves)
        else:
            self.finish(decision)

    # ------------------------------------------------------------ tables

    def compare(self, recorded: dict[str, Json]) -> None:
        expected = self.adapter.recorded_table(recorded)
        if set(recorded) != self.adapter.keys:
            raise self.fail(f"the recorded table shows {sorted(recorded)}, the adapter compares {sorted(self.adapter.keys)}")
        found = self.adapter.table(self.match)
        wrong = {k: (found.get(k), v) for k, v in expected.items() if freeze(found.get(k)) != freeze(v)}
        if wrong:
            raise self.fail(f"the table, ours and the recorded: {wrong}")
        self.tally.tables += 1


# ---------------------------------------------------------------- Visby


class Visby(Adapter):
    game = "visby"
    keys = frozenset({"round", "battle", "journey", "market", "seals", "wares", "hand"})
    numbers: ClassVar[dict[str, int]] = {"one": 1, "two": 2, "three": 3}

    def move(self, step: Step) -> Move:
        return step["decision"], tuple(sorted(step["choice"]))

    def path(self, match: Match, decision: Decision, option: Option) -> Path:
        if decision.name == "lay_cards":
            return path("play", *sorted(option.value[1]))
        return path(decision.name, *option.value)  # a part of a trade: no step of the record

    def rate(self, name: str) -> tuple[int, int]:
        """`three_for_two`: so many wares, so many seals."""
        price, _, worth = name.partition("_for_")
        return self.numbers[price], self.numbers[worth]

    def plays(self, step: Step) -> bool:
        return bool(step["decision"] == "trade")

    def play(self, replay: Replay, step: Step) -> None:
        player = step["player"]
        replay.count(step, len(self.trades(replay, player)))
        for wares, seals, lots in step["choice"]:
            for _ in range(lots):
                self.choose(replay, player, (wares, seals))
        self.choose(replay, player, None)

    def choose(self, replay: Replay, player: int, rate: tuple[int, int] | None) -> None:
        decision = self.trading(replay, player)
        for option in decision.options:
            if (self.rate(option.value[1]) if option.value[0] == "lot" else None) == rate:
                replay.choose(decision, option)
                return
        raise replay.fail(f"{rate} is not offered among {[o.label for o in decision.options]}")

    def trading(self, replay: Replay, player: int) -> Decision:
        decision = replay.asked(player)
        if decision is None or decision.name != "trading":
            raise replay.fail("no trade is asked for")
        return decision

    def trades(self, replay: Replay, player: int) -> set[tuple[int, int]]:
        """All trades that can be made: wares paid and seals gained in all."""
        self.trading(replay, player)
        seen = {(0, 0)}
        ways = [((0, 0), replay.match)]
        while ways:
            (paid, gained), here = ways.pop()
            decision = next(d for d in here.decisions if d.player == player)
            for option in decision.options:
                if option.value[0] == "done":
                    continue
                price, worth = self.rate(option.value[1])
                reached = paid + price, gained + worth
                if reached not in seen:
                    seen.add(reached)
                    further = here.copy()
                    further.choose(player, option.index)
                    ways.append((reached, further))
        return seen

    def begins(self, match: Match, step: Step) -> bool:
        return match.decisions[0].name == "lay_cards" and len(match.decisions) == self.players

    def table(self, match: Match) -> dict[str, Json]:
        return {
            "round": match.get("rounds"),
            **{name: match.get(name) for name in ("battle", "journey", "market")},
            **{name: [match.get(name, player=p) for p in self.seats] for name in ("seals", "wares")},
            "hand": [sorted(match.get("hand", player=p)) for p in self.seats],
        }


# ---------------------------------------------------------------- Tallinn


class Tallinn(Adapter):
    """With its layers `tower_order`, `envoy` and `chronicles`"""

    game = "tallinn"
    keys = frozenset({"round", "points", "row_symbols", "towers", "hand", "deck"})
    factions = ("merchants", "knights", "monks")
    halves = ("upper", "lower")
    ENVOY = 11

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.decks = list(record["chance"]["decks_top_first"])

    def unused(self) -> list[Json]:
        return self.decks

    def chance(self, what: str, items: list[Any]) -> Any:
        known = self.record["chance"]
        if what == "start_box":
            first = [[c[f] for f in self.factions] for c in known["start_cards"]]
            return exactly(what, [*first, *(x for x in items if x not in first)], items)
        if what == "deck":
            numbers = [self.ENVOY if n == "envoy" else n for n in self.decks.pop(0)]
            cards = {x[0]: x for x in items}
            return exactly(what, [cards[n] for n in numbers], items)
        if what == "chronicle_box":
            first = [items[known["chronicles"][side] - 1] for side in ("left", "right")]
            return exactly(what, [*first, *(x for x in items if x not in first)], items)
        return super().chance(what, items)

    def move(self, step: Step) -> Move:
        if step["decision"] == "chronicle":
            return "chronicle", tuple(sorted(step["choice"]))
        return super().move(step)

    def path(self, match: Match, decision: Decision, option: Option) -> Path:
        word, *picks = option.value
        match decision.name:
            case "exchange_cards":
                return path("mulligan", *(card[0] for card in picks[0]))
            case "select":
                return path("select", picks[0][0], self.halves.index(picks[1]))
            case "envoy_contest":
                return Path(((("envoy_contest", picks[0].removesuffix("s") if word == "call" else None),),))
            case "envoy_joins":
                return Path(((("envoy_final", picks[0].removesuffix("s")),),))
            case "build_tower":
                if word == "no_tower":
                    return Path(((("tower", None),),))
                return path("tower", word.removeprefix("from_"), picks[-1][0])
            case "score_chronicle":
                return path("chronicle", *sorted(card[0] for cards in picks for card in cards))
        raise Mismatch(f"the record has nothing like `{decision.name}`")

    def begins(self, match: Match, step: Step) -> bool:
        return match.decisions[0].name == "select"

    def table(self, match: Match) -> dict[str, Json]:
        decks = ["deck", "second_stack"] if "chronicles" in self.record["with"] else ["deck"]
        return {
            "round": match.get("rounds"),
            "points": [match.get("points", player=p) for p in self.seats],
            "row_symbols": [{f: match.get("influence", player=p, key=f) for f in self.factions} for p in self.seats],
            "towers": [match.get("towers_built", player=p) for p in self.seats],
            "hand": [len(match.get("hand", player=p)) for p in self.seats],
            "deck": [sum(len(match.get(d, player=p)) for d in decks) for p in self.seats],
        }


# ---------------------------------------------------------------- Hansa


class Hansa(Adapter):
    game = "hansa"
    keys = frozenset({"current", "ship", "acted", "last_round", "money", "booth_supply", "booths", "hand", "sold", "warehouse", "piles"})
    piles = range(1, 6)
    cities: ClassVar[dict[str, int]] = {  # in the order of filling, with their spaces
        "tonsberg": 2, "aalborg": 2, "lubeck": 2, "copenhagen": 1, "stockholm": 1, "kalmar": 1, "danzig": 1, "reval": 2, "riga": 2,
    }  # fmt: skip
    names: ClassVar[dict[str, str]] = {
        "placement": "place", "replenish": "replenish", "acting": "act", "losses": "lose", "surplus": "tax",
    }  # fmt: skip

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.removed = list(record["chance"]["removed_colours"])

    def unused(self) -> list[Json]:
        return self.removed

    def settings(self) -> dict[str, Any]:
        return {"starter": self.record["chance"]["start_player"]}

    def chance(self, what: str, items: list[Any]) -> Any:
        if what == "gone":
            return self.removed.pop(0)
        if what == "bag":
            return exactly(what, self.bag(), items)
        return super().chance(what, items)

    def bag(self) -> Iterator[Json]:
        """What lies in the warehouses, then the piles as they are dealt out one by one: the last ends up on top."""
        known = self.record["chance"]
        yield from known["warehouses_in_filling_order"]
        piles = [list(pile) for pile in known["piles_top_first"]]
        while any(piles):
            for pile in piles:
                if pile:
                    yield pile.pop()

    def move(self, step: Step) -> Move:
        word, *picks = step["choice"]
        if word == "sell":
            return step["decision"], ("sell", tuple(sorted(freeze(picks[0]))))
        return super().move(step)

    def path(self, match: Match, decision: Decision, option: Option) -> Path:
        word, *picks = option.value
        name = self.names[decision.name]
        match word:
            case "placement":
                return path(name, "place", picks[0])
            case "replenish_all":
                return path(name, "replenish")
            case "skip":
                return path(name, "skip")
            case "sail":
                return path(name, "move", picks[0])
            case "buy":
                return path(name, "buy", *picks[0])
            case "set_up_booths":
                return path(name, "booths", *picks[0])
            case "sell":
                return path(name, "sell", sorted(picks[0]))
            case "losses":
                return path(name, "lose", *picks[0])
            case "surplus":
                return path(name, "discard", *picks[0])
            case "finish":
                return path(name, "end")
        raise Mismatch(f"the record has nothing like `{word}`")

    def begins(self, match: Match, step: Step) -> bool:
        return bool(match.decisions[0].player != step["player"])

    def table(self, match: Match) -> dict[str, Json]:
        starter = self.record["chance"]["start_player"]
        acting = match.is_over or match.decisions[0].name == "acting"
        booths = {c: [len(match.get("booths", player=p, key=c)) for p in self.seats] for c in self.cities}
        return {
            "current": starter if match.is_over else match.decisions[0].player,
            "ship": match.get("port"),
            "acted": acting and match.get("acted_here"),  # before that it tells of the turn before
            "last_round": match.get("last_round"),
            "money": [match.get("talers", player=p) for p in self.seats],
            "booth_supply": [len(match.get("stock", player=p)) for p in self.seats],
            "booths": {c: there for c, there in booths.items() if any(there)},
            "hand": [sorted(match.get("goods", player=p)) for p in self.seats],
            "sold": [sorted(match.get("sold", player=p)) for p in self.seats],
            "warehouse": [sorted(match.get("warehouse", key=c)) for c in self.cities],
            "piles": [len(match.get("supply", key=n)) for n in self.piles],
        }

    def recorded_table(self, table: dict[str, Json]) -> dict[str, Json]:
        """Which of its two spaces a marker lies on means nothing (H-R20)."""
        spaces = iter(table["warehouse"])
        by_city = [sorted(m for _ in range(n) if (m := next(spaces)) is not None) for n in self.cities.values()]
        hands = {k: [sorted(goods) for goods in table[k]] for k in ("hand", "sold")}
        return {**table, **hands, "warehouse": by_city}


# ---------------------------------------------------------------- Carthago


class Carthago(Adapter):
    game = "carthago"
    keys = frozenset(
        {
            "decade", "round", "active", "start", "market", "deck", "discard", "stack", "dock_ships", "dock_discs", "waiting",
            "war", "anchor", "stones", "neutral", "action_discs", "free_discs", "residence_fields_cleared", "seats", "forum",
            "tiles", "hands", "laid", "ships_up", "ships_down",
        }
    )  # fmt: skip
    fields: ClassVar[dict[str, str]] = {
        "market": "market", "residence_field": "residence", "trade_harbour": "occupy_trade_harbour",
        "delivery": "supply_harbours", "war_harbour": "occupy_war_harbour",
    }  # fmt: skip
    names: ClassVar[dict[str, str]] = {
        "head_start": "setup", "turn": "turn", "take_card": "market_take", "swap": "market_swap", "turn_up": "market_flip",
        "extend_residence": "residence", "occupy_trade_harbour": "trade_dock", "occupy_war_harbour": "war_dock",
        "deliveries": "deliver", "claim_at_once": "war_tile", "guild_rights": "after", "payment": "pay_coins",
    }  # fmt: skip
    tiles: ClassVar[dict[str, str]] = {"coins_left": "coins", "wares_left": "wares"}
    posts: ClassVar[dict[str, int | str]] = {"first_post": 0, "second_post": 1, "anchor": "anchor"}
    stones = ("gold", "other_gold")
    neutrals = ("grey", "other_grey")
    columns: ClassVar[dict[str, tuple[int, tuple[str, ...]]]] = {
        "left": (3, ("purple", "oil", "glass")), "middle": (2, ("cedar",)), "right": (2, ("jewellery",)),
    }  # fmt: skip
    # fields cleared, by the discs that still lie in the column
    cleared: ClassVar[dict[str, dict[int, int]]] = {
        "left": {3: 0, 2: 1, 1: 2, 0: 3}, "middle": {2: 0, 1: 1, 0: 2}, "right": {3: 0, 2: 1, 0: 2},
    }  # fmt: skip
    seat_names = tuple(f"{wing}_{price}" for wing in ("left", "right") for price in range(6, 12))
    ships: ClassVar[list[tuple[str, int, int, str]]] = [
        ("purple", 5, 1, "favour"), ("purple", 6, 2, "opulence"), ("purple", 6, 3, "intrigue"),
        ("purple", 8, 4, "pallet"), ("purple", 7, 5, "luxury"), ("purple", 9, 6, "legacy"),
        ("oil", 6, 1, "command"), ("oil", 6, 2, "favour"), ("oil", 5, 3, "legacy"),
        ("oil", 8, 4, "embargo"), ("oil", 8, 5, "pallet"), ("oil", 8, 6, "opulence"),
        ("glass", 5, 2, "pallet"), ("glass", 7, 3, "favour"), ("glass", 7, 3, "intrigue"),
        ("glass", 7, 4, "command"), ("glass", 7, 4, "luxury"), ("glass", 8, 5, "opulence"),
        ("cedar", 5, 1, "favour"), ("cedar", 6, 2, "luxury"), ("cedar", 6, 3, "opulence"),
        ("cedar", 7, 4, "intrigue"), ("cedar", 8, 5, "legacy"), ("cedar", 9, 6, "embargo"),
        ("jewellery", 5, 1, "intrigue"), ("jewellery", 5, 2, "luxury"), ("jewellery", 7, 3, "command"),
        ("jewellery", 6, 4, "favour"), ("jewellery", 9, 5, "embargo"), ("jewellery", 9, 6, "pallet"),
    ]  # fmt: skip

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        known = record["chance"]
        reshuffled = [s["reshuffled_top_first"] for s in record["steps"] if "reshuffled_top_first" in s]
        self.decks = [known["trade_deck_top_first_before_set_up"], *reshuffled]
        self.tile_draws = [t for decade in ("1", "2", "3") for t in known["tiles"][decade]]

    def unused(self) -> list[Json]:
        return self.decks + self.tile_draws

    def chance(self, what: str, items: list[Any]) -> Any:
        known = self.record["chance"]
        if what == "deck":
            cards = {self.card(x): x for x in items}
            return exactly(what, (cards.get(name, name) for name in self.decks.pop(0)), items)
        if what == "ships":
            ships = {self.ship(x): x for x in items}
            return exactly(what, (ships[name] for name in known["ship_stack_top_first_before_set_up"]), items)
        if what == "tile":
            tiles = {self.tile(x): x for x in items}
            return tiles[self.tile_draws.pop(0)]
        if what == "opener":
            return known["start_player"]
        return super().chance(what, items)

    # ------------------------------------------------------------ words

    def card(self, x: Any) -> str:
        if isinstance(x, str):
            return f"base {self.fields[x]}"
        ware, coins, action = x
        return f"{ware} {coins} {self.fields[action]}"

    def ship(self, x: Any) -> str:
        return f"ship_{self.ships.index(tuple(x)) + 1:02}"

    def tile(self, x: str) -> str:
        return self.tiles.get(x, x)

    # ------------------------------------------------------------ choices

    def path(self, match: Match, decision: Decision, option: Option) -> Path:
        word, *picks = option.value
        if decision.name == "extra_cards":
            return Path(self.cards("pay_extra", picks[0]))
        name = self.names[decision.name]
        match word:
            case "act":
                field_, card = picks
                how = "card" if (card if isinstance(card, str) else card[2]) == field_ else "favour"
                return self.two(name, ("act", self.fields[field_]), "pay_action", (how, self.card(card)))
            case "pass" | "waive" | "embargo" | "pallet" | "legacy":
                return path(name, word)
            case "intrigue":
                stone, field_ = picks
                return path(name, word, self.fields[match.get("stone_at", key=stone)], self.fields[field_])
            case "to_trade":
                return path(name, "place", picks[0], "trade", picks[1] - 1)
            case "to_war":
                return path(name, "place", picks[0], "war", self.posts[picks[1]])
            case "keep_discs" | "no":
                return path(name, "skip")
            case "take" | "payment":
                return path(name, "take" if word == "take" else "card", self.card(picks[0]))
            case "take_unseen":
                return path(name, "draw")
            case "swap":
                return path(name, "swap", *map(self.card, picks))
            case "turn_up":
                return path(name, "flip", picks[0])
            case "free_disc":
                return self.residence(*picks)
            case "occupy":
                return path(name, "dock", picks[0] - 1 if isinstance(picks[0], int) else self.posts[picks[0]])
            case "drop_anchor":
                return path(name, "command")
            case "deliver_to":
                dock, card = picks
                how = "card" if match.get("harbour")[dock - 1][0] == card[0] else "luxury"
                return self.two(name, ("trade", dock - 1), "trade_card", (how, self.card(card)))
            case "sail_from":
                return self.two(name, ("war", self.posts[picks[0]]), "war_card", ("card", self.card(picks[1])))
            case "finish":
                return path(name, "done")
            case "claim_at_once" | "claim_tile":
                return path(name, "tile", self.tile(picks[0]))
            case "take_seat":
                return path(name, "seat", picks[0])
            case "enter_forum":
                return path(name, "forum")
            case "end_turn":
                return path(name, "end")
        raise Mismatch(f"the record has nothing like `{word}`")

    def two(self, name: str, choice: tuple[Any, ...], then: str, card: tuple[Any, ...]) -> Path:
        return Path((((name, choice),), ((then, card),)))

    def cards(self, name: str, cards: list[Any]) -> tuple[tuple[Move, ...], ...]:
        """A group of cards that are named one by one, in any order."""
        return (tuple((name, ("card", self.card(c))) for c in cards),) if cards else ()

    def residence(self, column: str, payment: list[Any]) -> Path:
        """First what is freed and for which ware, then the cards of this ware, then the one that opulence allows."""
        due, wares = self.columns[column]
        ware = max(wares, key=lambda w: sum(c[0] == w for c in payment))
        alike = [c for c in payment if c[0] == ware]
        others = [c for c in payment if c[0] != ware]
        how = "clear" if len(alike) == due else "opulence"
        return Path(((("residence", (how, column, ware)),), *self.cards("pay_goods", alike), *self.cards("pay_goods", others)))

    # ------------------------------------------------------------ tables

    def begins(self, match: Match, step: Step) -> bool:
        return match.decisions[0].name in ("head_start", "turn")

    def table(self, match: Match) -> dict[str, Json]:
        docks = match.get("dock_count")
        ships = [self.ship(x) for x in match.get("harbour")]
        shown = [self.tile(t) for t in self.all_tiles if match.get("shown", key=t)]
        claims = {self.tile(t): match.get("claims", key=t) for t in self.all_tiles}
        return {
            "decade": max(1, match.get("decades")),  # the set-up belongs to the first
            "round": max(1, match.get("rounds")),
            "active": match.decisions[0].player if not match.is_over else self.record["steps"][-1]["player"],
            "start": match.get("starter"),
            "market": sorted(map(self.card, match.get("display"))),
            "deck": len(match.get("deck")),
            "discard": len(match.get("discard")),
            "stack": len(match.get("ships")),
            "dock_ships": ships[:docks],
            "dock_discs": [self.owner(match.get("berth", key=d)) for d in range(1, docks + 1)],
            "waiting": ships[docks:],
            "war": [self.owner(match.get("war", key=p)) for p in ("first_post", "second_post")],
            "anchor": [match.get("war", key="anchor").count(p) for p in self.seats],
            "stones": sorted(self.fields[match.get("stone_at", key=s)] for s in self.stones),
            "neutral": sorted(self.fields[f] for n in self.neutrals if (f := match.get("neutral_at", key=n)) is not None),
            "action_discs": [self.fields.get(match.get("stands_on", player=p)) for p in self.seats],
            "free_discs": [len(match.get("free", player=p)) for p in self.seats],
            "residence_fields_cleared": [
                [by_discs[len(match.get("residence", player=p, key=c))] for c, by_discs in self.cleared.items()] for p in self.seats
            ],
            "seats": {s: owner for s in self.seat_names if (owner := self.owner(match.get("seat", key=s))) is not None},
            "forum": [match.get("forum").count(p) for p in self.seats],
            "tiles": {t: claims[t] for t in shown},
            "hands": [sorted(map(self.card, match.get("hand", player=p))) for p in self.seats],
            "laid": [len(match.get("left_side", player=p)) + len(match.get("right_side", player=p)) for p in self.seats],
            "ships_up": [sorted(map(self.ship, match.get("open_ships", player=p))) for p in self.seats],
            "ships_down": [sorted(map(self.ship, match.get("turned_ships", player=p))) for p in self.seats],
        }

    def recorded_table(self, table: dict[str, Json]) -> dict[str, Json]:
        """Which of two equal stones or neutral discs stands where means nothing."""
        return {**table, **{k: sorted(table[k]) for k in ("stones", "neutral")}}

    all_tiles = (
        "guild_house_1", "achievements", "residence_1", "guild_house_2", "victory_points", "ship_cards",
        "coins_left", "residence_2", "wares_left",
    )  # fmt: skip

    def owner(self, held: Any) -> int | None:
        """The seat whose disc lies there."""
        found = held if isinstance(held, list) else [] if held is None else [held]
        if len(found) > 1:
            raise Mismatch(f"more than one disc: {found}")
        return found[0] if found else None


ADAPTERS: dict[str, type[Adapter]] = {a.game: a for a in (Visby, Tallinn, Hansa, Carthago)}
_LOADED: dict[tuple[str, ...], Game] = {}


def loaded(record: Record) -> Game:
    key = (record["game"], *record["with"])
    if key not in _LOADED:
        _LOADED[key] = load(record["game"], with_=record["with"])
    return _LOADED[key]


def start(record: Record, ask_forced: bool) -> tuple[Match, Adapter]:
    adapter = ADAPTERS[record["game"]](record)
    game = loaded(record)
    return game.start(adapter.players, 0, adapter.settings(), chance=adapter.chance, ask_forced=ask_forced), adapter


def replay(record: Record) -> Tally:
    """The whole record; raises `Mismatch` where it and the rule files disagree."""
    return driven(record).tally


def driven(record: Record) -> Replay:
    match, adapter = start(record, ask_forced=True)
    twin, _ = start(record, ask_forced=False)
    driver = Replay(record, match, twin, adapter)
    try:
        driver.run()
    except (RuleError, IllegalChoice) as error:
        raise driver.fail(f"{type(error).__name__}: {error}") from error
    return driver

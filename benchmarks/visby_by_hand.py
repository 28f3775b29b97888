"""Visby written by hand: the yardstick for the speed of the rule interpreter.

The rules and the cut of the decisions are those of games/visby/visby.rule: everybody lays one or two cards (chosen in any
order, revealed together), and every merchant trades lot by lot until he is `DONE`.  A decision with one option is not asked.
`python benchmarks/visby_by_hand.py FOLDER` replays the recorded matches of the folder and prints the speed of random play.
"""

import json
import random
import sys
from itertools import combinations
from pathlib import Path
from time import perf_counter
from typing import Any

Option = tuple[int, ...]  # the cards to lay, or one lot to trade as (wares given, seals received), or DONE

DONE: Option = ()
CARDS = ("troops", "knight", "blacksmith", "fleet", "ship", "tollkeeper", "merchant", "mendicant")
FULL_HAND = tuple(range(len(CARDS)))
MERCHANT, MENDICANT = CARDS.index("merchant"), CARDS.index("mendicant")
STEPS = {2: 3, 3: 5, 4: 3, 5: 4, 6: 5}
CARDS_TO_LAY = {2: 2, 3: 2, 4: 1, 5: 1, 6: 1}
HANDS = [hand for size in range(len(CARDS) + 1) for hand in combinations(FULL_HAND, size)]
LAYS: dict[int, dict[Option, list[Option]]] = {count: {hand: list(combinations(hand, count)) for hand in HANDS} for count in (1, 2)}
ALMS = (0, 1, 1, 2, 2, 3, 3, 4, 4)  # by the number of cards played so far
LAST_SPACE = 15  # of the three tracks, and of everybody's wares
RATES: dict[int, Option] = {0: (3, 1), 4: (2, 1), 6: (3, 2), 8: (2, 2), 10: (2, 3), 12: (1, 2), 14: (1, 3)}  # by their first space
OPEN_RATES = [[rate for first, rate in RATES.items() if first <= space] for space in range(LAST_SPACE + 1)]


class Visby:
    """A game in progress.  `play` trusts its caller: the seat is awaited, and the option is one of its `options`."""

    def __init__(self, players: int, target: int = 30) -> None:
        if players not in STEPS or not (target == 30 or (target == 45 and players <= 3)):
            raise ValueError(f"no game for {players} players to {target} seals")
        self.players, self.target, self.round = players, target, 0
        self.battle = self.journey = self.market = 1
        self.seals = [0] * players
        self.wares = [players] * players
        self.hands = [FULL_HAND] * players  # with the cards that lie face down
        self.laid: list[Option] = [()] * players
        self.rates: list[Option] = []  # what merchants may trade at; empty while cards are laid
        self.waiting: list[int] = []
        self.over = False
        self.winners: list[int] = []
        self._start_round()

    @property
    def scores(self) -> list[int]:
        return self.seals

    def copy(self) -> "Visby":
        other = Visby.__new__(Visby)
        other.players, other.target, other.round, other.over = self.players, self.target, self.round, self.over
        other.battle, other.journey, other.market, other.rates = self.battle, self.journey, self.market, self.rates
        other.seals, other.wares, other.hands, other.laid = self.seals[:], self.wares[:], self.hands[:], self.laid[:]
        other.waiting, other.winners = self.waiting[:], self.winners[:]
        return other

    def to_move(self) -> list[int]:
        return self.waiting[:]

    def options(self, seat: int) -> list[Option]:
        if not self.rates:  # a shared list: not to be changed
            return LAYS[CARDS_TO_LAY[self.players]][self.hands[seat]]
        wares = self.wares[seat]
        lots = [rate for rate in self.rates if rate[0] <= wares]
        lots.append(DONE)
        return lots

    def play(self, seat: int, option: Option) -> None:
        if not self.rates:
            self.laid[seat] = option
        elif option:
            price, worth = option
            self.wares[seat] -= price
            self.seals[seat] += worth
            if self._can_trade(seat):
                return
        self.waiting.remove(seat)
        if not self.waiting:
            if self.rates:
                self._finish_round()
            else:
                self._reveal()

    def play_out(self, rng: random.Random) -> int:
        """Play random options to the end; return how many decisions it took."""
        decisions = 0
        while not self.over:
            seat = self.waiting[0]
            options = self.options(seat)
            self.play(seat, options[int(rng.random() * len(options))])
            decisions += 1
        return decisions

    def _start_round(self) -> None:
        steps, cards_to_lay = STEPS[self.players], CARDS_TO_LAY[self.players]
        self.round += 1
        self.battle = min(self.battle + steps, LAST_SPACE)
        self.journey = min(self.journey + steps, LAST_SPACE)
        self.market = min(self.market + steps, LAST_SPACE)
        for seat, hand in enumerate(self.hands):
            if len(hand) > cards_to_lay:
                self.waiting.append(seat)
            else:
                self.laid[seat] = hand
        if not self.waiting:
            self._reveal()

    def _reveal(self) -> None:
        who: list[list[int]] = [[] for _ in CARDS]
        for seat, cards in enumerate(self.laid):
            self.hands[seat] = tuple([card for card in self.hands[seat] if card not in cards])
            for card in cards:
                who[card].append(seat)
        troops, knights, blacksmiths, fleets, ships, tollkeepers, merchants, _ = who
        for takers, limit in ((troops, 2), (knights, 5)):
            if takers:
                part = min(limit, self.battle // len(takers))
                self.battle -= part * len(takers)
                for seat in takers:
                    self.seals[seat] += part
        for seat in blacksmiths:
            self._gain_wares(seat, 4 * (len(troops) - (seat in troops)) + 2 * (len(knights) - (seat in knights)))
        for takers, limit in ((fleets, 3), (ships, LAST_SPACE)):
            if takers:
                part = min(limit, self.journey // len(takers))
                self.journey -= part * len(takers)
                for seat in takers:
                    self._gain_wares(seat, part)
        for seat in tollkeepers:
            self.seals[seat] += 3 * (len(fleets) - (seat in fleets)) + len(ships) - (seat in ships)
        if merchants:
            self.rates = OPEN_RATES[max(0, self.market - 2 * (len(merchants) - 1))]
            self.market = 0
            self.waiting = [seat for seat in merchants if self._can_trade(seat)]
        if not self.waiting:
            self._finish_round()

    def _can_trade(self, seat: int) -> bool:
        return min(self.rates)[0] <= self.wares[seat]

    def _gain_wares(self, seat: int, gain: int) -> None:
        self.wares[seat] = min(self.wares[seat] + gain, LAST_SPACE)

    def _finish_round(self) -> None:
        self.rates = []
        merchants = sum([MERCHANT in cards for cards in self.laid])
        for seat, cards in enumerate(self.laid):
            if MENDICANT in cards:
                self._gain_wares(seat, ALMS[len(CARDS) - len(self.hands[seat])] + 2 * (merchants - (MERCHANT in cards)))
                self.hands[seat] = FULL_HAND
        if max(self.seals) < self.target:
            self._start_round()
            return
        self.over = True
        self.seals = [seals + wares // 3 for seals, wares in zip(self.seals, self.wares, strict=True)]
        self.wares = [wares % 3 for wares in self.wares]
        ranks = list(zip(self.seals, self.wares, map(len, self.hands), strict=True))
        self.winners = [seat for seat, rank in enumerate(ranks) if rank == max(ranks)]


def replay(match: dict[str, Any]) -> None:
    game = Visby(match["players"])
    for step in match["steps"]:
        seat, choice, trading = step["player"], step["choice"], step["decision"] == "trade"
        options: list[Option] = []
        if trading:
            options = [(price, worth) for price, worth, lots in choice for _ in range(lots)]
        elif step["of"] > 1:  # a single option has been carried out already
            options = [tuple(sorted(map(CARDS.index, choice)))]
        for option in options:
            assert bool(game.rates) == trading and seat in game.to_move() and option in game.options(seat), step
            game.play(seat, option)
        if trading and game.rates and seat in game.to_move():
            game.play(seat, DONE)
        assert "then" not in step or step["then"] == table(game), (step, table(game))
    assert game.over and (table(game), game.scores, game.winners) == (match["end"], match["scores"], match["winners"]), table(game)


def table(game: Visby) -> dict[str, Any]:
    names = ("round", "battle", "journey", "market", "seals", "wares")
    return {name: getattr(game, name) for name in names} | {"hand": [sorted(CARDS[card] for card in hand) for hand in game.hands]}


if __name__ == "__main__":
    paths = sorted(Path(sys.argv[1]).glob("visby-*.json"))
    for path in paths:
        replay(json.loads(path.read_text(encoding="utf-8")))
    assert paths, "no recorded matches in this folder"
    print(f"{len(paths)} recorded matches replayed")
    for seats in STEPS:
        rng, start = random.Random(seats), perf_counter()
        counts = [Visby(seats).play_out(rng) for _ in range(5000)]
        rate = 1 / (perf_counter() - start)
        print(f"{seats} players: {len(counts) * rate:6.0f} playouts/s, {sum(counts) * rate:8.0f} decisions/s")

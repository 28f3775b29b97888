"""What is proved holds: no match stops at a line that is proved; and the prover knows what a reader sees at once."""

import re
import shutil
from pathlib import Path
from random import Random

import pytest

import rulelang
from rulelang.errors import RuleError, RulesError
from rulelang.prove.report import open_claims
from rulelang.prove.walk import claims

GAMES = Path(__file__).resolve().parent.parent / "games"

FRAME = """game g "G", players 2..3

pieces Card(value: 1..3)
    4 times 1
    4 times 2
    4 times 3

pile deck: Card, public, starts with all Card
zone bin: Card, public
slot turned: Card, public
counter pot: 0..20, public, starts at 5, excess beyond 20 is lost
status holder: player or none, public, starts at none
define price = 2

each player
    counter coins: 0.., public, starts at 3
    zone hand: Card, public

step play
    in turn each player starting with (first player)
BODY

ranking by most coins, ties shared
"""


def proved(tmp_path: Path, body: str) -> dict[str, bool]:
    """The claims of a game with these lines, by what would go wrong."""
    lines = "\n".join(f"        {line}" for line in body.strip("\n").split("\n"))
    (tmp_path / "g.rule").write_text(FRAME.replace("BODY", lines), encoding="utf-8")
    game = rulelang.load(str(tmp_path / "g.rule"))
    found: dict[str, bool] = {}
    for claim in claims(game.core, 3, {}):
        found[claim.sort] = found.get(claim.sort, True) and claim.proved
    return found


@pytest.mark.parametrize(
    ("body", "sort", "expected"),
    [
        ("lower coins by 3", "range", True),  # as they begin
        ("lower coins by 4", "range", False),
        ("lower coins by 2\nlower coins by 2", "range", False),
        ("if coins >= price\n    lower coins by price", "range", True),
        ("if coins > price\n    lower coins by price + 1", "range", True),
        ("if coins >= price\n    lower coins by price + 1", "range", True),  # they begin with 3
        ("raise coins by pot\nlower coins by 3", "range", True),
        ("lower pot by 1", "range", False),  # the second in turn finds what the first left
        ("if pot is not 0\n    lower pot by 1", "range", True),
        ("if pot is 0 or coins < 9\n    lower pot by 1", "range", False),
        ("let part = pot / 2 rounded down\nraise coins by part", "range", True),
        ("move 4 Card from deck to hand", "move", False),
        ("if number of deck >= 4\n    move 4 Card from deck to hand", "move", True),
        ("if deck is not empty\n    move top of deck to hand", "move", True),
        ("move top of deck to hand", "move", False),
        ("if turned is empty and deck is not empty\n    move top of deck to turned", "slot", True),
        ("if deck is not empty\n    move top of deck to turned", "slot", False),
        ("let card = first c in deck where value of c is 2\nif card is not none\n    move card to hand", "lies", True),
        ("let card = first deck\nshuffle deck\nif card is not none\n    move card to hand", "lies", False),
        ("set holder to you\nraise coins of holder by 1", "none", True),
        ("raise coins of holder by 1", "none", False),
        ("if holder is not none\n    raise coins of holder by 1", "none", True),
        ("if hand is not empty\n    raise coins by largest of value over hand", "empty", True),
        ("raise coins by largest of value over hand", "empty", False),
        ("choose any c in hand\n    move c to bin", "options", False),
        ("if hand is not empty\n    choose any c in hand\n        move c to bin", "options", True),
        ("choose\n    lay any c in hand\n        move c to bin\n    wait", "options", True),
        ("choose\n    lay any c in hand, only if coins >= 1\n        move c to bin\n        lower coins by 1\n    wait", "range", True),
        ("needs coins >= 3", "needs", True),
        ("needs pot >= 3", "needs", True),
        ("needs pot >= 6", "needs", False),
        ("raise coins by pot / coins rounded down", "division", True),  # they begin with 3
        ("raise coins by pot / number of hand rounded down", "division", False),
        ("repeat going\n    end going if pot is 0\n    lower pot by 1", "end", False),
        ("repeat going\n    choose\n        stop\n            end going\n        more\n            raise coins by 1", "end", True),
    ],
)
def test_what_is_proved_and_what_is_not(tmp_path: Path, body: str, sort: str, expected: bool) -> None:
    assert proved(tmp_path, body)[sort] is expected


def changes(text: str) -> list[tuple[int, int, str]]:
    """Guards dropped, numbers changed, signs turned: rule files that may stop."""
    made: list[tuple[int, int, str]] = []
    for pattern, new in (
        (r"\s*, only if [^{\n]*", ""),
        (r" where [^\n{,]*(?=\n| \{)", ""),
        (r"(?<=\n)( +)if ([^\n]*)(?=\n)", "\\1if yes"),
        (r"(?<=define )(\w+ = )\d+", "\\g<1>9"),
        (r"\braise ", "lower "),
    ):
        made += [(m.start(), m.end(), m.expand(new)) for m in re.finditer(pattern, text)]
    return made


@pytest.mark.parametrize("game", ["visby", "hansa"])
def test_no_match_stops_where_it_is_proved_that_it_does_not(game: str, tmp_path: Path) -> None:
    """Broken games stop; wherever they do, the prover had not claimed that they do not."""
    folder = tmp_path / game
    shutil.copytree(GAMES / game, folder)
    main = folder / f"{game}.rule"
    text = main.read_text(encoding="utf-8").split("\nexample ")[0] + "\n"
    rng = Random(5)
    stopped = 0
    for start, end, new in rng.sample(changes(text), min(12, len(changes(text)))):
        main.write_text(text[:start] + new + text[end:], encoding="utf-8")
        try:
            broken = rulelang.load(str(main))
        except RulesError:
            continue
        players = rng.choice(list(broken.players))
        try:
            broken.start(players=players, seed=1).play_out(Random(1), limit=300)
        except RuleError as err:
            if "did not end" in str(err):
                continue
            stopped += 1
            at = str(err.origin.span).rpartition(":")[0]  # type: ignore[attr-defined]
            settings = {o.name: o.default for o in broken.options.values()}
            here = [c for c in claims(broken.core, players, settings) if str(c.span).rpartition(":")[0] == at]
            assert any(not c.proved for c in here), f"{err} after {text[start:end]!r} became {new!r}"
    assert stopped, "no change broke the game: the property was not tried"


def test_most_places_of_the_games_are_proved() -> None:
    """Not a promise for other games; here a fall means that the prover lost something."""
    for name, least in (("visby", 30), ("tallinn", 14), ("hansa", 32), ("carthago", 80)):
        found, unproved = open_claims(rulelang.load(name).core)
        assert len(found) - len(unproved) >= least, name

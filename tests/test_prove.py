"""What is proved holds: no match stops at a line that is proved; and the prover knows what a reader sees at once."""

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, product
from pathlib import Path
from random import Random

import pytest
from attrs import evolve

import rulelang
from rulelang.core import nodes as core
from rulelang.errors import RuleError, RulesError
from rulelang.pipeline import games
from rulelang.prove.reach import boxes, cells_left, key_range
from rulelang.prove.report import WORDS, Games, lines
from rulelang.prove.survey import survey
from rulelang.prove.walk import claims
from rulelang.runtime.settings import combinations
from rulelang.runtime.values import Code, Values
from tests.harden import proofs as broken

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


def framed(body: str) -> str:
    return FRAME.replace("BODY", "\n".join(f"        {line}" for line in body.strip("\n").split("\n")))


def proved(tmp_path: Path, body: str) -> dict[str, bool]:
    """The claims of a game with these lines, by what would go wrong."""
    (tmp_path / "g.rule").write_text(framed(body), encoding="utf-8")
    game = rulelang.load(str(tmp_path / "g.rule"))
    found: dict[str, bool] = {}
    for claim in claims(game.core, 3, {}):
        found[claim.sort] = found.get(claim.sort, True) and claim.proved
    return found


@pytest.mark.parametrize(
    ("body", "sort", "expected"),
    [
        ("lower coins by 3", "below", True),  # as they begin
        ("lower coins by 4", "below", False),
        ("lower coins by 2\nlower coins by 2", "below", False),
        ("if coins >= price\n    lower coins by price", "below", True),
        ("if coins > price\n    lower coins by price + 1", "below", True),
        ("if coins >= price\n    lower coins by price + 1", "below", True),  # they begin with 3
        ("raise coins by pot\nlower coins by 3", "below", True),
        ("lower pot by 1", "below", True),  # 5 are enough for three
        ("lower pot by 2", "below", False),  # the third in turn finds what the others left
        ("if pot is not 0\n    lower pot by 1", "below", True),
        ("if pot is 0 or coins < 9\n    lower pot by 2", "below", False),
        ("let part = pot / 2 rounded down\nraise coins by part", "below", True),
        ("move 4 Card from deck to hand", "fewer", True),
        ("move 5 Card from deck to hand", "fewer", False),
        ("if number of deck >= 4\n    move 4 Card from deck to hand", "fewer", True),
        ("if deck is not empty\n    move top of deck to hand", "nothing", True),
        ("move top of deck to hand", "nothing", True),
        ("repeat 5 times\n    move top of deck to hand", "nothing", False),
        ("if turned is empty and deck is not empty\n    move top of deck to turned", "slot", True),
        ("if deck is not empty\n    move top of deck to turned", "slot", False),
        ("let card = first c in deck where value of c is 2\nif card is not none\n    move card to hand", "lies", True),
        ("let card = first deck\nshuffle deck\nif card is not none\n    move card to hand", "lies", False),
        ("set holder to none\nraise coins of holder by 1", "none", False),
        ("if holder is none\n    raise coins of holder by 1", "none", False),
        ("set holder to you\nraise coins of holder by 1", "none", True),
        ("raise coins of holder by 1", "none", False),
        ("if holder is not none\n    raise coins of holder by 1", "none", True),
        ("if hand is not empty\n    raise coins by largest of value over hand", "empty", True),
        ("raise coins by largest of value over hand", "empty", False),
        ("choose any c in hand\n    move c to bin", "options", False),
        ("if hand is not empty\n    choose any c in hand\n        move c to bin", "options", True),
        ("choose\n    lay any c in hand\n        move c to bin\n    wait", "options", True),
        ("choose\n    lay any c in hand, only if coins >= 1\n        move c to bin\n        lower coins by 1\n    wait", "below", True),
        ("needs coins >= 3", "needs", True),
        ("needs pot >= 3", "needs", True),
        ("needs pot >= 6", "needs", False),
        ("raise coins by pot / coins rounded down", "division", True),  # they begin with 3
        ("raise coins by pot / number of hand rounded down", "division", False),
        ("repeat going\n    end going if pot is 0\n    lower pot by 1", "end", True),
        ("repeat going\n    end going if pot is 0\n    raise pot by 1", "end", False),  # at 20 nothing moves
        # a pass may do nothing
        ("repeat going\n    end going if pot is 0\n    if number of hand > 2\n        lower pot by 1", "end", False),
        ("repeat going\n    end going if pot is 0\n    lower pot by 1\n    raise pot by 1", "end", False),
        ("repeat going\n    end going if deck is empty\n    move top of deck to bin", "end", True),
        ("repeat going\n    end going if deck is empty\n    move top of deck to bin\n    move bin to deck", "end", False),
        (
            "repeat going\n    end going if deck is empty\n    in turn each p in players starting with you\n"
            "        move top of deck to hand of p",
            "end",
            True,
        ),
        (
            "repeat going\n    end going if deck is empty\n    in turn each p in opponents where their coins > 9\n"
            "        move top of deck to hand of p",
            "end",
            False,
        ),
        ("repeat going\n    if coins > 3\n        choose\n            stop\n                end going\n            more", "end", False),
        ("repeat 3 times\n    raise coins by 1", "end", True),
        ("move 2 Card from deck to hand\nneeds every p in players has number of hand of p <= 2", "needs", True),
        ("repeat 2 times\n    move 2 Card from deck to hand\nneeds every p in players has number of hand of p <= 2", "needs", False),
        (
            "in turn each other in players starting with you\n    move 1 Card from deck to hand of you\nneeds number of hand of you <= 1",
            "needs",
            False,
        ),
        ("raise coins by coins * coins", "number", True),  # they begin with 3
        ("repeat 9 times\n    raise coins by coins * coins", "number", False),
        ("let large = 1..(coins * 9000)\nraise coins by number of large", "kept", False),
        ("choose exactly 1 n in 1..(pot * 600)\n    raise coins by number of n", "from", True),  # 5 in the pot
        ("raise pot by 15\nchoose exactly 1 n in 1..(pot * 600)\n    raise coins by number of n", "from", False),
        ("let n = random k in 1..(pot * 60000)\nraise coins by n", "drawn", True),
        ("raise pot by 15\nlet n = random k in 1..(pot * 60000)\nraise coins by n", "drawn", False),
        ("together each n in 1..(pot * 300)\n    raise coins by coins", "threads", True),
        ("raise pot by 15\ntogether each n in 1..(pot * 300)\n    raise coins by coins", "threads", False),
        ("raise coins by number of n in 1..(pot * 9000) where some m in 1..900 has m + n is 7", "work", False),
        ("repeat going\n    choose\n        stop\n            end going\n        more\n            raise coins by 1", "end", True),
    ],
)
def test_what_is_proved_and_what_is_not(tmp_path: Path, body: str, sort: str, expected: bool) -> None:
    assert proved(tmp_path, body)[sort] is expected


def written(e: ast.expr) -> str:
    """A message as a match would say it, with 1 for every value in it."""
    match e:
        case ast.Constant():
            return str(e.value)
        case ast.JoinedStr():
            return "".join(map(written, e.values))
        case ast.FormattedValue(value=ast.IfExp() as either):
            return written(either.body)
        case ast.IfExp():
            return written(either) if isinstance(either := e.body, ast.Constant) else "1"
        case ast.BinOp():
            return written(e.left) + written(e.right)
    return "1"


def stops() -> Iterator[tuple[str, str]]:
    """Every line of the stages that play at which a match may stop, and what it says then."""
    root = Path(rulelang.__file__).parent
    for path in sorted(p for stage in ("graph", "runtime") for p in (root / stage).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("error_at", "RuleError"):
                first = node.args[0]
                if isinstance(first, ast.Call) or ast.unparse(first).startswith(("message", "f'{message}")):
                    continue  # said again with its place
                branches = (first.body, first.orelse) if isinstance(first, ast.IfExp) else (first,)
                for message in branches:
                    yield f"{path.name}:{node.lineno}", written(message)


NOT_WHILE_PLAYING = (
    (r"places, which are too many|stands for too many places", "the game cannot be begun: `check` builds every player count (R340)"),
    (r"there can be up to \d+ in all|pieces `\w+` that differ", "the game cannot be begun (R340)"),
    (r"two threads changed the same place", "refused by `check` (R330)"),
    (r"did not end within", "the caller says after how many choices to give up"),
)


def test_every_way_to_stop_has_a_claim() -> None:
    """A new message of the runtime needs a sort of claim that rules it out, with words for the report."""
    found = list(stops())
    assert len(found) > 35, "the scan finds no messages any more"
    for place, message in found:
        sorts = next((sorts for pattern, sorts in broken.SORTS if re.search(pattern, message)), None)
        assert sorts or any(re.search(p, message) for p, _ in NOT_WHILE_PLAYING), f"{place}: no claim covers: {message}"
    assert set().union(*(sorts for _, sorts in broken.SORTS)) == set(WORDS), "sorts of claims and ways to stop are not the same"
    for pattern, _ in broken.SORTS:
        assert any(re.search(pattern, message) for _, message in found), f"nothing says this any more: {pattern}"


def test_no_match_stops_where_it_is_proved_that_it_does_not() -> None:
    """Broken games stop; wherever they do, a claim of that sort stood there, and it was left open."""
    figures = broken.run(40, seed=4, largest=30_000)
    assert figures.faults == []
    assert sum(figures.stops.values()) > 0, "no change broke a game: the property was not tried"


def asked_in_matches(game: rulelang.Game, monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, int]]:
    """The cells that random matches read, as (table, number of the cell)."""
    found: set[tuple[str, int]] = set()
    plain = Values._TableAt

    def noting(self: Values, e: core.TableAt) -> Code:
        numbered = plain(self, evolve(e, table=evolve(e.table, values=tuple(range(len(e.table.values))))))

        def read(s: list[int]) -> int:
            at = int(numbered.fn(s))
            found.add((e.table.name, at))
            return e.table.values[at]

        return Code(read)

    with monkeypatch.context() as patched:
        patched.setattr(Values, "_TableAt", noting)
        for players in game.players:
            for seed in range(4):
                with suppress(RuleError):
                    match = game.start(players=players, seed=seed)
                    match.play_out(Random(seed), limit=300)
                    _ = match.scores
    return found


def cells_of_nobody(game: rulelang.Game) -> set[tuple[str, int]]:
    """The cells that are said to be asked for by nobody, whether or not they are worth a warning."""
    found: set[tuple[str, int]] = set()
    assert game.loaded.flow is not None
    for table, asked in boxes(game.core, game.loaded.flow.noticed.lookups).items():
        ranges = (key_range(game.core, t) for t in table.keys)
        numbers = {at: n for n, at in enumerate(product(*(range(low, low + size) for low, size in ranges)))}
        for cells in cells_left(game.core, table, asked).values():
            found.update((table.name, numbers[at]) for at in cells)
    return found


def test_no_match_asks_for_a_cell_that_nobody_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the bundled games, in those that have such cells, and in games with small mistakes in them."""
    language = broken.ROOT / "tests" / "language" / "counts" / "bad"
    sure = (*sorted(language.glob("*nobody_asks_for.rule")), *games().values())
    seen = 0
    for path in chain(sure, (b.path for b in broken.broken_games(60, 3, tmp_path, 60_000))):
        with suppress(RulesError):
            game = rulelang.load(str(path))
            left = cells_of_nobody(game)
            seen += len(left)
            wrong = left & asked_in_matches(game, monkeypatch) if left else set()
            assert not wrong, f"{path}: asked for in a match: {wrong}"
    assert seen > 20, "no cells were left: the property was not tried"


def test_most_places_of_the_games_are_proved() -> None:
    """Not a promise for other games; here a fall means that the prover lost something."""
    for name, players, least in (("visby", 3, 33), ("tallinn", 3, 25), ("hansa", 3, 56)):
        game = rulelang.load(name).core
        usual = combinations(game, players)[0]
        assert sum(c.proved for c in claims(game, players, usual)) >= least, name


def test_what_cannot_be_proved_is_said_with_what_is_missing(tmp_path: Path) -> None:
    """Each line of the report is a status, a place and a sentence, and below it stands why."""
    (tmp_path / "g.rule").write_text(framed("lower coins by price + 2"), encoding="utf-8")
    game = rulelang.load(str(tmp_path / "g.rule")).core
    said = [text for _, text in lines(game)]
    at = next(n for n, text in enumerate(said) if "`coins` may go below its range (2 to 3 players)" in text)
    assert said[at].startswith("not proved: ") and "not known here: `coins >= 4`" in said[at + 1]
    seen = [text for _, text in lines(game, Games({2: 10, 3: 20}))]
    assert any(text.startswith("not seen in 30 games: ") and "`coins` may go below" in text for text in seen)
    stop = said[at].removeprefix("not proved: ").rpartition(": ")[0].rpartition(":")[0]
    stopped = [text for _, text in lines(game, Games({2: 10, 3: 20}, frozenset((stop,))))]
    assert any("a random match stopped on this line" in text for text in stopped)


def test_one_answer_for_tables_that_agree(tmp_path: Path) -> None:
    """Player counts and options are told apart only where they differ."""
    body = "lower coins by number of players + goal"
    text = framed(body).replace("pieces Card", "option goal: 0 or 1, usually 0\n\npieces Card", 1)
    (tmp_path / "g.rule").write_text(text, encoding="utf-8")
    found = [a for a in survey(rulelang.load(str(tmp_path / "g.rule")).core) if a.claim.sort == "below"]
    tables = {a.verdict.status: [(t.players, t.settings) for t in a.tables] for a in found}
    assert tables == {"proved": [(2, ()), (3, ((("goal", 0),),))], "open": [(3, ((("goal", 1),),))]}

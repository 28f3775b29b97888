"""Games with small mistakes in them are played, and wherever the rules stop, the prover must not have said that they do
not: every stop lies at a claim of its own sort and place that is not proved."""

import re
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from attrs import define, field, frozen

import rulelang
from rulelang.errors import RuleError, RulesError
from rulelang.prove.verdict import Claim
from rulelang.prove.walk import claims
from rulelang.runtime.settings import combinations

SECONDS = 30  # for one match, and the proofs where it stops
ROOT = Path(__file__).resolve().parent.parent.parent
SORTS = (  # what a match says when it stops, and the claims that were to rule it out
    (r"would be -?\d+, (below|beyond)", {"below", "beyond", "limit", "join"}),
    (r"would start at", {"start"}),
    (r"outside of its range", {"outside", "below", "beyond", "limit"}),
    (r"would be -?\d+, outside of -?[\d.]", {"argument"}),
    (r"needs does not hold", {"needs"}),
    (r"nothing to move", {"nothing"}),
    (r"do(es)? not lie in `", {"lies"}),
    (r"holds one piece only", {"slot"}),
    (r"different owners", {"owners"}),
    (r"pieces cannot be moved", {"negative"}),
    (r"holds \d+, not", {"fewer"}),
    (r"has no such key", {"key"}),
    (r"` of none", {"none"}),
    (r"this has no `", {"field"}),
    (r"has no value for", {"table"}),
    (r"divided by 0", {"division"}),
    (r"a number beyond 2 to the power", {"number"}),
    (r"in a group: only|in a group with an order: only|in an order: at most", {"kept"}),
    (r"at once are too many", {"threads"}),
    (r"more than \d+ to pick from", {"from"}),
    (r"chance picks one of", {"drawn"}),
    (r"of nothing", {"empty"}),
    (r"there is no number", {"nth"}),
    (r"has no owner", {"owner"}),
    (r"is none here", {"none"}),
    (r"lie in the pile", {"position"}),
    (r"nothing can be chosen", {"options"}),
    (r"more than \d+ options", {"many"}),
    (r"chance has nothing", {"chance"}),
    (r"goes round|steps without asking", {"end", "work"}),
)
EDITS = (
    (r"\s*, only if [^{\n]*", ""),
    (r" where [^\n{,]*(?=\n| \{)", ""),
    (r" such that [^\n{]*(?=\n| \{)", ""),
    (r"(?<=\n)( +)if ([^\n]*)(?=\n)", r"\1if yes"),
    (r"(?<=\n) +needs [^\n]*\n", ""),
    (r"(?<=\n) +end \w+ if [^\n]*\n", ""),
    (r", excess (beyond|below) [^\n,{]* is lost", ""),
    (r"\braise (?=\w)", "lower "),
    (r"\blower (?=\w)", "raise "),
    (r"(?<=starts at )\d+", "0"),
    (r"(?<=starts at )\d+", "9"),
    (r"(?<=\.\.)\d+", "3"),
    (r"(?<=[ (])\d+(?=[ )\n,])", "0"),
    (r"(?<=[ (])\d+(?=[ )\n,])", "1"),
    (r"(?<=[ (])\d+(?=[ )\n,])", "7"),
    (r"(?<=[ (])\d+(?=[ )\n,])", "90000"),
    (r" \+ ", " * 9007199254740000 * "),
    (r" >= ", " <= "),
    (r" > ", " >= "),
    (r" is not empty", " is empty"),
    (r" is not none", " is none"),
    (r"\bnot ", ""),
    (r" and ", " or "),
    (r" or (?!none|no\b)", " and "),
    (r"\bexactly ", "at least "),
    (r"\bup to ", "exactly "),
    (r"(?<=\n) +(move|raise|lower|set|shuffle) [^\n]*\n", ""),
    (r"otherwise\n", "otherwise if no\n"),
    (r"top of ", "bottom of "),
    (r"\btogether each", "in turn each"),
)


@frozen
class Broken:
    """A game with a mistake in it: where it lies, and what was changed"""

    path: Path
    edits: tuple[str, ...]


@define
class Figures:
    """What came of many of them"""

    games: int = 0
    refused: int = 0
    matches: int = 0
    slow: int = 0  # given up after SECONDS
    stops: Counter[str] = field(factory=Counter)
    faults: list[str] = field(factory=list)  # stops where it was proved that there are none, and mistakes of ours

    @property
    def line(self) -> str:
        sorts = ", ".join(f"{n} {sort}" for sort, n in self.stops.most_common())
        return (
            f"{self.games} broken games, {self.refused} refused by check, {self.matches} matches, {self.slow} given up, "
            f"{sum(self.stops.values())} stopped ({sorts}), {len(self.faults)} of them where it was proved that they do not"
        )


def sources(largest: int) -> list[Path]:
    """The games, and every small game that must work, up to so many bytes."""
    small = sorted((ROOT / "tests" / "language").glob("*/good/*.rule"))
    games = (p for p in sorted((ROOT / "games").glob("*/*.rule")) if _size(p.parent) <= largest)
    return [*games, *(p for p in small if p.read_text(encoding="utf-8").lstrip().startswith("game "))]


def _size(folder: Path) -> int:
    return sum(p.stat().st_size for p in folder.glob("*.rule"))


def edited(text: str, rng: Random) -> tuple[str, tuple[str, ...]]:
    """A few small changes, seeded."""
    done: list[str] = []
    wanted = rng.choice((1, 2, 3, 4))
    for pattern, new in rng.sample(EDITS, len(EDITS)):
        found = list(re.finditer(pattern, text))
        if found and len(done) < wanted:
            m = rng.choice(found)
            done.append(f"{m.group().strip()!r} became {m.expand(new).strip()!r} at line {text.count(chr(10), 0, m.start()) + 1}")
            text = text[: m.start()] + m.expand(new) + text[m.end() :]
    return text, tuple(done)


def broken_games(n: int, seed: int, folder: Path, largest: int) -> Iterator[Broken]:
    rng = Random(seed)
    files = sources(largest)
    games = [p for p in files if ROOT / "games" in p.parents]
    for k in range(n):
        source = rng.choice(games if rng.random() < 0.5 else files)
        here = folder / str(k)
        if source in games:
            shutil.copytree(source.parent, here)
        else:
            here.mkdir()
            shutil.copy(source, here / source.name)
        target = here / source.name
        text = target.read_text(encoding="utf-8")
        rules = re.split(r"(?m)^example ", text)[0]
        rules, edits = edited(rules, rng)
        target.write_text(rules, encoding="utf-8")
        main = here / f"{source.parent.name}.rule"
        yield Broken(main if main.exists() else target, edits)
        shutil.rmtree(here)


CANNOT_BEGIN = re.compile(r"there can be up to|that differ|too many places")  # `check` says it of every player count (R340)


def at(span: object) -> str:
    return str(span)


def disproved(found: list[Claim], err: RuleError) -> str:
    """Why a stop should not have been, by what was claimed; or nothing, if it was left open."""
    message = str(err).splitlines()[0]
    sorts = next((s for pattern, s in SORTS if re.search(pattern, message)), None)
    if sorts is None:
        return f"a stop of no known sort: {message}"
    if "end" in sorts:
        return "" if any(c.sort in sorts and not c.proved for c in found) else f"every loop was proved to end: {message}"
    place = at(err.origin.span)  # type: ignore[attr-defined]
    name = m.group(1) if (m := re.search(r"`(\w+)` would be", message)) else ""
    here = [c for c in found if c.sort in sorts and (at(c.span) == place or (c.sort == "limit" and c.about == name))]
    if not here:
        return f"nothing was claimed there: {err}"
    return "" if any(not c.proved for c in here) else f"it was proved that this does not happen: {err}"


def run(n: int, seed: int = 1, largest: int = 1 << 20, matches: int = 2, limit: int = 200) -> Figures:
    """Makes, plays and judges so many broken games."""
    made = Figures()
    rng = Random(seed + 1)
    signal.signal(signal.SIGALRM, _give_up)
    with TemporaryDirectory() as folder:
        for broken in broken_games(n, seed, Path(folder), largest):
            made.games += 1
            try:
                game = rulelang.load(str(broken.path))
            except RulesError:
                made.refused += 1
                continue
            players = rng.choice(list(game.players))
            allowed = combinations(game.core, players)
            if not allowed:
                continue
            settings = rng.choice(allowed)
            for k in range(matches):
                made.matches += 1
                stop: RuleError | None = None
                signal.alarm(SECONDS)
                try:
                    match = game.start(players=players, seed=k, options=_words(game, settings))
                    match.play_out(Random(seed + k), limit=limit)
                    _ = match.scores
                except RuleError as err:
                    stop = err
                except TimeoutError:
                    made.slow += 1
                    break
                except Exception as err:
                    made.faults.append(f"{broken.path.name} with {players}, {'; '.join(broken.edits)}: {type(err).__name__}: {err}")
                    break
                finally:
                    signal.alarm(0)
                if stop is not None and "did not end" not in str(stop):
                    if CANNOT_BEGIN.search(str(stop)):
                        break
                    wrong = disproved(claims(game.core, players, settings), stop)
                    made.stops[next((" or ".join(sorted(s)) for p, s in SORTS if re.search(p, str(stop))), "?")] += 1
                    if wrong:
                        made.faults.append(f"{broken.path.name} with {players}, {'; '.join(broken.edits)}: {wrong}")
                    break
    return made


def _give_up(*_: object) -> None:
    raise TimeoutError


def _words(game: rulelang.Game, settings: dict[str, int]) -> dict[str, object]:
    from rulelang.runtime.settings import option_word

    return {name: option_word(game.core, game.core.options[name], value) for name, value in settings.items()}

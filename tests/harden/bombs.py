"""Rule files that are small and want to grow without end.  Each is checked in a child with little memory and time, and is
answered by one finding at its place."""

import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from attrs import frozen

from rulelang import pipeline
from rulelang.diagnostics import render
from rulelang.errors import UsageError
from rulelang.limits import USUAL, Limits
from rulelang.proofs import check_counts
from tests.harden import Report

MEMORY = 600_000_000  # bytes that the child may have, all that Python has itself included
SECONDS = 20  # of the processor
SIZES = (1, 4, 16)  # times as large as the smallest that is too large

HEAD = 'game bomb "Bomb", players 2..4\n\neach player\n    counter points: 0.., public, starts at 0\n\n'
HEAD += "ranking by most points, ties shared\n\n"
TURN = "step play\n    in turn each player starting with (first player)\n"
POT = "counter pot: 0.., public, starts at 0\n\n"
ONCE = "step play\n    together each player\n        raise points by 1\n"

SECRET = "nobody outside may read this\n"
ABOVE = "-> ../outside.rule"
OUTSIDE = ("nobody outside", "root:")  # what stands in files outside, and in no message

Files = dict[str, str]  # what it holds; `-> x`: a link, `/`: a folder, `|`: a pipe, `large`: in large letters, as a disk may find it


@frozen
class Bomb:
    """What it is, its files for a size (`bomb.rule` is the one that is checked), and what `check` says; `at` is a part of the line"""

    name: str
    make: Callable[[int], Files]
    code: str
    at: str


def _game(text: str) -> Files:
    return {"bomb.rule": HEAD + text}


def _value(value: str) -> Files:
    return _game(f"step play\n    together each player\n        raise points by {value}\n")


def _test(test: str) -> Files:
    return _game(f"step play\n    together each player\n        if {test}\n            raise points by 1\n")


def _cards(n: int) -> str:
    rows = "\n".join("    " + " or ".join(str(i) for i in range(k, min(k + 10, n + 1))) for k in range(1, n + 1, 10))
    return f"pieces Card(id: 1..{n})\n{rows}\n\nzone market: Card, public, starts with all Card\nzone waste: Card, public\n\n"


def _choose(cards: str, what: str) -> Files:
    return _game(f"{cards}{TURN}        choose {what}\n            move cards to waste\n")


def _use(name: str, what: str) -> Files:
    return {"bomb.rule": HEAD.replace("\n\n", f"\n\nuse {name}\n\n", 1) + ONCE, f"{name}.rule": what}


def _variant(base: str, what: str) -> Files:
    return {"bomb.rule": f'variant bomb of {base} "Bomb"\n\nafter play\n    end game\n', f"{base}.rule": what}


def _blocks(n: int) -> Files:
    deep = 100 * min(n, 8)
    lines = [f"{' ' * (d + 1)}if points of (first player) > {d}" for d in range(deep)]
    return _game("step play\n" + "\n".join(lines) + "\n" + " " * (deep + 1) + "end play\n")


def _doubling(n: int) -> Files:
    """Each definition calls the one before twice: thirty lines, a thousand million parts."""
    lines = ["define d0(a: number) = a"] + [f"define d{k}(a: number) = d{k - 1}(a) + d{k - 1}(a + 1)" for k in range(1, 20 + 10 * n)]
    return _game("\n".join(lines) + f"\n\nstep play\n    together each player\n        raise points by d{19 + 10 * n}(1)\n")


def _tenfold(n: int) -> Files:
    last = 6 + min(n, 4)
    lines = ["define d0(a: number) = a"] + [f"define d{k}(a: number) = {' + '.join([f'd{k - 1}(a)'] * 10)}" for k in range(1, last + 1)]
    return _game("\n".join(lines) + f"\n\nstep play\n    together each player\n        raise points by d{last}(1)\n")


def _verbs(n: int) -> Files:
    lines = ["verb v0\n    raise pot by 1\n"] + [f"verb v{k}\n    v{k - 1}\n    v{k - 1}\n" for k in range(1, 20 + 10 * min(n, 4))]
    return _game(POT + "\n".join(lines) + f"\nstep play\n    v{19 + 10 * min(n, 4)}\n")


def _chain(n: int) -> Files:
    """A file that uses a file that uses a file"""
    last = 20 * n
    files = {f"f{k}.rule": f'library f{k} "F"\n\nuse f{k + 1}\n\ndefine x{k} = 1\n' for k in range(last)}
    files[f"f{last}.rule"] = f'library f{last} "F"\n\ndefine x{last} = 1\n'
    return {**files, "bomb.rule": HEAD.replace("\n\n", "\n\nuse f0\n\n", 1) + ONCE}


def _diamond(n: int) -> Files:
    """Layers of two files, each using both of the next: each is read once, so that nothing is wrong with it."""
    deep = 14
    files = {}
    for k in range(deep):
        for side in "ab":
            use = f"use a{k + 1}, b{k + 1}\n\n" if k < deep - 1 else ""
            files[f"{side}{k}.rule"] = f'library {side}{k} "F"\n\n{use}define {side}x{k} = 1\n'
    return {**files, "bomb.rule": HEAD.replace("\n\n", "\n\nuse a0, b0\n\n", 1) + ONCE}


def _circle(n: int) -> Files:
    """A circle of files"""
    many = 3 * n if n < 5 else 15
    files = {f"c{k}.rule": f'library c{k} "C"\n\nuse c{(k + 1) % many}\n\ndefine x{k} = 1\n' for k in range(many)}
    return {**files, "bomb.rule": HEAD.replace("\n\n", "\n\nuse c0\n\n", 1) + ONCE}


def _endless(body: str) -> Files:
    return _game(f"counter pot: 0.., public, starts at 1\n\nrepeat rounds\n    {body}\n    end rounds if pot is 0\n")


def _many_places(n: int) -> Files:
    kind = "kind Town: " + ", ".join(f"t{k}" for k in range(200)) + "\n\n"
    return _game(f"{kind}counter stock(Town, Town, 1..{100 * n}): 0.., public, starts at 0\n\nstep play\n    raise stock(t0, t1, 1) by 1\n")


def _only_with_four(n: int) -> Files:
    """Nothing for two and three, and 2 to the power of the number of cards for four"""
    return _game(
        _cards(40 * n)
        + "table quota(players: 2..4)\n    2: 1\n    3: 1\n    4: 40\n\n"
        + TURN
        + "        choose up to quota(number of players) cards in market\n            move cards to waste\n"
    )


BOMBS = (
    Bomb("brackets", lambda n: _value("(" * 110 * n + "1" + ")" * 110 * n), "R004", "raise points"),
    Bomb("a long sum", lambda n: _value(" + ".join(["1"] * 310 * n)), "", ""),
    Bomb("a long product", lambda n: _value(" * ".join(["1"] * 130 * n)), "R004", "raise points"),
    Bomb("not not not", lambda n: _test("not " * 110 * n + "(points > 1)"), "R004", "if not"),
    Bomb("and and and", lambda n: _test(" and ".join(["points > 1"] * 310 * n)), "R004", "if points"),
    Bomb("of of of", lambda n: _value("points of " * 110 * n + "(first player)"), "R004", "raise points"),
    Bomb("blocks in blocks", _blocks, "R004", "if points"),
    Bomb(
        "otherwise if",
        lambda n: _game(
            "step play\n    if points of (first player) > 1\n        end play\n"
            + "".join(f"    otherwise if points of (first player) > {k}\n        end play\n" for k in range(160 * n))
        ),
        "R004",
        "otherwise",
    ),
    Bomb("definitions that double", _doubling, "R004", "define d"),
    Bomb("definitions that grow tenfold", _tenfold, "R005", "define d"),
    Bomb("verbs that double", _verbs, "R005", ""),
    Bomb("a number of many digits", lambda n: _value("9" * 5000 * n), "R005", "raise points"),
    Bomb("a huge product", lambda n: _value(" * ".join(["9007199254740992"] * (1 + n))), "R340", "raise points"),
    Bomb(
        "a huge counter",
        lambda n: _game(POT.replace("at 0", "at 9007199254740992") + "step play\n    raise pot by 9007199254740992\n"),
        "R340",
        "raise pot",
    ),
    Bomb(
        "a huge table",
        lambda n: _game(f"table t(a: 1..{2_000_000 * n})\n    1..: 1\n\n" + ONCE.replace("by 1", "by t(1)")),
        "R005",
        "table t",
    ),
    Bomb(
        "a table of many keys",
        lambda n: _game(
            "table t(" + ", ".join(f"k{i}: 1..100" for i in range(3 + n)) + ")\n    " + ", ".join(["1.."] * (3 + n)) + ": 1\n\n" + ONCE
        ),
        "R005",
        "table t",
    ),
    Bomb(
        "a huge range",
        lambda n: _game(f"step play\n    if some n in 1..{10**9 * n} has n mod 7919 is 7920\n        end play\n"),
        "R340",
        "if some",
    ),
    Bomb(
        "ranges in ranges",
        lambda n: _game(f"step play\n    if some a in 1..{5000 * n} has (some b in 1..{5000 * n} has a * b is 0)\n        end play\n"),
        "R340",
        "if some",
    ),
    Bomb(
        "very many pieces",
        lambda n: _game(f"pieces Card: {200_000 * n}\n\nzone market: Card, public, starts with all Card\n\n" + ONCE),
        "R340",
        "pieces Card",
    ),
    Bomb(
        "pieces by many cells",
        lambda n: _game(
            "pieces Card("
            + ", ".join(f"f{i}: 1..10" for i in range(6))
            + ")\n    "
            + " ".join([" or ".join(map(str, range(1, 11)))] * 6)
            + "\n\nzone market: Card, public, starts with all Card\n\n"
            + ONCE
        ),
        "R005",
        "1 or 2",
    ),
    Bomb(
        "many pieces that differ",
        lambda n: _game(_cards(6_000 * n).replace("zone waste: Card, public\n", "") + ONCE),
        "R340",
        "pieces Card",
    ),
    Bomb("a place for every key", _many_places, "R340", "counter stock"),
    Bomb("every group of cards", lambda n: _choose(_cards(20 * n), "any number of cards in market"), "R340", "choose any number"),
    Bomb("every order of cards", lambda n: _choose(_cards(10 * n), "exactly 9 ordered cards in market"), "R340", "choose exactly"),
    Bomb("only with four players", _only_with_four, "R340", "choose up to"),
    Bomb(
        "picks of picks",
        lambda n: _game(
            _cards(60) + TURN + "        choose\n            take any a in 1..100 for any b in 1..100 with any c in 1..100\n"
            "                raise points by 1\n"
        ),
        "R340",
        "choose",
    ),
    Bomb(
        "options of a number",
        lambda n: _game(TURN + f"        choose any n in 1..{10**6 * n}\n            raise points by n\n"),
        "R340",
        "choose any",
    ),
    Bomb("a loop in which nothing changes", lambda n: _endless("set pot to 1"), "R340", "repeat rounds"),
    Bomb("a loop that never leaves", lambda n: _endless("raise pot by 1"), "R340", "repeat rounds"),
    Bomb(
        "loops in loops",
        lambda n: _game(
            POT
            + "step play\n"
            + "".join(f"{'    ' * (k + 1)}repeat r{k}, 100 times\n" for k in range(4 + min(n, 8)))
            + "    " * (5 + min(n, 8))
            + "raise pot by 1\n"
        ),
        "R340",
        "repeat r",
    ),
    Bomb("very many times", lambda n: _game(POT + f"repeat rounds, {10**8 * n} times\n    raise pot by 1\n"), "R340", "repeat rounds"),
    Bomb("files in a row", _chain, "R004", "use"),
    Bomb("a circle of files", _circle, "R111", "use"),
    Bomb("a diamond of files", _diamond, "", ""),
    Bomb("a long line", lambda n: _game("# " + "x" * 60_000 * n + "\n" + ONCE), "", ""),
    Bomb("a long title", lambda n: {"bomb.rule": HEAD.replace('"Bomb"', '"' + "x" * 50_000 * n + '"') + ONCE}, "R005", "game bomb"),
    Bomb("very many lines", lambda n: _game("step play\n" + "    raise points of (first player) by 1\n" * 1_100 * n), "R005", "raise"),
    Bomb(
        "very many declarations",
        lambda n: _game("".join(f"define d{k} = {k}\n" for k in range(5_100 * min(n, 8))) + ONCE),
        "R005",
        "define",
    ),
    Bomb(
        "very many mistakes",
        lambda n: _game("".join(f"step s{k}\n" + "    raise nothing by 1\n" * 900 for k in range(n))),
        "R103",
        "raise nothing",
    ),
    Bomb(
        "very many members",
        lambda n: _game("kind Town: " + ", ".join(f"t{k}" for k in range(11_000 * min(n, 8))) + "\n\n" + ONCE),
        "R005",
        "kind Town",
    ),
    Bomb(
        "very many options of a match",
        lambda n: _game("".join(f"option o{k}: 1 or 2 or 3 or 4 or 5, usually 1\n" for k in range(12 * n)) + "\n" + ONCE),
        "",
        "",
    ),
    Bomb("quotes without an end", lambda n: _game('step "' * 2_000 * n + "\n"), "R001", "step"),
    Bomb("nothing but signs", lambda n: {"bomb.rule": "([{,.:" * 10_000 * n}, "R001", "("),
    Bomb("a large file", lambda n: {"bomb.rule": HEAD + "# x\n" * 300_000 * n}, "refused", ""),
    Bomb("a use of a link that leads out", lambda n: _use("outside", "-> /etc/passwd"), "R112", "use outside"),
    Bomb("a use of a rule file outside", lambda n: {**_use("elsewhere", ABOVE), "../outside.rule": SECRET}, "R112", "use e"),
    Bomb("a use of a link to nothing", lambda n: _use("nothing", "-> not_here.rule"), "R112", "use nothing"),
    Bomb("a use of links in a circle", lambda n: {**_use("one", "-> two.rule"), "two.rule": "-> one.rule"}, "R112", "use one"),
    Bomb("a use of a folder above", lambda n: _use("../" * n + "etc/passwd", ""), "R001", "use ../"),
    Bomb("a use of an absolute name", lambda n: _use("/" * n + "etc/passwd", ""), "R001", "use /"),
    Bomb("a use of a name with a NUL", lambda n: _use("x\0" * n, ""), "refused", ""),
    Bomb("a use of a name in large letters", lambda n: _use("Helper", 'library helper "H"\n'), "R001", "use Helper"),
    Bomb("a use of a file in large letters", lambda n: _use("helper", "large"), "R112", "use helper"),
    Bomb("a use of a file of another name", lambda n: _use("helper", 'library other "H"\n'), "R113", "library other"),
    Bomb("a use of a name too long for a file", lambda n: _use("x" * 300 * n, ""), "R005", "use x"),
    Bomb("a variant of a rule file outside", lambda n: {**_variant("base", ABOVE), "../outside.rule": SECRET}, "R112", "variant"),
    Bomb("a variant of a device", lambda n: _variant("base", "-> /dev/zero"), "R112", "variant"),
    Bomb("a variant of a pipe", lambda n: _variant("base", "|"), "R112", "variant"),
    Bomb("a variant of a folder", lambda n: _variant("base", "/"), "R112", "variant"),
    Bomb("a variant of a huge game", lambda n: _variant("base", f"sparse {10**9}"), "refused", ""),
    Bomb("a variant of a folder above", lambda n: _variant("../" * n + "base", ""), "R001", "variant"),
    Bomb("a variant of an absolute name", lambda n: _variant("/etc/passwd", ""), "R001", "variant"),
    Bomb("a variant of a file in large letters", lambda n: _variant("base", "large"), "R112", "variant"),
    Bomb("a variant of a name too long for a file", lambda n: _variant("x" * 300 * n, ""), "R005", "variant"),
    Bomb("a use of a device", lambda n: _use("outside", "-> /dev/zero"), "R112", "use outside"),
    Bomb("a use of a pipe", lambda n: _use("pipe", "|"), "R112", "use pipe"),
    Bomb("a use of a folder", lambda n: _use("inner", "/"), "R112", "use inner"),
    Bomb("a use of a huge file", lambda n: _use("huge", f"sparse {10**9}"), "R112", "use huge"),
    Bomb("a huge file", lambda n: {"bomb.rule": f"sparse {10**9}"}, "refused", ""),
)


@frozen
class Answer:
    """What the child said, how long it took, and how much memory it had at most"""

    findings: tuple[tuple[str, str, str], ...] = ()  # of errors: code, message, the line
    refused: str = ""
    wrong: str = ""
    seconds: float = 0
    megabytes: float = 0


def lay_out(files: Files, folder: Path) -> Path:
    """The file to check, in a folder of its own, so that there is something outside of it."""
    folder = folder / "game"
    folder.mkdir()
    for name, text in files.items():
        path = folder / name
        if not text or len(name) > 200:
            continue
        if text == "large":
            path.with_name(name.capitalize()).write_text("", encoding="utf-8")
        elif text.startswith("-> "):
            path.symlink_to(text[3:])
        elif text == "|":
            os.mkfifo(path)
        elif text == "/":
            path.mkdir()
        elif text.startswith("sparse "):
            with path.open("wb") as file:
                file.truncate(int(text[7:]))
        else:
            path.write_text(text, encoding="utf-8")
    return folder / "bomb.rule"


def _child(path: Path, limits: Limits, conn: Any) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    began = time.process_time()
    try:
        loaded = pipeline.load(str(path), limits=limits)
        check_counts(loaded)
        errors = [d for d in loaded.problems.sorted() if d.is_error]
        found = tuple((d.code, d.message, d.span.source.line_text(d.span.line).strip()[:200]) for d in errors)
        said = "\n".join(render(d) for d in loaded.problems.sorted())
        answer = Answer(found, wrong="it shows what stands outside" if any(x in said for x in OUTSIDE) else "")
    except UsageError as err:
        answer = Answer(refused=str(err))
    except BaseException as err:
        answer = Answer(wrong=f"{type(err).__name__}: {str(err)[:200]}")
    used = resource.getrusage(resource.RUSAGE_SELF)
    conn.send((answer.findings, answer.refused, answer.wrong, time.process_time() - began, used.ru_maxrss / 1000))
    conn.close()


@lru_cache(maxsize=1)
def _make_ready() -> None:
    """What every check needs is worked out here once, and not in every child."""
    with tempfile.TemporaryDirectory() as folder:
        check_counts(pipeline.load(str(lay_out(_game(ONCE), Path(folder)))))


def ask(path: Path, limits: Limits = USUAL) -> Answer:
    _make_ready()
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_child, args=(path, limits, theirs))
    process.start()
    theirs.close()
    try:
        answer = Answer(*ours.recv())
    except EOFError:
        answer = Answer(wrong="killed: too much time or memory")
    process.join()
    return answer


def fault(bomb: Bomb, answer: Answer) -> str:
    """What is wrong with an answer, or nothing."""
    if answer.wrong:
        return answer.wrong
    if bomb.code == "refused":
        return "" if answer.refused and "\n" not in answer.refused else f"not refused: {answer.findings}"
    if answer.refused:
        return f"refused: {answer.refused}"
    if not bomb.code:
        return f"findings: {answer.findings}" if answer.findings else ""
    if len(answer.findings) != 1:
        return f"{len(answer.findings)} findings: {answer.findings[:3]}"
    code, message, line = answer.findings[0]
    return "" if code == bomb.code and bomb.at in line else f"{code} {message} at {line!r}"


def run(n: int, seed: int) -> Report:
    """Every bomb in n sizes, at most three."""
    began, faults, asked = time.perf_counter(), [], 0
    slowest, largest = (0.0, ""), (0.0, "")
    for bomb in BOMBS:
        for size in SIZES[: max(1, n)]:
            with tempfile.TemporaryDirectory() as folder:
                answer = ask(lay_out(bomb.make(size), Path(folder)))
            asked += 1
            name = f"{bomb.name}, size {size}"
            slowest, largest = max(slowest, (answer.seconds, name)), max(largest, (answer.megabytes, name))
            why = fault(bomb, answer)
            if why:
                faults.append(f"{name}: {why}")
    return Report(
        f"{len(BOMBS)} bombs in {min(len(SIZES), max(1, n))} sizes, {asked - len(faults)} of {asked} answered as they should; "
        f"{time.perf_counter() - began:.0f} s, the slowest {slowest[0]:.2f} s ({slowest[1]}), "
        f"the largest {largest[0]:.0f} MB ({largest[1]})",
        tuple(faults),
    )

"""A finding shown on a small game: how the rule looks wrong, what is said about it, how it looks mended.

The games lie in `findings/`, one for each code: a file `R301.rule`, or a folder where it takes several files.  Such a
file is the wrong game.  A comment below a line says how that line reads when it is mended; without words, that the
line goes away:

    raise points by hand
    #> raise points by number of hand
"""

import re
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from rulelang import pipeline
from rulelang.claims import run_claims
from rulelang.codes import CODES
from rulelang.diagnostics import Diagnostic, render
from rulelang.playouts import run_always
from rulelang.proofs import check_counts

_MEND = re.compile(r"( *)#>(?: (.*))?$")


@frozen
class Explanation:
    """`rulelang explain R301`"""

    title: str
    text: str
    wrong: str
    found: str
    mended: str


def explain(code: str) -> Explanation:
    case = example_of(code)
    found = findings(case)
    before, after = [], []
    for path in files(case):
        places = [span for d in found for span in (d.span, *(n.span for n in d.notes)) if Path(span.source.path).name == path.name]
        pairs = list(_declarations(path.read_text(encoding="utf-8"), {span.line for span in places}))
        head = [f"# {path.name}"] if case.is_dir() and pairs else []
        before += head + [w for w, _ in pairs]
        after += head + [m or "# (left out)" for _, m in pairs]
    said = "\n\n".join(render(d) for d in found)
    return Explanation(CODES[code].title, CODES[code].text, "\n\n".join(before), said, "\n\n".join(after))


def example_of(code: str) -> Path:
    """The file or folder that shows this code."""
    folder = pipeline.bundled("findings") / code
    return folder if folder.is_dir() else folder.with_suffix(pipeline.SUFFIX)


def files(case: Path) -> list[Path]:
    return sorted(case.glob(f"*{pipeline.SUFFIX}")) if case.is_dir() else [case]


def wrong(text: str) -> str:
    """The game without the lines that mend it."""
    return "".join(line for line in text.splitlines(keepends=True) if not _MEND.match(line.rstrip("\n")))


def mended(text: str) -> str:
    """The game with every line as it should be."""
    lines: list[str] = []
    in_mend = False
    for line in text.splitlines():
        mend = _MEND.match(line)
        if mend is None:
            lines.append(line)
        elif not in_mend:
            lines[-1:] = [mend[1] + mend[2]] if mend[2] else []
        else:
            lines.append(mend[1] + (mend[2] or ""))
        in_mend = mend is not None
    return "\n".join(line.rstrip() for line in lines) + "\n"


def findings(case: Path) -> tuple[Diagnostic, ...]:
    """Everything that `check` and `test` say about a game; the variants in its folder are loaded on it."""
    layers = [p.stem for p in files(case) if p.read_text(encoding="utf-8").startswith("variant ")] if case.is_dir() else []
    loaded = pipeline.load(str(case), layers)
    check_counts(loaded)
    found = loaded.problems.sorted()
    if loaded.ok and loaded.names is not None and loaded.names.header.word == "game":
        results = [*run_claims(loaded), *run_always(loaded)]
        found += tuple(r.problem for r in results if r.problem is not None)
    return found


def _declarations(text: str, lines: set[int]) -> Iterator[tuple[str, str]]:
    """The declarations that a finding names or that differ, wrong and mended."""
    first = 1
    for part in re.split(r"\n(?=[^\s#])", text):
        last = first + part.count("\n")
        before, after = wrong(part).strip("\n"), mended(part).strip("\n")
        if before != after or lines.intersection(range(first, last + 1)):
            yield before, after
        first = last + 1

"""The corpus of small rule files, each named after the claim it makes.

`good`: a complete tiny game; it loads without a finding, and its examples prove the claim.
`bad`: what must be reported stands on the offending line, `#! R101 part of the message`; all of it, and no more.
A claim that needs several files is a folder: the main file bears its name (or is `base.rule`), variants in it are
loaded as layers in the order of their names.  The files of `counts` are also built and begun for every player count.
One wrong game for each code stands in `findings/`: `test_findings.py`."""

import re
from pathlib import Path

import pytest

from rulelang import pipeline
from rulelang.claims import run_claims
from rulelang.diagnostics import Diagnostic, render
from rulelang.pipeline import Loaded
from rulelang.playouts import run_always
from rulelang.proofs import check_counts
from rulelang.surface import nodes

CORPUS = Path(__file__).parent / "language"
LIBRARY = pipeline.bundled("stdlib") / "examples"  # each is the example of one definition, and runs with `rulelang test stdlib`
EXPECTED = re.compile(r"#! (R\d{3}) (.*?)(?= #! |$)", re.MULTILINE)


def cases(kind: str) -> list[Path]:
    """Every claim of this kind: a file, or a folder of files."""
    library = LIBRARY.glob("*.rule") if kind == "good" else ()
    return sorted([*library, *(p for p in CORPUS.glob(f"*/{kind}/*") if p.is_dir() or p.suffix == ".rule")])


def name(path: Path) -> str:
    return f"{path.parent.parent.name}/{path.stem}"


def files(case: Path) -> list[Path]:
    return sorted(case.glob("*.rule")) if case.is_dir() else [case]


def load(case: Path) -> Loaded:
    if case.is_file():
        return pipeline.load(str(case))
    own = case / f"{case.name}.rule"
    main = own if own.is_file() else case / "base.rule"
    layers = [p.stem for p in files(case) if p.read_text(encoding="utf-8").startswith("variant ")]
    return pipeline.load(str(main), with_=layers)


def findings(case: Path) -> list[Diagnostic]:
    """What the stages report; and where they report no error, what comes of the examples."""
    loaded = load(case)
    if case.parent.parent.name == "counts":
        check_counts(loaded)
    found = list(loaded.problems.found)
    if loaded.ok:
        found += [result.problem for result in [*run_claims(loaded), *run_always(loaded)] if result.problem is not None]
    return found


def shown(found: list[Diagnostic]) -> str:
    return "\n\n".join(render(d) for d in found) or "nothing was reported"


@pytest.mark.parametrize("case", cases("good"), ids=name)
def test_good(case: Path) -> None:
    loaded = load(case)
    if case.parent.parent.name == "counts":
        check_counts(loaded)
    assert not loaded.problems.found, shown(loaded.problems.found)
    results = [*run_claims(loaded), *run_always(loaded)]
    failed = [r.problem for r in results if r.problem is not None]
    assert not failed, shown(failed)
    assert results, "no example proves the claim"


@pytest.mark.parametrize("case", cases("bad"), ids=name)
def test_bad(case: Path) -> None:
    found = findings(case)
    wanted = [
        (path.name, number, code, part)
        for path in files(case)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for code, part in EXPECTED.findall(line)
    ]
    assert wanted, "nothing is expected: write `#! R101 part of the message` on the offending line"
    left = list(found)
    missing = []
    for expected in wanted:
        hit = next((d for d in left if fits(d, *expected)), None)
        if hit is None:
            missing.append(expected)
        else:
            left.remove(hit)
    assert not missing and not left, f"not reported: {missing}\n\nreported:\n{shown(found)}"


def fits(d: Diagnostic, file: str, line: int, code: str, part: str) -> bool:
    return Path(d.span.source.path).name == file and d.span.line == line and d.code == code and part in d.message


@pytest.mark.parametrize(
    ("case", "code", "other"),
    [
        ("layers/bad/two_replaces_conflict", "R123", "layer_a.rule"),
        ("layers/bad/another_signature", "R124", "base.rule"),
        ("layers/bad/a_layer_must_not_cover_names", "R101", "base.rule"),
        ("maps/bad/a_layer_cuts_a_member_off", "R207", "base.rule"),
        ("maps/bad/a_new_member_is_cut_off", "R207", "base.rule"),
        ("library/bad/a_split_without_a_remainder.rule", "R231", "split.rule"),
    ],
)
def test_a_conflict_shows_both_places(case: str, code: str, other: str) -> None:
    found = [d for d in findings(CORPUS / case) if d.code == code]
    assert found
    for d in found:
        assert {Path(n.span.source.path).name for n in d.notes} == {other}
        assert render(d).count(" | ") >= 4, "two excerpts"


# ---------------------------------------------------------------- the corpus is whole


@pytest.mark.parametrize("case", cases("good") + cases("bad"), ids=name)
def test_a_file_bears_the_name_of_its_header(case: Path) -> None:
    for path in files(case):
        header = re.search(r"(?m)^(game|variant|library|data) ([a-z0-9_]+)", path.read_text(encoding="utf-8"))
        assert header is None or header[2] == path.stem


def test_every_library_definition_is_used() -> None:
    library = pipeline.bundled("stdlib")
    texts = "\n".join(p.read_text(encoding="utf-8") for p in LIBRARY.glob("*.rule"))
    for path in sorted(library.glob("*.rule")):
        module = pipeline.parse(pipeline.read(path), pipeline.Problems())
        for item in module.items:
            if isinstance(item, nodes.Define | nodes.Verb):
                assert re.search(rf"\b{item.signature.name}\b", texts), f"{path.stem}: {item.signature.name}"
                sentence = module.doc(item)
                assert "Example: " in sentence and "Fails: " in sentence, f"{path.stem}: {item.signature.name} says too little"

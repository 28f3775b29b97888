"""Every rule in the documents is real: it loads without a finding, its examples hold, and it plays to the end.

A fenced block `rule` that begins with a header (game, variant, library, data) begins a file; `rule` blocks after it
belong to the same file, up to the next header.  A file sees the files before it in the same document, the last of
each name.  A block `rule-wrong` is a complete file; the lines `> error[R301]: ...` right after it are all of its
errors (and all of its warnings, if one is shown), and a line `> hint: ...` is the hint of the one above."""

import re
from pathlib import Path
from random import Random

import pytest
from attrs import frozen

import rulelang
from rulelang import pipeline
from rulelang.claims import run_claims
from rulelang.cli import cli
from rulelang.codes import CODES
from rulelang.diagnostics import Diagnostic, render
from rulelang.pipeline import Loaded
from rulelang.proofs import check_counts

ROOT = Path(__file__).resolve().parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
OWN = [*DOCS, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "games").glob("*/README.md"), ROOT / "stdlib" / "README.md"]
PROSE = [*OWN, ROOT / "README.md"]
FENCE = re.compile(r"^```(\S*)[^\S\n]*\n(.*?)^```[^\S\n]*\n((?:\n?(?:^>[^\n]*\n)+)?)", re.M | re.S)
HEADER = re.compile(r"\A(?:\s*#[^\n]*\n|\s*\n)*(game|variant|library|data) ([a-z][a-z0-9_]*)(?: of ([a-z][a-z0-9_]*))?")
QUOTED = re.compile(r"^> ((?:error|warning)\[R\d{3}\]: .*|hint: .*)$", re.M)
CODE = re.compile(r"\bR\d{3}\b")
MATCHES = 3  # random matches for each player count


@frozen
class File:
    """A rule file put together from the blocks of a document, and the files that stand before it there"""

    doc: str
    line: int
    sort: str
    name: str
    base: str | None
    text: str
    before: tuple["File", ...] = ()

    def __str__(self) -> str:
        return f"{self.doc}:{self.line}-{self.name}"


@frozen
class Wrong:
    """A file with mistakes, and the findings that the document shows"""

    doc: str
    line: int
    text: str
    quoted: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.doc}:{self.line}"


def read(path: Path) -> tuple[list[File], list[Wrong]]:
    text = path.read_text(encoding="utf-8")
    files: list[File] = []
    wrong: list[Wrong] = []
    for block in FENCE.finditer(text):
        word, body, after = block.groups()
        line = text.count("\n", 0, block.start()) + 1
        if word == "rule-wrong":
            wrong.append(Wrong(path.name, line, body, tuple(QUOTED.findall(after))))
        elif word == "rule":
            header = HEADER.match(body)
            if header is not None:
                sort, name, base = header.groups()
                files.append(File(path.name, line, sort, name, base, body, tuple(files)))
            else:
                assert files, f"{path.name}:{line}: a rule block before the first header"
                last = files[-1]
                files[-1] = File(last.doc, last.line, last.sort, last.name, last.base, f"{last.text}\n{body}", last.before)
        else:
            assert not HEADER.match(body), f"{path.name}:{line}: a rule file in a plain fence is not tested"
    return files, wrong


READ = [read(path) for path in DOCS]
FILES = [f for files, _ in READ for f in files]
WRONG = [w for _, wrong in READ for w in wrong]


def write(folder: Path, file: File) -> None:
    for one in (*file.before, file):  # a later file of the same name takes the place of an earlier one
        (folder / f"{one.name}.rule").write_text(one.text, encoding="utf-8")


def findings(loaded: Loaded, only: str | None = None) -> list[Diagnostic]:
    """All that check and test report."""
    if loaded.ok:
        check_counts(loaded)
    found = list(loaded.problems.sorted())
    if loaded.ok:
        found += [r.problem for r in run_claims(loaded, only) if r.problem is not None]
    return found


@pytest.mark.parametrize("file", FILES, ids=str)
def test_a_rule_file_of_a_document_checks_and_its_examples_hold(file: File, tmp_path: Path) -> None:
    write(tmp_path, file)
    found = findings(pipeline.load(str(tmp_path / f"{file.name}.rule")), file.name)
    assert not found, "\n\n".join(render(d) for d in found)


@pytest.mark.parametrize("file", [f for f in FILES if f.sort in ("game", "variant")], ids=str)
def test_a_game_of_a_document_plays_to_the_end(file: File, tmp_path: Path) -> None:
    write(tmp_path, file)
    if file.sort == "variant":
        assert file.base in {f.name for f in file.before}, "a variant stands in the document of its game"
    main, layers = (file.base, [file.name]) if file.sort == "variant" else (file.name, [])
    game = rulelang.load(str(tmp_path / f"{main}.rule"), layers)
    for players in game.players:
        for seed in range(MATCHES):
            assert game.start(players=players, seed=seed).play_out(Random(seed)).is_over


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_mistake_of_a_document_is_reported_as_it_says(wrong: Wrong, tmp_path: Path) -> None:
    assert wrong.quoted, "the line after the block says what is reported: > error[R301]: ..."
    header = HEADER.match(wrong.text)
    path = tmp_path / f"{header[2] if header else 'wrong'}.rule"
    path.write_text(wrong.text, encoding="utf-8")
    told: list[str] = []
    with_warnings = any(q.startswith("warning") for q in wrong.quoted)
    for d in findings(pipeline.load(str(path))):
        if d.is_error or with_warnings:
            told.append(f"{'error' if d.is_error else 'warning'}[{d.code}]: {d.message}")
            if f"hint: {d.hint}" in wrong.quoted:
                told.append(f"hint: {d.hint}")
    assert told == list(wrong.quoted)


# ---------------------------------------------------------------- the documents as a whole


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_documents_hold_rules() -> None:
    assert {path.stem for path in DOCS} >= {"language", "tutorial", "architecture"}
    for name in ("language.md", "tutorial.md"):
        assert any(f.doc == name and f.sort == "game" for f in FILES), name
        assert any(f.doc == name and f.sort == "variant" for f in FILES), name
        assert any(w.doc == name for w in WRONG), name


@pytest.mark.parametrize("path", PROSE, ids=shown)
def test_a_code_in_the_prose_is_a_code_of_the_language(path: Path) -> None:
    mentioned = set(CODE.findall(path.read_text(encoding="utf-8")))
    assert mentioned <= set(CODES), sorted(mentioned - set(CODES))


def test_every_code_that_is_mentioned_can_be_reported_and_is_explained() -> None:
    package = Path(pipeline.__file__).parent
    sources = "\n".join(p.read_text(encoding="utf-8") for p in package.rglob("*.py") if p.name != "codes.py")
    reported = set(re.findall(r'"(R\d{3})"', sources))
    mentioned = {c for path in PROSE for c in CODE.findall(path.read_text(encoding="utf-8"))}
    for code, meaning in CODES.items():
        assert CODE.fullmatch(code) and meaning.title and meaning.text, code
        assert code not in mentioned or code in reported, f"{code} is mentioned, and nothing reports it"


@pytest.mark.parametrize("path", OWN, ids=shown)
def test_lines_are_short_and_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    long = [n for n, line in enumerate(text.splitlines(), 1) if len(line) > 120]
    assert not long, f"lines longer than 120: {long}"
    for goal in re.findall(r"\]\(([^)#\s]+)[^)]*\)", re.sub(r"(?ms)^```.*?^```", "", text)):
        assert goal.startswith("http") or (path.parent / goal).exists(), goal


# ---------------------------------------------------------------- the READMEs of the games

GAMES = sorted(folder for folder in (ROOT / "games").iterdir() if folder.is_dir())
MARK = re.compile(r"\{([^{}]*)\}")
RULING = re.compile(r"\b([A-Z])-R(\d+)\b")
ROW = re.compile(r"^\| ([A-Z])-R(\d+) \| (.+) \|$", re.M)
NO_RULE = "asks for no rule"
SETTLED = {"visby": 29, "tallinn": 39, "hansa": 28, "carthago": 50}  # at least: one without a rule could vanish unseen


def rules_of(folder: Path) -> str:
    """All rule files of a folder, without their comments."""
    texts = (p.read_text(encoding="utf-8") for p in sorted(folder.glob("*.rule")))
    return "\n".join(line.split("#")[0] for text in texts for line in text.splitlines())


@pytest.mark.parametrize("folder", GAMES, ids=lambda p: p.name)
def test_the_rulings_in_the_readme_of_a_game_are_those_that_its_rules_follow(folder: Path) -> None:
    cited = {ruling for mark in MARK.findall(rules_of(folder)) for ruling in RULING.findall(mark)}
    table = (folder / "README.md").read_text(encoding="utf-8").partition("\n## Rulings\n")[2]
    rows = [((letter, number), text) for letter, number, text in ROW.findall(table)]
    assert len(rows) >= SETTLED.get(folder.name, 0)
    assert [int(number) for (_, number), _ in rows] == list(range(1, len(rows) + 1)), "each once, in order, none left out"
    assert {ruling for ruling, text in rows if NO_RULE not in text} == cited


@pytest.mark.parametrize("folder", GAMES, ids=lambda p: p.name)
def test_the_readme_of_a_game_names_every_file_of_its_folder(folder: Path) -> None:
    text = (folder / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| \[(\S+)\]\((\S+)\) \|", text, re.M)
    assert all(label == goal for label, goal in named)
    assert sorted(goal for _, goal in named) == sorted(p.name for p in folder.iterdir() if p.name != "README.md")


@pytest.mark.parametrize("folder", GAMES, ids=lambda p: p.name)
def test_what_the_readme_of_a_game_calls_by_name_is_in_its_rules(folder: Path) -> None:
    """`kind Rate` and `troops_take` stand in a rule file, `visby_data.rule` in the folder; a command is one of rulelang."""
    rules = re.sub(r'"[^"\n]*"', "", rules_of(folder) + rules_of(ROOT / "stdlib"))
    text = (folder / "README.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`([^`]+)`", text))
    missing = {n for n in names if not (folder / n).exists() and not re.search(rf"(?<!\w){re.escape(n)}(?!\w)", rules)}
    assert {n for n in missing if n.split()[0] not in ("rulelang", *cli.commands)} == set()
    for option in re.findall(r"^option (\w+)", rules, re.M):
        assert option in names, f"the option `{option}` is not explained"
    for variant in re.findall(r"^variant (\w+)", rules, re.M):
        assert variant in names, f"the variant `{variant}` is not explained"

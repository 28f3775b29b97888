"""Imports go one way: source, surface, names, core, graph, runtime, then what uses them all."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent / "rulelang"
ORDER = ["limits", "source", "diagnostics", "errors", "files", "surface", "names", "core", "graph", "runtime", "prove"]
ABOVE = [
    "pipeline",
    "claims",
    "proofs",
    "api",
    "matchfile",
    "coverage",
    "playouts",
    "shrink",
    "series",
    "mutants",
    "mutate",
    "report",
    "page",
    "codes",
    "explain",
    "reports",
    "show",
    "telling",
    "atlas",
    "board",
    "terminal",
    "serial",
    "untrusted",
    "cli",
    "__main__",
    "__init__",
]
ONLY_IN = {
    "lark": {"surface/parse.py", "surface/build.py", "surface/lexer.py"},
    "cattrs": {"serial.py"},
    "networkx": {"graph/picture.py", "graph/analyse.py"},
}


def stage(parts: tuple[str, ...]) -> int:
    name = parts[0].removesuffix(".py")
    if name in ORDER:
        return ORDER.index(name)
    assert name in ABOVE, f"{name} has no place in the order of stages"
    return len(ORDER) + ABOVE.index(name)


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{a.name}" for a in node.names)
    return found


FILES = sorted(p.relative_to(ROOT) for p in ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=str)
def test_a_stage_imports_only_earlier_ones(path: Path) -> None:
    here = stage(path.parts)
    for name in imports(ROOT / path):
        if name.startswith("rulelang."):
            parts = tuple(name.split(".")[1:])
            if path.name == "api.py" and parts[0] == "matchfile":
                continue  # `match.to_text()` is a door to the module above, opened when it is used
            if (ROOT / parts[0]).exists() or (ROOT / f"{parts[0]}.py").exists():
                assert stage(parts) <= here, f"{path} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=str)
def test_each_library_has_one_home(path: Path) -> None:
    for name in imports(ROOT / path):
        top = name.split(".")[0]
        if top in ONLY_IN:
            assert path.as_posix() in ONLY_IN[top], f"{path} imports {top}"


def test_python_knows_no_game() -> None:
    root = ROOT.parent
    words = {p.name for p in (root / "games").iterdir() if p.is_dir()}
    text = "\n".join(p.read_text().lower() for p in ROOT.rglob("*") if p.suffix in (".py", ".lark"))
    for word in words:
        assert word not in text, word


def test_games_know_no_python() -> None:
    root = ROOT.parent
    for folder in ("games", "stdlib"):
        others = [p for p in (root / folder).rglob("*") if p.is_file() and p.suffix not in (".rule", ".md")]
        assert not others, others

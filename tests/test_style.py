"""The code is checked like the rules: ruff and mypy --strict are clean, rule files keep their measures."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MOST_RULE_LINES = {"visby": 90, "tallinn": 200, "hansa": 125, "carthago": 400}


@pytest.mark.parametrize("command", [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]], ids=" ".join)
def test_tools_are_content(command: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def rule_lines(path: Path) -> int:
    """Lines that are neither blank, comment, example, nor data."""
    text = path.read_text(encoding="utf-8")
    if text.startswith("data "):
        return 0
    count, inside = 0, False
    for line in text.splitlines():
        if line.split("#")[0].strip():
            if not line[0].isspace():
                inside = line.startswith("example")
            count += not inside
    return count


@pytest.mark.parametrize("game", MOST_RULE_LINES)
def test_rules_are_as_short_as_promised(game: str) -> None:
    files = [p for p in (ROOT / "games" / game).glob("*.rule") if p.stem not in ("long_winter", "storm")]
    assert sum(rule_lines(p) for p in files) <= MOST_RULE_LINES[game]


@pytest.mark.parametrize("path", sorted([*ROOT.glob("games/*/*.rule"), *ROOT.glob("stdlib/*.rule")]), ids=lambda p: p.stem)
def test_lines_fit_a_page(path: Path) -> None:
    assert not [n for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if len(line) > 110]

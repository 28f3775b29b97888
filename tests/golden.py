"""Texts that are kept and compared; `pytest --accept` rewrites them."""

import re
from pathlib import Path

import pytest


def placed(text: str) -> str:
    """A text in which files are called the same wherever the tests are run."""
    return re.sub(r"(?m)^  \S*?(?=(?:mistakes|findings|stdlib)/\S+:\d)", "  ", text)


def golden(path: Path, found: str, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--accept"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert path.is_file(), f"{path.name} is not there: run pytest --accept"
    assert found == path.read_text(encoding="utf-8")

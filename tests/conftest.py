"""`pytest --accept` rewrites golden texts; review the difference before you commit it."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="rewrite golden texts")

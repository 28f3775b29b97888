"""`python -m tests.harden bad-saves --n 20000`: runs a row, prints its figures, and ends with 1 if it found a fault."""

import argparse
import sys
from importlib import import_module
from pathlib import Path

ROWS = sorted(p.stem.replace("_", "-") for p in Path(__file__).parent.glob("[a-z]*.py"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.harden")
    parser.add_argument("row", choices=ROWS)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    said = parser.parse_args()
    report = import_module(f"tests.harden.{said.row.replace('-', '_')}").run(said.n, said.seed)
    for fault in report.faults:
        print(fault)
    print(f"{said.row}: {report.line}")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.mutation visby --with long_winter`: `rulelang mutate`, held against the recorded matches, too.

Chance is scripted in them, so they are no match files."""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from rulelang import mutate
from rulelang.api import Match
from rulelang.series import cores
from tests.replay import driven


def recorded(game: str, layers: tuple[str, ...]) -> Iterator[tuple[str, Match]]:
    for file in sorted((Path(__file__).parent / "matches").glob("*.json")):
        record = json.loads(file.read_text(encoding="utf-8"))
        if record["game"] == game and set(record["with"]) <= set(layers):
            yield file.stem, driven(record).twin


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("game")
    parser.add_argument("--with", dest="layers", default="")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="also write all verdicts to this file")
    said = parser.parse_args()
    layers = tuple(filter(None, said.layers.split(",")))
    plan = mutate.plan(said.game, layers, recorded(said.game, layers))
    report = mutate.run(plan, mutate.choose(plan, said.sample, said.seed), cores())
    print("\n".join(mutate.told(report)))
    if said.json is not None:
        said.json.write_text(json.dumps(mutate.plain(report), indent=2), encoding="utf-8")
    return 1 if report.unexplained or report.outdated or report.of(mutate.FAULT) else 0


if __name__ == "__main__":
    sys.exit(main())

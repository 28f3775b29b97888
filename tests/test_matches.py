"""Recorded matches of an independent implementation: the same choices are legal here, of as many options, and lead to the
same tables, scores and winners."""

import json
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.replay import ADAPTERS, Mismatch, Record, replay

FILES = {f.name: f for f in sorted((Path(__file__).parent / "matches").glob("*.json"))}
LAYERS = {(), ("tower_order",), ("envoy",), ("chronicles",), ("envoy", "chronicles")}

# game: matches, recorded choices, recorded tables (the last one of each match among them)
RECORDED = {"visby": (10, 320, 70), "tallinn": (18, 676, 186), "hansa": (6, 1290, 265), "carthago": (12, 1890, 564)}

TAMPERED = {"visby": "visby-2p-1", "tallinn": "tallinn-envoy-chronicles-2p-1", "hansa": "hansa-2p-1", "carthago": "carthago-3p-3"}


@cache
def recorded(name: str) -> Record:
    found: Record = json.loads(FILES[name].read_text(encoding="utf-8"))
    return found


def tables(record: Record) -> list[dict[str, Any]]:
    return [*(s["then"] for s in record["steps"] if "then" in s), record["end"]]


def test_all_records_are_there() -> None:
    found = dict.fromkeys(ADAPTERS, (0, 0, 0))
    for name in FILES:
        record = recorded(name)
        matches, choices, shown = found[record["game"]]
        found[record["game"]] = matches + 1, choices + len(record["steps"]), shown + len(tables(record))
    assert found == RECORDED
    assert {tuple(recorded(name)["with"]) for name in FILES} == LAYERS


@pytest.mark.parametrize("name", FILES)
def test_match(name: str) -> None:
    record = recorded(name)
    tally = replay(record)
    assert tally.choices == len(record["steps"]) > 0
    assert tally.options == tally.choices  # the number of options was compared at each step
    assert tally.unasked == 0
    assert tally.tables == len(tables(record)) > 1


# ---------------------------------------------------------------- a record that is wrong does not replay


def changed(x: Any) -> Any:
    """The same with its first value changed; None where there is no value."""
    if isinstance(x, bool):
        return not x
    if isinstance(x, int):
        return x + 1
    if isinstance(x, str):
        return x + "?"
    if isinstance(x, dict):
        parts = list(x.items())
        at = next((i for i, (_, v) in enumerate(parts) if changed(v) is not None), None)
        return None if at is None else {k: changed(v) if i == at else v for i, (k, v) in enumerate(parts)}
    if isinstance(x, list):
        at = next((i for i, v in enumerate(x) if changed(v) is not None), None)
        return None if at is None else [changed(v) if i == at else v for i, v in enumerate(x)]
    return None


@pytest.mark.parametrize(("game", "key"), [(game, key) for game, a in ADAPTERS.items() for key in sorted(a.keys)])
def test_changed_table_fails(game: str, key: str) -> None:
    record = deepcopy(recorded(f"{TAMPERED[game]}.json"))
    table = next(t for t in reversed(tables(record)) if changed(t[key]) is not None)
    table[key] = changed(table[key])
    with pytest.raises(Mismatch, match=rf"the table, .*{key}"):
        replay(record)


def another_score(record: Record) -> None:
    record["scores"][-1] += 1


def another_winner(record: Record) -> None:
    record["winners"] = [(record["winners"][0] + 1) % record["players"]]


def another_number_of_options(record: Record) -> None:
    record["steps"][-1]["of"] += 1


def another_choice(record: Record) -> None:
    step = record["steps"][0]
    step["choice"] = ["nothing", *step["choice"][1:]]


def no_last_step(record: Record) -> None:
    while record["steps"].pop()["of"] == 1:
        pass


def one_step_more(record: Record) -> None:
    record["steps"].append({**record["steps"][-1], "of": 2})


TAMPERINGS: dict[str, tuple[Callable[[Record], None], str]] = {
    "score": (another_score, "scores"),
    "winner": (another_winner, "winners"),
    "number of options": (another_number_of_options, "options"),
    "choice": (another_choice, "not offered"),
    "last step missing": (no_last_step, "over in the record|begins in the record"),
    "one step too many": (one_step_more, "not asked|no trade|not offered"),
}


@pytest.mark.parametrize("game", ADAPTERS)
@pytest.mark.parametrize("what", TAMPERINGS)
def test_tampered_record_fails(game: str, what: str) -> None:
    record = deepcopy(recorded(f"{TAMPERED[game]}.json"))
    tamper, message = TAMPERINGS[what]
    tamper(record)
    with pytest.raises(Mismatch, match=message):
        replay(record)

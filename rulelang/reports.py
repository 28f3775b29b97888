"""Findings as other programs read them: SARIF for code scanning, workflow commands for annotations.

What a rule file says is text here, never a command: each writer escapes for its own format."""

import json
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from rulelang import __version__
from rulelang.codes import CODES
from rulelang.diagnostics import Diagnostic, printable
from rulelang.source import Span

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def _said(d: Diagnostic) -> str:
    """Message and hint, for programs that show one text."""
    return printable(d.message) + (f"\nhint: {printable(d.hint)}" if d.hint else "")


# ---------------------------------------------------------------- SARIF 2.1.0


def sarif(found: Sequence[Diagnostic]) -> str:
    """`rulelang check --format sarif`"""
    codes = sorted({d.code for d in found})
    driver = {"name": "rulelang", "version": __version__, "rules": [_rule(code) for code in codes]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(d, codes.index(d.code)) for d in found],
    }
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _text(text: str) -> dict[str, str]:
    """A message of SARIF, in which `{0}` would be the first of its arguments."""
    return {"text": text.replace("{", "{{").replace("}", "}}")}


def _rule(code: str) -> dict[str, Any]:
    return {
        "id": code,
        "shortDescription": _text(CODES[code].title),
        "fullDescription": _text(CODES[code].text),
        "help": _text(f"rulelang explain {code}"),
    }


def _result(d: Diagnostic, rule: int) -> dict[str, Any]:
    made: dict[str, Any] = {"ruleId": d.code, "ruleIndex": rule, "level": d.severity, "message": _text(_said(d))}
    if d.span.source.path:
        made["locations"] = [_location(d.span)]
        if d.heading:
            made["locations"][0]["logicalLocations"] = [{"name": printable(d.heading)}]
    if d.notes:
        made["relatedLocations"] = [{**_location(n.span), "message": _text(printable(n.text))} for n in d.notes]
    return made


def _location(span: Span) -> dict[str, Any]:
    region = {"startLine": span.line, "startColumn": span.column, "endLine": span.end_line, "endColumn": span.end_column}
    return {"physicalLocation": {"artifactLocation": _artifact(span.source.path), "region": region}}


def _artifact(path: str) -> dict[str, str]:
    """A relative path stays one, so that it means the same on another machine."""
    pure = PurePath(path)
    return {"uri": pure.as_uri() if pure.is_absolute() else quote(pure.as_posix())}


# ---------------------------------------------------------------- workflow commands


def github(found: Sequence[Diagnostic]) -> str:
    """`rulelang check --format github`: one line for each finding, `::error file=...,line=...,col=...,title=...::message`"""
    return "\n".join(_command(d) for d in found)


def _command(d: Diagnostic) -> str:
    place = {"file": PurePath(d.span.source.path).as_posix(), "line": d.span.line, "col": d.span.column} if d.span.source.path else {}
    properties = {**place, "title": f"{d.code}: {CODES[d.code].title}"}
    shown = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{d.severity} {shown}::{_data(_said(d))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(printable(text)).replace(":", "%3A").replace(",", "%2C")

"""Values to JSON for other tools, through the one converter.  `docs/findings.schema.json` says how it looks."""

import json
from typing import Any

import cattrs

from rulelang.diagnostics import Diagnostic, Note
from rulelang.source import Span

FORMAT = 1  # raised when a field goes away or changes its meaning

converter = cattrs.Converter()


@converter.register_unstructure_hook
def _span(span: Span) -> dict[str, Any] | None:
    if not span.source.path:
        return None
    ends = {"end_line": span.end_line, "end_column": span.end_column}
    return {"file": span.source.path, "line": span.line, "column": span.column, **ends}


@converter.register_unstructure_hook
def _note(note: Note) -> dict[str, Any]:
    return {"message": note.text, "place": converter.unstructure(note.span)}


@converter.register_unstructure_hook
def _finding(d: Diagnostic) -> dict[str, Any]:
    return {
        "code": d.code,
        "severity": d.severity,
        "message": d.message,
        "hint": d.hint,
        "heading": d.heading,
        "place": converter.unstructure(d.span),
        "notes": [converter.unstructure(n) for n in d.notes],
    }


def findings_json(found: tuple[Diagnostic, ...], proofs: list[dict[str, Any]] | None = None) -> str:
    """`rulelang check --format json`; with --proofs also what is proved"""
    errors = sum(d.is_error for d in found)
    findings = converter.unstructure(found)
    made = {"format": FORMAT, "errors": errors, "warnings": len(found) - errors, "findings": findings}
    if proofs is not None:
        made["proofs"] = converter.unstructure(proofs)
    return json.dumps(made, indent=2)

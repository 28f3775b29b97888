"""Values to JSON for other tools, through the one converter."""

import json
from typing import Any

import cattrs

from rulelang.diagnostics import Diagnostic
from rulelang.source import Span

converter = cattrs.Converter()


@converter.register_unstructure_hook
def _span(span: Span) -> dict[str, Any]:
    return {"file": span.source.path, "line": span.line, "column": span.column, "length": span.end - span.start}


def findings_json(found: tuple[Diagnostic, ...]) -> str:
    """`rulelang check --format json`"""
    errors = sum(d.is_error for d in found)
    findings = converter.unstructure(found, unstructure_as=tuple[Diagnostic, ...])
    return json.dumps({"findings": findings, "errors": errors, "warnings": len(found) - errors}, indent=2)

"""As much of JSON Schema as our schemas use; what it does not know it refuses."""

import re
from typing import Any

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}
SILENT = {"$schema", "title", "description", "definitions"}


def wrong(value: Any, schema: dict[str, Any], root: dict[str, Any] | None = None, path: str = "$") -> list[str]:
    """Everything in which a value is not as the schema says."""
    root = schema if root is None else root
    found: list[str] = []
    for word, wanted in schema.items():
        if word == "$ref":
            found += wrong(value, root["definitions"][wanted.removeprefix("#/definitions/")], root, path)
        elif word == "type":
            if not isinstance(value, TYPES[wanted]) or isinstance(value, bool):
                return [f"{path} is no {wanted}"]
        elif word == "properties":
            for name in wanted.keys() & value.keys():
                found += wrong(value[name], wanted[name], root, f"{path}.{name}")
        elif word == "items":
            for n, item in enumerate(value):
                found += wrong(item, wanted, root, f"{path}[{n}]")
        elif not _holds(word, wanted, value, schema, root):
            found.append(f"{path}: {word} {wanted}")
    return found


def _holds(word: str, wanted: Any, value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    match word:
        case "required":
            return set(wanted) <= value.keys()
        case "additionalProperties" if wanted is False:
            return value.keys() <= schema.get("properties", {}).keys()
        case "enum":
            return value in wanted
        case "const":
            return bool(value == wanted)
        case "anyOf":
            return any(not wrong(value, one, root) for one in wanted)
        case "pattern":
            return re.search(wanted, value) is not None
        case "minimum":
            return bool(value >= wanted)
        case "minLength":
            return len(value) >= wanted
        case "uniqueItems":
            return len({repr(item) for item in value}) == len(value)
    assert word in SILENT, f"a word of JSON Schema that is not known here: {word}"
    return True

"""The report as one HTML file: what it says, and every rule file coloured by line.  Everything that comes from a file is
text and nothing else; the page loads nothing and runs nothing."""

from collections.abc import Iterable, Iterator
from html import escape

from rulelang.coverage import Coverage, Line
from rulelang.diagnostics import Diagnostic, printable, render
from rulelang.runtime.counting import Item
from rulelang.source import SourceFile

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #222; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2.5rem } ul { padding-left: 1.2rem } a { color: #0550ae }
pre { background: #f6f6f6; padding: .6rem 1rem; overflow-x: auto }
table { border-collapse: collapse; width: 100%; font: 13px/1.45 ui-monospace, monospace }
td { padding: 0 .6rem; white-space: pre-wrap; vertical-align: top } td:nth-child(-n+3) { width: 1%; white-space: nowrap; color: #777 }
td:nth-child(-n+2) { text-align: right }
.fired { background: #e3f6e5 } .never { background: #fde1e1 } .partly { background: #fdf3cf } :target { outline: 2px solid #0550ae }
@media (prefers-color-scheme: dark) {
body { color: #ddd; background: #1b1b1d } pre { background: #28282b } a { color: #7db7ff } td:nth-child(-n+3) { color: #999 }
.fired { background: #1d3a24 } .never { background: #56252a } .partly { background: #4a401b } :target { outline-color: #7db7ff }
}
"""
SIGNS = {"fired": "\u2713", "never": "\u2717", "partly": "~", "": ""}  # for those who do not see the colours


def page(title: str, lines: Iterable[Line], findings: Iterable[Diagnostic], coverage: Coverage, sources: dict[str, SourceFile]) -> str:
    """The whole page as text."""
    firing = {i.path for i in coverage.hits}
    shown = [path for path in sources if path in firing]
    ids = {path: f"f{n}" for n, path in enumerate(shown)}
    parts = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/><meta name="color-scheme" content="light dark"/>',
        f"<title>{_text(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{_text(title)}</h1>",
        *_list(lines, ids),
        *(f"<pre>{escape(render(d))}</pre>" for d in findings),
        '<p>In the files below: <span class="fired">\u2713 fired</span>, <span class="partly">~ in part</span>, '
        f'<span class="never">\u2717 never</span>; the number says in how many {_text(title.lower())}.</p>',
    ]
    for path in shown:
        parts.extend(_file(sources[path], ids[path], [i for i in coverage.hits if i.path == path], coverage))
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _text(text: str) -> str:
    return escape(printable(text), quote=True)


def _list(lines: Iterable[Line], ids: dict[str, str]) -> Iterator[str]:
    """Headings, and below them nested lists."""
    depth = 0
    for line in lines:
        yield "</li></ul>" * (depth - line.level) + ("</li>" if depth >= line.level > 0 else "") + "<ul>" * (line.level - depth)
        depth = line.level
        if depth == 0:
            yield f"<h2>{_text(line.text)}</h2>"
        elif line.path in ids:
            yield f'<li><a href="#{ids[line.path]}-{line.line}">{_text(f"{line.path}:{line.line}")}</a>: {_text(line.text)}'
        else:
            yield f"<li>{_text(str(line))}"
    yield "</li></ul>" * depth


def _file(source: SourceFile, name: str, items: list[Item], coverage: Coverage) -> Iterator[str]:
    by_line: dict[int, list[Item]] = {}
    for item in items:
        first = source.line_of(item.start)
        last = first if item.is_block else source.line_of(max(item.start, item.end - 1))
        for number in range(first, last + 1):
            by_line.setdefault(number, []).append(item)
    fired = sum(coverage.hits[i] > 0 for i in items)
    yield f'<h2 id="{name}">{_text(source.path)}: {fired} of {len(items)} fired</h2><table>'
    for number, text in enumerate(source.text.split("\n"), 1):
        here = by_line.get(number, []) if text.strip() else []
        hits = [coverage.hits[i] for i in here]
        status = "" if not here else "fired" if all(hits) else "partly" if any(hits) else "never"
        why = f' title="{_text("; ".join(_says(i, coverage) for i in here))}"' if len(here) > 1 else ""
        row = f'<tr id="{name}-{number}" class="{status}"{why}>' if here else f'<tr id="{name}-{number}">'
        times = str(max(hits)) if here else ""
        yield f"{row}<td>{number}</td><td>{times}</td><td>{SIGNS[status]}</td><td>{_text(text)}</td></tr>"
    yield "</table>"


def _says(item: Item, coverage: Coverage) -> str:
    what = "this rule" if item.sort == "rule" else item.name
    return f"{what}: {coverage.hits[item] or 'never'}"

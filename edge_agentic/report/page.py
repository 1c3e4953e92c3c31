"""A self-contained page: no script, no network, every string from elsewhere escaped."""

from collections.abc import Iterable

from edge_agentic.report.performance_block import marked
from edge_agentic.report.words import Section, in_html

STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --soft: #666;
  --line: #ddd; --dot: #2563a8; --odd: #c2410c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --soft: #999; --line: #444; --dot: #7fb2e5;
  --odd: #f5a36b; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin: 2rem 0 .4rem; }
.bad { color: var(--odd); } .table { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .15rem 1.2rem .15rem 0;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--soft); } p { margin: .4rem 0; }
svg { width: 100%; max-width: 44rem; display: block; } svg text { fill: var(--soft); font-size: 11px; }
.tick { text-anchor: middle; } .ytick { text-anchor: end; } .grid { stroke: var(--line); }
.dot, .bar { fill: var(--dot); fill-opacity: .7; } .odd { fill: var(--odd); }
""".strip()


def page(title: str, body: Iterable[str], style: str = STYLE) -> str:
    """Return a whole page; `body` is HTML, `title` is text."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>edge-agentic: {in_html(title)}</title>",
        f"<style>\n{style}\n</style></head><body>",
    ]
    return "\n".join([*head, *body, "</body></html>"]) + "\n"


def section_html(section: Section) -> str:
    """Return one section: its lines and a table that scrolls where it is wide."""
    parts = [f"<h2>{in_html(marked(section.title, section.ungated))}</h2>"]
    parts += [f"<p>{in_html(marked(line, section.ungated))}</p>" for line in section.lead]
    if section.rows:
        parts.append('<div class="table"><table>')
        if any(section.header):
            parts.append(_row("th", section.header))
        parts += [_row("td", (marked(row[0], section.ungated), *row[1:])) for row in section.rows]
        parts.append("</table></div>")
    parts += [f"<p>{in_html(marked(note, section.ungated))}</p>" for note in section.notes]
    return "\n".join(parts)


def _row(tag: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{in_html(cell)}</{tag}>" for cell in cells) + "</tr>"

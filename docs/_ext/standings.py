"""The chart of the front page, made from the page that `make arena` writes."""

import html
import re
from pathlib import Path

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "api" / "generated" / "standings.md"
KINDS = {"Regression": "Predicting numbers", "Classification": "Predicting classes"}
# the arena's short names, written out for readers of the front page
NAMES = {"enet": "elastic net", "pls": "PLS", "plsda": "PLS-DA", "svm": "linear SVM"}
LOST = re.compile(r"skstretch loses to the best peer[^(]*on (\d+) of (\d+) families")


def cells(line):
    """The cells of one row of a Markdown table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(text):
    """All tables of a section: lists of rows, the head first."""
    found = [[]]
    for line in text.splitlines():
        if line.startswith("|"):
            found[-1].append(cells(line))
        elif found[-1]:
            found.append([])
    return [[table[0], *table[2:]] for table in found if len(table) > 2]


def ranks(section):
    """Methods and their mean ranks among peers, the best first; an error where there are none."""
    for head, *rows in tables(section):
        if head[0] == "method" and head[1].startswith("mean rank"):
            found = [(NAMES.get(row[0], row[0]), float(row[1])) for row in rows if row[1] != "-"]
            return sorted(found, key=lambda one: one[1])
    raise ValueError("docs/arena.md has no table of methods with mean ranks: run make arena.")


def bars(section):
    """A bar for each method, as long as its mean rank."""
    found = ranks(section)
    longest = max(rank for _, rank in found)
    lines = ['<dl class="ranks">']
    for name, rank in found:
        ours = ' class="ours"' if name == "skstretch" else ""
        share = f"{100 * rank / longest:.0f}%"
        bar = f'<span class="bar" style="width: {share}"></span>'
        lines.append(f"<dt{ours}>{html.escape(name)}</dt><dd{ours}>{bar}{rank:.2f}</dd>")
    return "\n".join([*lines, "</dl>"])


def verdict(section):
    """How many families there are, and on how many another method is plainly better."""
    found = LOST.search(section)
    if found is None:
        raise ValueError("docs/arena.md does not say where skstretch loses: run make arena.")
    lost, families = found.groups()
    return (
        f"{families} kinds of data. On {lost} of them one of the others is better by more than 5 %."
    )


def write_page(app):
    """Write both charts for the front page to include."""
    sections = (DOCS / "arena.md").read_text("utf-8").split("\n## ")
    parts = []
    for kind, title in KINDS.items():
        section = next(part for part in sections if part.startswith(kind))
        parts.append(f"**{title}.** {verdict(section)}\n\n{bars(section)}\n")
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text("\n".join(parts), "utf-8")


def setup(app):
    app.connect("builder-inited", write_page)
    return {"parallel_read_safe": True}

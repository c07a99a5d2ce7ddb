"""Tables of the front page, cut out of the page that `make arena` writes."""

from pathlib import Path

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "api" / "generated" / "standings.md"
KINDS = {"Regression": "Predicting numbers", "Classification": "Predicting classes"}
# what is taken of a table of methods, by the beginning of its head; the rest is on the page
COLUMNS = ("method", "mean rank", "ratio to the best peer", "families lost", "seconds")
# the arena's short names, written out for readers of the front page
NAMES = {"enet": "elastic net", "pls": "PLS", "plsda": "PLS-DA", "svm": "linear SVM"}


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


def standing(section):
    """The table of methods with their ranks, its chosen columns alone; an error where none is."""
    for head, *rows in tables(section):
        if head[0] == "method" and head[1].startswith("mean rank"):
            wanted = [
                i
                for i, name in enumerate(head)
                if name.startswith(COLUMNS) and not name.endswith("all methods")
            ]
            ranked = sorted((row for row in rows if row[1] != "-"), key=lambda row: float(row[1]))
            named = [[NAMES.get(row[0], row[0]), *row[1:]] for row in ranked]
            lines = [head, ["---"] * len(head), *named]
            return "\n".join("| " + " | ".join(line[i] for i in wanted) + " |" for line in lines)
    raise ValueError("docs/arena.md has no table of methods with mean ranks: run make arena.")


def verdicts(section):
    """The sentences that say where we win and where we lose, with the names of the sets."""
    begins = ("skstretch against", "skstretch loses")
    found = [line for line in section.splitlines() if line.startswith(begins)]
    if len(found) < len(begins):
        raise ValueError("docs/arena.md does not say where skstretch loses: run make arena.")
    return "\n".join(f"- {line}" for line in found)


def measured(section):
    """How many sets are behind the table: the first sentence of the section."""
    lines = [line for line in section.splitlines()[1:] if line and not line.startswith("|")]
    sentence = lines[0].split(". ")[0].rstrip(".") if lines else ""
    return f"{sentence}." if " sets" in sentence else ""


def write_page(app):
    """Write the tables and sentences for the front page to include."""
    sections = (DOCS / "arena.md").read_text("utf-8").split("\n## ")
    parts = []
    for kind, title in KINDS.items():
        section = next(part for part in sections if part.startswith(kind))
        told = [f"**{title}**", measured(section), standing(section), verdicts(section)]
        parts.append("\n\n".join(filter(None, told)) + "\n")
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text("\n".join(parts), "utf-8")


def setup(app):
    app.connect("builder-inited", write_page)
    return {"parallel_read_safe": True}

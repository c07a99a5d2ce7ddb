"""Tables of the page "How it decides", written from the file that decides."""

import ast
import inspect
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "api" / "generated"


def constants(source):
    """Names, values and the comment above each assignment of numbers in a module."""
    lines, found = source.splitlines(), []
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign):
            continue
        names = ast.unparse(node.targets[0]).strip("()")
        if not names.replace(", ", "").replace("_", "").isupper():
            continue
        above, place = [], node.lineno - 2
        while place >= 0 and lines[place].startswith("#"):
            above.insert(0, lines[place].lstrip("# "))
            place -= 1
        found.append((names, node.value, " ".join(above)))
    return found


def shown(value):
    """A value as a reader writes it; lists of strengths by their ends."""
    numbers = value if isinstance(value, tuple) else (value,)
    if len(numbers) > 8:
        return f"{len(numbers)} values from {numbers[0]:g} to {numbers[-1]:g}"
    return ", ".join(f"{number:,g}" for number in numbers)


def is_number(value):
    numbers = value if isinstance(value, tuple) else (value,)
    return all(isinstance(number, int | float) for number in numbers)


def decisions(module):
    """A row for each group of numbers."""
    rows, reason = ["| number | value | what it decides |", "|---|---|---|"], ""
    for names, _, above in constants(inspect.getsource(module)):
        own = names.split(", ")
        values = [getattr(module, name) for name in own]
        if not all(map(is_number, values)):
            continue
        reason = above or reason  # a comment speaks for the lines below it
        named = ", ".join(f"`{name}`" for name in own)
        rows.append(f"| {named} | {'; '.join(map(shown, values))} | {reason} |")
    return "\n".join(rows)


def searches(module):
    """What is tried by each of the searches, from the whole one on."""
    head = "| straight, k | curved, k | numbers of features | left out beside the whole search |"
    rows = [head, "|---|---|---|---|"]
    for one in module.SEARCHES:
        parts = [
            shown(one.linear_k),
            shown(one.k),
            shown(one.counts) if one.counts else "-",
            one.left_out or "nothing",
        ]
        rows.append("| " + " | ".join(parts) + " |")
    budget = module.BUDGET
    limits = (
        f"The budget is {budget.search_seconds:g} s for a search and {budget.seconds:g} s for one "
        f"factorisation, at {module.RATE:.0e} operations a second."
    )
    return "\n".join([*rows, "", limits])


def write_pages(app):
    """Write both tables for the page to include."""
    from skstretch.solve import choose

    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "decisions.md").write_text(decisions(choose) + "\n", "utf-8")
    (FOLDER / "searches.md").write_text(searches(choose) + "\n", "utf-8")


def setup(app):
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}

"""How the package is cut: sizes of files and functions, lone imports, files that a call passes.

Run ``python tools/house.py`` for the table of CONTRIBUTING.md, ``--write`` to put it there,
``--trace`` for the names of the files behind every traced call. The rows of other libraries and of
our version 0.1 were measured in the same way; they are kept here because their sources are not.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "skstretch"
SOURCE = ROOT / "src" / PACKAGE
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- begin: tools/house.py -->", "<!-- end: tools/house.py -->"

# files, lines, file median / p90 / max, body median / p90 / max, files imported by one other
MEASURED_BEFORE = {
    "skstretch 0.1": ("301", "29,333", "86 / 181 / 323", "5 / 16 / 44", "115"),
    "lineax": ("23", "6,352", "114 / 447 / 2,408", "2 / 15 / 260", "-"),
    "himalaya": ("29", "9,523", "241 / 683 / 1,192", "8 / 45 / 258", "-"),
    "skglm": ("39", "9,841", "159 / 489 / 1,697", "4 / 16 / 147", "-"),
}
# files of version 0.1 that the same calls passed; the Dask fit was not traced then
PASSED_BEFORE = {
    "dense fit": "33",
    "CV fit": "47",
    "Dask fit": "-",
    "command fit": "78",
    "command report": "102",
}

DATA = """
import sys, warnings
import numpy as np
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.standard_normal((30, 80)); y = X[:, 0] + 0.1 * rng.standard_normal(30)
"""
TRACER = """
seen = set()
def note(frame, event, arg):
    if frame.f_code.co_flags & 1:  # a function: bodies of modules and classes run at import
        seen.add(frame.f_code.co_filename)
import threading
threading.setprofile(note); sys.setprofile(note)
try:
    CALL
finally:
    sys.setprofile(None); threading.setprofile(None)
print(*sorted(seen), sep="\\n", file=open(OUT, "w"))
"""
CLI = "from skstretch.cli import main; sys.argv = ['skstretch', *{words!r}]"
CALLS = {
    "dense fit": (
        "from skstretch import StretchyRegressor; StretchyRegressor",
        "StretchyRegressor().fit(X, y)",
    ),
    "CV fit": (
        "from skstretch import StretchyRegressorCV; StretchyRegressorCV",
        "StretchyRegressorCV().fit(X, y)",
    ),
    "Dask fit": (
        "import dask, dask.array as da; from skstretch import StretchyRegressor\n"
        "dask.config.set(scheduler='synchronous'); A = da.from_array(X, chunks=(30, 20))",
        "StretchyRegressor().fit(A, y)",
    ),
    "command fit": (CLI.format(words=["fit", "d.csv", "-t", "y", "-o", "m.stretchy", "-q"]), "RUN"),
    "command report": (
        CLI.format(words=["report", "m.stretchy", "--data", "d.csv", "-o", "r.html", "-q"]),
        "RUN",
    ),
}
RUN = "\n    try: main()\n    except SystemExit as e: assert not e.code, e.code"
TABLE = (
    "np.savetxt('d.csv', np.column_stack([X, y]), delimiter=',', comments='',\n"
    "           header=','.join([*(f'x{j}' for j in range(80)), 'y']))\n"
)


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def imports_of(path: Path, modules: set[str]) -> set[str]:
    """Modules of the package that a file imports, inside functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module_of(path).split(".")
                parts = parts[: len(parts) - node.level + (path.name == "__init__.py")]
                base = ".".join([*parts, base] if base else parts)
            for name in node.names:
                whole = f"{base}.{name.name}"
                found.add(whole if whole in modules else base)
    return (found & modules) - {module_of(path)}


def import_graph() -> dict[str, set[str]]:
    """Module -> modules of the package that it imports."""
    paths = {module_of(path): path for path in SOURCE.rglob("*.py")}
    return {module: imports_of(path, {*paths}) for module, path in paths.items()}


def cycles(graph: dict[str, set[str]]) -> list[str]:
    """Modules that are left when those that import nothing left are taken away, again and again.

    A package's ``__init__`` collects the names of its rooms; it is no part of a cycle by itself.
    """
    left = {name: {*needs} for name, needs in graph.items()}
    while free := {name for name, needs in left.items() if not needs & left.keys()}:
        left = {name: needs for name, needs in left.items() if name not in free}
    # what only looks into a cycle is no part of it
    while True:
        used = set().union(*left.values()) if left else set()
        if left.keys() <= used:
            return sorted(left)
        left = {name: needs for name, needs in left.items() if name in used}


def body_lengths(path: Path) -> list[int]:
    """Lines of every function without its docstring and signature's decorators."""
    lengths = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            lengths.append(body[-1].end_lineno - body[0].lineno + 1 if body else 0)
    return lengths


def spread(values: list[int]) -> str:
    ordered = sorted(values)
    ninety = ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]
    return f"{statistics.median_low(ordered):,} / {ninety:,} / {ordered[-1]:,}"


def sizes() -> tuple[str, ...]:
    """The row of the package as it is."""
    paths = sorted(SOURCE.rglob("*.py"))
    lines = [path.read_text("utf-8").count("\n") for path in paths]
    bodies = [length for path in paths for length in body_lengths(path)]
    users: dict[str, int] = defaultdict(int)
    for needs in import_graph().values():
        for name in needs:
            users[name] += 1
    lone = sum(users[module_of(path)] == 1 for path in paths if path.name != "__init__.py")
    return str(len(paths)), f"{sum(lines):,}", spread(lines), spread(bodies), str(lone)


def passed(name: str, folder: str) -> list[str]:
    """Files of the package in which some function ran during a call, by a fresh process."""
    before, call = CALLS[name]
    code = DATA + TABLE + before + TRACER.replace("CALL", RUN if call == "RUN" else call)
    out = Path(folder) / "seen.txt"
    code = code.replace("OUT", repr(str(out)))
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE.parent)},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
    files = out.read_text().splitlines()
    return [file for file in files if f"{PACKAGE}/" in file and Path(file).is_relative_to(SOURCE)]


def page(passes: dict[str, list[str]]) -> str:
    rows = {**MEASURED_BEFORE, "**skstretch now**": sizes()}
    order = ["skstretch 0.1", "**skstretch now**", "lineax", "himalaya", "skglm"]
    lines = [
        "| | files | lines | file: median / p90 / max | function body | imported by one other |",
        "|---|---|---|---|---|---|",
        *(f"| {' | '.join([name, *rows[name]])} |" for name in order),
        "",
        "| files passed by | in 0.1 | now |",
        "|---|---|---|",
        *(f"| {name} | {PASSED_BEFORE[name]} | {len(files)} |" for name, files in passes.items()),
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the table into CONTRIBUTING.md")
    parser.add_argument("--trace", action="store_true", help="name the files behind every call")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        passes = {name: passed(name, folder) for name in CALLS}
    table = page(passes)
    print(table)
    print("import cycles:", ", ".join(cycles(import_graph())) or "none")
    if options.trace:
        for name, files in passes.items():
            print(f"\n{name}:", *(Path(file).relative_to(SOURCE) for file in files), sep="\n  ")
    if options.write:
        text = PAGE.read_text("utf-8")
        pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
        PAGE.write_text(pattern.sub(f"{BEGIN}\n{table}\n{END}", text), "utf-8")


if __name__ == "__main__":
    main()

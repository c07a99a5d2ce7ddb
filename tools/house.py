"""How the package is cut, against its budget, and the ways of a fit and of a search.

``python tools/house.py`` prints the tables of CONTRIBUTING.md. ``--draw`` prints the drawings of a
fit and of a search, made from traces. ``--names`` says what stands behind the counts.
``--check``, part of ``make check``, compares the counts with ``tools/house_budget.toml``.
``--write``, which is ``make house``, puts tables and drawings into CONTRIBUTING.md, lowers the
budget to what is counted and takes out marks of constants that are gone. It never raises a number.

The rows of other libraries and of our version 0.1 were measured in the same way; they are kept here
because their sources are not.
"""

from __future__ import annotations

import argparse
import ast
import functools
import io
import math
import multiprocessing
import os
import re
import statistics
import sys
import tempfile
import threading
import tokenize
import tomllib
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "skstretch"
SOURCE = ROOT / "src" / PACKAGE
PAGE = ROOT / "CONTRIBUTING.md"
BUDGET = ROOT / "tools" / "house_budget.toml"

# where constants that change a result stand, and those that change the last bits alone
PLAN, THREADS = "solve/choose.py", "designs/threads.py"

# a count may be this share below its budget; lines of code get so much room when it is lowered;
# calls depend on the versions of Python and of BLAS
BELOW, LINES, CALLS = 0.05, 0.02, 0.1

# files, lines, file median / p90 / max, body median / p90 / max, files imported by one other
MEASURED_BEFORE = {
    "skstretch 0.1": ("301", "29,333", "86 / 181 / 323", "5 / 16 / 44", "115"),
    "lineax": ("23", "6,352", "114 / 447 / 2,408", "2 / 15 / 260", "-"),
    "himalaya": ("29", "9,523", "241 / 683 / 1,192", "8 / 45 / 258", "-"),
    "skglm": ("39", "9,841", "159 / 489 / 1,697", "4 / 16 / 147", "-"),
}


# What is read from the source


@functools.cache
def parsed(path: Path) -> tuple[str, ast.Module]:
    text = path.read_text("utf-8")
    return text, ast.parse(text)


@functools.cache
def sources(folder: Path = SOURCE) -> dict[str, Path]:
    """Path inside the package -> file."""
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.py"))}


def room_of(file: str) -> str:
    """The room of a file: its folder, `designs/dask` apart, and `top` for files beside them."""
    parts = file.split("/")
    if parts[:2] == ["designs", "dask"]:
        return "designs/dask"
    return parts[0] if len(parts) > 1 else "top"


def is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def code_lines(path: Path) -> int:
    """Lines without docstrings, comments and blank lines."""
    text, tree = parsed(path)
    documented: set[int] = set()
    for node in ast.walk(tree):
        holder = is_function(node) or isinstance(node, ast.Module | ast.ClassDef)
        if holder and ast.get_docstring(node, clean=False) is not None:
            documented |= {*range(node.body[0].lineno, node.body[0].end_lineno + 1)}
    empty = {
        tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
        tokenize.ENDMARKER,
    }  # fmt: skip
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in empty:
            lines |= {*range(token.start[0], token.end[0] + 1)}
    return len(lines - documented)


def is_numeric(value: ast.expr) -> bool:
    """A number, or a tuple, table or formula of numbers; words may be keys alone."""
    inside = [*ast.walk(value)]
    if any(isinstance(node, ast.Lambda | ast.JoinedStr) for node in inside):
        return False
    keys = {key for node in inside if isinstance(node, ast.Dict) for key in node.keys}
    leaves = [node for node in inside if isinstance(node, ast.Constant) and node not in keys]
    if any(isinstance(leaf.value, str | bytes) for leaf in leaves):
        return False
    return any(type(leaf.value) in (int, float) for leaf in leaves)


def numeric_names(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    """Names of the numbers of a module and its classes.

    Fields of classes that start at 0 or 1 count, or are switched on, and are no constants.
    """
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from numeric_names(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value and is_numeric(node.value):
            start = isinstance(node.value, ast.Constant) and node.value.value in (0, 1)
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [part for target in targets for part in ast.walk(target)]
            if not (prefix and start):
                yield from (prefix + name.id for name in names if isinstance(name, ast.Name))


def constants() -> list[str]:
    """`file:NAME` of every number of the package that has a name."""
    trees = {file: parsed(path)[1] for file, path in sources().items()}
    return [f"{file}:{name}" for file, tree in trees.items() for name in numeric_names(tree.body)]


def covers(mark: str, constant: str) -> bool:
    """Whether a mark, a room, a file or one constant of it, speaks of this constant."""
    return constant == mark or constant.startswith((f"{mark}/", f"{mark}:"))


def repeated_names() -> dict[str, list[str]]:
    """Functions and classes that are defined in more than two files."""
    places: dict[str, list[str]] = defaultdict(list)
    for file, path in sources().items():
        for node in parsed(path)[1].body:
            if is_function(node) or isinstance(node, ast.ClassDef):
                places[node.name].append(file)
    return {name: files for name, files in places.items() if len({*files}) > 2}


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def imports_of(path: Path, modules: set[str]) -> set[str]:
    """Modules of the package that a file imports, inside functions too."""
    found: set[str] = set()
    for node in ast.walk(parsed(path)[1]):
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
    paths = {module_of(path): path for path in sources().values()}
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
    for node in ast.walk(parsed(path)[1]):
        if is_function(node):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            lengths.append(body[-1].end_lineno - body[0].lineno + 1 if body else 0)
    return lengths


# What is seen while calls run

COMPREHENSIONS = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")


@dataclass
class Trace:
    """What ran of the package during one call."""

    calls: int = 0  # of its functions
    # (file, function) and the same of its caller, in the order of first calls
    first: list[tuple[tuple[str, str], tuple[str, str]]] = field(default_factory=list)

    @property
    def files(self) -> list[str]:
        return sorted({file for (file, _), _ in self.first})


def watch(call: Callable[[], Any]) -> Trace:
    """Run a call and note the functions of the package that ran, in all threads.

    Bodies of modules and classes run at import and do not count.
    """
    trace, seen, prefix = Trace(), set(), f"{SOURCE}{os.sep}"

    def inside(frame: FrameType) -> bool:
        code = frame.f_code
        # before Python 3.12 comprehensions of modules are functions too
        called = code.co_flags & 1 == 1 and code.co_qualname not in COMPREHENSIONS
        return called and code.co_filename.startswith(prefix)

    def place(frame: FrameType) -> tuple[str, str]:
        file = frame.f_code.co_filename.removeprefix(prefix).replace(os.sep, "/")
        return file, frame.f_code.co_qualname.partition(".<locals>")[0]

    def note(frame: FrameType, event: str, argument: object) -> None:
        if not inside(frame):
            return
        trace.calls += 1
        code, caller = frame.f_code, frame.f_back
        if code in seen:
            return
        seen.add(code)
        while caller is not None and not inside(caller):
            caller = caller.f_back
        trace.first.append((place(frame), place(caller) if caller else ("", "")))

    # a trace function that returns nothing hears of calls alone
    before = sys.gettrace()
    threading.settrace(note)
    sys.settrace(note)
    try:
        call()
    finally:
        sys.settrace(before)
        threading.settrace(before)
    return trace


def normal_data(n_samples: int, n_features: int) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, n_features))
    return X, X[:, 0] + 0.1 * rng.standard_normal(n_samples)


def dense_fit() -> Callable[[], Any]:
    from skstretch import StretchyRegressor

    (X, y), model = normal_data(30, 80), StretchyRegressor()
    return lambda: model.fit(X, y)


def search() -> Callable[[], Any]:
    from skstretch import StretchyRegressorCV

    (X, y), model = normal_data(60, 1000), StretchyRegressorCV()
    return lambda: model.fit(X, y)


def dask_fit() -> Callable[[], Any]:
    import dask
    import dask.array as da

    from skstretch import StretchyRegressor

    (X, y), model = normal_data(30, 80), StretchyRegressor()
    dask.config.set(scheduler="synchronous")
    chunked = da.from_array(X, chunks=(30, 20))
    return lambda: model.fit(chunked, y)


def command(*words: str) -> Callable[[], Any]:
    import skstretch.cli

    def run() -> None:
        sys.argv = ["skstretch", *words]
        try:
            skstretch.cli.main()
        except SystemExit as done:
            if done.code:
                raise RuntimeError(f"{' '.join(sys.argv)} ended with {done.code}") from None

    return run


def command_fit() -> Callable[[], Any]:
    import numpy as np

    X, y = normal_data(30, 80)
    names = ",".join([*(f"x{j}" for j in range(X.shape[1])), "y"])
    np.savetxt("d.csv", np.column_stack([X, y]), delimiter=",", comments="", header=names)
    return command("fit", "d.csv", "-t", "y", "-o", "m.stretchy", "-q")


def command_report() -> Callable[[], Any]:
    return command("report", "m.stretchy", "--data", "d.csv", "-o", "r.html", "-q")


TRACED = {
    "dense fit": dense_fit,
    "search": search,
    "Dask fit": dask_fit,
    "command fit": command_fit,
    "command report": command_report,  # of the model that `command fit` leaves
}


def traced(name: str, folder: str) -> Trace:
    """One call, prepared before it is watched; for a process of its own."""
    sys.path.insert(0, str(SOURCE.parent))
    os.chdir(folder)
    warnings.simplefilter("ignore")
    return watch(TRACED[name]())


def traces() -> dict[str, Trace]:
    """All calls, each by a fresh process with one thread, so that they count alike everywhere."""
    os.environ.update(OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", OMP_NUM_THREADS="1")
    context = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(os.cpu_count(), context, max_tasks_per_child=1) as pool,
    ):
        first = ["command fit", "search", "Dask fit", "dense fit"]  # longest first
        found = {name: pool.submit(traced, name, folder) for name in first}
        found["command fit"].result()
        found["command report"] = pool.submit(traced, "command report", folder)
        return {name: found[name].result() for name in TRACED}


# What is counted, and what it may be


@dataclass(frozen=True)
class Limit:
    """A line of the budget: the most that is allowed, why, and where it shall go."""

    most: int
    why: str
    aim: int | None = None


def read_budget(text: str) -> tuple[dict[str, Limit], dict[str, dict[str, str]]]:
    """Limits by the name of the count, and marked constants by kind, each with its reason."""
    found = tomllib.loads(text)
    limits = {name: Limit(**line) for name, line in found["budget"].items()}
    marks = found["constants"]
    reasons = [limit.why for limit in limits.values()]
    reasons += [why for kind in marks.values() for why in kind.values()]
    if not all(reason.strip() for reason in reasons):
        raise ValueError(f"{BUDGET.name}: every line has a reason")
    return limits, marks


def kinds_of(found: list[str], marks: dict[str, dict[str, str]]) -> dict[str, list[str]]:
    """Constants by what they are: `plan`, `threads`, a kind of marks, or `stray`."""
    kinds: dict[str, list[str]] = {"plan": [], "threads": [], **{kind: [] for kind in marks}}
    kinds["stray"] = []
    for constant in found:
        marked = (k for k, lines in marks.items() if any(covers(m, constant) for m in lines))
        home = {PLAN: "plan", THREADS: "threads"}.get(constant.partition(":")[0])
        kinds[next(marked, home or "stray")].append(constant)
    return kinds


def static_counts(kinds: dict[str, list[str]]) -> dict[str, int]:
    """What the source alone tells."""
    rooms: dict[str, int] = defaultdict(int)
    for file, path in sources().items():
        rooms[room_of(file)] += code_lines(path)
    return {
        "files": len(sources()),
        "lines of code": sum(rooms.values()),
        "constants that change a result": len(kinds["plan"]) + len(kinds["stray"]),
        f"of these outside {PLAN}": len(kinds["stray"]),
        f"constants of speed outside {THREADS}": len(kinds["speed"]),
        "names defined in three files": len(repeated_names()),
        **{f"lines of {room}": rooms[room] for room in sorted(rooms)},
    }


def traced_counts(found: dict[str, Trace]) -> dict[str, int]:
    """What calls tell."""
    passed = {f"files passed by a {name}": len(trace.files) for name, trace in found.items()}
    return {**passed, "calls of a search": found["search"].calls}


def above(name: str, count: int, limit: Limit) -> str:
    """What to do about a count that is above its budget, or nothing."""
    allowed = limit.most * (1 + CALLS) if name.startswith("calls") else limit.most
    if count <= allowed:
        return ""
    return (
        f"{name}: {count:,}, but the budget is {limit.most:,}. Take something away (`python "
        f"tools/house.py --names` says what is counted). If it has to grow, raise the number in "
        f"tools/{BUDGET.name} and give the reason in its `why`, in the same commit."
    )


def below(name: str, count: int, limit: Limit) -> str:
    """What to do about a budget that is too generous, or nothing."""
    share = CALLS if name.startswith("calls") else BELOW
    if count >= limit.most * (1 - share):
        return ""
    return f"{name}: {count:,} is far below the budget of {limit.most:,}: `make house` lowers it."


def unused(marks: dict[str, dict[str, str]], found: list[str]) -> list[str]:
    """Marks that speak of no constant."""
    lines = [mark for kind in marks.values() for mark in kind]
    return [mark for mark in lines if not any(covers(mark, constant) for constant in found)]


def faults(
    static: dict[str, int], seen: dict[str, int], limits: dict[str, Limit]
) -> tuple[list[str], list[str]]:
    """What must change before a commit, and hints.

    What the source tells is the same everywhere, so that a budget which did not follow it down is
    a fault. Traces vary a little with versions of Python and packages: there it is a hint.
    """
    counts = {**static, **seen}
    wrong = [f"{name}: counted, but not in the budget" for name in counts.keys() - limits.keys()]
    wrong += [f"{name}: in the budget, but not counted" for name in limits.keys() - counts.keys()]
    known = [name for name in counts if name in limits]
    wrong += [above(name, counts[name], limits[name]) for name in known]
    wrong += [below(name, static[name], limits[name]) for name in known if name in static]
    hints = [below(name, seen[name], limits[name]) for name in known if name in seen]
    return [fault for fault in wrong if fault], [hint for hint in hints if hint]


def lowered(text: str, counts: dict[str, int], gone: list[str]) -> str:
    """The budget with numbers that follow the counts down, and without marks of what is gone."""
    for name, count in counts.items():
        room = math.ceil(count * (1 + LINES)) if name.startswith("lines of") else count

        def line(match: re.Match[str], room: int = room) -> str:
            return f"{match[1]}{min(int(match[2]), room)}"

        text = re.sub(rf'^("{re.escape(name)}" = \{{ most = )([\d_]+)', line, text, flags=re.M)
    for mark in gone:
        text = re.sub(rf'^"{re.escape(mark)}" = .*\n', "", text, flags=re.M)
    return text


# What is shown


def spread(values: list[int]) -> str:
    ordered = sorted(values)
    ninety = ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]
    return f"{statistics.median_low(ordered):,} / {ninety:,} / {ordered[-1]:,}"


def sizes() -> tuple[str, ...]:
    """The row of the package as it is."""
    paths = [*sources().values()]
    lines = [parsed(path)[0].count("\n") for path in paths]
    bodies = [length for path in paths for length in body_lengths(path)]
    users: dict[str, int] = defaultdict(int)
    for needs in import_graph().values():
        for name in needs:
            users[name] += 1
    lone = sum(users[module_of(path)] == 1 for path in paths if path.name != "__init__.py")
    return str(len(paths)), f"{sum(lines):,}", spread(lines), spread(bodies), str(lone)


def tables(counts: dict[str, int], limits: dict[str, Limit]) -> str:
    rows = {**MEASURED_BEFORE, "**skstretch now**": sizes()}
    order = ["skstretch 0.1", "**skstretch now**", "lineax", "himalaya", "skglm"]
    lines = [
        "| | files | lines | file: median / p90 / max | function body | imported by one other |",
        "|---|---|---|---|---|---|",
        *(f"| {' | '.join([name, *rows[name]])} |" for name in order),
        "",
        "| count | now | budget |",
        "|---|---|---|",
    ]
    for name, count in counts.items():
        most = f"{limits[name].most:,}" if name in limits else "-"
        lines.append(f"| {name} | {count:,} | {most} |")
    return "\n".join(lines)


@dataclass
class Entry:
    """A file that was entered by one of its functions, and what was first reached from there."""

    file: str
    function: str
    reached: int = 1
    calls: list[Entry] = field(default_factory=list)

    def lines(self, least: int, depth: int = 0) -> Iterator[tuple[str, str]]:
        """Place and function of the entries from which at least so many functions were reached."""
        yield f"{'  ' * depth}{self.file.removesuffix('.py')}", self.function
        for entry in self.calls:
            if entry.reached >= least:
                yield from entry.lines(least, depth + 1)


def entries(trace: Trace) -> Entry:
    """The tree of first calls, without those inside a file."""
    known: dict[tuple[str, str], Entry] = {}
    above: dict[int, Entry] = {}
    whole = Entry(*trace.first[0][0])
    for place, caller in trace.first:
        parent = known.get(caller, whole)  # a thread has no caller
        entry = parent if place[0] == parent.file else Entry(*place, reached=0)
        if entry is not parent:
            parent.calls.append(entry)
            above[id(entry)] = parent
        known.setdefault(place, entry)
        while entry is not whole:
            entry.reached += 1
            entry = above[id(entry)]
        whole.reached += 1
    return whole


def drawing(trace: Trace, least: int) -> str:
    """Files in call order under those that first called them, with the function of the entry."""
    lines = [*entries(trace).lines(least)]
    width = max(len(place) for place, _ in lines) + 2
    return "\n".join(f"{place:{width}}{function}" for place, function in lines)


# what is drawn, and the functions that an entry must have reached to be shown: some thirty lines
DRAWN = {
    "A fit, `StretchyRegressor().fit(X, y)`:": ("dense fit", 5),
    "A search, `StretchyRegressorCV().fit(X, y)`:": ("search", 10),
}


def drawings(found: dict[str, Trace]) -> str:
    drawn = {title: drawing(found[name], least) for title, (name, least) in DRAWN.items()}
    return "\n\n".join(f"{title}\n\n```\n{lines}\n```" for title, lines in drawn.items())


def put(text: str, mark: str, new: str) -> str:
    """A page with what stands between two markers replaced."""
    begin, end = f"<!-- begin: {mark} -->", f"<!-- end: {mark} -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"no {begin} ... {end}")
    return f"{before}{begin}\n{new}\n{end}{after}"


def show_names(kinds: dict[str, list[str]], found: dict[str, Trace]) -> None:
    for name, trace in found.items():
        print(f"\nfiles passed by a {name}:", *trace.files, sep="\n  ")
    print("\nnames defined in three files:")
    for name, files in repeated_names().items():
        print(f"  {name}:", ", ".join(files))
    for kind, names in kinds.items():
        print(f"\nconstants, {kind}:", *names, sep="\n  ")


def check(wrong: list[str], hints: list[str]) -> None:
    for hint in hints:
        print(f"hint: {hint}")
    for fault in wrong:
        print(f"- {fault}", file=sys.stderr)
    if wrong:
        sys.exit(f"The house is out of its budget in {len(wrong)} places.")
    print("The house keeps its budget.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare the counts with the budget")
    parser.add_argument("--write", action="store_true", help="tables, drawings and budget")
    parser.add_argument("--draw", action="store_true", help="draw a fit and a search")
    parser.add_argument("--names", action="store_true", help="say what stands behind the counts")
    options = parser.parse_args()

    text = BUDGET.read_text("utf-8")
    limits, marks = read_budget(text)
    found = constants()
    kinds, gone = kinds_of(found, marks), unused(marks, found)
    ran = traces()
    static, seen = static_counts(kinds), traced_counts(ran)
    circle = cycles(import_graph())
    if options.check:
        wrong, hints = faults(static, seen, limits)
        wrong += [f"{mark} is marked in {BUDGET.name}, but gone: `make house`" for mark in gone]
        wrong += [f"imports in a circle: {', '.join(circle)}"] if circle else []
        check(wrong, hints)
        return
    if options.write:
        text = lowered(text, {**static, **seen}, gone)
        BUDGET.write_text(text, "utf-8")
        limits, _ = read_budget(text)
    table = tables({**static, **seen}, limits)
    if options.draw:
        print(drawings(ran))
    else:
        print(table)
        print("import cycles:", ", ".join(circle) or "none")
    if options.names:
        show_names(kinds, ran)
    if options.write:
        page = put(PAGE.read_text("utf-8"), "tools/house.py", table)
        PAGE.write_text(put(page, "tools/house.py --draw", drawings(ran)), "utf-8")


if __name__ == "__main__":
    main()

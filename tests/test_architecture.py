"""Holds the plan of the house: which room may import what.

The source is read with `ast`, never imported, except by the one test that asks what
`import skstretch` loads. A change of the plan is a change of the tables below.
"""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

PACKAGE = "skstretch"
SOURCE = Path(__file__).parents[1] / "src" / PACKAGE
REPRODUCTION = Path(__file__).parents[1] / "reproduction"

# Room -> rooms that it may import. A room is a folder or a file directly under src/skstretch.
# ROOT is `skstretch/__init__.py`, the public names: only the rooms above it may ask it.
ROOT = "__init__"
MAY_IMPORT = {
    "exceptions": set(),
    "_version": set(),
    "style": set(),
    "core": set(),
    "designs": {"core"},
    "features": {"core", "designs"},
    "solve": {"core", "designs"},
    "search": {"core", "designs", "solve"},
    "estimators": {"core", "designs", "solve", "search", "features", "style"},
    "plots": {"core", "estimators", "style"},
    "io": {"core", "designs", "features", "solve", "search", "estimators"},
    "export": {"core", "features", "estimators", "io"},
    "datasets": {"io"},
    "report": {ROOT, "core", "estimators", "plots", "io", "style"},
    "cli": {
        ROOT, "core", "features", "estimators", "plots", "report", "export", "io", "datasets",
        "style",
    },
}  # fmt: skip
FOR_ALL = {"exceptions", "_version"}

# Beside the package in a checkout: they import it, and never the other way round.
BESIDE = {"reproduction", "benchmarks", "examples", "tests"}

# All that the reproduction of the paper may import, as any user can.
PUBLIC = {
    "skstretch", "skstretch.core", "skstretch.datasets", "skstretch.exceptions",
    "skstretch.plots", "skstretch.style",
}  # fmt: skip

# Room -> dotted names that it may neither import nor use.
FORBIDDEN = {
    "core": {"sklearn", "scipy.sparse", "dask", "pandas", "polars", "matplotlib"},
    # Estimators are glue: a formula belongs in core/.
    "estimators": {
        "numpy.linalg", "scipy.linalg", "scipy.special",
        "numpy.exp", "numpy.expm1", "numpy.dot", "numpy.vdot", "numpy.inner", "numpy.matmul",
        "numpy.einsum", "numpy.tensordot",
    },
}  # fmt: skip

# Package -> the one room whose own extra it is, and which may therefore import it at the top of
# a module. Everywhere else an optional package is imported inside the function that needs it.
OPTIONAL = {
    "altair": "report", "vl_convert": "report", "jinja2": "report",
    "typer": "cli", "rich": "cli",
    "dask": None, "distributed": None, "glmnet": None, "matplotlib": None, "onnx": None,
    "onnxruntime": None, "pandas": None, "polars": None,
    "pyarrow": None, "h5py": None, "zarr": None, "shap": None,
}  # fmt: skip


@dataclass(frozen=True)
class Mention:
    """A dotted name that a module imports or uses."""

    line: int
    name: str
    imported: bool
    at_import: bool  # runs when the module is imported: outside functions and TYPE_CHECKING


def nodes(tree: ast.AST, at_import: bool = True) -> Iterator[tuple[ast.AST, bool]]:
    """All nodes below `tree`, each with whether it runs when the module is imported."""
    for child in ast.iter_child_nodes(tree):
        later = isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef) and child in tree.body
        later = later or isinstance(tree, ast.Lambda)
        if isinstance(tree, ast.If) and child in tree.body:
            later = ast.unparse(tree.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
        yield child, at_import and not later
        yield from nodes(child, at_import and not later)


def absolute(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    """The absolute dotted name of the module that a `from ... import` reads."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    parts = parts[: len(parts) - node.level + is_package]
    return ".".join([*parts, node.module] if node.module else parts)


def dotted(node: ast.expr) -> list[str]:
    """The words of a chain `a.b.c`; the first is empty when the chain starts at no plain name."""
    if isinstance(node, ast.Attribute):
        return [*dotted(node.value), node.attr]
    return [node.id if isinstance(node, ast.Name) else ""]


def mentions(tree: ast.Module, module: str, is_package: bool) -> list[Mention]:
    """Imports of a module, and attribute chains (`np.linalg.solve`) that start at an import."""
    found, alias = [], {}
    for node, now in nodes(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                found.append(Mention(node.lineno, item.name, True, now))
                local = item.asname or item.name.split(".")[0]
                alias[local] = item.name if item.asname else local
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node, module, is_package)
            for item in node.names:
                found.append(Mention(node.lineno, f"{base}.{item.name}", True, now))
                alias[item.asname or item.name] = f"{base}.{item.name}"
    inner = {node.value for node, _ in nodes(tree) if isinstance(node, ast.Attribute)}
    for node, now in nodes(tree):
        if isinstance(node, ast.Attribute) and node not in inner:
            first, *rest = dotted(node)
            if first in alias:
                name = ".".join([alias[first], *rest])
                found.append(Mention(node.lineno, name, False, now))
    return found


def within(name: str, prefixes: set[str]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def room_of(name: str) -> str:
    """The room that a dotted name of this package lies in."""
    _, _, rest = name.partition(".")
    room = rest.split(".")[0]
    return room if room in MAY_IMPORT else ROOT


def is_public(name: str) -> bool:
    """A public room, or a name in one that is neither a module of it nor starts with _."""
    parent, _, leaf = name.rpartition(".")
    if name in PUBLIC or parent not in PUBLIC or leaf.startswith("_"):
        return name in PUBLIC
    inside = SOURCE.joinpath(*name.split(".")[1:])
    return not inside.is_dir() and not inside.with_suffix(".py").exists()


def import_faults(room: str, mention: Mention) -> Iterator[str]:
    name = mention.name
    if within(name, {PACKAGE}):
        target = room_of(name)
        if room != ROOT and target not in MAY_IMPORT[room] | FOR_ALL | {room}:
            yield f"{room} must not import {target} ({name})"
    if mention.imported and within(name, BESIDE):
        yield f"{room} must not import {name}: it is not installed with the package"
    if within(name, FORBIDDEN.get(room, set())):
        yield f"{room} must not use {name}"
    package = name.split(".")[0]
    own = OPTIONAL.get(package) == room
    if mention.imported and mention.at_import and package in OPTIONAL and not own:
        yield f"import the optional package {package} inside the function that needs it"


def node_faults(room: str, node: ast.AST) -> Iterator[str]:
    # The fields that hold a plain word: a variable, an attribute, an imported or defined name.
    words = {getattr(node, field, None) for field in ("id", "attr", "name")}
    if room != "designs" and words & {"issparse", "isspmatrix"}:
        yield "only designs may ask how X is stored (issparse)"
    if room == "estimators" and isinstance(getattr(node, "op", None), ast.MatMult):
        yield "estimators hold no formula: move the product @ to core or designs"
    if room == "plots" and words & {"fit", "fit_transform", "fit_predict"}:
        yield "plots never fit: take a fitted estimator"
    if room == "designs" and isinstance(node, ast.arg) and node.arg == "y":
        yield "designs never see y: name the argument for what the product takes"


def faults(code: str, path: str) -> list[str]:
    """What breaks the plan in `code`, a module at `path` relative to src/skstretch."""
    parts = Path(path).with_suffix("").parts
    room = parts[0]
    if room not in MAY_IMPORT and parts != (ROOT,):
        return [f"{path}: unknown room {room!r}; add it to MAY_IMPORT in {Path(__file__).name}"]
    is_package = parts[-1] == ROOT
    module = ".".join([PACKAGE, *(parts[:-1] if is_package else parts)])
    tree = ast.parse(code)
    found = [
        (mention.line, fault)
        for mention in mentions(tree, module, is_package)
        for fault in import_faults(room, mention)
    ]
    for node, _ in nodes(tree):
        found += [(getattr(node, "lineno", 0), fault) for fault in node_faults(room, node)]
    return [f"{path}:{line}: {fault}" for line, fault in sorted(set(found))]


def test_source_keeps_the_plan():
    paths = sorted(SOURCE.rglob("*.py"))
    assert SOURCE / "__init__.py" in paths, f"no package at {SOURCE}"
    found = [
        fault
        for path in paths
        for fault in faults(path.read_text("utf-8"), path.relative_to(SOURCE).as_posix())
    ]
    assert not found, "\n" + "\n".join(found)


def private_imports(code: str, module: str) -> list[str]:
    """What a module of the reproduction takes from this package beyond its public names."""
    return [
        f"{module}:{mention.line}: {mention.name}"
        for mention in mentions(ast.parse(code), module, False)
        if within(mention.name, {PACKAGE})
        and not (
            is_public(mention.name)
            if mention.imported
            else room_of(mention.name) == ROOT or within(mention.name, PUBLIC - {PACKAGE})
        )
    ]


def test_the_reproduction_uses_public_names_alone():
    paths = [path for path in REPRODUCTION.rglob("*.py") if "tests" not in path.parts]
    assert REPRODUCTION / "study.py" in paths
    found = [
        fault
        for path in paths
        for fault in private_imports(path.read_text("utf-8"), f"reproduction.{path.stem}")
    ]
    assert not found, "\n" + "\n".join(found)


def test_the_reproduction_is_in_the_sources_and_not_in_the_wheel():
    text = (REPRODUCTION.parent / "pyproject.toml").read_text("utf-8")
    targets = tomllib.loads(text)["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"]["packages"] == [f"src/{PACKAGE}"]
    assert "/reproduction" in targets["sdist"]["include"]


@pytest.mark.parametrize(
    ("code", "private"),
    [
        ("from skstretch import StretchyRegressor, core, datasets", 0),
        ("from skstretch.core import k_measure\nimport skstretch\nskstretch.__version__", 0),
        ("from skstretch import solve", 1),
        ("from skstretch import _hidden", 1),
        ("from skstretch.core import factors", 1),
        ("from skstretch.core.factors import lu", 1),
        ("from skstretch.io import files", 1),
        ("import skstretch\nskstretch.solve.fit", 1),
    ],
)
def test_private_names_are_seen(code, private):
    assert len(private_imports(code, "reproduction.example")) == private


@cache
def known_names(module: str) -> set[str] | None:
    """The names that a module of this package binds, and its own modules; None without it."""
    path = SOURCE.joinpath(*module.split(".")[1:])
    folder = {child.stem for child in path.glob("*")}
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not path.exists():
        return None
    words = {
        getattr(node, "asname", None) or getattr(node, "name", None) or getattr(node, "id", None)
        for node, now in nodes(ast.parse(path.read_text("utf-8")))
        if now
    }
    return folder | {word for word in words if word}


def missing_names(code: str) -> list[str]:
    """What some code imports from this package that is not there."""
    found = []
    for mention in mentions(ast.parse(code), "example", False):
        module, _, leaf = mention.name.rpartition(".")
        if mention.imported and within(module, {PACKAGE}):
            names = known_names(module)
            if names is None or leaf not in names:
                found.append(mention.name)
    return found


def test_benchmarks_and_tools_import_what_is_there():
    paths = [
        path
        for room in ("benchmarks", "tools")
        for path in (REPRODUCTION.parent / room).rglob("*.py")
    ]
    assert REPRODUCTION.parent / "benchmarks" / "single.py" in paths
    found = {path.name: missing_names(path.read_text("utf-8")) for path in paths}
    assert not any(found.values()), {name: each for name, each in found.items() if each}


@pytest.mark.parametrize(
    ("code", "missing"),
    [
        ("from skstretch import StretchyRegressor, solve", 0),
        ("from skstretch.core.gram import dual_grams\nfrom skstretch.core import gram", 0),
        ("from skstretch.core.gram import DualGram, NoSum", 1),
        ("from skstretch.core.sums import DualGram", 1),
        ("import numpy\nfrom scipy import nothing", 0),
    ],
)
def test_names_that_are_gone_are_seen(code, missing):
    assert len(missing_names(code)) == missing


def test_the_table_has_no_cycle():
    done: set[str] = {ROOT}
    while waiting := MAY_IMPORT.keys() - done:
        free = {room for room in waiting if MAY_IMPORT[room] <= done}
        assert free, f"these rooms import each other in a circle: {sorted(waiting)}"
        done |= free


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


# public names are imported when they are first asked for
EVERYTHING = f"import {PACKAGE}; [getattr({PACKAGE}, name) for name in {PACKAGE}.__all__]"


def newly_loaded(statement: str) -> set[str]:
    """Packages that `statement` loads beyond scikit-learn, which itself looks for pandas and rich.

    `sklearn.callback` is part of it since version 1.9.
    """
    code = (
        "import sys, importlib.util, sklearn.utils\n"
        "if importlib.util.find_spec('sklearn.callback'): import sklearn.callback\n"
        "old = {*sys.modules}\n%s\nprint(*sys.modules.keys() - old)"
    )
    return {name.split(".")[0] for name in run(code % statement).split()}


def test_import_loads_no_optional_package():
    loaded = newly_loaded(EVERYTHING)
    assert PACKAGE in loaded
    assert not loaded & OPTIONAL.keys()
    assert newly_loaded("import matplotlib") & OPTIONAL.keys() == {"matplotlib"}


def test_import_needs_no_optional_package():
    run(f"import sys; sys.modules.update(dict.fromkeys({[*OPTIONAL]})); {EVERYTHING}")


def test_import_alone_loads_nothing_heavy():
    loaded = run(f"import sys, {PACKAGE}; print(*sys.modules)").split()
    assert not {"numpy", "scipy", "sklearn"} & {*loaded}


GOOD = [
    (
        "core/qr.py",
        "import numpy as np\nfrom scipy.linalg import lapack\nfrom . import types",
    ),
    (
        "core/qr.py",
        "from skstretch.core.types import Array\nfrom ..exceptions import Trouble",
    ),
    ("designs/sparse.py", "from scipy.sparse import issparse\nfrom ..core import stretch"),
    ("designs/dask.py", "def gram(self):\n    import dask.array as da"),
    ("estimators/regressor.py", "import numpy as np\nnp.asarray(1)\nself.design_.dot(coef)"),
    ("plots/path.py", "def plot(self):\n    import matplotlib.pyplot as plt"),
    ("plots/path.py", "if TYPE_CHECKING:\n    from matplotlib.axes import Axes"),
    ("cli/fit.py", "import typer\nfrom rich.table import Table\nfrom skstretch import datasets"),
    ("report/page.py", "import altair as alt"),
    ("__init__.py", "from skstretch.estimators import StretchyRegressor as StretchyRegressor"),
    ("__init__.py", "from . import core, search"),
]

BAD = [
    ("core/qr.py", "from sklearn.base import clone", "core must not use sklearn"),
    ("core/qr.py", "from scipy import sparse", "core must not use scipy.sparse"),
    ("core/qr.py", "import scipy\nscipy.sparse.eye(3)", "core must not use scipy.sparse"),
    ("core/qr.py", "def f():\n    import pandas", "core must not use pandas"),
    ("core/qr.py", "from skstretch.solve import fit", "core must not import solve"),
    ("core/qr.py", "from skstretch import solve", "core must not import solve"),
    ("core/qr.py", "from ..designs import as_design", "core must not import designs"),
    ("core/__init__.py", "from .. import search", "core must not import search"),
    ("core/qr.py", "import skstretch", "core must not import __init__"),
    (
        "core/qr.py",
        "from skstretch import StretchyRegressor",
        "core must not import __init__",
    ),
    (
        "core/qr.py",
        "import skstretch.core\nskstretch.solve.fit",
        "core must not import solve",
    ),
    ("features/positive.py", "from ..solve import spec", "features must not import solve"),
    ("solve.py", "from .search import grid", "solve must not import search"),
    ("solve.py", "from . import search", "solve must not import search"),
    ("search.py", "from .estimators import regressor", "search must not import estimators"),
    ("plots/path.py", "from ..solve import fit_stretchy", "plots must not import solve"),
    ("plots/path.py", "estimator.fit(X)", "plots never fit"),
    ("datasets/text.py", "from reproduction import sets", "not installed with the package"),
    ("designs/dense.py", "def tdot(self, y): ...", "designs never see y"),
    ("solve.py", "from scipy.sparse import issparse", "issparse"),
    ("solve.py", "import scipy.sparse as sp\nsp.issparse(X)", "issparse"),
    ("estimators/regressor.py", "y = X @ coef", "no formula"),
    ("estimators/regressor.py", "X @= coef", "no formula"),
    ("estimators/regressor.py", "import numpy as np\nnp.exp(X).sum()", "must not use numpy.exp"),
    ("estimators/regressor.py", "import numpy as np\nnp.exp(X)", "must not use numpy.exp"),
    ("estimators/regressor.py", "from numpy import dot", "must not use numpy.dot"),
    ("estimators/regressor.py", "import numpy as n\nn.linalg.inv(X)", "must not use numpy.linalg"),
    ("estimators/regressor.py", "from scipy import linalg", "must not use scipy.linalg"),
    ("plots/path.py", "import matplotlib.pyplot as plt", "optional package matplotlib"),
    ("designs/dask.py", "try:\n    import dask\nexcept ImportError: ...", "optional package dask"),
    ("io/frames.py", "class A:\n    import pandas", "optional package pandas"),
    ("cli/fit.py", "import altair", "optional package altair"),
    ("report/page.py", "import rich", "optional package rich"),
    ("plots/path.py", "if TYPE_CHECKING: ...\nelse:\n    import pandas", "optional package pandas"),
    ("helpers.py", "", "unknown room 'helpers'; add it to MAY_IMPORT"),
    ("misc/__init__.py", "", "unknown room 'misc'; add it to MAY_IMPORT"),
]


@pytest.mark.parametrize(("path", "code"), GOOD)
def test_checker_accepts(path, code):
    assert faults(code, path) == []


@pytest.mark.parametrize(("path", "code", "message"), BAD)
def test_checker_rejects(path, code, message):
    found = faults(code, path)
    assert len(found) == 1
    assert message in found[0]

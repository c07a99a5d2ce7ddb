"""What a person reads is in the field's words: messages, help, report, docstrings and pages."""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "skstretch"
# words of ours that nobody knows on first contact; "stretching power" is the name of k
HOUSE = re.compile(
    r"\b(mixtures?|mixed|mix|closed[- ]forms?|exact minimisers?|quadrants?|family|families"
    r"|stretching(?! powers?\b)|walks?|cells?)\b",
    re.IGNORECASE,
)
# rooms whose texts no user meets, and files that mean the word in its usual sense: the cells of a
# table, the name of a parameter that is gone, a file that was tampered with
ROOMS = {"core", "designs", "solve", "search"}
FILES = {
    "cli/columns.py",
    "cli/training.py",
    "cli/data/delimited.py",
    "estimators/state.py",
    "io/state.py",
}
# pages for experts: measurements, the mathematics, and the words themselves
EXPERTS = {
    "docs/glossary.md", "docs/exact.md", "docs/mixing.md", "docs/rules.md", "docs/arena.md",
    "docs/benchmarks.md", "docs/performance.md", "docs/scaling.md", "docs/reproduction.md",
    "docs/accuracy.md",
}  # fmt: skip
PUBLIC = ("skstretch", "skstretch.plots", "skstretch.report", "skstretch.io", "skstretch.datasets")


def messages(path):
    """Strings of a module that are sentences: not its docstrings, and not single words."""
    tree = ast.parse(path.read_text("utf-8"))
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef)
    first = [node.body[0] for node in ast.walk(tree) if isinstance(node, owners) and node.body]
    docs = {id(each.value) for each in first if isinstance(each, ast.Expr)}
    for node in ast.walk(tree):
        text = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and id(node) not in docs and " " in text.strip():
            yield node.lineno, text


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE)
        if name.parts[0] not in ROOMS and name.as_posix() not in FILES:
            yield pytest.param(path, id=name.as_posix())


@pytest.mark.parametrize("path", [*modules()])
def test_messages_are_in_plain_words(path):
    found = {line: HOUSE.findall(text) for line, text in messages(path) if HOUSE.search(text)}
    assert not found


def test_the_template_of_the_report_is_in_plain_words():
    text = (SOURCE / "report" / "template" / "page.html").read_text("utf-8")
    shown = re.sub(r"{[%{].*?[%}]}|<[^>]*>", " ", text, flags=re.DOTALL)
    assert not HOUSE.findall(shown)
    quoted = re.findall(r"{{.*?}}", text)
    assert not [each for each in quoted if HOUSE.search(" ".join(re.findall(r'"[^"]*"', each)))]


def pages():
    """Pages of the site, the README and the stories of the gallery (not those of the paper)."""
    paths = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/guide").glob("*.md")]
    paths += [path for path in (ROOT / "examples").rglob("*.py") if "5_paper" not in path.parts]
    for path in sorted(paths):
        name = path.relative_to(ROOT).as_posix()
        if name not in EXPERTS:
            yield pytest.param(path, id=name)


def prose(text):
    """A text without code: what stands between backticks, and calls with a keyword."""
    text = re.sub(r"```.*?```|``.*?``|`[^`]*`", " ", text, flags=re.DOTALL)
    return re.sub(r"\b(quadrant|family)( = |=| : )", " ", text)


@pytest.mark.parametrize("path", [*pages()])
def test_pages_are_in_plain_words(path):
    assert not HOUSE.findall(prose(path.read_text("utf-8")))


def described():
    """Public names with their docstrings, methods included."""
    for home in PUBLIC:
        module = import_module(home)
        for name in getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"]:
            found = getattr(module, name)
            yield pytest.param(found.__doc__, id=f"{home}.{name}")
            for method, each in inspect.getmembers(found) if inspect.isclass(found) else ():
                if method[0] != "_" and "skstretch" in (getattr(each, "__module__", "") or ""):
                    yield pytest.param(each.__doc__, id=f"{home}.{name}.{method}")


@pytest.mark.parametrize("text", [*described()])
def test_docstrings_are_in_plain_words(text):
    assert not HOUSE.findall(prose(text or ""))


def test_the_list_finds_what_it_looks_for():
    """Of every word one that must be found, and what must not be."""
    for text in ("a Mixture of", "the closed forms", "stretching with k", "one cell", "families"):
        assert HOUSE.search(text), text
    for text in ("the stretching power k", "the average of 8 models", "mixes", "excellent"):
        assert not HOUSE.search(text), text

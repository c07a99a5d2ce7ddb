"""What the package imports is declared, and what the workflow runs is pinned."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
# import name -> distribution, where they differ
DISTRIBUTIONS = {
    "sklearn": "scikit-learn",
    "sksurv": "scikit-survival",
    "PIL": "pillow",
    "vl_convert": "vl-convert-python",
    "glmnet": "python-glmnet",
    "rattler_build": "py-rattler-build",
}
# `skstretch compare` takes it along where it is installed, and says how to install it
COMPANIONS = {"python-glmnet"}


def names_of(requirements):
    """The distributions that requirements name, without versions and extras."""
    texts = [entry for entry in requirements if isinstance(entry, str)]
    return {re.match(r"[\w.-]+", entry)[0].lower().replace("_", "-") for entry in texts}


def installed_with_the_package():
    project = PROJECT["project"]
    extras = project["optional-dependencies"].values()
    return names_of(project["dependencies"]).union(*map(names_of, extras))


def imports_in(folder):
    """The packages that the modules of a folder import, each with one file that does."""
    found = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            for name in names:
                found.setdefault(name.partition(".")[0], path.relative_to(ROOT))
    own = {"skstretch", *(entry.name for entry in ROOT.iterdir() if entry.is_dir())}
    return {
        DISTRIBUTIONS.get(name, name).lower().replace("_", "-"): path
        for name, path in found.items()
        if name not in sys.stdlib_module_names | own
    }


def test_every_import_of_the_package_is_declared():
    found = imports_in("src")
    assert {"numpy", "scikit-learn", "jinja2"} <= set(found)
    undeclared = found.keys() - installed_with_the_package() - COMPANIONS
    assert not undeclared, {name: str(found[name]) for name in undeclared}


@pytest.mark.parametrize("folder", ["tests", "benchmarks", "reproduction", "tools", "examples"])
def test_every_import_beside_the_package_is_declared(folder):
    found = imports_in(folder)
    groups = PROJECT["dependency-groups"].values()
    undeclared = found.keys() - installed_with_the_package().union(*map(names_of, groups))
    assert not undeclared, {name: str(found[name]) for name in undeclared}


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned(path):
    text = path.read_text("utf-8")
    used = re.findall(r"^\s*- uses: (.*)$", text, flags=re.MULTILINE)
    assert used
    for action in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", action), action
    checkouts = re.findall(r"uses: actions/checkout@.*\n(.*)\n(.*)\n", text)
    assert len(checkouts) == text.count("actions/checkout@")
    for lines in checkouts:
        assert [line.strip() for line in lines] == ["with:", "persist-credentials: false"]
    assert re.search(r"^permissions:\n  contents: read$", text, flags=re.MULTILINE)


def parsed(path):
    return pytest.importorskip("yaml", reason="comes with dask").safe_load(path.read_text("utf-8"))


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name
)
def test_files_for_the_host_can_be_read(path):
    assert isinstance(parsed(path), dict)


def test_the_index_comes_after_the_test_index():
    """Both trust the workflow: no job but these two may ask for a token of identity."""
    jobs = parsed(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    assert (jobs["test-index"]["needs"], jobs["index"]["needs"]) == ("build", "test-index")
    trusted = {name for name, job in jobs.items() if "id-token" in job.get("permissions", {})}
    assert trusted == {"test-index", "index"}
    last = {name: jobs[name]["steps"][-1] for name in trusted}
    assert all("gh-action-pypi-publish" in step["uses"] for step in last.values())
    assert "test.pypi.org" in last["test-index"]["with"]["repository-url"]
    assert "with" not in last["index"]


def test_the_share_of_lines_has_its_place_in_the_readme(tmp_path, monkeypatch):
    """``make line-coverage`` writes it; until then the README says who would."""
    from tools import line_coverage

    readme = (ROOT / "README.md").read_text("utf-8")
    (tmp_path / "README.md").write_text(readme, "utf-8")
    monkeypatch.setattr(line_coverage, "ROOT", tmp_path)
    monkeypatch.setattr(line_coverage.subprocess, "check_output", lambda *_, **__: "93.4\n")
    line_coverage.main()
    assert "The tests run **93.4 %** of the lines" in (tmp_path / "README.md").read_text("utf-8")

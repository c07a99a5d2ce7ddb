"""The conda recipe says the same as pyproject.toml."""

import re
from pathlib import Path

import pytest

import skstretch
from tests.test_packaging import PROJECT
from tools.floors import floors

RECIPE = (Path(__file__).parents[1] / "conda" / "recipe.yaml").read_text("utf-8")
# the name on PyPI -> the package of conda-forge that has the library alone
NAMES = {"matplotlib": "matplotlib-base", "dask": "dask-core"}
# the site is built from a checkout
LEFT_OUT = {"docs"}


def listed(heading):
    """Name -> floor of the list under a heading."""
    body = re.search(rf"^  {heading}:\n((?:    - .*\n)+)", RECIPE, re.MULTILINE)[1]
    entries = [line.strip()[2:].split() for line in body.splitlines()]
    return {name: (rest or [""])[0] for name, *rest in entries}


def wanted(requirements):
    found = floors(requirements)
    return {NAMES.get(name, name): f">={floor}" for name, floor in found.items()}


def context(name):
    return re.search(rf'^  {name}: "(.*)"$', RECIPE, re.MULTILINE)[1]


def test_version_and_python():
    assert context("version") == skstretch.__version__
    assert PROJECT["project"]["requires-python"] == f">={context('python_min')}"


def test_floors_of_the_dependencies():
    needed = {"python": ">=${{", **wanted(PROJECT["project"]["dependencies"])}
    assert listed("run") == needed


def test_floors_of_the_extras():
    extras = PROJECT["project"]["optional-dependencies"]
    lines = [line for name, extra in extras.items() if name not in LEFT_OUT for line in extra]
    assert listed("run_constraints") == wanted(lines)


def test_what_builds_it():
    host = listed("host")
    assert {"python", "pip"} <= host.keys()
    assert wanted(PROJECT["build-system"]["requires"]).items() <= host.items()


@pytest.mark.parametrize("key", ["license", "summary"])
def test_about(key):
    field = {"license": "license", "summary": "description"}[key]
    assert f"  {key}: {PROJECT['project'][field]}\n" in RECIPE
    assert f"      - skstretch = {PROJECT['project']['scripts']['skstretch']}\n" in RECIPE

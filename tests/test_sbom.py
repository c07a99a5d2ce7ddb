"""The bill of materials lists what the package brings, and nothing of the tools."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import skstretch
from tests.test_packaging import PROJECT, names_of
from tools.sbom import with_version

ROOT = Path(__file__).parents[1]


def test_the_version_is_stated_for_the_tool():
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert tomllib.loads(with_version(text, "9.8.7"))["project"]["version"] == "9.8.7"
    with pytest.raises(ValueError, match="states what is dynamic in other words"):
        with_version(text.replace("dynamic = [", "dynamic = [ "), "9.8.7")


@pytest.mark.slow
def test_components_are_the_dependencies(tmp_path):
    command = [sys.executable, ROOT / "tools" / "sbom.py", "--output", tmp_path / "sbom.cdx.json"]
    subprocess.run(command, check=True)
    found = json.loads((tmp_path / "sbom.cdx.json").read_text("utf-8"))
    assert found["bomFormat"] == "CycloneDX"
    root = found["metadata"]["component"]
    assert (root["name"], root["version"]) == ("skstretch", skstretch.__version__)
    edges = {entry["ref"]: entry.get("dependsOn", []) for entry in found["dependencies"]}
    ours = {name.partition("==")[0] for name in edges[root["bom-ref"]]}
    assert ours == names_of(PROJECT["project"]["dependencies"])
    # all of them, and those that they need: reached from the root, with version and licence
    reached, todo = set(), [root["bom-ref"]]
    while todo:
        todo += [
            name for name in edges[todo.pop()] if name not in reached and not reached.add(name)
        ]
    assert {part["bom-ref"] for part in found["components"]} == reached
    for part in found["components"]:
        assert part["purl"] == f"pkg:pypi/{part['name']}@{part['version']}"
        assert part["licenses"], part["name"]

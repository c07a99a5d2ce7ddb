"""The software bill of materials: what a bare installation of the package brings along.

``make sbom`` runs this, and writes ``dist/sbom.cdx.json`` (CycloneDX) by ``cyclonedx-py``. The
package is installed into a fresh environment that holds nothing else, not even pip; the tool has
an environment of its own. Extras are named like ``python tools/sbom.py --extras cli,report``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "dist" / "sbom.cdx.json"
TOOL = "cyclonedx-bom>=7.5,<8"


def with_version(settings: str, version: str) -> str:
    """The text of pyproject.toml with a version: the tool cannot ask the package for it."""
    stated = settings.replace(
        'dynamic = ["version", "readme"]', f'version = "{version}"\ndynamic = ["readme"]'
    )
    if tomllib.loads(stated)["project"].get("version") != version:
        raise ValueError("pyproject.toml states what is dynamic in other words: adapt this line.")
    return stated


def run(*command: Any, **environment: str) -> str:
    """What a command prints; where it fails, its words are shown."""
    # packages on the path of the caller are none of this installation
    inherited = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in command],
        env={**inherited, **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return done.stdout.strip()


def write(output: Path, extras: str) -> dict[str, Any]:
    """Make both environments, ask the tool, and return what it wrote."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "tool", with_pip=True)
        venv.create(folder / "bare", with_pip=False)
        tool, bare = folder / "tool" / "bin", folder / "bare" / "bin" / "python"
        install = (tool / "python", "-m", "pip", "--quiet")
        run(*install, "install", TOOL)
        target = f"{ROOT}[{extras}]" if extras else ROOT
        run(*install, "--python", bare, "install", target)
        version = run(bare, "-c", "import skstretch; print(skstretch.__version__)")
        settings = folder / "pyproject.toml"
        settings.write_text(with_version((ROOT / "pyproject.toml").read_text("utf-8"), version))
        stamp = run("git", "log", "-1", "--format=%ct")
        output.parent.mkdir(parents=True, exist_ok=True)
        asked = ("--pyproject", settings, "--mc-type", "library", "--output-reproducible")
        command = (tool / "cyclonedx-py", "environment", *asked, "-o", output, bare)
        run(*command, SOURCE_DATE_EPOCH=stamp)
    found: dict[str, Any] = json.loads(output.read_text("utf-8"))
    return found


def main() -> int:
    """Write the file, and print what it lists."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--extras", default="", help="such as cli,report; none by default")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    found = write(options.output.resolve(), options.extras)
    root = found["metadata"]["component"]
    print(f"{options.output}: {root['name']} {root['version']} brings")
    for part in found["components"]:
        print(f"  {part['name']} {part['version']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Whether a release could be made from this checkout: ``make release-check``.

The version is the same in the package, CITATION.cff and the conda recipe, which the builder of
conda-forge can read, and CHANGELOG.md has a section for it; both archives are complete, the same
in two builds, and their descriptions render; the bill of materials can be written. With
``--release``, as the workflow of a tag calls it, also: the tag is that of the version, nothing is
uncommitted, no placeholder is left in tools/project.toml, pyproject.toml and CITATION.cff name the
repository, and the changelog has a date. Archives are left in dist/.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from tools import archives

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def package_version() -> str:
    found = re.search(r'^__version__ = "(.+)"$', read("src/skstretch/_version.py"), re.MULTILINE)
    if found is None:
        raise SystemExit("src/skstretch/_version.py states no version.")
    return found[1]


def version_faults(version: str) -> list[str]:
    """Places that tell another version, or none."""
    stated = {
        "CITATION.cff": re.search(r"^version: (.+)$", read("CITATION.cff"), re.MULTILINE),
        "conda/recipe.yaml": re.search(
            r'^  version: "(.+)"$', read("conda/recipe.yaml"), re.MULTILINE
        ),
    }
    return [
        f"{name} says version {found[1] if found else 'nothing'}, the package {version}"
        for name, found in stated.items()
        if found is None or found[1] != version
    ]


def recipe_faults(version: str) -> list[str]:
    """What rattler-build finds wrong with the conda recipe."""
    import rattler_build

    try:
        recipe = rattler_build.Stage0Recipe.from_yaml(read("conda/recipe.yaml"))
        rendered = recipe.render(rattler_build.VariantConfig())
    except Exception as error:  # it has no class of its own for all of them
        return [f"conda/recipe.yaml: {error}"]
    built = [f"{one.recipe.package.name} {one.recipe.package.version}" for one in rendered]
    return [] if built == [f"skstretch {version}"] else [f"conda/recipe.yaml builds {built}"]


def changelog_section(version: str) -> str | None:
    """The head of the section of a version, or None."""
    found = re.search(rf"^## \[{re.escape(version)}\].*$", read("CHANGELOG.md"), re.MULTILINE)
    return None if found is None else found[0]


def archive_faults() -> list[str]:
    """Build both archives twice, look into them, and let twine check what an index would show."""
    for path in DIST.glob("skstretch-*"):
        path.unlink()
    with tempfile.TemporaryDirectory() as name:
        first = [p for p in archives.build(ROOT, DIST) if p.name.startswith("skstretch-")]
        second = archives.build(archives.copied(Path(name) / "copy"), Path(name) / "two")
        wrong = [
            f"{path.name} differs between two builds{archives.apart(path, again)}"
            for path, again in zip(first, second, strict=True)
            if archives.digest(path) != archives.digest(again)
        ]
    wrong += [f"{path.name} {fault}" for path in first for fault in archives.faults(path)]
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, first)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        wrong.append(f"twine check: {done.stdout.strip()} {done.stderr.strip()}")
    for path in first:
        print(f"{archives.digest(path)}  {path.name}, {path.stat().st_size:,} bytes")
    return wrong


def release_faults(version: str) -> list[str]:
    """What stands between this commit and the release itself."""
    wrong = []
    project = tomllib.loads(read("tools/project.toml"))
    left = [name for name, value in project.items() if project["placeholder"] in value]
    if set(left) > {"placeholder"}:
        names = ", ".join(name for name in left if name != "placeholder")
        wrong.append(f"tools/project.toml still has placeholders ({names}): say where it lives")
    wrong += [
        f"{name} does not name the repository of tools/project.toml"
        for name in ("pyproject.toml", "CITATION.cff")
        if project["repository"] not in read(name)
    ]
    tags = subprocess.check_output(["git", "tag", "--points-at", "HEAD"], cwd=ROOT, text=True)
    if f"v{version}" not in tags.split():
        wrong.append(f"this commit has no tag v{version}")
    if subprocess.check_output(["git", "status", "--porcelain"], cwd=ROOT, text=True).strip():
        wrong.append("there are changes that are not committed")
    section = changelog_section(version)
    if section is None or not re.search(r"\d{4}-\d{2}-\d{2}$", section):
        wrong.append(f"the section of {version} in CHANGELOG.md has no date")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--release", action="store_true", help="refuse what may not be released")
    released = parser.parse_args().release
    version = package_version()
    wrong = version_faults(version) + recipe_faults(version)
    if changelog_section(version) is None:
        wrong.append(f"CHANGELOG.md has no section [{version}]")
    open_points = release_faults(version)
    if released:
        wrong += open_points
    wrong += archive_faults()
    subprocess.run([sys.executable, str(ROOT / "tools" / "sbom.py")], check=True, cwd=ROOT)
    if wrong:
        print("\n".join(f"fault: {one}" for one in wrong), file=sys.stderr)
        return 1
    print(f"skstretch {version} is ready to be built.")
    for point in () if released else open_points:
        print(f"before it is released: {point}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

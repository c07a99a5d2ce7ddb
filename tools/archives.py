"""Build the wheel and the source archive twice, look into them, and try them as a new user would.

``make test-wheel`` runs this. Both archives must be the same in both builds, byte for byte, the
second from a copy of the checkout in another folder with other times; they must hold what belongs
into them and nothing else, and work in a fresh environment in an empty folder.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = (
    ("datasets", "spectra", "-o", "spectra.csv"),
    ("fit", "spectra.csv", "--target", "target", "--intervals", "-o", "m.stretchy"),
    ("predict", "m.stretchy", "spectra.csv", "--interval", "0.9", "-o", "predicted.csv"),
    ("report", "m.stretchy", "--data", "spectra.csv", "-o", "report.html"),
)


def copied(folder: Path) -> Path:
    """A copy of what git knows of the checkout, all of it as new."""
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    for name in filter(None, listed.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    return folder


def build(source: Path, folder: Path) -> list[Path]:
    """The archives of a checkout, dated at the last commit."""
    stamp = subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=ROOT, text=True)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": stamp.strip()}
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(source)]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return sorted(folder.iterdir())


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def names(path: Path) -> list[str]:
    """The files of an archive."""
    if path.suffix == ".whl":
        return zipfile.ZipFile(path).namelist()
    with tarfile.open(path) as archive:
        return [name.partition("/")[2] for name in archive.getnames()]


def apart(path: Path, again: Path) -> str:
    """Files that only one of two archives has; git may not know them yet."""
    alone = sorted({*names(path)} ^ {*names(again)})
    return f": only one has {', '.join(alone)}" if alone else ""


def faults(path: Path) -> list[str]:
    """What an archive lacks, or holds beyond what belongs into it."""
    held = names(path)
    wanted = ["skstretch/py.typed", "LICENSE"]
    if path.suffix != ".whl":  # what its Makefile, its tests and its pages name
        wanted += ["CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "tools/floors.py", "conda/recipe.yaml"]
    found = [f"lacks {name}" for name in wanted if not any(h.endswith(name) for h in held)]
    if path.suffix == ".whl":
        own = [h for h in held if not h.startswith("skstretch")]
        found += [f"holds {name}" for name in own]
    # the source archive has the model files of its tests
    rest = [name for name in held if not name.startswith("tests/")]
    unwanted = (".pyc", ".stretchy", ".npz", ".tmp")
    return found + [f"holds {name}" for name in rest if name.endswith(unwanted)]


def tried(path: Path) -> None:
    """Install an archive with the extras of the demonstration, and run its commands."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(Path(folder) / "env", with_pip=True)
        binaries = Path(folder) / "env" / "bin"
        install = [str(binaries / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, f"{path}[cli,report]"], check=True, stderr=subprocess.DEVNULL)
        place = Path(folder) / "empty"
        place.mkdir()
        for command in COMMANDS:
            run = [str(binaries / "skstretch"), *command]
            subprocess.run(run, cwd=place, check=True, capture_output=True)
        made = sorted(file.name for file in place.iterdir())
        print(f"{path.name}: {len(names(path))} files; made {', '.join(made)}")


def main() -> int:
    """Build, compare, look, try."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        first = build(ROOT, place / "one")
        second = build(copied(place / "copy"), place / "two")
        wrong = [
            f"{path.name} differs between two builds{apart(path, again)}"
            for path, again in zip(first, second, strict=True)
            if digest(path) != digest(again)
        ]
        wrong += [f"{path.name} {fault}" for path in first for fault in faults(path)]
        for path in first:
            print(f"{digest(path)}  {path.name}")
            tried(path)
    print("\n".join(wrong) or "both archives are complete, and the same in both builds")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

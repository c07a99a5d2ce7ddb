"""README, CONTRIBUTING and docs: examples run, files exist, what they install can be had."""

import re
import subprocess
import sys
import tomllib
import zipfile
from functools import wraps
from pathlib import Path

import joblib
import pandas as pd
import pytest

from skstretch import StretchyRegressorCV
from skstretch.datasets import make_spectra

ROOT = Path(__file__).resolve().parents[1]
GUIDES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "guide").glob("*.md")),
]
PAGES = [*GUIDES, ROOT / "CONTRIBUTING.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
# what is installed, in the words of a shell: `pip install '.[cli,report]'`
INSTALL = re.compile(r"pip install (?!--group)(?:--[\w-]+ )*['\"]?([^\s'\"`#]+)")
EXTRAS = re.compile(r"\[([\w,]+)\]$")


def examples() -> list[tuple[str, str]]:
    return [
        (f"{page.name}-{number}", code)
        for page in GUIDES
        for number, code in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")))
    ]


def write_files(folder: Path) -> None:
    """The files that examples read: generated spectra, as ``skstretch datasets`` writes them."""
    for name, n_samples, seed in (("spectra.csv", 60, 0), ("new.csv", 60, 1)):
        spectra = make_spectra(n_samples, random_state=seed)
        table = pd.DataFrame(spectra.data, columns=spectra.feature_names)
        table.assign(target=spectra.target).to_csv(folder / name, index=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reader")
    write_files(folder)
    return folder


@pytest.fixture(scope="module", autouse=True)
def shared_fits():
    """Examples of several pages fit the same search to the same data: it is fitted once."""
    kept, own = {}, StretchyRegressorCV.fit

    @wraps(own)
    def fit(self, X, y, *args, **keywords):
        if args or keywords:
            return own(self, X, y, *args, **keywords)
        key = repr(self), type(X), joblib.hash((X, y))
        if key not in kept:
            kept[key] = vars(own(self, X, y)).copy()
        vars(self).update(kept[key])
        return self

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StretchyRegressorCV, "fit", fit)
        yield


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.parametrize(("name", "code"), examples(), ids=lambda value: value[:40])
def test_example_runs(name, code, folder, monkeypatch, capsys):
    monkeypatch.chdir(ROOT if "from reproduction" in code else folder)
    exec(compile(code, name, "exec"), {})
    assert capsys.readouterr().out, "an example shows something"


def source_of(path: Path) -> Path:
    """What a page of the site is made from: those of the gallery are made from examples."""
    inside = path.resolve().relative_to(ROOT)
    if inside.parts[:2] != ("docs", "gallery"):
        return path
    made_from = ROOT / "examples" / Path(*inside.parts[2:])
    return made_from.parent if inside.name == "index.rst" else made_from.with_suffix(".py")


def test_pages_are_linked_and_exist():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert source_of(page.parent / target).exists(), f"{page.name} links to {target}"


def test_named_files_exist():
    """A word in code type that ends like a file of ours, or in a slash, is there."""
    homes = (ROOT, ROOT / "src" / "skstretch", ROOT / "docs", ROOT / "tests")
    named = re.compile(r"`([\w.-]+(?:/[\w.-]+)*(?:\.py|\.toml|\.yml|\.cff|/[\w.-]+\.md|/))`")
    found = 0
    for page in PAGES:
        for name in named.findall(page.read_text("utf-8")):
            if name.startswith(("out/", "dist/", "~")):
                continue  # made by a command
            found += 1
            assert any((home / name).exists() for home in homes), f"{page.name} names {name}"
    assert found > 20, "the pattern still finds the names"


# Words that mean something of their own here; plain English has other meanings for them.
HOUSE_WORDS = re.compile(r"\b(cells?|walks?|out[- ]of[- ]fold)\b")


def test_house_words_lead_to_the_glossary():
    """A page for readers that uses one of them links the page that explains it."""
    found = 0
    for page in GUIDES[1:]:
        text = page.read_text("utf-8")
        prose = re.sub(r"```.*?^```|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
        if HOUSE_WORDS.search(prose) and page.name not in ("glossary.md", "reproduction.md"):
            found += 1
            assert "glossary.md" in text, f"{page.name} says {HOUSE_WORDS.search(prose)[0]!r}"
    assert found > 3, "the pattern still finds the words"


def installed() -> list[tuple[str, str]]:
    """Page and argument of every ``pip install`` in the documents."""
    return [
        (page.name, target) for page in PAGES for target in INSTALL.findall(page.read_text("utf-8"))
    ]


def test_documents_install_what_is_here():
    """A checkout, or a file that `make wheel` builds: an index may hold a stranger's package."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert len(installed()) >= 4
    for page, target in installed():
        assert re.match(r"\.(\[|$)|dist/", target), f"{page} installs {target!r} from an index"
        for extra in EXTRAS.findall(target):
            assert {*extra.split(",")} <= extras.keys(), f"{page}: no extra of that name: {extra}"


def extras_of(page: Path) -> tuple[str, ...]:
    """The extras that a page says to install; its examples may need no more than these."""
    names = {
        name
        for target in INSTALL.findall(page.read_text("utf-8"))
        for extra in EXTRAS.findall(target)
        for name in extra.split(",")
    }
    return tuple(sorted(names))


def fresh_environment(folder: Path, *arguments: str) -> Path:
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", *arguments], check=True, cwd=ROOT)
    return python


@pytest.mark.slow
@pytest.mark.parametrize("target", sorted({target for _, target in installed()}))
def test_install_command_works(target, tmp_path):
    python = fresh_environment(tmp_path / "env", target)
    code = "import skstretch; print(skstretch.StretchyRegressor.__name__)"
    done = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "StretchyRegressor\n", done.stderr
    if "cli" in target:
        command = [python.parent / "skstretch", "--version"]
        assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("extras", sorted({extras_of(page) for page in GUIDES}), ids=",".join)
def test_examples_need_only_the_extras_of_their_page(extras, tmp_path):
    python = fresh_environment(tmp_path / "env", f".[{','.join(extras)}]" if extras else ".")
    write_files(tmp_path)
    for page in GUIDES:
        if extras_of(page) != extras:
            continue
        for code in BLOCK.findall(page.read_text("utf-8")):
            # what lies beside the package is to be had in a checkout alone
            folder = ROOT if "from reproduction" in code else tmp_path
            done = subprocess.run(
                [python, "-W", "ignore", "-c", code], cwd=folder, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{page.name}: {done.stderr}"


@pytest.mark.slow
def test_wheel_holds_the_package_alone_and_a_description_without_dead_links(tmp_path):
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(tmp_path)]
    subprocess.run([*command, "."], check=True, cwd=ROOT)
    (wheel,) = tmp_path.glob("skstretch-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith("METADATA"))
        text = archive.read(metadata).decode("utf-8")
    assert {name.split("/")[0].split("-")[0] for name in names} == {"skstretch"}
    assert "# skstretch" in text
    assert not re.findall(r"\]\((?!https?:)", text)

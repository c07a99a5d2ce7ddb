"""A release is refused while something is missing, and its parts tell one version."""

import re
from pathlib import Path

import pytest

import skstretch
from tools import release

ROOT = Path(__file__).parents[1]


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder with the files that tell versions and addresses."""
    for name in (
        "src/skstretch/_version.py",
        "pyproject.toml",
        "CITATION.cff",
        "conda/recipe.yaml",
        "CHANGELOG.md",
        "tools/project.toml",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    answers = {"tag": f"v{skstretch.__version__}\n", "status": ""}
    monkeypatch.setattr(
        release.subprocess, "check_output", lambda command, **_: answers[command[1]]
    )
    return tmp_path, answers


def test_all_places_tell_one_version():
    assert release.package_version() == skstretch.__version__
    assert release.version_faults(skstretch.__version__) == []


@pytest.mark.parametrize("name", ["CITATION.cff", "conda/recipe.yaml"])
def test_another_version_is_a_fault(checkout, name):
    folder, _ = checkout
    text = (folder / name).read_text("utf-8").replace(skstretch.__version__, "9.9.9")
    (folder / name).write_text(text, "utf-8")
    (fault,) = release.version_faults(skstretch.__version__)
    assert name in fault
    assert "9.9.9" in fault


def test_a_recipe_that_cannot_be_built_is_a_fault(checkout):
    pytest.importorskip("rattler_build", reason="make release-check installs py-rattler-build")
    folder, _ = checkout
    assert release.recipe_faults(skstretch.__version__) == []
    assert "builds" in release.recipe_faults("9.9.9")[0]
    path = folder / "conda" / "recipe.yaml"
    for good, bad in (("noarch: python", "noarch: pyton"), ("${{ version }}", "${{ vresion }}")):
        path.write_text((ROOT / "conda" / "recipe.yaml").read_text("utf-8").replace(good, bad))
        assert "conda/recipe.yaml: " in release.recipe_faults(skstretch.__version__)[0]


def test_a_section_of_the_changelog_is_found_by_its_version(checkout):
    folder, _ = checkout
    (folder / "CHANGELOG.md").write_text("## [1.2.3] - 2030-01-02\n", "utf-8")
    assert release.changelog_section("1.2.3") == "## [1.2.3] - 2030-01-02"
    assert release.changelog_section("1.2.4") is None
    assert release.changelog_section("1x2.3") is None


def without_placeholders(folder, version):
    path = folder / "tools" / "project.toml"
    known = re.compile(r'^(\w+) = ".*example\.org.*"$', re.MULTILINE)
    text = known.sub(r'\1 = "https://host/known"', path.read_text("utf-8"))
    path.write_text(re.sub('placeholder = ".*"', 'placeholder = "example.org"', text), "utf-8")
    for name in ("pyproject.toml", "CITATION.cff"):
        with (folder / name).open("a", encoding="utf-8") as file:
            file.write("# https://host/known\n")
    (folder / "CHANGELOG.md").write_text(f"## [{version}] - 2030-01-02\n", "utf-8")


def test_placeholders_stand_in_the_way_of_a_release(checkout):
    folder, _ = checkout
    version = skstretch.__version__
    assert any("placeholders" in fault for fault in release.release_faults(version))
    without_placeholders(folder, version)
    assert release.release_faults(version) == []


@pytest.mark.parametrize("name", ["pyproject.toml", "CITATION.cff"])
def test_a_release_says_where_it_comes_from(checkout, name):
    folder, _ = checkout
    without_placeholders(folder, skstretch.__version__)
    path = folder / name
    path.write_text(path.read_text("utf-8").replace("https://host/known", ""), "utf-8")
    (fault,) = release.release_faults(skstretch.__version__)
    assert fault == f"{name} does not name the repository of tools/project.toml"


@pytest.mark.parametrize(
    ("question", "answer", "fault"),
    [("tag", "v9.9.9\n", "no tag"), ("status", " M README.md\n", "not committed")],
)
def test_tag_and_changes_stand_in_the_way(checkout, question, answer, fault):
    folder, answers = checkout
    version = skstretch.__version__
    without_placeholders(folder, version)
    answers[question] = answer
    (found,) = release.release_faults(version)
    assert fault in found


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="asks git for the files of a checkout")
def test_placeholders_stand_in_one_file():
    """Where the project lives is said in one place."""
    tracked = release.subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).split()
    named = [
        name
        for name in tracked
        if name.endswith((".md", ".toml", ".cff", ".yml", ".yaml", ".py", ".html"))
        and "example.org" in (ROOT / name).read_text("utf-8", errors="replace")
        and not name.startswith("tests/")
    ]
    assert named == ["tools/project.toml"]

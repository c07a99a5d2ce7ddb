"""The script that draws charts: bundled once, then read from the cache of the user."""

import sys

import pytest

from skstretch.report import charts as kept


@pytest.fixture
def bundled(monkeypatch, tmp_path):
    """A cache of its own, and a bundler that is quick and counts."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = []

    def bundle(of_lite):
        made.append(of_lite)
        return "(()=>{ ünï\n\n})();"

    monkeypatch.setattr(kept, "_bundled", bundle)
    return made


def asked():
    """As in a fresh process."""
    kept.library.cache_clear()
    try:
        return kept.library()
    finally:
        kept.library.cache_clear()


def files(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_bundled_once(bundled, tmp_path):
    first = asked()
    assert asked() == first == "(()=>{ ünï\n\n})();"
    assert len(bundled) == 1
    (name,) = files(tmp_path)
    assert name.startswith("vega-")
    assert bundled[0] in name


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"\xff\xfe", b"0" * 64 + b"\nother"])
def test_a_damaged_file_is_made_again(damage, bundled, tmp_path):
    first = asked()
    (path,) = (tmp_path / "cache" / "skstretch").iterdir()
    path.write_bytes(damage)
    assert asked() == first
    assert len(bundled) == 2
    assert asked() == first
    assert len(bundled) == 2


def test_other_versions_have_files_of_their_own(bundled, tmp_path, monkeypatch):
    asked()
    monkeypatch.setattr(kept, "version", lambda name: "99.0")
    asked()
    assert len(bundled) == len(files(tmp_path)) == 2


def test_without_a_folder_to_write_to(bundled, tmp_path, monkeypatch):
    """A file in the way, or a user without a home: it is made, and not kept."""
    (tmp_path / "cache").write_text("in the way")
    asked()
    asked()
    assert len(bundled) == 2
    monkeypatch.delenv("XDG_CACHE_HOME")

    def homeless():
        raise RuntimeError("no home")

    monkeypatch.setattr(kept.Path, "home", homeless)
    if sys.platform != "win32":
        assert kept.cache_folder() is None
    asked()
    assert files(tmp_path) == ["cache"]


def test_the_script_itself():
    """It names what the page calls, and cannot end the element that holds it."""
    script = kept._bundled("v6_1")
    assert "window.vegaEmbed" in script
    assert "</script" not in script.lower()
    assert "<!--" not in script

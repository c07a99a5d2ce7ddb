"""Sites of several versions beside each other, and the list that leads from one to the other."""

import json
import runpy
from pathlib import Path

import pytest

import skstretch
from tools import site

ROOT = Path(__file__).parents[1]
BASE = "https://example.org/docs"


@pytest.fixture
def folders(tmp_path):
    built, pages = tmp_path / "site", tmp_path / "pages"
    built.mkdir()
    pages.mkdir()
    (built / "index.html").write_text("one")
    return built, pages


def test_every_version_has_its_folder_and_the_newest_comes_first(folders):
    built, pages = folders
    for version in ("0.9.0", "0.10.0", "0.2.1"):
        site.place(built, pages, version, BASE)
    (pages / "notes").mkdir()  # of someone else
    listed = json.loads((pages / "switcher.json").read_text("utf-8"))
    assert [one["version"] for one in listed] == ["0.10.0", "0.9.0", "0.2.1"]
    assert [one["preferred"] for one in listed] == [True, False, False]
    assert listed[1]["url"] == "https://example.org/docs/0.9.0/"
    assert 'url=0.10.0/index.html"' in (pages / "index.html").read_text("utf-8")
    assert (pages / "0.2.1" / "index.html").read_text("utf-8") == "one"


def test_a_site_is_replaced_as_a_whole(folders):
    built, pages = folders
    (built / "old.html").write_text("gone")
    site.place(built, pages, "0.3.0", BASE)
    (built / "old.html").unlink()
    site.place(built, pages, "0.3.0", BASE)
    assert not (pages / "0.3.0" / "old.html").exists()


def test_what_is_refused(folders):
    built, pages = folders
    with pytest.raises(SystemExit, match="is no version of a release"):
        site.place(built, pages, "0.3.0.dev0", BASE)
    (built / "index.html").unlink()
    with pytest.raises(SystemExit, match="holds no site"):
        site.place(built, pages, "0.3.0", BASE)


def settings(monkeypatch, address):
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    monkeypatch.delenv("SKSTRETCH_SITE", raising=False)
    if address is not None:
        monkeypatch.setenv("SKSTRETCH_SITE", address)
    return runpy.run_path(str(ROOT / "docs" / "conf.py"))["html_theme_options"]


def test_pages_ask_for_the_list_only_where_it_will_be(monkeypatch):
    """A site that is built at home asks the network for nothing."""
    assert "switcher" not in settings(monkeypatch, None)
    found = settings(monkeypatch, BASE + "/")
    assert found["switcher"] == {
        "json_url": "https://example.org/docs/switcher.json",
        "version_match": skstretch.__version__,
    }
    assert found["navbar_end"][0] == "version-switcher"


def test_the_theme_takes_the_list(monkeypatch, tmp_path):
    build = pytest.importorskip("sphinx.cmd.build", reason="builds a page")
    pytest.importorskip("pydata_sphinx_theme", reason="is the theme")
    options = settings(monkeypatch, BASE)
    (tmp_path / "conf.py").write_text(
        f"html_theme = 'pydata_sphinx_theme'\nhtml_theme_options = {options!r}\n", "utf-8"
    )
    (tmp_path / "index.rst").write_text("Page\n====\n", "utf-8")
    assert build.main(["-q", str(tmp_path), str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert f"theme_switcher_json_url = '{BASE}/switcher.json'" in page
    assert "version-switcher__container" in page

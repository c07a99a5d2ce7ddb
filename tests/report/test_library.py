"""The script that draws charts: from the installed package, whatever lies in the user's folders."""

import hashlib
import os
from importlib.metadata import version

import pytest

from skstretch.report import charts


def asked():
    """As in a fresh process."""
    charts.library.cache_clear()
    return charts.library()


def test_the_script_itself():
    """It names what the page calls, and cannot end the element that holds it."""
    script = asked()
    assert "window.vegaEmbed" in script
    assert "</script" not in script.lower()
    assert "<!--" not in script


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes, which Windows lacks")
def test_nothing_of_a_shared_cache_gets_into_a_page(tmp_path, monkeypatch):
    """A file with a digest of its own, and a pipe that nobody writes to."""
    name = "_".join(charts.alt.SCHEMA_VERSION.split(".")[:2])
    text = "alert(1)"
    folder = tmp_path / "skstretch"
    folder.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (folder / f"vega-{version('vl-convert-python')}-{name}.js").write_text(
        f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}"
    )
    os.mkfifo(folder / f"vega-1.0-{name}.js")
    before = sorted(folder.iterdir())
    assert asked() == asked()
    assert text not in asked()
    assert sorted(folder.iterdir()) == before

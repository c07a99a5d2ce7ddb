"""The gallery: enough stories, each with a figure, and none that keeps a reader waiting."""

import ast
import importlib.util
import json
import time

import pytest

from tests.site.build import ROOT, built_site
from tools import gallery

EXAMPLES = sorted((ROOT / "examples").glob("*/plot_*.py"))


# What the gallery has promised to show, by the names of the files.
PROMISED = {
    "nir_calibration", "gene_expression", "sales", "survival", "text", "digits", "time_series",
    "average", "few_features", "letters", "exact_minimiser",
    "intervals", "exact_cv", "search_on_noise", "permutations", "explain",
    "sparse_million", "memory_map", "dask",
    "table_1", "polynomials", "onnx", "report",
}  # fmt: skip


def test_there_are_enough_stories():
    assert {path.stem.removeprefix("plot_") for path in EXAMPLES} >= PROMISED
    assert len(EXAMPLES) >= 14


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_story_says_where_its_data_come_from(path):
    told = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    assert any(
        word in told for word in ("generated", "come with", "comes with", "drawn", "five points")
    )
    assert "fetch_" not in path.read_text("utf-8"), "an example downloads nothing"


@pytest.mark.slow
def test_every_story_has_a_page_with_a_figure():
    site = built_site()
    for path in EXAMPLES:
        page = site / "gallery" / path.parent.name / f"{path.stem}.html"
        assert f"sphx_glr_{path.stem}_001.png" in page.read_text("utf-8")


@pytest.mark.slow
def test_the_gallery_is_built_in_minutes():
    built_site()
    assert gallery.too_slow(gallery.seconds_of(ROOT)) == []


def test_slow_examples_are_named(tmp_path, capsys, monkeypatch):
    for folder in ("examples/1_first", "docs/gallery"):
        (tmp_path / folder).mkdir(parents=True)
    for name, seconds in (("plot_a", 1.5), ("plot_b", 61)):
        (tmp_path / "examples" / "1_first" / f"{name}.py").touch()
        noted = tmp_path / "docs" / "gallery" / f"{name}.seconds.json"
        noted.write_text(f"{seconds}", "utf-8")
    monkeypatch.delenv("CI", raising=False)
    assert gallery.main(tmp_path) == 0, "a slow machine of one's own is told, and no more"
    assert capsys.readouterr().err == "plot_b takes 61 s, more than 60 s\n"
    monkeypatch.setenv("CI", "true")
    assert gallery.main(tmp_path) == 1
    out, err = capsys.readouterr()
    assert out.splitlines()[-1].split() == ["62.5", "s", "all", "2", "examples"]
    assert err == "plot_b takes 61 s, more than 60 s\n"
    assert gallery.too_slow(dict.fromkeys("abcdefghijk", 59.0)) == [
        "the gallery takes 649 s, more than 600 s"
    ]
    noted.unlink()
    assert gallery.main(tmp_path) == 1, "an example whose time is not known"


def test_what_is_noted_is_processor_time(tmp_path):
    """Waiting costs nothing, work does."""
    (tmp_path / "gallery").mkdir()
    path = ROOT / "docs" / "_ext" / "processor.py"
    spec = importlib.util.spec_from_file_location("processor", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, work in (("plot_waits", lambda: time.sleep(0.3)), ("plot_works", busy)):
        both = {"src_dir": str(tmp_path)}, f"{name}.py"
        module.note_seconds(*both, "before")
        work()
        module.note_seconds(*both, "after")
    noted = tmp_path / "gallery"
    waits, works = (
        json.loads((noted / f"{name}.seconds.json").read_text("utf-8"))
        for name in ("plot_waits", "plot_works")
    )
    assert waits < 0.2 <= works


def busy():
    """Work for 0.3 seconds of the processor."""
    start = time.process_time()
    while time.process_time() < start + 0.3:
        sum(range(1000))

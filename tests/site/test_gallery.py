"""The gallery: enough stories, each with a figure, and none that keeps a reader waiting."""

import ast

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


def test_slow_examples_are_named(tmp_path, capsys):
    for folder in ("examples/1_first", "docs/gallery/1_first"):
        (tmp_path / folder).mkdir(parents=True)
    for name, seconds in (("plot_a", 1.5), ("plot_b", 61)):
        (tmp_path / "examples" / "1_first" / f"{name}.py").touch()
        noted = tmp_path / "docs" / "gallery" / "1_first" / f"{name}.cost.json"
        noted.write_text(f'{{"memory": 0, "time": {seconds}}}', "utf-8")
    assert gallery.main(tmp_path) == 1
    out, err = capsys.readouterr()
    assert out.splitlines()[-1].split() == ["62.5", "s", "all", "2", "examples"]
    assert err == "plot_b takes 61 s, more than 60 s\n"
    assert gallery.too_slow(dict.fromkeys("abcdefghijk", 59.0)) == [
        "the gallery takes 649 s, more than 600 s"
    ]
    noted.unlink()
    assert gallery.main(tmp_path) == 1, "an example whose time is not known"

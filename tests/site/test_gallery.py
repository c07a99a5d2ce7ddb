"""The gallery: enough stories, each with a figure, and none that keeps a reader waiting."""

import ast
import xml.etree.ElementTree as Tree

import pytest

from tests.site.build import ROOT, built_site

EXAMPLES = sorted((ROOT / "examples").glob("*/plot_*.py"))


# What the gallery has promised to show, by the names of the files.
PROMISED = {
    "nir_calibration", "gene_expression", "text", "digits", "time_series",
    "mixture", "few_features", "letters", "exact_minimiser",
    "intervals", "exact_cv", "search_on_noise", "permutations",
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
    cases = Tree.parse(ROOT / "build" / "gallery.xml").getroot().iter("testcase")
    seconds = {case.get("file"): float(case.get("time")) for case in cases}
    assert all(value < 60 for value in seconds.values()), seconds
    assert sum(seconds.values()) < 600

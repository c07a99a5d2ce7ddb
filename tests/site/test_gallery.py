"""The gallery: enough stories, each with a figure, and none that keeps a reader waiting."""

import ast

import pytest

from tests.site.build import ROOT, built_site
from tools import gallery

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
    seconds = gallery.seconds_of(gallery.BUILT)
    assert seconds.keys() == {path.stem for path in EXAMPLES}
    assert gallery.too_slow(seconds) == []


def test_slow_examples_are_named(tmp_path, capsys):
    case = '<testcase file="../examples/a/plot_{}.py" time="{}"/>'
    cases = "".join(case.format(name, time) for name, time in (("a", 1.5), ("b", 61)))
    path = tmp_path / "gallery.xml"
    path.write_text(f"<testsuite>{cases}</testsuite>", "utf-8")
    assert gallery.main(path) == 1
    out, err = capsys.readouterr()
    assert out.splitlines()[-1].split() == ["62.5", "s", "all", "2", "examples"]
    assert err == "plot_b takes 61 s, more than 60 s\n"
    assert gallery.too_slow(dict.fromkeys("abcdefghijk", 59.0)) == [
        "the gallery takes 649 s, more than 600 s"
    ]
    assert gallery.too_slow({"unknown": float("nan")}) != []

"""Every figure from small made-up tables: what is drawn, what is said to be missing."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from reproduction.curves import absolute_curves, contour_curves, feature_curves
from reproduction.evidence import (
    KS,
    METHODS,
    MIXINGS,
    block_table,
    dataset_title,
    placed,
    rank_test,
    spread,
)
from reproduction.figures import FIGURES, canvas, draw, draw_all
from reproduction.files import join, series
from reproduction.ranks import compare_ranks
from reproduction.synthetic import boundary_curves, output_curves, table_curves

COLUMNS = [
    "piece", "dataset", "method", "k", "c", "density", "mixing", "size", "trial", "fold",
    "error", "measure", "cpu", "wall", "nonzero", "seed", "versions", "commit",
]  # fmt: skip
SETS = {"prostate": "mse", "corn": "rmse", "arcene": "ber", "dexter": "ber", "madelon": "ber"}


def cells():
    for c in (10.0, 100.0, 1e100):
        for density in (1.0, 0.5, 0.1, 0.01):
            yield from ({"method": "SR", "k": k, "c": c, "density": density} for k in KS)
    for method in METHODS[5:]:
        yield from ({"method": method, "mixing": mixing} for mixing in MIXINGS)


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(0)
    rows = []
    for dataset, measure in SETS.items():
        for trial, fold in np.ndindex(2, 2):
            place = {"dataset": dataset, "measure": measure, "trial": trial, "fold": fold}
            for cell in cells():
                error, cpu = rng.uniform(0.1, 0.2), rng.uniform(0.01, 0.02)
                rows.append({"piece": "study", **place, **cell, "error": error, "cpu": cpu})
            rows.append({**rows[-1], "piece": "oracle", "error": 0.0})
    for size, k in [(500, 1.5), (500, 2.0), (1000, 2.0)]:
        projected = {"piece": "projection", "method": "RPN", "size": size, "k": k, "c": 100.0}
        rows.append({**place, **projected, "error": 0.2, "cpu": size / 1e3})
    return pd.DataFrame(rows, columns=COLUMNS)


@pytest.fixture(scope="module")
def curves():
    X = np.random.default_rng(0).normal(480, 10, (200, 2))
    few = [
        series("fig7", f"prostate: {method}", name, range(1, 5), [-1.0, 0.0, 0.0, 2.0])
        for method, name in (("SR", "k=1.1"), ("SR", "k=2"), ("LASSO", "mixing=1"))
    ]
    many = series("fig8", "arcene: SR", "k=1.1", range(1, 101), np.linspace(-1, 1, 100))
    return join(
        [
            absolute_curves(), contour_curves(4), feature_curves(X), table_curves(),
            output_curves(), boundary_curves("fig5", n_grid=41),
            boundary_curves("fig6", n_grid=41), *few, many,
        ]
    )  # fmt: skip


def texts(ax):
    legend = ax.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def shared_legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def caption_of(figure):
    return " ".join(figure.get_supxlabel().split())


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_written(name, results, curves, tmp_path):
    path = draw(name, results, curves, tmp_path / "new")
    assert path == tmp_path / "new" / f"{name}.png"
    image = imread(path)
    assert image.shape[0] > 400
    assert image.shape[1] > 800
    assert image[..., :3].std() > 0.01
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("name", FIGURES)
def test_every_axis_has_its_labels(name, results, curves):
    figure = FIGURES[name](results, curves)
    assert caption_of(figure)
    for ax in figure.axes:
        if name == "fig12":
            assert "Friedman" in ax.get_title()
        elif name == "fig2":
            assert ax.get_title()
        else:
            assert ax.get_ylabel()
    assert name == "fig12" or any(
        ax.get_xlabel() or name in ("fig9", "fig10") for ax in figure.axes
    )


def test_the_same_table_gives_the_same_file(results, curves, tmp_path):
    first, second = (draw("fig1", results, curves, tmp_path / d) for d in "ab")
    assert first.read_bytes() == second.read_bytes()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    figure, _ = canvas.canvas()
    path = canvas.save(figure, tmp_path / "x.png")
    old = path.read_bytes()
    monkeypatch.setattr(type(figure), "savefig", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        canvas.save(figure, path)
    assert path.read_bytes() == old
    assert [p.name for p in tmp_path.iterdir()] == ["x.png"]


def test_drawing_leaves_pyplot_alone(tmp_path):
    code = (
        "import sys; from pathlib import Path\n"
        "from reproduction.figures import draw\n"
        "from reproduction.curves import absolute_curves\n"
        "assert 'matplotlib' not in sys.modules\n"
        f"draw('fig1', None, absolute_curves(), Path({str(tmp_path)!r}))\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_boundary_figures_count_errors_and_parameters(results, curves):
    counts = curves[curves["panel"] == "counts"].set_index(["figure", "series"])["y"]
    figure = FIGURES["fig6"](results, curves)
    left, right = figure.axes
    for fit, label in {"k=2": "k=2", "k=1.1, LU": "k=1.1, formula by LU"}.items():
        number = int(counts["fig6", f"errors {fit}"])
        assert f"{label}: {number} error{'s' * (number != 1)}" in texts(left)
    assert any("of 435 reach 1 %" in text for text in texts(right))
    assert len(texts(FIGURES["fig5"](results, curves).axes[0])) == 5


def test_accuracy_shows_means_and_deviations_over_trials(results):
    figure = FIGURES["fig10"](results, None)
    assert [ax.get_title() for ax in figure.axes[::2]] == [
        "Arcene: BER", "Dexter: BER", "Madelon: BER",
    ]  # fmt: skip
    assert shared_legend(figure) == list(METHODS)
    part = results[(results["dataset"] == "dexter") & (results["method"] == "LASSO2")]
    part = part[part["mixing"] == 0.5].groupby("trial")["error"].mean()
    (bars,) = [b for b in figure.axes[2].containers if b.get_label() == "LASSO2"]
    assert bars.lines[0].get_ydata()[2] == pytest.approx(part.mean())
    low, high = bars.lines[2][0].get_segments()[2][:, 1]
    assert (high - low) / 2 == pytest.approx(part.std())
    ticks = [label.get_text() for label in figure.axes[2].get_xticklabels()]
    assert ticks[0] == "1.1\n1"
    assert ticks[-1] == "2\n0.0001"


def test_accuracy_of_the_root_is_named(results):
    titles = [ax.get_title() for ax in FIGURES["fig9"](results, None).axes]
    assert titles[0] == "Prostate: MSE"
    assert titles[2] == "Corn: √MSE"
    assert titles[3] == "Corn: training CPU (s)"


def test_partial_results_say_what_is_missing(results):
    part = results[(results["trial"] == 0) & (results["dataset"] != "dexter")]
    part = part[(part["method"] != "LASSOCV") | (part["dataset"] == "madelon")]
    figure = FIGURES["fig10"](part, None)
    text = caption_of(figure)
    assert "all of Dexter, Dorothea, Gisette" in text
    assert "LASSOCV on Arcene" in text
    assert "no bars: a single trial" in text
    assert "all of Diabetes, TFIDF, Gaze" in caption_of(FIGURES["fig9"](part, None))
    only = FIGURES["fig9"](part[part["method"] == "SR"], None)
    assert shared_legend(only) == list(METHODS[:5])


def test_effect_of_c_keeps_k_and_density(results):
    figure = FIGURES["fig11"](results, None)
    regression, classification = figure.axes
    assert texts(regression) == ["Prostate", "Corn (√MSE)"]
    assert texts(classification) == ["Arcene", "Dexter", "Madelon"]
    rows = results[
        (results["k"] == 1.25) & (results["density"] == 1.0) & (results["method"] == "SR")
    ]
    expected = rows[rows["dataset"] == "arcene"].groupby("c")["error"].mean()
    line = classification.containers[0].lines[0]
    drawn = np.asarray(line.get_ydata(), dtype=float)
    np.testing.assert_allclose(drawn[~np.isnan(drawn)], expected)
    # 10 and 100 are a decade apart, 1e100 stands alone beyond the break
    np.testing.assert_allclose(np.asarray(line.get_xdata(), dtype=float), [1, 2, np.nan, 3.8])
    np.testing.assert_array_equal(np.isnan(drawn), [False, False, True, False])
    assert "broken before 1e100" in caption_of(figure)
    alone = FIGURES["fig11"](results[results["measure"] == "ber"], None)
    assert [text.get_text() for text in alone.axes[0].texts] == ["no rows"]
    assert "Prostate" in caption_of(alone)


def test_ranks_are_those_of_the_mean_over_settings(results):
    test, table, left_out = rank_test(results, "error")
    assert table.shape == (3, 9)
    assert left_out == []
    rows = placed(results)
    cell = rows[(rows["dataset"] == "arcene") & (rows["name"] == "SR0.1")]
    assert table.loc["arcene", "SR0.1"] == pytest.approx(cell["error"].mean())
    assert test == compare_ranks(table.to_numpy(), list(METHODS))
    figure = FIGURES["fig12"](results, None)
    drawn = " ".join(text.get_text() for text in figure.axes[0].texts)
    for name, rank in zip(test.names, test.mean_ranks, strict=True):
        assert f"{name} ({rank:.2f})" in drawn
    assert f"CD = {test.cd:.2f}" in drawn


def test_ranks_leave_out_what_is_incomplete(results):
    cut = (results["dataset"] == "dexter") & (results["method"] == "LASSOCV")
    few = results[~cut & ~((results["dataset"] == "arcene") & (results["method"] != "SR"))]
    table, left_out = block_table(few, "error")
    assert left_out == ["LASSOCV", "Arcene"]
    assert list(table.index) == ["dexter", "madelon"]
    assert "LASSOCV" not in table.columns
    said = caption_of(FIGURES["fig12"](few, None)).split("Not in the tables: ")[1]
    assert said == "Arcene; Dorothea; Gisette; LASSOCV."
    standins = results.assign(dataset=results["dataset"].replace("dexter", "gisette-standin"))
    assert "gisette-standin" not in block_table(standins, "error")[0].index


def test_projection_beside_the_plain_features(results):
    figure = FIGURES["projection"](results, None)
    names = shared_legend(figure)
    assert "projection, k = 1.5" in names
    assert any(name.startswith("best LASSO without projection: 0.1") for name in names)
    alone = FIGURES["projection"](results[results["method"] == "RPN"], None)
    assert "SR on Madelon without projection" in caption_of(alone)


def test_missing_half_of_the_coefficients(results, curves):
    assert "LASSO on Arcene" in caption_of(FIGURES["fig8"](results, curves))
    labels = texts(FIGURES["fig8"](results, curves).axes[0])
    assert labels == ["k = 1.1\n100 of 100 not zero\n90 reach 10 % of the largest"]
    labels = texts(FIGURES["fig7"](results, curves).axes[1])
    assert labels == ["mixing = 1: 2 of 4 not zero"]


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_at_all_is_an_error(name, results, curves):
    with pytest.raises(ValueError, match=r"no rows|no SR|no row|data sets and"):
        FIGURES[name](results.iloc[:0], curves.iloc[:0])


def test_draw_all_goes_on_past_what_is_missing(results, curves, tmp_path):
    few = curves[curves["figure"].isin(["fig1", "fig4"])]
    drawn, missing = draw_all(FIGURES, results.iloc[:0], few, tmp_path)
    assert list(drawn) == ["fig1", "fig4"]
    assert list(missing) == [name for name in FIGURES if name not in drawn]
    assert "no rows of figure 'fig3'" in missing["fig3"]
    assert all(path.exists() for path in drawn.values())


def test_numbers_may_come_as_words(results):
    """As read from a file without types, empty where they do not apply."""
    words = results.astype(object).where(results.notna(), "").astype(str).replace("", None)
    found = spread(placed(words), ["dataset", "name", "place"], "error")
    expected = spread(placed(results), ["dataset", "name", "place"], "error")
    pd.testing.assert_frame_equal(found, expected)


def test_a_missing_column_is_named(results):
    with pytest.raises(ValueError, match=r"lacks the columns \['mixing'\]"):
        placed(results.drop(columns="mixing"))


@pytest.mark.parametrize("name", ["fig9", "fig10", "fig11", "fig12"])
def test_stand_ins_are_in_no_figure(name, results, tmp_path):
    more = results.assign(dataset=results["dataset"].replace({"arcene": "gisette-standin"}))
    more = pd.concat([results, more[more["dataset"] == "gisette-standin"]])
    paths = [
        draw(name, table, None, tmp_path / kind)
        for table, kind in ((results, "without"), (more, "with"))
    ]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_titles():
    assert [dataset_title(name) for name in ("tfidf", "gisette-standin", "corn")] == [
        "TFIDF", "Gisette (stand-in)", "Corn",
    ]  # fmt: skip

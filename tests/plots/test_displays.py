"""The displays hold the numbers of the estimator and draw them."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.patches import Rectangle

from skstretch import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)
from skstretch.datasets import make_spectra
from skstretch.plots import (
    CoefficientPathDisplay,
    ContributionsDisplay,
    EffectsDisplay,
    PredictionIntervalDisplay,
    StretchyGridDisplay,
)

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    pyplot.close("all")


def curved(n_samples=40, n_features=30):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, n_features))
    return X, np.exp(0.4 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n_samples)


@pytest.fixture(scope="module")
def searched():
    X, y = curved(60)
    grid = {"a_grid": (-0.2,), "k_grid": (1.25, 2.0), "c_grid": (0.1, 10.0, 1e3)}
    grid["combine"] = "best"
    return StretchyRegressorCV(**grid).fit(X[:40], y[:40]), X[40:], y[40:]


DRAWN = {
    StretchyGridDisplay: lambda model, X, y, **on: StretchyGridDisplay.from_estimator(model, **on),
    CoefficientPathDisplay: lambda model, X, y, **on: CoefficientPathDisplay.from_estimator(
        model, **on
    ),
    PredictionIntervalDisplay: PredictionIntervalDisplay.from_estimator,
    ContributionsDisplay: lambda model, X, y, **on: ContributionsDisplay.from_estimator(
        model, X, **on
    ),
    EffectsDisplay: lambda model, X, y, **on: EffectsDisplay.from_estimator(model, n_pairs=2, **on),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_from_estimator_draws(kind, searched):
    display = DRAWN[kind](*searched)
    assert isinstance(display, kind)
    assert display.figure_ is pyplot.gcf()
    assert display.ax_.has_data()
    buffer, size = display.figure_.canvas.print_to_buffer()
    pixels = np.frombuffer(buffer, np.uint8).reshape(*size[::-1], 4)[..., :3]
    assert (pixels != 255).any(axis=-1).mean() > 0.02, "the picture is blank"


@pytest.mark.parametrize("kind", DRAWN)
def test_given_axes_are_drawn_on_and_no_others(kind, searched):
    _, (one, two) = pyplot.subplots(1, 2)
    display = DRAWN[kind](*searched, ax=one)
    assert (display.ax_, display.figure_) == (one, one.figure)
    assert one.has_data()
    assert not two.has_data()
    assert len(pyplot.get_fignums()) == 1
    assert display.plot(ax=two).ax_ is two
    assert two.has_data()
    assert display.plot().ax_ not in (one, two)


def rectangles(ax):
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


@pytest.mark.parametrize("c_grid", ["auto", (0.1, 10.0, 1e3)])
def test_grid_holds_every_candidate(c_grid):
    X, y = curved()
    grid = {"a_grid": (-0.2, 0.0), "k_grid": (1.25, 2.0), "c_grid": c_grid}
    model = StretchyRegressorCV(**grid, combine="best").fit(X, y)
    display = StretchyGridDisplay.from_estimator(model)
    results = model.cv_results_
    name = "s" if c_grid == "auto" else "c"
    assert display.columns == [(-0.2, 1.25), (-0.2, 2.0), (0.0, 1.25), (0.0, 2.0)]
    assert np.isfinite(display.scores).sum() == results["usable"].sum()
    for i, score in enumerate(results["mean_test_score"]):
        column = display.columns.index((results["param_a"][i], results["param_k"][i]))
        if name == "s" and column == 2:  # along its own path
            assert score in display.scores[:, column]
            continue
        row = int(np.flatnonzero(display.strengths == results[f"param_{name}"][i])[0])
        np.testing.assert_equal(display.scores[row, column], score)
        assert display.within[row, column] == results["within_1se"][i]
        assert (display.chosen == (row, column)) == (i == model.best_index_)


def test_grid_frames_the_chosen_candidate_and_hatches_unusable_ones():
    X, y = curved(40, 60)
    X[1] = X[0]
    model = StretchyRegressorCV(k_grid=(1.5,), a_grid=(-0.2,), c_grid=(1.0, 100.0, np.inf)).fit(
        X, y
    )
    assert not model.cv_results_["usable"].all()
    display = StretchyGridDisplay.from_estimator(model)
    row, column = display.chosen
    frames = [r for r in rectangles(display.ax_) if not r.get_hatch()]
    assert {frame.get_xy() for frame in frames} == {(column, row)}
    hatched = {r.get_xy() for r in rectangles(display.ax_) if r.get_hatch()}
    unusable = {(c, r) for r, c in zip(*np.nonzero(np.isnan(display.scores)), strict=True)}
    assert hatched == unusable
    assert unusable


def test_grid_of_an_average_frames_all_of_its_candidates():
    X, y = curved()
    model = StretchyRegressorCV(n_features_to_select=1.0).fit(X, y)
    assert len(model.weights_["row"]) > 1
    display = StretchyGridDisplay.from_estimator(model)
    assert len(display.averaged) == len(set(display.averaged)) == len(model.weights_["row"])
    scores = [display.scores[at] for at in display.averaged]
    np.testing.assert_allclose(scores, model.weights_["score"])
    assert display.chosen == display.averaged[0]
    frames = [r for r in rectangles(display.ax_) if not r.get_hatch()]
    held = {
        (row, column)
        for row, column in display.averaged
        for r in frames
        if r.get_x() == column and r.get_y() <= row < r.get_y() + r.get_height()
    }
    assert held == set(display.averaged)
    assert "in the average" in display.ax_.get_title()
    assert "a = 0\nridge" in [label.get_text() for label in display.ax_.get_xticklabels()]
    # sparse models have steps of their own: places between them were not tried, are not hatched,
    # and leave no white stripes
    assert np.isnan(display.scores).any()
    assert not any(r.get_hatch() for r in rectangles(display.ax_))
    for mesh in display.ax_.collections:
        assert np.isfinite(mesh.get_array()).all()
        edges = mesh.get_coordinates()[:, 0, 1]
        assert (edges[0], edges[-1]) == (0, len(display.strengths))


def test_the_path_of_an_average_says_whose_it_is():
    X, y = curved()
    model = StretchyRegressorCV(n_features_to_select=1.0).fit(X, y)
    title = CoefficientPathDisplay.from_estimator(model).ax_.get_title()
    assert f"weight {model.weights_['weight'][0]:.0%}" in title
    alone = CoefficientPathDisplay.from_estimator(StretchyRegressor().fit(X, y))
    assert alone.ax_.get_title() == ""


def test_places_are_numbers_where_all_candidates_have_their_own_paths():
    X, y = curved()
    model = StretchyRegressorCV(
        a_grid=(0.0,), k_grid=(1.25, 1.5), c_grid="auto", combine="best"
    ).fit(X, y)
    display = StretchyGridDisplay.from_estimator(model)
    assert display.strengths.tolist() == list(range(1, len(display.strengths) + 1))
    c = model.cv_results_["param_c"][model.cv_results_["param_k"] == 1.5]
    column = display.columns.index((0.0, 1.5))
    own = model.cv_results_["mean_test_score"][model.cv_results_["param_k"] == 1.5]
    shown = display.scores[:, column]
    np.testing.assert_array_equal(shown[~np.isnan(shown)], own[np.argsort(-c)])


def test_grid_of_one_density():
    X, y = curved()
    grid = {"a_grid": (-0.2,), "k_grid": (1.5, 2.0), "c_grid": (1.0, 10.0)}
    model = StretchyRegressorCV(n_features_to_select=[1.0, 0.5], **grid).fit(X, y)
    shown = [StretchyGridDisplay.from_estimator(model, density=d) for d in (1.0, 0.5)]
    assert not np.array_equal(shown[0].scores, shown[1].scores)
    with pytest.raises(ValueError, match=r"density=0\.3 was not searched"):
        StretchyGridDisplay.from_estimator(model, density=0.3)


def test_grid_of_a_classifier_draws_on_given_axes():
    X, y = curved()
    model = StretchyClassifierCV(k_grid=(1.5,)).fit(X, y > np.median(y))
    _, ax = pyplot.subplots()
    display = StretchyGridDisplay.from_estimator(model, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure


@pytest.mark.parametrize(("along", "values"), [("k", [1.2, 1.5, 2.0]), ("c", [1.0, 100.0])])
def test_path_is_what_fits_give(along, values):
    X, y = curved()
    X = X * np.linspace(0.1, 10, X.shape[1])
    model = StretchyRegressor().fit(X, y)
    display = CoefficientPathDisplay.from_estimator(model, along=along, values=values)
    for value, effects in zip(values, display.effects, strict=True):
        refit = StretchyRegressor(**{"c": model.c_, along: value}).fit(X, y)
        np.testing.assert_allclose(effects, refit.coef_ * X.std(axis=0), rtol=1e-8)


def test_path_along_k_of_exact_minimisers_shows_the_compression():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 80))
    y = X[:, :3].sum(axis=1) + 0.3 * rng.standard_normal(30)
    values = [2.0, 1.5, 1.25, 1.1]
    model = StretchyRegressor(a=0.0, k=1.25, c=0.1).fit(X, y)
    display = CoefficientPathDisplay.from_estimator(model, along="k", values=values)
    for k, effects in zip(values, display.effects, strict=True):
        refit = StretchyRegressor(a=0.0, k=k, c=0.1).fit(X, y)
        assert refit.solver_ == ("dual" if k == 2 else "newton")
        np.testing.assert_allclose(effects, refit.coef_ * X.std(axis=0), atol=1e-8)
    parts = np.sort(np.abs(display.effects), axis=1)[:, ::-1].cumsum(axis=1)
    carriers = (parts < 0.9 * parts[:, -1:]).sum(axis=1) + 1
    assert (np.diff(carriers) < 0).all()
    assert carriers[0] > 40
    assert carriers[-1] < 10


def test_path_names_the_largest_effects():
    X, y = curved()
    model = StretchyRegressor().fit(X, y)
    display = CoefficientPathDisplay.from_estimator(model, along="k", top=3)
    named = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    largest = np.argsort(-np.abs(display.effects).max(axis=0))[:3]
    assert named == [f"x{j}" for j in largest]


def test_path_along_wavelengths():
    import pandas

    X, y = curved()
    names = [str(1100 + 2 * j) for j in range(X.shape[1])]
    model = StretchyRegressor().fit(pandas.DataFrame(X, columns=names), y)
    display = CoefficientPathDisplay.from_estimator(
        model, along="k", values=[1.5, 2.0], positions="names"
    )
    profiles = [line for line in display.ax_.lines if len(line.get_xdata()) == X.shape[1]]
    assert len(profiles) == 2
    np.testing.assert_array_equal(profiles[0].get_xdata(), 1100 + 2 * np.arange(X.shape[1]))
    np.testing.assert_array_equal(profiles[1].get_ydata(), display.effects[1])


def test_path_errors_name_the_way_out():
    X, y = curved()
    with pytest.raises(ValueError, match="k=3 at a=0"):
        StretchyRegressor(a=0.0).fit(X, y).effect_path(along="k", values=[3.0])
    with pytest.raises(ValueError, match="along='q' is not known"):
        StretchyRegressor().fit(X, y).effect_path(along="q")


def test_interval_counts_what_is_inside():
    X, y = curved(80)
    model = StretchyRegressor(c=1.0).fit(X[:50], y[:50])
    display = PredictionIntervalDisplay.from_estimator(model, X[50:], y[50:], coverage=0.8)
    lower, upper = model.predict_interval(X[50:], coverage=0.8)
    inside = int(((lower <= y[50:]) & (y[50:] <= upper)).sum())
    assert display.covered == pytest.approx(inside / 30)
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert f"inside: {inside}" in texts
    assert f"outside: {30 - inside}" in texts


def test_interval_of_one_target_of_several():
    X, y = curved(60)
    Y = np.column_stack([y, -2 * y])
    model = StretchyRegressor().fit(X[:40], Y[:40])
    display = PredictionIntervalDisplay.from_estimator(model, X[40:], Y[40:], target=1)
    np.testing.assert_array_equal(display.observed, Y[40:, 1])
    np.testing.assert_array_equal(display.predicted, model.predict(X[40:])[:, 1])


def test_without_matplotlib_the_extra_is_named():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from skstretch.plots import PredictionIntervalDisplay as D\n"
        "import numpy as np\n"
        "v = np.zeros(2)\n"
        "try:\n    D(v, v, v, v, 0.9).plot()\n"
        "except ImportError as error:\n    print(error)\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "skstretch[plot]" in shown.stdout


def test_grid_tells_a_count_of_one_from_all():
    X, y = curved()
    grid = {"a_grid": (-0.2,), "k_grid": (1.5,), "c_grid": (1.0, 10.0)}
    model = StretchyRegressorCV(n_features_to_select=[1.0, 1], **grid).fit(X, y)
    results = model.cv_results_
    for density, count in ((1, 1), (1.0, X.shape[1])):
        display = StretchyGridDisplay.from_estimator(model, density=density)
        own = results["mean_test_score"][results["n_features"] == count]
        assert sorted(display.scores[:, 0]) == sorted(own)


def test_grid_needs_a_search():
    X, y = curved()
    with pytest.raises(TypeError, match="StretchyRegressor has not searched a grid"):
        StretchyGridDisplay.from_estimator(StretchyRegressor().fit(X, y))


def test_effects_hold_the_strongest_of_the_table():
    X, y = curved()
    labels = np.array(["a", "b", "c"])[np.argsort(np.argsort(y)) * 3 // 40]
    for target in (0, 2):
        model = StretchyClassifier(a=0, k=2).fit(X, labels)
        display = EffectsDisplay.from_estimator(model, n_pairs=3, target=target, top=5)
        table = model.effects_[model.effects_["target"] == "abc"[target]]
        table = table.iloc[np.argsort(-np.abs(table["effect_per_sd"]))[:5]]
        assert display.features.tolist() == table["feature"].tolist()
        np.testing.assert_array_equal(display.errors, table["standard_error"])
        np.testing.assert_array_equal(display.stability, table["sign_stability"])


def test_effects_of_spectra_are_a_curve_with_a_band():
    X, y = make_spectra(30, return_X_y=True)
    X = pd.DataFrame(X[:, ::25], columns=[f"{400 + 25 * j}" for j in range(X[:, ::25].shape[1])])
    model = StretchyRegressor().fit(X, y)
    display = EffectsDisplay.from_estimator(model, n_pairs=2, positions="names")
    assert display.positions.tolist() == [float(name) for name in X.columns]
    np.testing.assert_allclose(display.effects, model.effect_)
    curve = display.ax_.lines[1]
    np.testing.assert_array_equal(curve.get_xdata(), display.positions)
    np.testing.assert_array_equal(curve.get_ydata(), display.effects)
    band = display.ax_.collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx((display.effects + 2 * display.errors).max())

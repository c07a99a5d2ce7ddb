"""The cells of a page hold what literal fits of them give."""

import warnings

import numpy as np
import pytest

from skstretch import StretchyClassifierCV, StretchyRegressor, StretchyRegressorCV
from skstretch.exceptions import GridEdgeWarning
from skstretch.report.cells import (
    POINTS,
    TOP,
    Effort,
    all_outputs,
    effort_of,
    fitted_cells,
    picture,
    starts,
)
from skstretch.report.subject import checked_subject
from skstretch.report.surface import LEVELS, surface_of
from tests.report.samples import (
    GRID,
    quietly,
    regression,
    spectra,
    three_classes,
    three_targets,
    two_classes,
)  # fmt: skip


def subject_of(sample):
    return checked_subject(*sample, None, None)


@pytest.mark.parametrize(
    "sample",
    [regression, spectra, two_classes, three_classes, three_targets],
    ids=lambda sample: sample.__name__,
)
def test_out_of_fold_outputs_of_every_cell(sample):
    model, X, y = sample()
    found = all_outputs(subject_of(sample()))
    assert found.why == ""
    results = model.cv_results_
    assert list(found.outputs) == np.flatnonzero(results["usable"]).tolist()
    cls = StretchyClassifierCV if hasattr(model, "classes_") else StretchyRegressorCV
    for row in [*found.outputs][::3]:
        grids = {f"{name}_grid": [value] for name, value in results["params"][row].items()}
        literal = quietly(cls(**grids, cv=model.cv), X, y)
        if model.density_grid == (1.0,) or results["params"][row]["density"] < 1:
            np.testing.assert_allclose(
                found.outputs[row],
                literal.cv_predictions_.reshape(len(X), -1),
                rtol=1e-6,
                atol=1e-8,
            )


def test_slopes_of_every_cell():
    model, X, y = regression()
    subject = subject_of(regression())
    cells = fitted_cells(subject, surface_of(subject))
    assert cells.verified
    assert set(cells.fitted) == set(np.flatnonzero(model.cv_results_["usable"]).tolist())
    for row, fitted in cells.fitted.items():
        slope = StretchyRegressor(**model.cv_results_["params"][row]).fit(X, y).slope_
        shown = fitted.pictures[0]
        np.testing.assert_allclose(shown.slopes, slope[shown.top], rtol=1e-4)
        np.testing.assert_allclose(shown.profile, slope, rtol=1e-4)  # 60 features, 60 points


def test_classes_have_the_slopes_of_the_model():
    model, _, _ = two_classes()
    subject = subject_of(two_classes())
    cells = fitted_cells(subject, surface_of(subject))
    own = cells.fitted[cells.chosen].pictures[0]
    np.testing.assert_array_equal(own.slopes, model.slope_[own.top])


def test_weighted_fit_is_noticed():
    _, X, y = regression()
    weights = np.linspace(0.1, 3, len(y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridEdgeWarning)
        model = StretchyRegressorCV(**GRID).fit(X, y, sample_weight=weights)
    subject = checked_subject(model, X, y, None, None)
    cells = fitted_cells(subject, surface_of(subject))
    assert list(cells.fitted) == [model.best_index_]
    assert not cells.verified
    assert "sample weights" in cells.why


def test_large_problems_show_the_chosen_cell_alone():
    small, large = Effort(100, 1000, 1, 1), Effort(20_000, 50_000, 1, 1)
    assert small.search_fits(6, 150)
    assert small.n_refits(150) == 150
    assert small.intervals_fit(10, 6)
    assert not large.search_fits(6, 150)
    assert large.n_refits(150) == 1
    assert not large.intervals_fit(10, 6)
    assert Effort(100, 50, 5, 1).n_refits(1000) == 30
    assert effort_of(subject_of(spectra())).folds in (1, 10)


def test_picture_keeps_extremes():
    slope = np.zeros(10_000)
    slope[[17, 9_998]] = [-5.0, 3.0]
    found = picture(slope, np.ones(10_000))
    assert found.top.tolist() == [17, 9_998]
    assert found.profile.size == POINTS
    assert found.profile.min() == -5.0
    assert found.profile.max() == 3.0
    wide = picture(np.arange(1.0, 10_001.0), 1 / np.arange(1.0, 10_001.0) ** 2)
    assert wide.top.tolist() == list(range(TOP))  # by slope times scale, not by slope
    assert starts(700).size == 350


def test_surface_has_a_level_and_a_place_for_every_cell():
    model, _, _ = regression()
    surface = surface_of(subject_of(regression()))
    assert len(surface.cells) == len(model.cv_results_["usable"])
    assert len({(c.row, c.column) for c in surface.cells}) == len(surface.cells)
    best = int(np.nanargmax(model.cv_results_["mean_test_score"]))
    assert next(c for c in surface.cells if c.index == best).level == LEVELS - 1
    errors = np.sqrt(-model.cv_results_["mean_test_score"])
    np.testing.assert_allclose([c.error for c in surface.cells], errors)
    assert surface.rows == [
        "a = −0.2, k = 1.25", "a = −0.2, k = 2", "a = 0, linear"
    ]  # fmt: skip

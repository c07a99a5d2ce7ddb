"""Bars of samples that their model has not seen."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold

from skstretch import StretchyRegressor, StretchyRegressorCV
from skstretch.exceptions import GridEdgeWarning
from skstretch.report.candidates import chosen_outputs, known_of
from skstretch.report.quality import COVERAGE, LEVELS, bars_of
from skstretch.report.subject import checked_subject
from tests.report.samples import regression, tall, three_targets


@pytest.mark.parametrize("fit_intercept", [True, False, "column"])
@pytest.mark.parametrize("sample", [regression, tall, three_targets], ids=["wide", "tall", "three"])
def test_intervals_of_models_without_a_tenth(sample, fit_intercept):
    """Everything is learned without the tenth: z-scores and coefficients."""
    _, X, y = sample()
    X, Y = np.asarray(X), np.asarray(y).reshape(len(y), -1)
    given = {"a": -0.2, "k": 1.5, "c": 0.1}
    model = StretchyRegressor(**given, fit_intercept=fit_intercept).fit(X, y)
    subject = checked_subject(model, X, y, None, None)
    known = known_of(subject)
    bars = bars_of(subject, known.outcomes.outputs[0], known)
    assert bars.method == "plus"
    assert bars.levels == LEVELS
    inside = np.zeros((len(LEVELS), *Y.shape))
    for train, test in KFold(10, shuffle=True, random_state=0).split(X):
        literal = StretchyRegressor(**given, fit_intercept=fit_intercept)
        literal.fit(X[train], Y[train])
        for i, level in enumerate(LEVELS):
            lower, upper = (
                side.reshape(test.size, -1) for side in literal.predict_interval(X[test], level)
            )
            inside[i, test] = (lower <= Y[test]) & (Y[test] <= upper)
            if level == COVERAGE:
                np.testing.assert_allclose(bars.lower[test], lower)
                np.testing.assert_allclose(bars.upper[test], upper)
    np.testing.assert_allclose(bars.seen, inside.mean(axis=1).T)
    assert (np.diff(bars.seen, axis=1) >= 0).all()


def test_groups_are_not_torn_apart_for_intervals():
    _, X, y = regression()
    model = StretchyRegressorCV(a_grid=(0.0,), c_grid=(0.1, 1.0, 10.0), cv=GroupKFold(5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridEdgeWarning)
        model.fit(X, y, groups=np.arange(len(y)) // 4)
    subject = checked_subject(model, X, y, None, None)
    bars = bars_of(subject, chosen_outputs(subject), known_of(subject))
    assert bars.method == "residual"


def test_residual_bars_without_the_data_of_the_fit(monkeypatch):
    model, X, y = three_targets()
    subject = checked_subject(model, None, y, None, None)
    outputs = chosen_outputs(subject)
    bars = bars_of(subject, outputs, known_of(subject))
    assert bars.method == "residual"
    inside = (bars.lower <= y) & (y <= bars.upper)
    np.testing.assert_array_equal(inside.sum(axis=0), 28)  # ceil(0.9 * 31) of 30
    assert bars.levels == ()  # errors that have seen the choice, tried on themselves: no check
    single = StretchyRegressor().fit(X, y)
    whole = checked_subject(single, X, y, None, None)
    known = known_of(whole)
    outputs = known.outcomes.outputs[0]
    assert bars_of(whole, outputs, known).method == "plus"
    monkeypatch.setattr("skstretch.report.quality.PAGE_WORK", 1.0)
    assert bars_of(whole, outputs, known).method == "residual"

"""Bars of samples that their model has not seen."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold

from skstretch import StretchyRegressor, StretchyRegressorCV
from skstretch.exceptions import GridEdgeWarning
from skstretch.report.cells import chosen_outputs, known_of
from skstretch.report.quality import COVERAGE, LEVELS, bars_of
from skstretch.report.subject import checked_subject
from tests.report.samples import quietly, regression, spectra, tall, three_targets


@pytest.mark.parametrize("fit_intercept", [True, False, "column"])
@pytest.mark.parametrize("sample", [regression, tall, three_targets], ids=["wide", "tall", "three"])
def test_jackknife_plus_of_left_out_tenths(sample, fit_intercept):
    _, X, y = sample()
    X, Y = np.asarray(X), np.asarray(y).reshape(len(y), -1)
    model = StretchyRegressorCV(a_grid=(-0.2,), k_grid=(1.5,), c_grid=(0.1,))
    model = quietly(model.set_params(fit_intercept=fit_intercept), X, y)
    subject = checked_subject(model, X, y, None, None)
    bars = bars_of(subject, chosen_outputs(subject), known_of(subject))
    assert bars.method == "plus"
    assert bars.levels == LEVELS
    # the features as the model sees them, z-scores of all samples: then literal fits
    P = np.exp(-0.2 * (X - X.mean(axis=0)) / X.std(axis=0))
    train, test = next(iter(KFold(10, shuffle=True, random_state=0).split(X)))
    for target in range(Y.shape[1]):
        lower, upper = [], []
        for new in P[test]:
            near, far = [], []
            for i in train:
                others = np.setdiff1d(train, i)
                literal = StretchyRegressor(
                    k=1.5, c=0.1, quadrant="identity", fit_intercept=fit_intercept
                ).fit(P[others], Y[others, target])
                predicted, at_i = literal.predict(np.array([new, P[i]]))
                near.append(predicted - abs(Y[i, target] - at_i))
                far.append(predicted + abs(Y[i, target] - at_i))
            n = train.size
            lower.append(sorted(near)[int(np.floor(round((1 - COVERAGE) * (n + 1), 9))) - 1])
            upper.append(sorted(far)[int(np.ceil(round(COVERAGE * (n + 1), 9))) - 1])
        np.testing.assert_allclose(bars.lower[test, target], lower, rtol=1e-7)
        np.testing.assert_allclose(bars.upper[test, target], upper, rtol=1e-7)
    inside = (bars.lower <= Y) & (bars.upper >= Y)
    at = LEVELS.index(COVERAGE)
    np.testing.assert_array_equal(bars.seen[:, at], inside.mean(axis=0))
    assert (np.diff(bars.seen, axis=1) >= 0).all()


def test_selected_features_are_selected_anew_in_every_tenth():
    model, X, y = spectra()
    subject = checked_subject(model, X, y, None, None)
    assert subject.cell["density"] == 0.2
    bars = bars_of(subject, chosen_outputs(subject), known_of(subject))
    train, test = next(iter(KFold(10, shuffle=True, random_state=0).split(X)))
    X, y = np.asarray(X), np.asarray(y)
    again = StretchyRegressor(**subject.cell).fit(X[train], y[train])
    lower, upper = again.predict_interval(X[test], coverage=COVERAGE)
    np.testing.assert_allclose(bars.lower[test, 0], lower)
    np.testing.assert_allclose(bars.upper[test, 0], upper)


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
    whole = checked_subject(model, X, y, None, None)
    known = known_of(whole)
    assert bars_of(whole, outputs, known).method == "plus"
    monkeypatch.setattr("skstretch.report.cells.INTERVAL_WORK", 1.0)
    assert bars_of(whole, outputs, known).method == "residual"

"""Bars of samples that their model has not seen."""

import numpy as np
from sklearn.model_selection import KFold

from skstretch import StretchyRegressor
from skstretch.report.cells import Effort, chosen_outputs, effort_of
from skstretch.report.quality import COVERAGE, LEVELS, bars_of
from skstretch.report.subject import checked_subject
from tests.report.samples import regression, three_targets


def test_jackknife_plus_of_left_out_tenths():
    model, X, y = regression()
    subject = checked_subject(model, X, y, None, None)
    bars = bars_of(subject, chosen_outputs(subject), effort_of(subject), verified=True)
    assert bars.method == "plus"
    assert bars.levels == LEVELS
    train, test = next(iter(KFold(10, shuffle=True, random_state=0).split(X)))
    again = StretchyRegressor(**subject.cell).fit(X.iloc[train], y.iloc[train])
    lower, upper = again.predict_interval(X.iloc[test], coverage=COVERAGE)
    np.testing.assert_allclose(bars.lower[test, 0], lower)
    np.testing.assert_allclose(bars.upper[test, 0], upper)
    inside = (bars.lower[:, 0] <= y) & (y <= bars.upper[:, 0])
    assert bars.seen[0, LEVELS.index(COVERAGE)] == inside.mean()
    assert (np.diff(bars.seen[0]) >= 0).all()


def test_residual_bars_without_the_data_of_the_fit():
    model, X, y = three_targets()
    subject = checked_subject(model, None, y, None, None)
    outputs = chosen_outputs(subject)
    bars = bars_of(subject, outputs, effort_of(subject), verified=False)
    assert bars.method == "residual"
    inside = (bars.lower <= y) & (y <= bars.upper)
    np.testing.assert_array_equal(inside.sum(axis=0), 28)  # ceil(0.9 * 31) of 30
    whole = checked_subject(model, X, y, None, None)
    large = Effort(100_000, 100_000, 1, 1)
    assert bars_of(whole, outputs, large, verified=True).method == "residual"

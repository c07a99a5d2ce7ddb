"""The unit of y scales through a search: choices are the same, errors have its square."""

from functools import cache

import numpy as np
import pytest

from skstretch import StretchyRegressor, StretchyRegressorCV
from skstretch.core.crossfit import paired_error
from skstretch.report import write_report

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 40))
Y = X[:, :3].sum(axis=1) + np.exp(-0.3 * X[:, 3]) + 0.5 * RNG.normal(size=30)
CLOSED = {"a_grid": (-0.2,), "k_grid": (1.5, 2.0)}
MINIMISERS = {"k_grid": (1.25, 2.0)}
CASES = [
    *((CLOSED, combine, e) for combine in ("average", "best", "1se") for e in (-150, -30, 30, 150)),
    *((MINIMISERS, "average", e) for e in (-150, -100, -30, 30, 100, 150)),
]


def unit(e):
    """A power of two, so that y is the same number in every unit but for its exponent."""
    return 2.0 ** round(e * np.log2(10))


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(("grid", "combine", "e"), CASES)
def test_search(grid, combine, e, tmp_path):
    s = unit(e)
    one = StretchyRegressorCV(**grid, combine=combine).fit(X, Y)
    other = StretchyRegressorCV(**grid, combine=combine).fit(X, s * Y)
    assert one.weights_["row"].tolist() == other.weights_["row"].tolist()
    same = {"rtol": 1e-7, "atol": 0.0}
    np.testing.assert_allclose(other.weights_["weight"], one.weights_["weight"], **same)
    for name in ("best_score_", "best_score_se_"):
        np.testing.assert_allclose(getattr(other, name) / s / s, getattr(one, name), **same)
    for name in ("mean_test_score", "loss_above_chosen", "loss_above_chosen_se"):
        ours, theirs = one.cv_results_[name], other.cv_results_[name] / s / s
        np.testing.assert_allclose(theirs, ours, rtol=1e-6, atol=1e-6 * np.nanmax(np.abs(ours)))
    np.testing.assert_allclose(other.predict(X) / s, one.predict(X), rtol=1e-6, atol=1e-8)
    for method in ("plus", "residual"):
        ours, theirs = (m.predict_interval(X[:5], method=method) for m in (one, other))
        np.testing.assert_allclose(np.array(theirs) / s, ours, rtol=1e-6, atol=1e-7)
    assert one.permutation_test(20).pvalue == other.permutation_test(20).pvalue
    assert str(other.summary())
    write_report(other, tmp_path / "page.html", X=X, y=s * Y)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("e", [-150, -30, 30, 150])
@pytest.mark.parametrize("solver", ["auto", "qr", "krylov"])
def test_one_fit(solver, e):
    s = unit(e)
    one = StretchyRegressor(solver=solver, c=1.0).fit(X, Y)
    other = StretchyRegressor(solver=solver, c=1.0).fit(X, s * Y)
    np.testing.assert_allclose(other.predict(X) / s, one.predict(X), rtol=1e-10)
    if solver != "krylov":
        ours, theirs = one.predict_interval(X[:5]), other.predict_interval(X[:5])
        np.testing.assert_allclose(np.array(theirs) / s, ours, rtol=1e-8)
        np.testing.assert_allclose(other.coef_std() / s, one.coef_std(), rtol=1e-8)


@pytest.mark.parametrize("groups", [None, np.arange(30) // 3])
@pytest.mark.parametrize("e", [-300, -160, 160, 300])
def test_paired_error(groups, e):
    """Losses are squares; the squares of losses leave the range of float64."""
    difference, weights = RNG.normal(size=30), RNG.uniform(0.5, 2.0, 30)
    mean, error = paired_error(difference, weights, groups)
    found = paired_error(unit(e) * difference, weights, groups)
    assert found == (unit(e) * mean, unit(e) * error)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.parametrize("e", [(-150, -150), (150, 150), (-150, 150)], ids=str)
def test_units_of_columns_change_no_bit(e):
    """Powers of two: every column its own, and z-scores are the same numbers."""
    s = 2.0 ** np.round(np.random.default_rng(1).uniform(*e, 40) * np.log2(10))
    one = StretchyRegressorCV(k_grid=(1.25, 2.0)).fit(X, Y)
    other = StretchyRegressorCV(k_grid=(1.25, 2.0)).fit(X * s, Y)
    np.testing.assert_array_equal(other.predict(X * s), one.predict(X))
    np.testing.assert_array_equal(other.coef_ * s, one.coef_)
    bounds = other.predict_interval(X[:3] * s), one.predict_interval(X[:3])
    np.testing.assert_array_equal(*bounds)


@cache
def searched(unit, weighted):
    weights = np.arange(30) % 3 + 1.0 if weighted else None
    return StretchyRegressorCV().fit(X, unit * Y, weights)


UNITS = [(u, False) for u in (1e-150, 1e-110, 1e-6, 0.3, 3.0, 1e10, 1e150)]


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.parametrize(("u", "weighted"), [*UNITS, (1e-150, True), (0.3, True), (1e150, True)])
def test_the_default_search_in_any_unit(u, weighted):
    """Powers of ten do not keep the bits of y: what rounding decides must not show."""
    one, other = (searched(s, weighted) for s in (1.0, u))
    size = 1e-9 * np.ptp(Y)
    np.testing.assert_allclose(other.predict(X) / u, one.predict(X), rtol=0, atol=size)
    assert len(one.cv_results_["params"]) == len(other.cv_results_["params"])


@pytest.mark.parametrize("u", [1e-200, 1e-150, 1e-20, 1e20, 1e150, 1e200])
@pytest.mark.parametrize("k", [1.05, 1.5])
def test_one_exact_minimiser_in_any_unit(k, u):
    """c has the unit of y^(k - 2): math says so, and a given c is taken as it is."""
    one, other = (
        StretchyRegressor(a=0.0, k=k, c=0.3 * s ** (k - 2)).fit(X, s * Y) for s in (1.0, u)
    )
    size = 1e-8 * np.ptp(Y)
    np.testing.assert_allclose(other.predict(X) / u, one.predict(X), rtol=0, atol=size)
    ours, theirs = one.predict_interval(X[:4]), other.predict_interval(X[:4])
    np.testing.assert_allclose(np.array(theirs) / u, ours, rtol=0, atol=size)

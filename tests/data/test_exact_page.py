"""What docs/exact.md tells: leave one out of real sets against refits, and how its tables count."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LinearRegression

from benchmarks import approximation, compression, few, sparse_truth
from benchmarks.page import write_part
from skstretch import StretchyRegressor
from skstretch.core.bridge_path import finish, solve, space

SETS = [
    ("prostate", 1.1),
    ("cookie", 1.5),
    *(pytest.param(name, k, marks=pytest.mark.slow)
      for name in ("pyrim", "cookie", "riboflavin", "colon") for k in (1.05, 1.25)),
]  # fmt: skip


def refit(Z, y, k, c, left_out):
    """The residual of one sample by a cold fit of the others."""
    kept = np.delete(np.arange(len(y)), left_out)
    where, point = solve(space(Z[kept], np.ones(kept.size)), k, c, y[kept])
    fit = finish(where, point, y[kept])
    return y[left_out] - Z[left_out] @ fit.alpha - fit.m


@pytest.mark.parametrize(("name", "k"), SETS)
def test_exact_residuals_of_real_sets_are_those_of_refits(data_dir, name, k):
    X, y = compression.read(name)
    Z = approximation.zscores(X)
    found = approximation.both(Z, y, (k,))[k]
    want = np.array([refit(Z, y, k, found["c"], i) for i in range(len(y))])
    assert np.abs(found["exact"] - want).max() <= 1e-8 * np.abs(want).max()
    # the approximation is one: near, and not the same
    off, ratio = approximation.compared(found["approximate"], want)
    assert 1e-8 < off < 0.5
    assert 0.7 < ratio < 1.4


def test_errors_of_an_approximation_by_hand():
    off, ratio = approximation.compared(np.array([3.0, 5.0]), np.array([3.0, 4.0]))
    assert off == pytest.approx(1 / 5)
    assert ratio == pytest.approx(34 / 25)


@pytest.mark.parametrize(
    ("effect", "count"),
    [([6, -3, 1, 0], 2), ([0, 0, 0], 0), ([1] * 10, 9), ([0.1] * 10, 9), ([5], 1), ([8.9, 1.1], 2)],
)
def test_features_that_carry_the_effect(effect, count):
    assert compression.carriers(np.array(effect, dtype=float)) == count


def test_effects_are_those_of_a_standard_deviation():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6)) * 10.0 ** np.arange(6)
    y = X @ 10.0 ** -np.arange(6) + rng.standard_normal(30)
    search = compression.exact(1.5).fit(X, y)
    moved = search.predict(X + np.eye(6)[2] * X[:, 2].std()) - search.predict(X)
    # a step that leaves the training range is bounded: the median sample stays inside
    assert np.median(moved) == pytest.approx(compression.effects(search, X)[2], rel=1e-6)
    lasso = compression.lasso().fit(X, y)
    moved = lasso.predict(X + np.eye(6)[2] * X[:, 2].std()) - lasso.predict(X)
    assert np.median(moved) == pytest.approx(compression.effects(lasso, X)[2], rel=1e-6)


@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_simulated_truth_is_as_told(rho):
    cell, rng = sparse_truth.Truth(10, 5.0, rho, 300), np.random.default_rng(1)
    X, signal, places = cell.signal(rng, 4_000)
    coef = np.linalg.lstsq(X, signal, rcond=None)[0]
    assert np.flatnonzero(np.abs(coef) > 1e-9).tolist() == sorted(places)
    assert places.size == 10
    # the variance of 4,000 samples is right to 2 %, four times that is rare
    assert signal.var() == pytest.approx(1.0, abs=0.1)
    assert np.mean(X[:, 1:] * X[:, :-1]) == pytest.approx(rho, abs=0.01)
    assert np.mean(X[:, 2:] * X[:, :-2]) == pytest.approx(rho**2, abs=0.01)
    X, signal, _ = sparse_truth.Truth(5, 5.0, 0.0, 60, factors=True).signal(rng, 4_000)
    assert signal.var() == pytest.approx(1.0, abs=0.1)
    assert np.linalg.svd(X - X.mean(axis=0))[1][4] > 1.5 * np.linalg.svd(X)[1][5]


def simulated(ridge, lasso, relaxed, ours):
    risks = dict(zip(sparse_truth.MAKERS, (ridge, lasso, relaxed, ours), strict=False))
    return [{"risk": {k: v[i] for k, v in risks.items()}} for i in range(2)]


def test_ratios_of_the_simulation_by_hand():
    some, dense = sparse_truth.Truth(5, 1.0, 0.0, 300), sparse_truth.Truth(300, 1.0, 0.0, 300)
    sets = simulated((0.9, 1.1), (0.4, 0.6), (0.6, 0.6), (0.8, 0.8))
    # 0.8 - 1.6 * (0.4, 0.6) is ±0.16: a standard deviation of 0.226, over 0.5 and the root of two
    assert sparse_truth.against(some, sets) == pytest.approx((1.6, 0.32))
    assert sparse_truth.against(dense, sets)[0] == pytest.approx(0.8)
    said = sparse_truth.verdict([(some, sets), (dense, sets)])
    assert "where few are true, 1.60, more than 1.1 in 1 of 1 lines" in said
    assert "ridge, else, 0.80, more than 1.05 in 0 of 1 lines" in said


def test_the_relaxed_lasso_lies_between_least_squares_and_the_lasso():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 100))
    y = 3.0 * X[:, 4] + 1.0 + rng.standard_normal(60)
    coefs, centre, level = sparse_truth.RelaxedLasso()._along(X, y, np.array([0.5]))
    lasso = Lasso(0.5).fit(X, y)
    some = np.flatnonzero(lasso.coef_)
    least = LinearRegression().fit(X[:, some], y)
    np.testing.assert_allclose(coefs[:, 0, -1], lasso.coef_, atol=1e-3)
    np.testing.assert_allclose(coefs[some, 0, 0], least.coef_, rtol=1e-9)
    np.testing.assert_allclose(coefs[:, 0, 2], (coefs[:, 0, 0] + coefs[:, 0, -1]) / 2)
    model = sparse_truth.RelaxedLasso().fit(X, y)
    assert np.argmax(np.abs(model.coef_)) == 4
    np.testing.assert_allclose(model.predict(X), (X - centre) @ model.coef_ + level)


def test_rivals_of_few_features_read_no_more():
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((50, 80)), rng.standard_normal((9, 80))
    y = X[:, :3] @ [2.0, -1.0, 1.0] + 0.3 * rng.standard_normal(50)
    found = few.rivals(X, y, new, classes=False)
    assert len(found) == 4 * len(few.COUNTS)
    moved = [np.where(np.arange(80) == j, new + 1.0, new) for j in range(80)]
    told = few.rivals(X, y, np.vstack(moved), classes=False)
    for name, predicted in found.items():
        read = np.abs(told[name].reshape(80, 9) - predicted).max(axis=1) > 1e-9
        assert 0 < read.sum() <= int(name.split(", ")[1])
    errors = {f"{m}, {n}": 2.0 for m in few.METHODS for n in few.COUNTS} | {"ours, 5": 1.0}
    assert few.ratio({"errors": errors}, 5) == pytest.approx(0.5)


def test_parts_of_a_page_are_replaced_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- begin: x -->\nold\n<!-- end: x -->\nafter\n")
    write_part(page, "x", ["new"])
    write_part(page, "x", ["newer"])
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "newer" in text
    assert "old" not in text
    with pytest.raises(ValueError, match="needs one line"):
        write_part(page, "y", ["new"])


class Counting:
    """An array that lives elsewhere and counts how many of its numbers are read."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.read = array, array.shape, array.dtype, 0

    def __len__(self):
        return len(self.array)

    def __getitem__(self, key):
        found = self.array[key]
        self.read += found.size
        return found


def test_walks_are_the_steps_and_one_for_moments():
    import sklearn

    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 900))
    data = Counting(X)
    # z-scores that are not kept: 0.3 MiB each time
    with sklearn.config_context(working_memory=0.3):
        model = StretchyRegressor(1.25, 0.1, a=0.0).fit(data, X[:, 0] + rng.standard_normal(40))
    assert data.read == (model.n_iter_ + 1) * X.size


def test_an_unfinished_run_says_what_is_missing():
    models = {"2": {"carriers": 3, "error": 0.5}, "LassoCV": {"carriers": 1, "error": 0.4}}
    models["LassoCV"]["nonzero"] = 2
    rows = [{"data": "colon", "shape": [62, 2000], "models": models}]
    assert any("Not measured**: riboflavin, corn_m5, arcene" in x for x in compression.part(rows))

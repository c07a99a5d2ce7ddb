"""Choices without parts of the samples: nothing that predicts a sample has seen its target."""

import numpy as np
import pytest

from skstretch import StretchyClassifierCV, StretchyRegressorCV
from skstretch.core.bridge import REPORTED
from skstretch.core.bridge_parts import Parts
from skstretch.core.bridge_path import finish, solve, space, split
from skstretch.search import nested as search_nested
from skstretch.search.cells import Folds, folds_from_splits
from skstretch.search.parts import ENOUGH, outer_parts

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
# two parts; the second leaves fewer samples than the middle shape has features
PARTS = [np.array([1, 4, 5]), np.array([0, 2, 9, 10, 12])]


def literal(Z, u, y, intercept, k, rest, at):
    """Residuals at some rows by the minimiser of the others."""
    own = split(space(np.ascontiguousarray(Z[rest]), u[rest], intercept))
    own, point = solve(own, k, 0.3, y[rest])
    fit = finish(own, point, y[rest])
    return y[at] - Z[at] @ fit.alpha - fit.m


@pytest.mark.parametrize("n_features", [4, 12, 40], ids=["tall", "between", "wide"])
@pytest.mark.parametrize("intercept", ["free", "column", "none"])
@pytest.mark.parametrize("k", [1.1, 2.0])
def test_minimisers_without_parts(n_features, intercept, k):
    rng = np.random.default_rng(n_features)
    Z, y = rng.standard_normal((15, n_features)), rng.standard_normal(15)
    u = np.sqrt(rng.integers(1, 4, 15).astype(float))
    where, point = solve(split(space(Z, u, intercept)), k, 0.3, y)
    found = Parts(where, PARTS).residuals(point, y, REPORTED)
    for row, part in zip(found, PARTS, strict=True):
        rest = np.setdiff1d(np.arange(15), part)
        expected = literal(Z, u, y, intercept, k, rest, part)
        np.testing.assert_allclose(row[part], expected, rtol=1e-7, atol=1e-8)
        # what the others lose is exact at k = 2, and else one Newton step
        for j in rest[:3] if k == 2.0 else ():
            alone = literal(Z, u, y, intercept, k, rest[rest != j], np.array([j]))
            assert row[j] == pytest.approx(alone[0], rel=1e-7)


def test_parts_of_folds():
    def folds(n, count):
        every = np.arange(n)
        parts = np.array_split(np.random.default_rng(0).permutation(n), count)
        return folds_from_splits([(np.setdiff1d(every, part), part) for part in parts], every, n)

    found = outer_parts(folds(60, 10))
    assert [part.size for part in found] == [6, 6]
    assert sum(part.size for part in outer_parts(folds(11, 10))) == 11 < ENOUGH
    assert outer_parts(Folds(None, np.arange(5))) == ()


@pytest.fixture
def nested_outputs(monkeypatch):
    """What searches without the outer samples predict, by sample; as exact as it can be solved."""
    seen = {}
    outputs, residuals = search_nested.Nested.outputs, Parts.residuals

    def kept(self, results):
        found = outputs(self, results)
        seen.clear()
        seen.update(zip(self.outer.tolist(), found, strict=True))
        return found

    monkeypatch.setattr(search_nested.Nested, "outputs", kept)
    monkeypatch.setattr(Parts, "residuals", lambda self, p, y: residuals(self, p, y, REPORTED))
    return seen


@pytest.mark.parametrize("n_features", [12, 70], ids=["tall", "selects"])
def test_own_target_is_not_seen(n_features, nested_outputs):
    """Whatever the target of a sample is, searches without it predict the same."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((24, n_features))
    y = X[:, 0] + rng.standard_normal(24)
    search = StretchyRegressorCV(k_grid=(1.1, 2.0), c_grid=(0.003, 0.03, 0.3, 3.0))
    assert search.fit(X, y).nested_of_ == "parts"
    first = dict(nested_outputs)
    for i in list(first)[:3]:
        other = y.copy()
        other[i] -= 4.0
        search.fit(X, other)
        np.testing.assert_allclose(nested_outputs[i], first[i], rtol=1e-6)
        moved = [np.abs(nested_outputs[j] - first[j]).max() for j in first if j != i]
        assert max(moved) > 1e-3  # of others it is seen


@pytest.mark.parametrize("make", [StretchyRegressorCV, StretchyClassifierCV])
def test_order_and_units_do_not_matter(make):
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((30, 64)), np.arange(30) % 2
    X[:, 0] += 2.0 * y
    model = make().fit(X, y)
    other = make().fit(1e3 * X[:, ::-1], y)
    assert other.nested_score_ == pytest.approx(model.nested_score_, rel=1e-2)
    assert model.nested_score_se_ > 0.0
    if make is StretchyRegressorCV:
        larger = make().fit(X, 1e3 * y)
        assert larger.nested_score_ / 1e6 == pytest.approx(model.nested_score_, rel=1e-2)

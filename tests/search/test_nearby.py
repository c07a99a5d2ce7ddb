"""Penalties that share an inverse: what they give is what an LU of their own gives."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from skstretch import StretchyClassifierCV, StretchyRegressorCV
from skstretch.core import nearby
from skstretch.core.dual_gram import DualGram
from skstretch.core.dual_inverse import EighInverse, LUInverse, lu_inverse
from skstretch.core.nearby import NearInverse, centre_of
from skstretch.core.stretch import Intercept
from skstretch.search import closed
from tests.references import INTERCEPTS
from tests.search.grids import assert_literal, data

EPS = np.finfo(float).eps
NEAR = (1e6, 1e7, 1e9, 1e100)


@pytest.fixture
def made(monkeypatch):
    """The inverses that a search works with."""
    found, make = [], closed.dual_outcome

    def outcome(design, problem, inverse):
        def kept():
            found.append(inverse())
            return found[-1]

        return make(design, problem, kept)

    monkeypatch.setattr(closed, "dual_outcome", outcome)
    return found


def n_near(made):
    return sum(isinstance(inverse, NearInverse) for inverse in made)


def some_gram(M=40, D=120, seed=0):
    """K = Pc Qc' of exp features at k = 1.5."""
    L = -0.2 * np.random.default_rng(seed).standard_normal((M, D))
    P, Q = np.exp(L), np.exp(2 * L)
    p, q = P.mean(axis=0), Q.mean(axis=0)
    P, Q = P - p, Q - q
    return DualGram(2.0, P @ Q.T, P @ q, Q @ p, float(p @ q), np.zeros(D), None)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", list(Intercept))
def test_as_an_inverse_of_its_own(intercept, weighted):
    """To a few roundings of an inverse of this condition, up to the edge of the reach."""
    gram, rng = some_gram(), np.random.default_rng(1)
    weights = rng.uniform(0.3, 3.0, 40) if weighted else np.ones(40)
    outer, Y = np.array([0, 3, 17, 39]), rng.standard_normal((40, 3))
    centre = centre_of(gram, weights, intercept, [1e-30, 1e-14, 1e-13, 1.0], outer)
    assert centre.reach > 1e-8
    for lam in (1e-30, 1e-3 * centre.reach, 0.3 * centre.reach, centre.reach):
        ours, own = centre.cell(lam), lu_inverse(gram, lam / weights, intercept)
        assert isinstance(ours, NearInverse) == (lam > 1e-30)
        bound = 10 * EPS / own.rcond * np.abs(own.diagonal()).max()
        np.testing.assert_allclose(ours.diagonal(), own.diagonal(), rtol=0, atol=bound)
        for one, other in zip(ours.cross(outer), own.cross(outer), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=bound)
        one, other = ours.solve(Y), own.solve(Y)
        for name in ("beta", "total", "constant"):
            mine, theirs = getattr(one, name), getattr(other, name)
            size = max(np.abs(theirs).max(), np.abs(other.beta).max())
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=10 * EPS / own.rcond * size)
        np.testing.assert_allclose(ours.penalties, own.penalties, rtol=1e-14)
        assert ours.dof == pytest.approx(own.dof, abs=40 * bound * lam / weights.min() + 1e-12)
        assert 0.9 < ours.rcond / own.rcond < 1.1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("intercept", "unit"),
    # the penalised column has a unit of its own
    [(Intercept.COLUMN, 1.0), *product((Intercept.FREE, Intercept.NONE), (1e-60, 1.0, 1e60))],
)
def test_single_precision_where_it_is_enough(intercept, weighted, unit):
    """Without outer samples the last terms are rounded to single precision, up to where the
    diagonal would show it; beyond that they are not."""
    gram, rng = some_gram(), np.random.default_rng(1)
    gram = replace(gram, K=unit * gram.K, Pq=unit * gram.Pq, Qp=unit * gram.Qp, pq=unit * gram.pq)
    weights, none = rng.uniform(0.3, 3.0, 40) if weighted else np.ones(40), np.zeros(0, np.intp)
    least = [unit * lam for lam in (1e-30, 1e-14, 1e-13)]
    far = centre_of(gram, weights, intercept, [*least, unit], none).reach
    seen = set()
    for lam in np.geomspace(1e-5 * far, far, 11):
        centre = centre_of(gram, weights, intercept, [*least, lam], none)
        seen.add(centre.small)
        ours, own = centre.cell(lam), lu_inverse(gram, lam / weights, intercept)
        bound = 3 * EPS / own.rcond * np.abs(own.diagonal()).max()
        np.testing.assert_allclose(ours.diagonal(), own.diagonal(), rtol=0, atol=bound)
    assert seen == {np.float32, np.float64}


@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("n", [2, 30, 300])
def test_the_norm_is_hardly_underestimated(n, unit):
    rng = np.random.default_rng(n)
    for spread in (0.0, 1.0, 8.0):
        G = rng.standard_normal((n, n)) * 10.0 ** -rng.uniform(0, spread, n) * unit
        root = rng.uniform(0.5, 2.0, n)
        true = unit * np.linalg.norm(root[:, None] * (G / unit) * root, 2)
        found = nearby._two_norm(G, root, np.abs(G).max())
        assert true / nearby.ENLARGED < found <= true * (1 + 1e-5)


def test_beyond_its_reach_the_series_is_wrong(monkeypatch):
    """The reach is no wider than it must be by much: at 30 times of it four terms are too few."""
    gram, weights = some_gram(), np.ones(40)
    centre = centre_of(gram, weights, Intercept.FREE, [1e-30, 1e-14, 1e-13], np.arange(2))
    lam = 30 * centre.reach
    ours, own = NearInverse(centre, lam), lu_inverse(gram, lam / weights, Intercept.FREE)
    off = np.abs(ours.diagonal() - own.diagonal()).max()
    assert off > 10 * EPS / own.rcond * np.abs(own.diagonal()).max()
    # a wider one lets that through, and so would be seen by the test above
    monkeypatch.setattr(nearby, "LEFT_OUT", 1e6)
    wide = centre_of(gram, weights, Intercept.FREE, [1e-30, 1e-14, 1e-13], np.arange(2))
    assert wide.reach > 30 * centre.reach


def test_only_where_it_saves_work():
    gram, weights, none = some_gram(), np.ones(40), np.zeros(0, dtype=np.intp)
    assert centre_of(gram, weights, Intercept.FREE, [1e-30, 1e-14, 1.0], none).reach == 0.0
    flat = DualGram(2.0, np.zeros((5, 5)), *np.zeros((2, 5)), 0.0, np.zeros(3), None)
    assert centre_of(flat, np.ones(5), Intercept.FREE, [0.0, 0.0, 0.0], none).reach == 0.0
    with pytest.raises(ValueError, match="outer samples"):
        centre_of(gram, weights, Intercept.FREE, [0.0, 1e-14, 1e-13], none).cell(1e-14).cross(
            np.arange(2)
        )


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("near", [True, False])
def test_a_symmetric_matrix_takes_its_inverse_or_its_spectrum(intercept, near, made):
    """Where one penalty is out of reach the spectrum serves all of them."""
    X, Y = data((15, 60), n_targets=2)
    how = {"a": (-0.2, 0.5), "k": (2.0,), "c": NEAR if near else (*NEAR, 1e-2)}
    assert_literal(X, Y, intercept=intercept, **how)
    kinds = {type(inverse) for inverse in made}
    assert kinds == ({NearInverse, LUInverse} if near else {EighInverse})


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("weighted", [False, True])
def test_literal_refits(intercept, weighted, made):
    X, Y = data((15, 60), n_targets=2)
    weights = np.random.default_rng(2).uniform(0.2, 3.0, 15) if weighted else None
    how = {"a": (-0.2, 0.5), "k": (1.25, 1.5, 2.0), "c": (*NEAR, 10.0)}
    assert_literal(X, Y, intercept=intercept, weights=weights, **how)
    assert n_near(made) >= 6


SEARCHES = {
    "numbers": (StretchyRegressorCV(a_grid=(-0.2,)), 1, 1.0),
    "large units": (StretchyRegressorCV(a_grid=(-0.2,)), 1, 1e60),
    "small units": (StretchyRegressorCV(a_grid=(-0.2,)), 1, 1e-60),
    "three targets": (StretchyRegressorCV(a_grid=(-0.2,)), 3, 1.0),
    "classes": (StretchyClassifierCV(a_grid=(-0.2,)), 1, 1.0),
    "a grid": (
        StretchyRegressorCV(a_grid=(-0.2,), c_grid=(*NEAR, 1e-3, 1e-2, 0.1, 1.0), rule="best"),
        1,
        1.0,
    ),
}


@pytest.mark.parametrize("storage", [np.asarray, sparse.csc_array])
@pytest.mark.parametrize("name", SEARCHES)
def test_searches_are_the_same(name, storage, made, monkeypatch):
    """Cells, scores, the nested score and the model of a search that has an LU for every cell."""
    estimator, n_targets, unit = SEARCHES[name]
    X, Y = data((40, 200), n_targets=n_targets)
    X, Y = storage(np.where(X > 0, X, 0.0)), unit * Y
    y = (Y[:, 0] > np.median(Y)).astype(int) if name == "classes" else Y
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 40)
    near = estimator.fit(X, y, sample_weight=weights)
    ours = near.cv_results_, near.cv_predictions_, near.predict(X)
    chosen, nested = (near.best_index_, near.weights_["row"]), getattr(near, "nested_score_", 0.0)
    assert n_near(made) >= 4
    made.clear()
    monkeypatch.setattr(closed, "NEAR_SIDE", 0)
    other = estimator.fit(X, y, sample_weight=weights)
    assert n_near(made) == 0
    theirs = other.cv_results_, other.cv_predictions_, other.predict(X)
    score, open_ = theirs[0]["mean_test_score"], theirs[0]["score_error"]
    usable = np.isfinite(score)
    gap = np.abs(ours[0]["mean_test_score"] - score)[usable]
    assert (gap <= open_[usable] + 1e-13 * np.abs(score[usable])).all()
    np.testing.assert_allclose(ours[0]["score_error"][usable], open_[usable], rtol=0.05)
    assert near.best_index_ == chosen[0]
    np.testing.assert_array_equal(chosen[1], other.weights_["row"])
    size = np.abs(theirs[1]).max()
    np.testing.assert_allclose(ours[1], theirs[1], rtol=0, atol=1e-10 * size)
    np.testing.assert_allclose(ours[2], theirs[2], rtol=0, atol=1e-10 * size)
    assert nested == pytest.approx(getattr(other, "nested_score_", 0.0), rel=1e-9, nan_ok=True)

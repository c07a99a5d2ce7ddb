"""What rounding does to coefficients, drawn beforehand: beside what it did, by 60 digits."""

import numpy as np
import pytest

from skstretch import StretchyRegressor
from skstretch.core.factors import drawn_products, largest_move
from skstretch.core.stretch import Intercept
from skstretch.datasets import make_spectra
from skstretch.solve import choose
from skstretch.solve.choose import Spec
from skstretch.solve.direct import DualLU, PrimalLU
from tests.references import exact_solution, relative_error
from tests.solve.samples import raw_design

EPS = np.finfo(float).eps


def samples():
    """Features from harmless to hopeless, wide and tall."""
    rng = np.random.default_rng(0)
    t = np.linspace(0.05, 1.0, 12)
    spectra = make_spectra(10, n_wavelengths=40, random_state=0).data
    return {
        "wide": np.exp(0.3 * rng.standard_normal((10, 30))),
        "square": np.exp(0.3 * rng.standard_normal((10, 10))),
        "tall": np.exp(0.3 * rng.standard_normal((20, 8))),
        "smooth": spectra - spectra.min() + 1e-3,
        "powers": t[:, None] ** np.arange(1, 16),
        "few powers": t[:, None] ** np.arange(1, 7),
    }


@pytest.mark.parametrize("name", samples())
def test_it_is_of_the_size_of_what_happens(name):
    """Never four times too small, and in the middle no more than 30 times too large."""
    P, ratios = samples()[name], []
    y = np.sin(np.arange(len(P)) * 1.7) + 2.0
    for k in (1.25, 1.5, 2.0):
        for c in (1e2, 1e5, 1e8, 1e11):
            design, weights = raw_design(P), np.ones(len(P))
            kind = DualLU if P.shape[0] <= P.shape[1] else PrimalLU
            lu = kind(design, weights, Spec(k, c, Intercept.FREE, "auto"))
            drawn, fit = lu.rounding(y[:, None]), lu.fit(y[:, None])
            true = exact_solution(P, y, k, c, True)
            off = relative_error(fit.coef[:, 0], fit.intercept[0], true)
            if drawn < 0.1:
                # features and coefficients are rounded themselves
                assert off <= 4.0 * drawn + 20 * EPS
                ratios.append(drawn / max(off, EPS))
    assert len(ratios) >= 6
    assert np.median(ratios) < 30.0


def test_products_are_those_of_drawn_matrices():
    """Their spread is that of E x for matrices E written out."""
    rng = np.random.default_rng(1)
    s, x = rng.uniform(0.1, 10.0, 6), rng.standard_normal((6, 2)) * [1.0, 1e3]
    literal = np.einsum("eij,jt->eit", rng.standard_normal((4000, 6, 6)) * np.outer(s, s), x) * EPS
    found = np.array([drawn_products(s, x * scale) for scale in (1.0, 1e150, 1e-150)])
    assert found.shape == (3, 6, 4)
    np.testing.assert_allclose(found[1], found[0] * 1e150, rtol=1e-12)
    np.testing.assert_allclose(found[2], found[0] * 1e-150, rtol=1e-12)
    unit = found[0] / (EPS * s[:, None] * np.repeat(np.linalg.norm(s[:, None] * x, axis=0), 2))
    assert 0.3 < np.sqrt(np.mean(unit**2)) < 2.0
    size = np.repeat(literal.std(axis=0), 2, axis=1)
    assert 0.3 < np.sqrt(np.mean((found[0] / size) ** 2)) < 2.0
    assert drawn_products(s, np.ones((6, 9))).shape == (6, 9)


def test_the_worst_target_counts():
    coef = np.array([[1.0, 10.0, 0.0], [-2.0, 5.0, 0.0]])
    moves = np.zeros((2, 6))
    moves[0, 1], moves[1, 3] = 1e-8, 3e-7
    assert largest_move(moves, coef) == pytest.approx(3e-8)
    assert largest_move(np.ones((2, 3)), np.zeros((2, 3))) == 0.0


@pytest.mark.parametrize("shape", [(300, 310), (300, 290)])
@pytest.mark.parametrize("k", [1.25, 2.0])
@pytest.mark.parametrize("unit", [1e-100, 1.0, 1e100])
def test_lu_stays_where_it_keeps_its_digits(shape, k, unit):
    """About as many samples as features, whatever the units: QR would take many times as long."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    Y = unit * (X[:, :4] @ rng.standard_normal((4, 2)) + rng.standard_normal((shape[0], 2)))
    ours = StretchyRegressor(k, 1e6).fit(X * 2.0**7, Y)
    assert ours.solver_ == ours._state.space
    assert choose.loses_digits(ours.rcond_)
    true = StretchyRegressor(k, 1e6, solver="qr").fit(X * 2.0**7, Y)
    assert true.solver_ == "qr"
    size = np.abs(true.alpha_).max()
    np.testing.assert_allclose(ours.alpha_, true.alpha_, rtol=0, atol=3e-10 * size)


def test_qr_where_it_does_not():
    """Ten components, and hardly anything beside them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 10)) @ rng.standard_normal((10, 400))
    X += 1e-4 * rng.standard_normal(X.shape)
    model = StretchyRegressor(1.5, 1e6).fit(X, X[:, 0] + rng.standard_normal(300))
    assert model.solver_ == "qr"


CASES = {
    "known": ({}, "dual"),
    "column": ({"fit_intercept": "column"}, "qr"),
    "none": ({"fit_intercept": False}, "qr"),
    "never penalised": ({"penalty_factor": [0.0, *np.ones(40)]}, "qr"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_known_is_left_to_the_condition(case):
    """Of other intercepts, and of features that are never penalised."""
    settings, solver = CASES[case]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 41))
    model = StretchyRegressor(1.05, 1e6, **settings).fit(X, X[:, 0] + rng.standard_normal(40))
    assert model.solver_ == solver

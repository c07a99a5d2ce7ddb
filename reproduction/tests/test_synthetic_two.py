"""20 points, 10 and 435 parameters: what is exact, what is rounding, what is sparse."""

import numpy as np
import pytest

from reproduction.synthetic import (
    HIGH,
    LOW,
    boundary_curves,
    errors_of,
    fit_linear,
    fit_polynomial,
    monomials,
    repeated_counts,
    twenty_points,
)
from tests.references import exact_solution, relative_error

ks = pytest.mark.parametrize("k", [1.1, 2.0])


@pytest.fixture(scope="module")
def points():
    return twenty_points()


def exact(points, order, k):
    X, y = points
    return exact_solution(monomials(X, order)[:, 1:], y, k, 1e100, "column")


def error(fit, truth):
    return relative_error(fit.coef[1:], fit.coef[0], truth)


def test_twenty_points_in_two_classes(points):
    X, y = points
    assert X.shape == (20, 2)
    assert sorted(y) == [-1.0] * 10 + [1.0] * 10
    assert X.min() > LOW
    assert X.max() < HIGH
    # the largest exponent at k = 1.1 is 280, and its smallest value still a normal number
    assert np.finfo(float).tiny < LOW**280
    np.testing.assert_array_equal(X, twenty_points()[0])


@pytest.mark.parametrize(("order", "count"), [(1, 3), (3, 10), (28, 435)])
def test_number_of_parameters(points, order, count):
    columns = monomials(points[0], order)
    assert columns.shape == (20, count)
    assert len(np.unique(columns.round(300), axis=1).T) == count


def test_the_classes_overlap_for_a_line(points):
    assert 1 <= errors_of(fit_linear(*points), *points) <= 5


@ks
def test_third_order_is_exact_and_not_sparse(points, k):
    """Over-determined: at k = 1.1 nine or all ten coefficients keep their weight."""
    fit = fit_polynomial(*points, 3, k)
    assert not fit.warned
    assert error(fit, exact(points, 3, k)) < 1e-9
    assert fit.n_strong >= 9


def test_high_order_at_two_is_exact(points):
    fit = fit_polynomial(*points, 28, 2.0)
    assert not fit.warned
    assert error(fit, exact(points, 28, 2.0)) < 1e-10
    assert errors_of(fit, *points) == 0


def test_high_order_near_one_by_qr(points):
    """Some digits are left, the warning says so, and the points are met as the theory has it."""
    X, y = points
    truth = exact(points, 28, 1.1)
    np.testing.assert_allclose(truth.predict(monomials(X, 28)[:, 1:]), y, atol=1e-12)
    fit = fit_polynomial(X, y, 28, 1.1)
    assert fit.warned
    assert error(fit, truth) < 1e-2
    np.testing.assert_allclose(fit.score(X), y, atol=1e-6)


def test_high_order_near_one_by_the_formula_has_no_digit(points):
    """Wrong signs at k = 1.1 are rounding errors of ``P Q'``, not a property of the solution."""
    fit = fit_polynomial(*points, 28, 1.1, "dual")
    assert fit.warned
    assert fit.rcond < 1e-15
    assert error(fit, exact(points, 28, 1.1)) > 0.1
    assert np.abs(fit.score(points[0]) - points[1]).max() > 0.1


def test_sparse_near_one_and_dense_at_two(points):
    near, two = (fit_polynomial(*points, 28, k).n_strong for k in (1.1, 2.0))
    exact_sizes = np.abs(exact(points, 28, 1.1).vector)
    assert near == np.count_nonzero(exact_sizes >= 0.01 * exact_sizes.max())
    assert near < 45
    assert two > 300


@pytest.mark.parametrize("figure", ["fig5", "fig6"])
def test_boundaries_and_counts(points, figure):
    """The linear model is zero on its traced line; counts and coefficients are all there."""
    curves = boundary_curves(figure, n_grid=101)
    assert list(curves.columns) == ["figure", "panel", "series", "x", "y"]
    line = curves[curves["series"] == "boundary linear"].dropna()[["x", "y"]].to_numpy()
    scores = fit_linear(*points).score(line)
    # the compressed scale bends by the cube of one grid step's change, 0.04 here
    assert np.abs(scores).max() < 0.04**3 / 6
    counts = curves[curves["panel"] == "counts"].set_index("series")
    size = 10 if figure == "fig5" else 435
    assert counts.loc["errors k=1.1", "x"] == counts.loc["errors k=2", "x"] == size
    assert ("errors k=1.1, LU" in counts.index) == (figure == "fig6")
    for name in ("k=1.1", "k=2"):
        values = curves[(curves["panel"] == "coefficients") & (curves["series"] == name)]["y"]
        assert len(values) == size
        assert values.is_monotonic_increasing


def test_other_sets_behave_alike():
    counts = repeated_counts(6)
    high = counts[counts["figure"] == "fig6"]
    for name in ("errors k=1.1", "errors k=2"):
        assert high[high["series"] == name]["y"].tolist() == [0] * 6
    by_name = high.groupby("series")["y"]
    assert by_name.max()["strong k=1.1"] < by_name.min()["strong k=2"] / 4


def test_unknown_figure():
    with pytest.raises(ValueError, match="'fig7' is unknown"):
        boundary_curves("fig7")

"""The smoothed absolute value, the k-measure and the lemmas that speak of them."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import null_space
from scipy.optimize import minimize

from skstretch.core import k_measure, k_measure_power, scaling_vector, smooth_abs

EPS = np.finfo(np.float64).eps

numbers = st.floats(-1e3, 1e3, allow_subnormal=False)
powers = st.floats(1.0, 4.0)
smoothing = st.sampled_from([0.0, 1e-12, 1e-3, 1.0, 50.0])


@st.composite
def pairs(draw):
    """Two vectors of the same length."""
    n = draw(st.integers(1, 6))
    vectors = st.lists(numbers, min_size=n, max_size=n)
    return np.array(draw(vectors)), np.array(draw(vectors))


def literal_power(alpha, k, eps, q):
    """``(sum_j (alpha_j**2 + eps)**(k/2))**(q/k)`` in 50 digits."""
    with mp.workdps(50):
        total = sum((mp.mpf(float(v)) ** 2 + mp.mpf(eps)) ** (mp.mpf(k) / 2) for v in alpha)
        return float(total ** (mp.mpf(q) / mp.mpf(k)))


@given(st.lists(numbers, min_size=1, max_size=6), st.floats(0.0, 1e3))
def test_smooth_abs_is_its_formula(alpha, eps):
    expected = [float(mp.sqrt(mp.mpf(v) ** 2 + mp.mpf(eps))) for v in alpha]
    # the root of eps and the hypotenuse each round once
    np.testing.assert_allclose(smooth_abs(alpha, eps), expected, rtol=4 * EPS, atol=0)


def test_smooth_abs_tends_to_the_absolute_value():
    alpha = np.array([-3.0, -1e-5, 0.0, 2.0])
    gaps = [np.max(smooth_abs(alpha, eps) - np.abs(alpha)) for eps in (1.0, 1e-4, 1e-8, 1e-12)]
    # the gap is largest at zero, where it is sqrt(eps)
    np.testing.assert_allclose(gaps, [1.0, 1e-2, 1e-4, 1e-6], rtol=4 * EPS)
    np.testing.assert_array_equal(smooth_abs(alpha, 0.0), np.abs(alpha))


def test_smooth_abs_is_differentiable_at_zero():
    """The slope is ``alpha / f(alpha)``, zero at zero, unlike that of the absolute value."""
    step, eps = 1e-6, 0.25
    for alpha in (-1.0, 0.0, 0.3):
        ends = smooth_abs([alpha - step, alpha + step], eps)
        # central difference: third derivative of order 10 times step**2, rounding eps / step
        expected = alpha / math.sqrt(alpha**2 + eps)
        assert (ends[1] - ends[0]) / (2 * step) == pytest.approx(expected, abs=5e-10)


@given(st.lists(numbers, min_size=1, max_size=6), powers, smoothing, st.floats(0.2, 4.0))
def test_power_is_its_formula(alpha, k, eps, q):
    found = k_measure_power(alpha, k, eps, q)
    # two powers with exponents up to 20 and bases below one: 30 roundings are ample
    assert found == pytest.approx(literal_power(alpha, k, eps, q), rel=30 * EPS, abs=1e-300)


@given(st.lists(numbers, min_size=1, max_size=6), powers, smoothing)
def test_measure_is_the_first_power_and_the_default_power_is_k(alpha, k, eps):
    assert k_measure(alpha, k, eps) == k_measure_power(alpha, k, eps, 1.0)
    assert k_measure_power(alpha, k, eps) == k_measure_power(alpha, k, eps, k)


@pytest.mark.parametrize("k", [1.0, 1.5, 2.0, 3.0])
def test_measure_without_smoothing_is_the_norm(k):
    alpha = np.random.default_rng(0).standard_normal(7)
    assert k_measure(alpha, k) == pytest.approx(np.linalg.norm(alpha, k), rel=10 * EPS)


def test_measure_tends_to_the_norm():
    """For one coordinate at zero the gap of the power is of order ``eps**(k/2)``."""
    alpha, k = np.array([0.0, 3.0, -4.0]), 1.5
    limit = np.sum(np.abs(alpha) ** k)
    gaps = np.array([k_measure_power(alpha, k, eps) - limit for eps in (1e-4, 1e-8, 1e-12)])
    np.testing.assert_allclose(gaps[:2], [1e-3, 1e-6], rtol=0.2)
    assert np.all(np.diff(gaps) < 0)
    assert k_measure(alpha, k, 0.0) == pytest.approx(limit ** (1 / k), rel=10 * EPS)


def test_measure_is_not_homogeneous_unless_eps_is_zero():
    alpha = np.array([1.0, -2.0])
    assert k_measure(3 * alpha, 1.5, 0.0) == pytest.approx(3 * k_measure(alpha, 1.5), rel=1e-15)
    assert abs(k_measure(3 * alpha, 1.5, 1.0) / (3 * k_measure(alpha, 1.5, 1.0)) - 1) > 0.1


def test_huge_and_tiny_coefficients():
    huge, tiny = np.full(4, 1e300), np.full(4, 1e-300)
    np.testing.assert_array_equal(smooth_abs([1e300, -1e300], 1.0), [1e300, 1e300])
    assert k_measure(huge, 2.0) == pytest.approx(2e300, rel=4 * EPS)
    assert k_measure(huge, 2.0, 1e-3) == pytest.approx(2e300, rel=4 * EPS)
    assert k_measure(tiny, 2.0) == pytest.approx(2e-300, rel=4 * EPS)
    assert k_measure([1e300, 1.0, 1e-300], 1.5) == pytest.approx(1e300, rel=4 * EPS)
    # the intermediate sum is 1e450, the power asked for is not
    assert k_measure_power(huge, 1.5, 0.0, 0.5) == pytest.approx(
        4 ** (1 / 3) * 1e150, rel=100 * EPS
    )


def test_empty_and_zero_vectors():
    assert k_measure([], 1.5) == 0.0
    assert k_measure([0.0, 0.0], 1.5) == 0.0
    assert k_measure([0.0, 0.0], 1.5, 4.0) == pytest.approx(2.0 * 2 ** (1 / 1.5), rel=4 * EPS)


@pytest.mark.parametrize("eps", [-1e-9, float("nan")])
def test_bad_smoothing(eps):
    with pytest.raises(ValueError, match=r"eps=.*non-negative"):
        smooth_abs([1.0], eps)


@pytest.mark.parametrize("k", [0.0, -1.0, float("inf"), float("nan")])
def test_bad_power(k):
    with pytest.raises(ValueError, match=r"k=.*positive and finite"):
        k_measure([1.0], k)
    with pytest.raises(ValueError, match=r"k=.*positive and finite"):
        k_measure_power([1.0], k)


# Lemma 1: the k-th power of the k-measure is convex for k >= 1.


@given(pairs(), powers, smoothing, st.floats(0.0, 1.0))
def test_lemma_1_convexity(ends, k, eps, share):
    u, v = ends
    between = k_measure_power(share * u + (1 - share) * v, k, eps)
    shared_newton = share * k_measure_power(u, k, eps) + (1 - share) * k_measure_power(v, k, eps)
    assert between <= shared_newton * (1 + 50 * EPS)


def test_convexity_fails_below_one():
    """The lemma's condition is not idle."""
    assert k_measure_power([0.5, 0.5], 0.5) > k_measure_power([1.0, 0.0], 0.5)


# Lemma 2 and Corollary 1: limits of minimisers under y = P alpha, in the null space of P.


@pytest.fixture(scope="module")
def constrained():
    """One solution of ``y = P alpha`` (2 x 5) and a basis of the null space."""
    rng = np.random.default_rng(3)
    P, y = np.exp(0.7 * rng.standard_normal((2, 5))), np.array([1.0, -2.0])
    return P, y, np.linalg.lstsq(P, y, rcond=None)[0], null_space(P)


def power_gradient(alpha, k, eps, q):
    """Gradient of ``(sum f**k)**(q/k)``: ``q (sum f**k)**(q/k - 1) f**(k-2) alpha``."""
    f = np.sqrt(alpha**2 + eps)
    return q * np.sum(f**k) ** (q / k - 1) * f ** (k - 2) * alpha


def minimiser(constrained, k, eps, q):
    """The minimiser of the q-th power of the k-measure over the solutions of ``y = P alpha``."""
    P, y, start, basis = constrained
    found = minimize(
        lambda t: k_measure_power(start + basis @ t, k, eps, q),
        np.zeros(basis.shape[1]),
        jac=lambda t: basis.T @ power_gradient(start + basis @ t, k, eps, q),
        method="BFGS",
        options={"gtol": 1e-9, "maxiter": 2000},
    )
    alpha = start + basis @ found.x
    np.testing.assert_allclose(P @ alpha, y, rtol=1e-12)
    # the minimum is where the gradient has no part left in the null space
    assert np.abs(basis.T @ power_gradient(alpha, k, eps, q)).max() < 1e-7
    return alpha


@pytest.mark.parametrize("k", [1.3, 2.0])
def test_lemma_2_minimiser_of_the_power_tends_to_that_of_the_measure(constrained, k):
    """At fixed k the limit q -> 1 is trivial: u -> u**q increases for u > 0, so that every q > 0
    has one and the same minimiser."""
    limit = minimiser(constrained, k, 1e-2, 1.0)
    for q in (2.0, 1.1, 1.01, 0.5):
        # a gradient of 1e-8 over a curvature of order one
        np.testing.assert_allclose(minimiser(constrained, k, 1e-2, q), limit, atol=1e-6)


def test_corollary_1_minimiser_tends_to_that_of_the_smoothed_l1_measure(constrained):
    """With q = k the minimiser does change with k, and at rate k - 1 tends to the one at k = 1."""
    eps = 1e-2
    limit = minimiser(constrained, 1.0, eps, 1.0)
    gaps = np.array(
        [
            np.linalg.norm(minimiser(constrained, k, eps, k) - limit)
            for k in (1.1, 1.01, 1.001, 1.0001)
        ]
    )
    assert gaps[0] > 1e-3
    np.testing.assert_allclose(gaps[1:-1] / gaps[2:], 10.0, rtol=0.1)
    # no other solution of y = P alpha has a smaller smoothed l1 measure
    _, _, start, basis = constrained
    others = start + np.random.default_rng(0).standard_normal((500, basis.shape[1])) @ basis.T
    smoothed = np.sqrt(np.vstack([limit, others]) ** 2 + eps).sum(axis=1)
    assert np.all(smoothed[1:] > smoothed[0])


# Lemma 3: A (A'b)^k = (A (A')^k b^k) * s, powers elementwise.


@st.composite
def positive_problems(draw):
    m, d = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    positive = st.floats(0.05, 20.0)
    A = draw(st.lists(positive, min_size=m * d, max_size=m * d))
    b = draw(st.lists(positive, min_size=m, max_size=m))
    return np.reshape(A, (m, d)), np.array(b)


@given(positive_problems(), st.floats(0.2, 5.0))
def test_lemma_3_scaling_vector(problem, k):
    A, b = problem
    s = scaling_vector(A, b, k)
    left = A @ (A.T @ b) ** k
    right = (A @ (A.T**k @ b**k)) * s
    # no cancellation: every number is positive
    np.testing.assert_allclose(left, right, rtol=100 * EPS)
    literal = [
        sum(A[i, j] * sum(A[l, j] * b[l] for l in range(len(b))) ** k for j in range(A.shape[1]))
        / sum(
            A[i, j] * sum((A[l, j] * b[l]) ** k for l in range(len(b))) for j in range(A.shape[1])
        )
        for i in range(len(b))
    ]
    np.testing.assert_allclose(s, literal, rtol=100 * EPS)


@given(positive_problems())
def test_lemma_3_scaling_vector_is_one_at_k_1(problem):
    np.testing.assert_allclose(scaling_vector(*problem, 1.0), 1.0, rtol=20 * EPS)


def test_lemma_3_scaling_vector_of_one_sample_is_one():
    """With a single sample nothing is summed before the power."""
    np.testing.assert_allclose(scaling_vector([[0.5, 2.0, 3.0]], [1.7], 3.3), [1.0], rtol=1e-14)


def test_lemma_3_needs_non_zero_entries():
    with pytest.raises(ValueError, match="entry 1 of"):
        scaling_vector([[1.0, 2.0], [0.0, 0.0]], [1.0, 1.0], 2.0)

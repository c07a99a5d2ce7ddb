"""Centred features made a few rows at a time are those of the whole block."""

from itertools import pairwise

import numpy as np
import pytest

from skstretch.core import features as tiles
from skstretch.core.features import column_moments
from skstretch.core.gram import Frame, dual_coefficients, dual_grams
from skstretch.core.quadrant import Quadrant, Strip, centre_into, centred

EPS = np.finfo(float).eps
WEIGHTS = np.random.default_rng(1).uniform(0.0, 2.0, 30)


def pixels(order="C", dtype=np.uint8):
    raw = np.random.default_rng(0).integers(1, 250, (30, 40))
    return np.asarray(raw, dtype=dtype, order=order)


def strip_of(kind, raw, a=-0.2):
    moments = column_moments(raw, WEIGHTS)
    return Strip(raw, Quadrant(kind, moments, a, np.full(40, 0.1)), slice(None))


@pytest.fixture(params=[1, 8 * 40 * 7, 1 << 19], ids=["rows", "tiles", "whole"])
def tile(request, monkeypatch):
    monkeypatch.setattr(tiles, "TILE_BYTES", request.param)


def test_tiles_cover_all_rows_once(tile):
    rows = np.concatenate([np.arange(30)[rows] for rows in tiles.row_tiles(30, 40)])
    np.testing.assert_array_equal(rows, np.arange(30))


@pytest.mark.parametrize("kind", ["exp", "identity"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32, np.float64])
@pytest.mark.parametrize("r", [1.0, 2.0, 4 / 3, 10.0])
def test_powers_less_their_weighted_means(tile, kind, order, dtype, r):
    raw = pixels(order, dtype)
    strip = strip_of(kind, raw)
    X, share = raw.astype(float), WEIGHTS / WEIGHTS.sum()
    mean = share @ X
    scale = np.sqrt(share @ (X - mean) ** 2)
    P = np.exp(-0.2 * (X - mean) / scale + 0.1) if kind == "exp" else X
    Qc = np.empty((30, 40))
    [e] = centre_into(strip, [r], WEIGHTS, [Qc])
    Q = P**r
    np.testing.assert_allclose(e + strip.offset**r, share @ Q, rtol=1e-13)
    np.testing.assert_allclose(Qc, Q - share @ Q, atol=1e-12 * np.abs(Q).max())
    again, same = centred(strip, r, WEIGHTS)
    np.testing.assert_allclose(again, Qc, atol=1e-13 * np.abs(Q).max())
    np.testing.assert_allclose(same, e, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("exponents", [[1.0], [4.0], [2.0, 1.0, 10.0]])
def test_sums_over_blocks_of_unequal_width_are_the_product(tile, exponents):
    raw = pixels()
    whole = strip_of("exp", raw)
    edges = [0, 15, 17, 17, 40]
    blocks = [
        Strip(raw[:, a:b], whole.quadrant.take(slice(a, b)), slice(None))
        for a, b in pairwise(edges)
    ]
    P = np.exp(whole.rows(slice(None)).logs)
    share = WEIGHTS / WEIGHTS.sum()
    for gram in dual_grams(blocks, exponents, WEIGHTS, None):
        Q = P**gram.r
        p, q = share @ P, share @ Q
        np.testing.assert_allclose(gram.K, (P - p) @ (Q - q).T, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(gram.Pq, (P - p) @ q, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(gram.Qp, (Q - q) @ p, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(gram.pq, p @ q, rtol=1e-13)
        np.testing.assert_allclose(gram.centre + whole.offset, p, rtol=1e-13)


@pytest.mark.parametrize("kind", ["exp", "identity"])
@pytest.mark.parametrize("balanced", [True, False])
def test_coefficients_are_those_of_the_whole_block(tile, kind, balanced):
    strip, r = strip_of(kind, pixels()), 4.0
    beta = np.random.default_rng(2).standard_normal((30, 3))
    beta -= beta.mean(axis=0) if balanced else 0.0
    features = strip.rows(slice(None))
    Q = (features.excess(1.0) + strip.offset) ** r
    frame, total = Frame(r, np.zeros(40), None), np.zeros(3) if balanced else beta.sum(axis=0)
    found = dual_coefficients(strip, frame, beta, total, WEIGHTS)
    np.testing.assert_allclose(found, Q.T @ beta, atol=1e-13 * np.abs(Q).max())


@pytest.mark.parametrize("borders", [True, False])
@pytest.mark.parametrize("kind", ["exp", "identity"])
@pytest.mark.parametrize("b", [0.1, -20.0, np.linspace(-3.0, 2.0, 40)], ids=["one", "low", "own"])
def test_powers_are_those_of_wider_numbers(tile, kind, b, borders):
    """K of several powers, as far as float64 knows it, with borders and without."""
    raw = pixels(dtype=np.float64)
    moments = column_moments(raw, WEIGHTS)
    quadrant = Quadrant(kind, moments, -0.2, np.broadcast_to(b, 40).copy())
    strip, share = Strip(raw, quadrant, slice(None)), WEIGHTS / WEIGHTS.sum()
    features = strip.rows(slice(None))
    P = (features.P if kind == "identity" else np.exp(features.logs)).astype(np.longdouble)
    exponents = [4.0, 0.5, 2.0, 1.0, 8 / 3, 4 / 3]
    grams = dual_grams([strip], exponents, WEIGHTS, None, borders)
    assert [gram.r for gram in grams] == exponents
    for gram in grams:
        Q = P**gram.r
        Pc, Qc = P - share @ P, Q - share @ Q
        size = np.abs(Pc) @ np.abs(Q).T
        np.testing.assert_array_less(np.abs(gram.K - Pc @ Qc.T), 60 * EPS * size.max())
        # about the weighted mean on both sides
        np.testing.assert_array_less(np.abs(gram.K @ share), 60 * EPS * size.max())
        np.testing.assert_array_less(np.abs(share @ gram.K), 60 * EPS * size.max())


@pytest.mark.parametrize("kind", ["exp", "identity"])
@pytest.mark.parametrize("n_columns", [256, 257, 400, 1300])
def test_powers_share_a_pass(kind, n_columns):
    """The Gram matrices of several powers are those of each, made as they are written."""
    rng = np.random.default_rng(3)
    raw, exponents = rng.uniform(0.5, 2.0, (30, n_columns)), [4 / 3, 1.0, 2.0]
    quadrant = Quadrant(kind, column_moments(raw, WEIGHTS), -0.2, np.zeros(n_columns))
    strip, share = Strip(raw, quadrant, slice(0, n_columns)), WEIGHTS / WEIGHTS.sum()
    P = raw if kind == "identity" else np.exp(strip.rows(slice(None)).logs)
    for gram in dual_grams([strip], exponents, WEIGHTS, None):
        Q = P**gram.r
        p, q = share @ P, share @ Q
        np.testing.assert_allclose(gram.K, (P - p) @ (Q - q).T, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(gram.Qp, (Q - q) @ p, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(gram.centre + strip.offset, p, rtol=1e-13)
        [one] = dual_grams([strip], [gram.r], WEIGHTS, None)
        np.testing.assert_allclose(one.K, gram.K, rtol=1e-13, atol=1e-13)
        assert gram.K.flags.c_contiguous

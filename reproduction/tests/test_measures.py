"""Fig. 1 and 2: curves of the measures."""

import numpy as np
import pytest

from reproduction.curves import (
    EPSILON,
    LEVELS,
    MEASURES,
    POWERS,
    absolute_curves,
    contour_curves,
)


def test_smoothed_absolute_value():
    curves = absolute_curves((1.0, 0.0))
    smooth, sharp = (curves[curves["series"] == name] for name in ("eps=1", "eps=0"))
    np.testing.assert_allclose(smooth["y"] ** 2, smooth["x"] ** 2 + 1)
    np.testing.assert_array_equal(sharp["y"], sharp["x"].abs())


@pytest.fixture(scope="module")
def contours():
    return contour_curves()


def literal(name, x, y, k):
    """The three measures as the paper writes them."""
    eps = 0.0 if name == "p-norm" else EPSILON
    total = (x**2 + eps) ** (k / 2) + (y**2 + eps) ** (k / 2)
    return total if name == "k-measure to the k" else total ** (1 / k)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("k", POWERS)
def test_contours_keep_their_level(contours, name, k):
    part = contours[contours["panel"] == f"{name}, {k:g}"]
    assert part["series"].nunique() == len(LEVELS)
    for level in LEVELS:
        line = part[part["series"] == f"level {level:g}"]
        np.testing.assert_allclose(literal(name, line["x"], line["y"], k), level, rtol=1e-9)
        ends = line[["x", "y"]].to_numpy()[[0, -1]]
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)


def test_contours_go_once_round(contours):
    line = contours[(contours["panel"] == "p-norm, 1.5") & (contours["series"] == "level 1")]
    angle = np.unwrap(np.arctan2(line["y"].to_numpy(), line["x"].to_numpy()))
    assert (np.diff(angle) > 0).all()
    np.testing.assert_allclose(angle[-1] - angle[0], 2 * np.pi)

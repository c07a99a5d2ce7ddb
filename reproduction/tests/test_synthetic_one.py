"""Table 1 and Fig. 4: exact coefficients, the paper's figures, and the noise that they imply."""

import numpy as np
import pytest

from reproduction.synthetic import (
    PAPER_TABLE1,
    SHOWN,
    coefficients,
    column_name,
    five_points,
    implied_noise,
    noisy_targets,
    output_curves,
    powers,
    table_curves,
)
from tests.references import exact_solution, relative_error

CELLS = list(PAPER_TABLE1)
LAST = (1.2, 1e15)
cells = pytest.mark.parametrize(("k", "c"), CELLS)


def by_panel(table, k, c):
    rows = table[table["panel"] == column_name(k, c)]
    return rows.pivot(index="x", columns="series", values="y")


def exact(y, k, c):
    x, _ = five_points()
    return exact_solution(powers(x)[:, 1:], y, k, c, "column", digits=50)


@cells
def test_coefficients_in_fifty_digits(k, c):
    _, y = five_points()
    found = coefficients(y, k, c)
    assert relative_error(found[1:], found[0], exact(y, k, c)) < 1e-12
    noisy = noisy_targets(0.012)
    found = coefficients(noisy, k, c)
    for i in (0, 9):
        assert relative_error(found[1:, i], found[0, i], exact(noisy[:, i], k, c)) < 1e-12


@cells
def test_noiseless_columns_are_the_paper_s(k, c):
    """To its three decimals, but for three coefficients of the last column: its rounding error."""
    rows = by_panel(table_curves(), k, c)
    apart = np.abs(rows["noiseless"] - rows["paper noiseless"]) > 5e-4 + 1e-12
    np.testing.assert_array_equal(np.flatnonzero(apart), [2, 3, 4] if (k, c) == LAST else [])


def test_every_printed_deviation_goes_with_the_implied_noise():
    noise = implied_noise()
    assert noise.lowest < noise.sigma < noise.highest
    assert 0.0118 < noise.sigma < 0.0126
    for ratios in noise.ratios.values():
        # The central 95 % of a deviation over ten draws is 0.55 to 1.45 times sigma.
        assert ratios.min() > 0.6 * noise.sigma
        assert ratios.max() < 1.35 * noise.sigma
    assert sum(r.size for r in noise.ratios.values()) == 31


@cells
def test_expected_deviations_reproduce_the_paper_s(k, c):
    """Within a factor of 1.55, where the paper prints at least two digits."""
    rows = by_panel(table_curves(), k, c)
    rows = rows[rows["paper noisy std"] >= 0.01]
    assert len(rows) >= 3
    factor = rows["expected std"] / rows["paper noisy std"]
    assert factor.between(1 / 1.55, 1.55).all()


@cells
def test_expected_deviation_is_the_limit_of_many_draws(k, c):
    _, y = five_points()
    rng = np.random.default_rng(1)
    draws = y[:, None] + implied_noise().sigma * rng.standard_normal((5, 4000))
    expected = by_panel(table_curves(), k, c)["expected std"]
    np.testing.assert_allclose(coefficients(draws, k, c).std(axis=1), expected, rtol=0.06)


@cells
def test_noisy_rows_are_those_of_ten_draws(k, c):
    rows = by_panel(table_curves(seed=3), k, c)
    found = coefficients(noisy_targets(implied_noise().sigma, seed=3), k, c)
    assert found.shape == (11, 10)
    np.testing.assert_allclose(rows["noisy mean"], found.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(rows["noisy std"], found.std(axis=1, ddof=1), rtol=1e-12)


def test_sparse_towards_one():
    """At weak regularisation the high powers vanish at k = 1.2 and not at 1.8."""
    _, y = five_points()
    assert np.abs(coefficients(y, 1.2, 1e15)[7:]).max() < 1e-3
    assert np.abs(coefficients(y, 1.8, 1e15)[7:]).min() > 1e-2


def test_learned_curves_and_their_points():
    """Negligible regularisation meets noisy points to 5 % of the noise, c = 1e4 does not."""
    curves, sigma = output_curves(), implied_noise().sigma
    x, y = five_points()
    gaps = {}
    for k, c in SHOWN:
        part = curves[curves["panel"] == column_name(k, c)]
        lines = {str(name): points for name, points in part.groupby("series")}
        assert len(lines) == 23
        np.testing.assert_array_equal(lines["points"]["y"], y)
        gaps[c] = [
            np.abs(np.interp(x, lines[f"learned{draw}"]["x"], lines[f"learned{draw}"]["y"])
                   - lines[f"points{draw}"]["y"]).max()
            for draw in ("", *(f", draw {i}" for i in range(1, 11)))
        ]  # fmt: skip
    assert max(gaps[1e15]) < 0.05 * sigma
    assert gaps[1e4][0] < 0.1 * sigma
    assert max(gaps[1e4][1:]) > 0.5 * sigma


def test_tables_have_the_five_columns():
    for table in (table_curves(), output_curves()):
        assert list(table.columns) == ["figure", "panel", "series", "x", "y"]
        assert table["y"].notna().all()

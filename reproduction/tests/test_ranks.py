"""Rank tests against scipy and against the worked example of Demsar (JMLR 7, 2006)."""

import numpy as np
import pytest
from scipy import stats

from reproduction.ranks import compare_ranks, critical_difference, friedman, rank_rows

NAMES = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")

# Table 6 of the article: AUC of four variants of C4.5 on 14 sets. In the row of "voting" the
# article ranks the two values printed as 0.975 apart (2 and 3), so they differ here by less
# than the printed digits.
AUC = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


@pytest.fixture(scope="module")
def demsar():
    return compare_ranks(AUC, NAMES, lower_is_better=False, correct_ties=False)


def test_demsar_mean_ranks(demsar):
    ranks = dict(zip(demsar.names, demsar.mean_ranks, strict=True))
    expected = {"C4.5": 3.143, "C4.5+m": 2.000, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964}
    assert ranks == pytest.approx(expected, abs=5e-4)
    assert demsar.names[0] == "C4.5+m+cf"


def test_demsar_friedman(demsar):
    assert demsar.chi2 == pytest.approx(9.28, abs=5e-3)
    assert demsar.f == pytest.approx(3.69, abs=5e-3)
    # The article: the critical value of F(3, 39) at 0.05 is 2.85, so the methods differ.
    assert demsar.f > stats.f.ppf(0.95, 3, 39)
    assert demsar.f_pvalue < 0.05


def test_demsar_critical_difference(demsar):
    assert demsar.cd == pytest.approx(1.25, abs=5e-3)
    # The largest difference, 3.143 - 1.964 = 1.18, is within it: Nemenyi tells none apart.
    assert demsar.groups == (demsar.names,)


@pytest.mark.parametrize(
    ("k", "alpha", "q"),
    [(2, 0.05, 1.960), (4, 0.05, 2.569), (10, 0.05, 3.164), (2, 0.1, 1.645), (10, 0.1, 2.920)],
)
def test_critical_values_of_demsars_table(k, alpha, q):
    n_sets = 20
    scale = np.sqrt(k * (k + 1) / (6 * n_sets))
    assert critical_difference(k, n_sets, alpha) / scale == pytest.approx(q, abs=1.5e-3)


@pytest.mark.parametrize("decimals", [8, 1, 0], ids=["no ties", "some ties", "many ties"])
@pytest.mark.parametrize("shape", [(9, 3), (14, 4), (30, 7)])
def test_chi_square_is_scipys(shape, decimals):
    rng = np.random.default_rng(7)
    errors = np.round(rng.random(shape) + 0.1 * np.arange(shape[1]), decimals)
    has_ties = any(len(set(row)) < shape[1] for row in errors)
    assert has_ties == (decimals < 8)
    expected = stats.friedmanchisquare(*errors.T)
    test = compare_ranks(errors, [f"m{j}" for j in range(shape[1])])
    assert test.chi2 == pytest.approx(expected.statistic)
    assert test.chi2_pvalue == pytest.approx(expected.pvalue)


def test_f_form_is_two_way_anova_of_the_ranks():
    rng = np.random.default_rng(3)
    ranks = rank_rows(np.round(rng.random((12, 5)) + 0.1 * np.arange(5), 1))
    n_sets, k = ranks.shape
    between = n_sets * np.sum((ranks.mean(axis=0) - ranks.mean()) ** 2)
    within = np.sum((ranks - ranks.mean()) ** 2) - between
    anova = (between / (k - 1)) / (within / ((k - 1) * (n_sets - 1)))
    assert friedman(ranks)[1] == pytest.approx(anova)


def test_sets_that_agree_give_an_infinite_f():
    test = compare_ranks(np.tile([0.1, 0.2, 0.3], (6, 1)), "abc")
    assert test.chi2 == pytest.approx(6 * 2)
    assert test.f == np.inf
    assert test.f_pvalue == 0.0


def test_all_tied_is_no_difference():
    test = compare_ranks(np.ones((6, 3)), "abc")
    assert (test.chi2, test.f, test.chi2_pvalue, test.f_pvalue) == (0.0, 0.0, 1.0, 1.0)
    assert test.groups == (("a", "b", "c"),)


def test_groups_overlap_and_leave_out_the_one_that_differs():
    # Mean ranks 1, 2.5, 2.5, 4 with a critical difference of 1.05 on 20 sets.
    rows = [[1, 2, 3, 4], [1, 3, 2, 4]] * 10
    test = compare_ranks(rows, ("a", "b", "c", "d"))
    assert test.cd == pytest.approx(1.049, abs=1e-3)
    assert test.groups == (("b", "c"),)
    few = compare_ranks(rows[:8], ("a", "b", "c", "d"))
    assert few.groups == (("a", "b", "c"), ("b", "c", "d"))


def test_direction_of_the_score():
    errors = np.random.default_rng(0).random((6, 4))
    np.testing.assert_array_equal(rank_rows(errors), rank_rows(1 - errors, lower_is_better=False))


@pytest.mark.parametrize(
    ("errors", "message"),
    [
        ([[1.0, np.nan], [1.0, 2.0]], "1 values that are not finite"),
        ([[1.0, 2.0]], r"shape \(1, 2\)"),
        ([1.0, 2.0], r"shape \(2,\)"),
    ],
)
def test_bad_tables_are_refused(errors, message):
    with pytest.raises(ValueError, match=message):
        rank_rows(errors)


def test_names_must_fit():
    with pytest.raises(ValueError, match="3 columns but names has 2"):
        compare_ranks(np.ones((4, 3)), ["a", "b"])

"""Comparing several methods over several data sets by their ranks.

The tests are those of J. Demsar, "Statistical Comparisons of Classifiers over Multiple Data
Sets", JMLR 7 (2006): Friedman's test asks whether any method differs, Nemenyi's critical
difference says which mean ranks are too close to be told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats


@dataclass(frozen=True)
class RankTest:
    """Mean ranks of k methods on N data sets, with Friedman's and Nemenyi's tests.

    Attributes
    ----------
    names : tuple of str
        The methods, best mean rank first.
    mean_ranks : tuple of float
        Their mean ranks, 1 = best on every set.
    n_sets : int
        Number of data sets, N.
    chi2, chi2_pvalue : float
        Friedman's statistic and its p-value from chi-square with k - 1 degrees of freedom.
    f, f_pvalue : float
        The Iman-Davenport form and its p-value from F with k - 1 and (k - 1)(N - 1) degrees
        of freedom. It is infinite when every set gives the same order.
    alpha : float
        The level of the critical difference.
    cd : float
        Nemenyi's critical difference of mean ranks.
    groups : tuple of tuple of str
        Largest sets of methods whose mean ranks all lie within `cd`; a method that differs
        from every other one is in no group.
    """

    names: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    n_sets: int
    chi2: float
    chi2_pvalue: float
    f: float
    f_pvalue: float
    alpha: float
    cd: float
    groups: tuple[tuple[str, ...], ...]


def rank_rows(errors: ArrayLike, *, lower_is_better: bool = True) -> NDArray[np.float64]:
    """Rank the methods on each set: 1 = best, ties share their mean rank.

    Parameters
    ----------
    errors : array-like of shape (n_sets, n_methods)
        One error (or score) per set and method, all finite.
    lower_is_better : bool, default=True
        False for scores.

    Returns
    -------
    ndarray of shape (n_sets, n_methods)
    """
    table = np.asarray(errors, dtype=float)
    if table.ndim != 2 or min(table.shape) < 2:
        raise ValueError(
            f"errors has shape {table.shape}; ranks need a table of at least two sets (rows) "
            "and two methods (columns)."
        )
    if not np.isfinite(table).all():
        raise ValueError(
            f"errors has {np.count_nonzero(~np.isfinite(table))} values that are not finite; "
            "leave out those sets or methods first."
        )
    return stats.rankdata(table if lower_is_better else -table, axis=1)


def friedman(ranks: NDArray[np.float64], *, correct_ties: bool = True) -> tuple[float, float]:
    """Friedman's chi-square and its Iman-Davenport F, from ranks within each set.

    With mean ranks R_j of k methods on N sets::

        chi2 = 12 N / (k (k + 1)) * sum_j (R_j - (k + 1) / 2)^2 / tie
        F    = (N - 1) chi2 / (N (k - 1) - chi2)

    where ``tie = 1 - sum_ties (t^3 - t) / (N (k^3 - k))`` over all groups of t equal values
    in a set. The corrected chi2 is that of `scipy.stats.friedmanchisquare`.

    Parameters
    ----------
    ranks : ndarray of shape (n_sets, n_methods)
        From `rank_rows`.
    correct_ties : bool, default=True
        False gives the uncorrected statistic that Demsar's article uses.

    Returns
    -------
    chi2, f : float
        Both 0 when every set ties all methods; f is inf when all sets agree.
    """
    n_sets, k = ranks.shape
    spread = np.sum((ranks.mean(axis=0) - (k + 1) / 2) ** 2)
    chi2 = 12 * n_sets / (k * (k + 1)) * spread
    tie = _tie_factor(ranks) if correct_ties else 1.0
    if tie <= 0 or spread == 0:
        return 0.0, 0.0
    chi2 = float(chi2 / tie)
    rest = n_sets * (k - 1) - chi2
    # Rounding leaves a rest of about eps * N k where the sets agree exactly.
    agree = rest <= 1e-12 * n_sets * k
    return chi2, float("inf") if agree else float((n_sets - 1) * chi2 / rest)


def critical_difference(n_methods: int, n_sets: int, alpha: float = 0.05) -> float:
    """Nemenyi's critical difference of mean ranks.

    ``CD = q / sqrt(2) * sqrt(k (k + 1) / (6 N))`` with q the upper `alpha` point of the
    studentized range of k values and infinite degrees of freedom.

    Examples
    --------
    >>> from reproduction.ranks import critical_difference
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    q = stats.studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))


def compare_ranks(
    errors: ArrayLike,
    names: Sequence[str],
    *,
    alpha: float = 0.05,
    lower_is_better: bool = True,
    correct_ties: bool = True,
) -> RankTest:
    """Rank the methods on each set and test whether they differ.

    Parameters
    ----------
    errors : array-like of shape (n_sets, n_methods)
        One error per set and method.
    names : sequence of str
        Names of the methods.
    alpha : float, default=0.05
        Level of Nemenyi's critical difference.
    lower_is_better : bool, default=True
        False for scores.
    correct_ties : bool, default=True
        See `friedman`.

    Returns
    -------
    RankTest

    Examples
    --------
    >>> from reproduction.ranks import compare_ranks
    >>> test = compare_ranks([[0.1, 0.3], [0.2, 0.3], [0.1, 0.4]], ["ours", "theirs"])
    >>> test.names, test.mean_ranks
    (('ours', 'theirs'), (1.0, 2.0))
    """
    ranks = rank_rows(errors, lower_is_better=lower_is_better)
    n_sets, k = ranks.shape
    if len(names) != k:
        raise ValueError(f"errors has {k} columns but names has {len(names)} entries.")
    chi2, f = friedman(ranks, correct_ties=correct_ties)
    means = ranks.mean(axis=0)
    order = np.argsort(means, kind="stable")
    cd = critical_difference(k, n_sets, alpha)
    sorted_names = tuple(names[j] for j in order)
    return RankTest(
        names=sorted_names,
        mean_ranks=tuple(float(r) for r in means[order]),
        n_sets=n_sets,
        chi2=chi2,
        chi2_pvalue=float(stats.chi2.sf(chi2, k - 1)),
        f=f,
        f_pvalue=float(stats.f.sf(f, k - 1, (k - 1) * (n_sets - 1))),
        alpha=alpha,
        cd=cd,
        groups=_groups(sorted_names, means[order], cd),
    )


def _tie_factor(ranks: NDArray[np.float64]) -> float:
    """1 without ties, 0 when every set ties all methods."""
    n_sets, k = ranks.shape
    tied = 0
    for row in ranks:
        sizes = np.unique(row, return_counts=True)[1]
        tied += int(np.sum(sizes**3 - sizes))
    return 1.0 - tied / (n_sets * (k**3 - k))


def _groups(
    names: tuple[str, ...], mean_ranks: NDArray[np.float64], cd: float
) -> tuple[tuple[str, ...], ...]:
    """Longest runs, of two methods or more, of sorted mean ranks that span at most `cd`."""
    ends = np.searchsorted(mean_ranks, mean_ranks + cd, side="right")
    groups = []
    reached = 0
    for start, end in enumerate(ends):
        # A run that ends where an earlier one ended is part of it.
        if end > reached and end - start > 1:
            groups.append(names[start:end])
        reached = max(reached, end)
    return tuple(groups)

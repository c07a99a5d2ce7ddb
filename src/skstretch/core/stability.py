"""How many false features a selection by complementary halves is expected to have, at most.

A feature that is selected in a half with a probability of at most ``theta = q / p`` (q features
are selected of p) counts as false. What follows bounds how many of them are selected in at least
the share `threshold` of ``2 n_pairs`` halves (Shah and Samworth 2013):

- ``"none"``: no assumption, ``q**2 / (p (2 threshold - 1))`` as Meinshausen and Buehlmann had it;
- ``"unimodal"``: the share of pairs that select a feature in both halves has one mode (theorem 2);
- ``"r-concave"``: the shares of pairs and of halves have r-concave distributions with r = -1/2 and
  -1/4, whose tails are bounded numerically.
"""

import math
from functools import cache

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from skstretch.core.types import Index, Mask

BOUNDS = ("r-concave", "unimodal", "none")


def complementary_halves(
    units: Index, strata: Index, n_pairs: int, rng: np.random.RandomState
) -> Mask:
    """Pairs of disjoint halves of whole units as a boolean array (n_pairs, 2, n_samples).

    Units of one stratum are dealt to the halves in turns; of an odd number one is in neither.
    """
    n_units = int(units.max()) + 1
    stratum = np.zeros(n_units, dtype=int)
    stratum[units] = strata
    pairs = np.zeros((n_pairs, 2, units.size), dtype=bool)
    for pair in pairs:
        order = rng.permutation(n_units)
        order = order[np.argsort(stratum[order], kind="stable")][: n_units - n_units % 2]
        # which of the two comes first is drawn, lest ends of strata meet in one half
        first = rng.randint(0, 2, n_units // 2)
        side = np.full(n_units, -1)
        side[order] = np.column_stack([first, 1 - first]).ravel()
        pair[0], pair[1] = side[units] == 0, side[units] == 1
    return pairs


def parts_of_units(
    units: Index, strata: Index, n_parts: int, rng: np.random.RandomState
) -> list[Index]:
    """Samples in parts of whole units, drawn at random; units of a stratum are dealt in turns."""
    n_units = int(units.max()) + 1
    stratum = np.zeros(n_units, dtype=int)
    stratum[units] = strata
    order = rng.permutation(n_units)
    order = order[np.argsort(stratum[order], kind="stable")]
    part = np.empty(n_units, dtype=int)
    part[order] = np.arange(n_units) % n_parts
    return [np.flatnonzero(part[units] == number) for number in range(n_parts)]


def false_selections(
    threshold: float, n_selected: int, n_features: int, n_pairs: int, bound: str = "r-concave"
) -> float:
    """The bound on the expected number of false features; never above their number.

    Parameters
    ----------
    threshold : float
        Share of the halves that must select a feature, above 1/2.
    n_selected, n_features : int
        Features that a half selects at most, and how many there are.
    n_pairs : int
        Pairs of halves.
    bound : {"r-concave", "unimodal", "none"}
        What is assumed. What is assumed for a weaker bound follows from what a stronger one needs.
    """
    theta, half_steps = n_selected / n_features, _steps(threshold, n_pairs)
    share = half_steps / (2 * n_pairs)
    found = [float(n_features), theta * n_selected / (2 * share - 1)]
    if bound != "none":
        found.append(_unimodal_factor(share, theta, n_pairs) * theta * n_selected)
    if bound == "r-concave":
        both = tail(theta**2, half_steps - n_pairs, n_pairs, -0.5)
        either = tail(theta, half_steps, 2 * n_pairs, -0.25)
        found.append(min(both, either) * n_features)
    return min(found)


def least_threshold(
    expected: float, n_selected: int, n_features: int, n_pairs: int, bound: str = "r-concave"
) -> float | None:
    """The least share of halves for which no more false features are expected; None if none is."""
    low, high = n_pairs, 2 * n_pairs  # the bound falls: `low` is too low, `high` may do
    if false_selections(1.0, n_selected, n_features, n_pairs, bound) > expected:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        share = middle / (2 * n_pairs)
        if false_selections(share, n_selected, n_features, n_pairs, bound) <= expected:
            high = middle
        else:
            low = middle
    return high / (2 * n_pairs)


def _steps(threshold: float, n_pairs: int) -> int:
    """The halves that a threshold asks for: more than one in two."""
    return max(n_pairs + 1, math.ceil(2 * n_pairs * threshold * (1 - 1e-12)))


def _unimodal_factor(share: float, theta: float, n_pairs: int) -> float:
    """C(threshold, B) of theorem 2; infinite where the theorem says nothing."""
    from_ = min(0.5 + theta**2, 0.5 + 0.5 / n_pairs + 0.75 * theta**2)
    if theta > 1 / math.sqrt(3) or share <= from_:
        return math.inf
    if share <= 0.75:
        rest = 2 * share - 1 - 0.5 / n_pairs
        return 0.5 / rest if rest > 0 else math.inf
    return 4 * (1 - share + 0.5 / n_pairs) / (1 + 1 / n_pairs)


@cache
def tail(mean: float, at: int, n_steps: int, r: float) -> float:
    """The largest ``P(N >= at)`` of an r-concave N in 0 .. n_steps with E N = mean n_steps, r < 0.

    The largest belongs to a distribution whose r-th power is a line ``a + i`` for i = 0 .. m, with
    any mass up to that line at m + 1. For every m the mean settles this mass and leaves a free,
    between the lines that end at m and at m + 1. One where the theory has no bound.
    """
    total = mean * n_steps
    first = math.ceil(2 * total) + 1
    if at < first or first > n_steps - 1:
        return 1.0
    first = max(first, at - 1)
    largest, before = 0.0, _line(total, first, r)
    for last in range(first, n_steps):
        after = _line(total, last + 1, r)
        steps = np.arange(last + 1)

        def missed(log_a: float, steps: Index = steps, last: int = last) -> float:
            logs = np.log(math.exp(log_a) + steps) / r
            mass = np.exp(logs - logs.max())
            return float((last + 1 - total) * mass[:at].sum() / ((last + 1 - steps) @ mass))

        ends = [missed(after), missed(before)]
        if before - after > 1e-9:
            inner = minimize_scalar(missed, bounds=(after, before), method="bounded")
            ends.append(float(inner.fun))
        largest, before = max(largest, 1.0 - min(ends)), after
    return min(largest, 1.0)


@cache
def _line(total: float, last: int, r: float) -> float:
    """``log a`` for which ``(a + i)**(1/r)``, i = 0 .. last, has the mean `total`."""
    steps = np.arange(last + 1)

    def excess(log_a: float) -> float:
        logs = np.log(math.exp(log_a) + steps) / r
        mass = np.exp(logs - logs.max())
        return float(steps @ mass / mass.sum() - total)

    low, high = -60.0, 25.0
    if excess(high) < 0:  # flat already
        return high
    return float(brentq(excess, low, high, xtol=1e-10)) if excess(low) < 0 else low

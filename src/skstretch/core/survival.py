"""Times until an event, some of them censored: concordance, baseline hazard, survival curves.

One number holds both parts of a target, +time where the event was seen and −time where the sample
was censored, −0.0 included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from skstretch.core.types import Array, Index, Mask

# Numbers of pairs that are compared at a time.
PAIRS = 2**21


def signed_times(event: Mask, time: Array) -> Array:
    """Both parts of targets as one number each (n)."""
    return np.where(event, time, -time)


def event_and_time(signed: Array) -> tuple[Mask, Array]:
    """Events and times (n) of signed times."""
    return ~np.signbit(signed), np.abs(signed)


def weighted_pairs(
    event: Mask, time: Array, risk: Array, weights: Array, each: Array | None = None
) -> tuple[Array, Array]:
    """For every sample the weights of the others that it is in order with, and compared with.

    A sample with an event is compared with all that were still without one afterwards, and with
    those censored at that time. In order is the pair whose first has the larger risk; equal risks
    count half. `each` multiplies the pairs of every event (n).
    """
    order, pairs = np.zeros(len(time)), np.zeros(len(time))
    events = np.flatnonzero(event & (weights > 0))
    factor = np.ones(len(time)) if each is None else each
    size = max(1, PAIRS // max(1, len(time)))
    for rows in (events[at : at + size] for at in range(0, len(events), size)):
        t = time[rows, None]
        later = (time > t) | ((time == t) & ~event)
        right = later * (0.5 * (risk == risk[rows, None]) + (risk < risk[rows, None]))
        own = weights[rows] * factor[rows]
        for total, found in ((order, right), (pairs, 1.0 * later)):
            total[rows] += factor[rows] * (found @ weights)
            total += own @ found
    return order, pairs


def concordance(
    event: Mask, time: Array, risk: Array, weights: Array | None = None, each: Array | None = None
) -> float:
    """Harrell's: the share of comparable pairs in which the larger risk has the earlier event."""
    w = np.ones(len(time)) if weights is None else weights
    order, pairs = weighted_pairs(event, time, risk, w, each)
    if not w @ pairs > 0.0:
        raise ValueError(
            "no two samples can be compared: concordance needs an event before the time of another "
            "sample. Pass more samples, or such with events."
        )
    return float((w @ order) / (w @ pairs))


def concordance_losses(event: Mask, time: Array, risk: Array, weights: Array) -> Array:
    """What every sample adds to 1 − concordance (n): their weighted mean is that.

    The concordance to first order in the weights, so that the spread of these numbers is that of
    the concordance (the infinitesimal jackknife); NaN where nothing can be compared.
    """
    order, pairs = weighted_pairs(event, time, risk, weights)
    total = 0.5 * float(weights @ pairs)
    if not total > 0.0:
        return np.full(len(time), np.nan)
    share = 0.5 * float(weights @ order) / total
    return np.asarray(1.0 - share - weights.sum() / total * (order - share * pairs))


def uncensored(event: Mask, time: Array, weights: Array) -> Array:
    """Kaplan and Meier's probability (n) of not being censored before the time of each sample.

    Of equal times events come first.
    """
    times = np.unique(time)
    place = np.searchsorted(times, time)
    gone = np.bincount(place, weights, times.size)
    censored = np.bincount(place, weights * ~event, times.size)
    at_risk = np.cumsum(gone[::-1])[::-1] - (gone - censored)
    left = np.cumprod(1.0 - censored / np.where(at_risk > 0, at_risk, 1.0))
    return np.asarray(np.concatenate([[1.0], left[:-1]])[place])


def uno_concordance(
    event: Mask, time: Array, risk: Array, weights: Array | None = None, until: float | None = None
) -> float:
    """Uno's: pairs count 1/G² of the time of their event, G as in `uncensored`, up to `until`.

    What it estimates does not depend on how samples are censored.
    """
    w = np.ones(len(time)) if weights is None else weights
    each = uncensored(event, time, w) ** -2.0
    if until is not None:
        each = np.where(time < until, each, 0.0)
    return concordance(event, time, risk, w, each)


@dataclass(frozen=True)
class Baseline:
    """The hazard of a sample of risk score 0, by Breslow.

    Attributes
    ----------
    times : array of shape (T,)
        Times of events, rising.
    hazard : array of shape (T,)
        The cumulative hazard from each of them on.
    last : float
        The last time of all samples: nothing is known beyond.
    """

    times: Array
    hazard: Array
    last: float

    @classmethod
    def of(
        cls, event: Mask, time: Array, eta: Array, weights: Array, entry: Array | None = None
    ) -> Baseline:
        times, count, _ = _at_risk(event, time, weights)
        top = float(eta.max())
        x = weights * np.exp(eta - top)
        at_risk = _weight_from(times, time, x)
        if entry is not None:  # not yet those who enter then or later
            at_risk = at_risk - _weight_from(times, entry, x)
        steps = np.exp(np.log(count) - np.log(at_risk) - top)
        return cls(times, np.cumsum(steps), float(time[weights > 0].max()))

    def cumulative(self, times: Array) -> Array:
        """The cumulative hazard at some times, none of them beyond the last."""
        if not np.all(times <= self.last):
            odd = times[~(times <= self.last)][0]
            raise ValueError(
                f"times has {odd:g}, and the last of the training data is {self.last:g}: nothing "
                "is known beyond. Pass times up to it."
            )
        known = np.concatenate([[0.0], self.hazard])
        return known[np.searchsorted(self.times, times, "right")]

    def hazards(self, eta: Array, times: Array) -> Array:
        """Cumulative hazards (n, T) of samples with scores η (n)."""
        with np.errstate(over="ignore"):
            return np.minimum(
                np.exp(eta)[:, None] * self.cumulative(times), float(np.finfo(float).max)
            )

    def survival(self, eta: Array, times: Array) -> Array:
        """The probability (n, T) of no event up to and at some times."""
        return np.exp(-self.hazards(eta, times))

    def median(self, eta: Array) -> Array:
        """The first time (n) at which at most half are without event; inf where it is not seen."""
        with np.errstate(over="ignore"):
            place = np.searchsorted(self.hazard, np.log(2.0) * np.exp(-eta), "left")
        return np.asarray(np.append(self.times, np.inf)[place])

    def restricted_mean(self, eta: Array, until: float) -> Array:
        """The mean time without event (n), counted up to a time: the area under the curve."""
        inside = self.times[self.times < until]
        corners = np.concatenate([[0.0], inside, [until]])
        curve = self.survival(eta, corners[:-1])
        return np.asarray(curve @ np.diff(corners))


def kaplan_meier(event: Mask, time: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Times of events (T,), the share without event from each on, and its relative variance.

    The share is ``prod (1 - d / n)`` of d events among n at risk, the variance of its logarithm
    Greenwood's ``sum d / (n (n - d))``.
    """
    times, d, n = _at_risk(event, time, weights)
    left = np.asarray(np.cumprod(1.0 - d / n), dtype=np.float64)
    with np.errstate(divide="ignore"):
        return times, left, np.cumsum(d / (n * (n - d)))


def _at_risk(event: Mask, time: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Times of events, and the weights of events and of samples at risk (T,) at each."""
    happens = event & (weights > 0)
    times, place = np.unique(time[happens], return_inverse=True)
    events = np.bincount(place, weights[happens], times.size)
    return times, events.astype(np.float64), _weight_from(times, time, weights)


def _weight_from(times: Array, time: Array, weights: Array) -> Array:
    """The weight (T,) of samples whose time is at or after each of some times."""
    order = np.argsort(time, kind="stable")
    later = np.append(np.cumsum(weights[order][::-1])[::-1], 0.0)
    return np.asarray(later[np.searchsorted(time[order], times)])


def kaplan_meier_at(
    event: Mask, time: Array, weights: Array, at: float, z: float
) -> tuple[float, float, float]:
    """The share without event at a time, between limits of z standard errors.

    These of ``log(-log S)``, so that they lie between 0 and 1 (Kalbfleisch and Prentice); all of
    these where no event or all events have happened.
    """
    times, left, variance = kaplan_meier(event, time, weights)
    place = int(np.searchsorted(times, at, "right")) - 1
    share = 1.0 if place < 0 else float(left[place])
    if not 0.0 < share < 1.0:
        return share, 0.0, 1.0
    half = z * np.sqrt(variance[place]) / -np.log(share)
    return share, float(share ** np.exp(half)), float(share ** np.exp(-half))


def log_rank(event: Mask, time: Array, groups: Index, weights: Array) -> tuple[float, int, float]:
    """Whether groups, numbered from 0, have the same hazard: chi², degrees of freedom, p-value.

    ``u' V^-1 u`` of observed less expected events, ``u_g = sum d_g - d n_g / n`` over the times of
    events, and ``V = sum d (n - d) / (n - 1) (diag(q) - q q')`` with ``q = n_g / n``.
    """
    times, d, n = _at_risk(event, time, weights)
    G = int(groups.max()) + 1
    own = weights * (groups == np.arange(G)[:, None])
    shares = np.array([_weight_from(times, time, one) for one in own]) / n
    u = own @ event - shares @ d
    spread = np.where(n > 1.0, d * (n - d) / np.where(n > 1.0, n - 1.0, 1.0), 0.0)
    V = np.diag(shares @ spread) - (shares * spread) @ shares.T
    chi2 = float(u @ np.linalg.pinv(V, hermitian=True) @ u)
    return chi2, G - 1, float(chdtrc(G - 1, chi2))


def rank_groups(values: Array, weights: Array, n_groups: int) -> Index:
    """Numbers of groups of like weight (n,), by the ranks of values; equal values stay together."""
    _, place = np.unique(values, return_inverse=True)
    mass = np.bincount(place, weights)
    middle = (np.cumsum(mass) - 0.5 * mass) / mass.sum()
    number = np.minimum(n_groups * middle, n_groups - 1).astype(np.intp)
    return np.asarray(np.unique(number[place], return_inverse=True)[1])

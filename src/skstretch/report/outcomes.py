"""What a page shows of survival and of counts: curves by risk, and groups beside what was seen."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaincinv

from skstretch.core.survival import (
    event_and_time,
    kaplan_meier,
    kaplan_meier_at,
    log_rank,
    rank_groups,
)
from skstretch.core.types import Array, Index
from skstretch.report.subject import Subject
from skstretch.style import count, number, plain, share

THIRDS = ("low risk", "middle risk", "high risk")
# groups of a calibration at most, and samples of one at least
GROUPS, GROUP_SIZE = 5, 20
# corners of a curve, and standard errors of two-sided 90 %
CORNERS, Z = 200, 1.645

Points = list[dict[str, float]]


@dataclass(frozen=True)
class Third:
    """Samples of like risk: Kaplan and Meier's curve, and what a table says of it."""

    name: str
    time: Array
    left: Array
    row: tuple[str, ...]


@dataclass(frozen=True)
class Curves:
    """Survival by thirds of the risk, with the test whether they differ."""

    thirds: list[Third]
    head: tuple[str, ...]
    test: str


@dataclass(frozen=True)
class Judged:
    """Scores of samples, by models that have not seen them where `left_out`, and what happened.

    The scores are risks of survival, or rates of counts.
    """

    subject: Subject
    scores: Array
    Y: Array
    weights: Array
    left_out: bool

    @property
    def n_groups(self) -> int:
        return int(np.clip(np.count_nonzero(self.weights) // GROUP_SIZE, 1, GROUPS))


def judged(subject: Subject, outputs: Array | None) -> Judged | None:
    """Held-out outputs (n, 1) beside y; where none were kept, those of the data given."""
    left_out = outputs is not None and bool(np.isfinite(outputs).any())
    if subject.y is None or not (left_out or subject.X is not None):
        return None
    scores = np.asarray(outputs if left_out else subject.model.predict(subject.X), dtype=float)
    scores = scores.reshape(subject.shape[0])
    known = np.isfinite(scores) & (subject.weights > 0)
    return Judged(subject, scores[known], subject.Y[known, 0], subject.weights[known], left_out)


def chosen_time(subject: Subject) -> float:
    """The time that was asked for; else the middle one of the events."""
    event, time = event_and_time(subject.Y[:, 0])
    if subject.at is None:
        return float(np.quantile(time[event], 0.5, method="lower"))
    last = subject.state.baseline.last  # type: ignore[union-attr]
    if not 0.0 < subject.at <= last:
        raise ValueError(
            f"at={subject.at:g} must be above 0 and at most {last:g}, the last time of the "
            "training data: nothing is known beyond."
        )
    return subject.at


def curves_of(found: Judged) -> Curves:
    """Curves of thirds of the risk."""
    event, time = event_and_time(found.Y)
    groups, at = rank_groups(found.scores, found.weights, len(THIRDS)), chosen_time(found.subject)
    names = THIRDS if groups.max() == 2 else THIRDS[::2] if groups.max() else ("all samples",)
    thirds = [
        _third(name, event[own], time[own], found.weights[own], at)
        for name, own in ((name, groups == g) for g, name in enumerate(names))
    ]
    head = ("samples of", "samples", "events", "half have had it at", f"without it at {number(at)}")
    return Curves(thirds, (*head, "90\u00a0% interval"), _test(event, time, groups, found.weights))


def _third(name: str, event: Any, time: Array, weights: Array, at: float) -> Third:
    times, left, _ = kaplan_meier(event, time, weights)
    half = times[left <= 0.5]
    seen, low, high = kaplan_meier_at(event, time, weights, at, Z)
    facts = number(half[0]) if half.size else "not reached", share(seen, 0)
    row = (
        name,
        str(time.size),
        str(int(event.sum())),
        *facts,
        f"{share(low, 0)} to {share(high, 0)}",
    )
    x = np.concatenate([[0.0], times, [time.max()]])
    y = np.concatenate([[1.0], left, left[-1:] if left.size else [1.0]])
    kept = np.unique(np.linspace(0, x.size - 1, min(x.size, CORNERS)).astype(np.intp))
    return Third(name, x[kept], y[kept], row)


def _test(event: Any, time: Array, groups: Index, weights: Array) -> str:
    if not groups.max():
        return "All samples have the same risk: there is nothing to compare."
    chi2, degrees, p = log_rank(event, time, groups, weights)
    written = "below 0.0001" if p < 1e-4 else plain(float(f"{p:.2g}"))
    of = count(degrees, "degree", "degrees")
    return f"Log-rank test of the curves: p-value {written} (chi² {number(chi2)}, {of} of freedom)."


def survival_calibration(found: Judged) -> Points:
    """Groups by their predicted survival at a time, beside Kaplan and Meier's of the group."""
    event, time = event_and_time(found.Y)
    at, baseline = chosen_time(found.subject), found.subject.state.baseline
    said = baseline.survival(found.scores, np.array([at]))[:, 0]  # type: ignore[union-attr]
    points = []
    for own in _groups(said, found):
        w = found.weights[own]
        seen, low, high = kaplan_meier_at(event[own], time[own], w, at, Z)
        expected = float(np.average(said[own], weights=w))
        points.append(point(expected, seen, low, high, w.size))
    return points


def rate_calibration(found: Judged) -> Points:
    """Groups by their predicted rate, beside the rate that was seen, with Poisson's interval."""
    points = []
    for own in _groups(found.scores, found):
        w, y = found.weights[own], found.Y[own]
        events, exposure = float(w @ y), float(w.sum())
        low = gammaincinv(events, 0.05) if events else 0.0
        high = gammaincinv(events + 1.0, 0.95)
        said = float(np.average(found.scores[own], weights=w))
        seen, low, high = (value / exposure for value in (events, low, high))
        points.append(point(said, seen, low, high, w.size))
    return points


def _groups(said: Array, found: Judged) -> list[Any]:
    numbers = rank_groups(said, found.weights, found.n_groups)
    return [numbers == g for g in range(int(numbers.max()) + 1)]


def point(said: float, seen: float, low: Any, high: Any, n: float) -> dict[str, float]:
    """What was said beside what was seen in n cases, and its interval."""
    return {"said": said, "seen": seen, "low": float(low), "high": float(high), "n": float(n)}

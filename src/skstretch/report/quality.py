"""How good a model is: curves, groups and intervals of outputs that have not seen their samples.

Single samples: what makes their prediction what it is, and which of them deserve a look.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaincinv
from sklearn.metrics import confusion_matrix, roc_auc_score, roc_curve
from sklearn.model_selection import KFold

from skstretch.core.classes import calibrated, decided, margins, probabilities
from skstretch.core.crossfit import jackknife_plus, residual_width
from skstretch.core.survival import (
    event_and_time,
    kaplan_meier,
    kaplan_meier_at,
    log_rank,
    rank_groups,
)
from skstretch.core.types import Array, Index
from skstretch.estimators import StretchyRegressor
from skstretch.estimators.base import base_of, contributions_of
from skstretch.estimators.influence import influence_of
from skstretch.estimators.samples import reference_of
from skstretch.estimators.summary import stored_evidence
from skstretch.exceptions import NeedsInverseError, RowsForgottenError
from skstretch.report.candidates import PAGE_WORK, Known, Panel, evenly, quiet
from skstretch.report.subject import Subject, distinct
from skstretch.style import CURVES, count, near_one, number, plain, share

# Out-of-fold scores of a classifier: ROC, confusion, reliability.

# what can be told apart in a drawing: corners of a curve, classes of a table, bins of samples
CURVE_POINTS, MOST_CLASSES, N_BINS = 60, 20, 8
# tenths that are kept aside, for intervals and for probabilities
N_FOLDS = 10


Points = list[dict[str, float]]


def roc(outputs: Array, codes: Index) -> list[dict[str, Any]]:
    """A curve for the second class of two, or for each of the most frequent classes."""
    scores, curves = margins(outputs), []
    for label in frequent(codes, scores.shape[1], CURVES) if scores.shape[1] > 2 else [1]:
        truth = codes == label
        if truth.all() or not truth.any():
            continue
        false, true, _ = roc_curve(truth, scores[:, label])
        kept = evenly(false.size, CURVE_POINTS)
        area = float(roc_auc_score(truth, scores[:, label]))
        curves.append({"label": label, "area": area, "x": false[kept], "y": true[kept]})
    return curves


def frequent(codes: Index, n_classes: int, most: int) -> list[int]:
    """The most frequent classes, in their order."""
    order = np.argsort(-np.bincount(codes, minlength=n_classes), kind="stable")
    return sorted(order[:most].tolist())


def confusion(outputs: Array, codes: Index, n_classes: int, weights: Array | None = None) -> Any:
    """Counts, or sums of weights, of observed (rows) and predicted (columns) classes."""
    labels = np.arange(n_classes)
    return confusion_matrix(codes, decided(outputs), labels=labels, sample_weight=weights)


def crossfit_probabilities(outputs: Array, codes: Index, n_classes: int) -> Array | None:
    """Probabilities (n, n_classes) whose curve is learned from nine tenths of the other samples."""
    n = codes.size
    if n < 2 * N_FOLDS:
        return None
    found = np.full((n, n_classes), np.nan)
    for train, test in KFold(N_FOLDS, shuffle=True, random_state=0).split(outputs):
        if np.unique(codes[train]).size < n_classes:
            return None
        learned = calibrated(outputs[train], codes[train], np.ones(train.size))
        found[test] = probabilities(outputs[test], *learned)
    return found


def reliability(probability: Array, happened: Any) -> Points:
    """Bins of equal counts: mean probability, observed share and its 90 % Wilson interval."""
    order = np.argsort(probability, kind="stable")
    bins = np.array_split(order, min(N_BINS, max(1, order.size // 10)))
    return [
        _point(float(probability[rows].mean()), float(happened[rows].mean()), rows.size)
        for rows in bins
    ]


def _point(said: float, seen: float, n: int) -> dict[str, float]:
    """What was said beside the share that was seen in n cases, with its interval."""
    return point(said, seen, *wilson(seen, n), n)


def wilson(share: float, n: int) -> tuple[float, float]:
    """The 90 % score interval of a share seen in n cases."""
    centre = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * np.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def class_note(table: Any, curves: list[dict[str, Any]]) -> str:
    """Shares of right answers of a confusion matrix, and the mean area under ROC curves."""
    sizes = table.sum(axis=1)
    right, seen = np.diag(table), sizes > 0
    wrong = 1.0 - np.mean(right[seen] / sizes[seen])
    areas = [curve["area"] for curve in curves]
    area = f", area under the ROC curve {near_one(np.mean(areas))}" if areas else ""
    return f"{share(right.sum() / sizes.sum())} right, balanced error rate {share(wrong)}{area}"


def number_note(observed: Array, predicted: Array, weights: Array, mean: float) -> str:
    """Errors of one target beside the `mean` square error without features.

    Nothing where no fold has tested it.
    """
    known = np.isfinite(predicted)
    if not known.any():
        return ""
    own = float(np.average(np.square(observed - predicted)[known], weights=weights[known]))
    r2 = near_one(1.0 - own / mean if mean > 0 else np.nan)
    return f"typical error {number(np.sqrt(own))}, out-of-fold R² {r2}"


# Survival and counts: curves by risk, and groups beside what was seen.

THIRDS = ("low risk", "middle risk", "high risk")
# groups of a calibration at most, and samples of one at least
GROUPS, GROUP_SIZE = 5, 20
# corners of a curve, and standard errors of two-sided 90 %
CORNERS, Z = 200, 1.645


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

    def calibration(self, said: Array, seen: Callable[[Any, Array], Any]) -> Points:
        """Groups by what was said, beside what was `seen` of some samples, with its interval."""
        n_groups = int(np.clip(np.count_nonzero(self.weights) // GROUP_SIZE, 1, GROUPS))
        numbers, points = rank_groups(said, self.weights, n_groups), []
        for g in range(int(numbers.max()) + 1):
            own = numbers == g
            w = self.weights[own]
            found, low, high = seen(own, w)
            expected = float(np.average(said[own], weights=w))
            points.append(point(expected, found, low, high, w.size))
        return points

    @property
    def origin(self) -> str:
        """Where the risks or rates are from, in a sentence."""
        what = "risk" if self.subject.kind == "survival" else "rate"
        if not self.left_out:
            return f"No left-out {what}s were kept: these have seen the samples, and look too good."
        return f"Each {what} is by a model that has not seen the sample; " + (
            "the whole search was repeated without it."
            if self.subject.nested
            else "the choice among models has seen it."
        )


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
    if subject.at is not None:
        return subject.at
    event, time = event_and_time(subject.Y[:, 0])
    return float(np.quantile(time[event], 0.5, method="lower"))


def survival_curves(found: Judged) -> Panel:
    """Curves of thirds of the risk, by Kaplan and Meier, with the test whether they differ."""
    event, time = event_and_time(found.Y)
    groups, at = rank_groups(found.scores, found.weights, len(THIRDS)), chosen_time(found.subject)
    names = THIRDS if groups.max() == 2 else THIRDS[::2] if groups.max() else ("all samples",)
    curves, rows = [], []
    for g, name in enumerate(names):
        seen = event[groups == g], time[groups == g], found.weights[groups == g]
        times, left, _ = kaplan_meier(*seen)
        x, y = np.r_[0.0, times, seen[1].max()], np.r_[1.0, left, left[-1:] if left.size else 1.0]
        kept, half = evenly(x.size, CORNERS), times[left <= 0.5]
        label, step = np.repeat(name, kept.size), np.arange(kept.size)
        curves.append({"label": label, "step": step, "time": x[kept], "left": y[kept]})
        facts = str(int(seen[0].sum())), number(half[0]) if half.size else "not reached"
        middle, low, high = (share(value, 0) for value in kaplan_meier_at(*seen, at, Z))
        rows.append((name, str(seen[0].size), *facts, middle, f"{low} to {high}"))
    columns = {name: np.concatenate([curve[name] for curve in curves]) for name in curves[0]}
    head = ("samples of", "samples", "events", "half have had it at", f"without it at {number(at)}")
    caption = (
        "The share of samples without the event (Kaplan and Meier), in three groups by "
        f"their risk. {found.origin} {_test(event, time, groups, found.weights)} Risks that were "
        "left out come from several models, so that the p-value is a guide and no exact one."
    )
    return Panel(columns, caption, rows, (*head, "90\u00a0% interval"))


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
    return found.calibration(said, lambda own, w: kaplan_meier_at(event[own], time[own], w, at, Z))


def rate_calibration(found: Judged) -> Points:
    """Groups by their predicted rate, beside the rate that was seen, with Poisson's interval."""

    def seen(own: Any, w: Array) -> Array:
        events = float(w @ found.Y[own])
        low = gammaincinv(events, 0.05) if events else 0.0
        return np.array([events, low, gammaincinv(events + 1.0, 0.95)]) / w.sum()

    return found.calibration(found.scores, seen)


def point(said: float, seen: Any, low: Any, high: Any, n: float) -> dict[str, float]:
    """What was said beside what was seen in n cases, and its interval."""
    return {"said": said, "seen": float(seen), "low": float(low), "high": float(high), "n": n}


# Jackknife+ intervals of samples that the model has not seen, and how often they hold.

COVERAGE = 0.9
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Bars:
    """Intervals at COVERAGE of shape (n, t), and the coverage seen at several levels, (t, L).

    `method` is "plus", "nested" or "residual". The last is a quantile of what it would be tested
    on, or of errors that have seen the choice among models: it has no levels.
    """

    lower: Array
    upper: Array
    levels: tuple[float, ...]
    seen: Array
    method: str

    @property
    def half(self) -> float:
        """Half the width of the middle interval."""
        return float(np.nanmedian(self.upper - self.lower)) / 2

    @property
    def finite(self) -> bool:
        """Whether there are enough samples for the coverage."""
        return not (np.isinf(self.lower).any() or np.isinf(self.upper).any())


def bars_of(subject: Subject, outputs: Array | None, known: Known) -> Bars | None:
    """Bars for every sample with a prediction by models that have not seen it.

    Where the search was repeated on other samples: the quantile of its errors, checked in each
    tenth by those of the other nine. Of a single model whose data are at hand: jackknife+, ten
    times a tenth of the samples is bounded by a model that was fitted to the others. Else the
    quantile of the errors of samples left out, without a check.
    """
    if subject.kind != "numbers" or subject.y is None or outputs is None:
        return None
    if subject.nested:
        bars = _residual(subject, outputs)
        if stored_evidence(subject.model)[0].grouped or len(outputs) < N_FOLDS:  # type: ignore[index]
            return bars
        return replace(bars, levels=LEVELS, seen=_held(subject, outputs), method="nested")
    usable = not subject.searched and known.verified and known.outcomes is not None
    enough = usable and known.outcomes.weights.size >= N_FOLDS
    if enough and _interval_work(subject) <= PAGE_WORK:
        return _plus(subject, known.outcomes.weights)
    return _residual(subject, outputs)


def _interval_work(subject: Subject) -> float:
    """Multiplications of ten fits, ``40 n D + 2 n D m + 4 m^3`` each with m = min(n, D).

    With them n^2 predictions of leave-one-out models are put in order for every level, which takes
    as long as some 500 multiplications each.
    """
    n, D = subject.shape
    m = min(n, D)
    fits = N_FOLDS * (40.0 * n * D + 2.0 * n * D * m + 4.0 * m**3)
    return fits + 500.0 * len(LEVELS) * n * n


def _plus(subject: Subject, weights: Array) -> Bars:
    """What ``predict_interval`` of models that were fitted without a tenth says of that tenth."""
    rows, given = np.flatnonzero(subject.state.used), subject.model.get_params()
    names = ("b", "quadrant", "fit_intercept", "penalty_factor", "n_jobs")
    model = StretchyRegressor(**subject.candidate, **{name: given[name] for name in names})
    X, Y = subject.X[rows] if rows.size < subject.shape[0] else subject.X, subject.Y[rows]
    found = np.empty((2, len(LEVELS), *Y.shape))
    for train, test in KFold(N_FOLDS, shuffle=True, random_state=0).split(Y):
        with quiet():
            model.fit(X[train], Y[train], sample_weight=weights[train])
            without = model._state.without_each(model._new_designs(X[test]))
            residuals = model._state.loo_residuals
        for target, predicted in enumerate(without):
            for i, level in enumerate(LEVELS):
                found[:, i, test, target] = jackknife_plus(predicted, residuals[:, target], level)
    bounds = np.full((2, len(LEVELS), *subject.Y.shape), np.nan)
    bounds[:, :, rows] = found
    at = LEVELS.index(COVERAGE)
    inside = (found[0] <= Y) & (found[1] >= Y)
    return Bars(bounds[0, at], bounds[1, at], LEVELS, inside.mean(axis=1).T, "plus")


def _residual(subject: Subject, outputs: Array) -> Bars:
    residuals = (subject.Y - outputs).T
    half = np.array([residual_width(r[np.isfinite(r)], COVERAGE) for r in residuals])
    return Bars(outputs - half, outputs + half, (), np.empty((half.size, 0)), "residual")


def _held(subject: Subject, outputs: Array) -> Array:
    """The share (t, L) of residuals within the quantile of those of the other nine tenths."""
    rows = np.flatnonzero(np.isfinite(outputs).all(axis=1))
    residuals = np.abs(subject.Y - outputs)[rows]
    inside = np.empty((len(LEVELS), *residuals.shape), dtype=bool)
    for train, test in KFold(N_FOLDS, shuffle=True, random_state=0).split(residuals):
        for i, level in enumerate(LEVELS):
            half = np.array([residual_width(r, level) for r in residuals[train].T])
            inside[i, test] = residuals[test] <= half
    return np.asarray(inside.mean(axis=1).T)


def calibration(
    subject: Subject, scores: Array | None, bars: Bars | None, found: Judged | None
) -> list[Points]:
    """Points of the calibration chart: one list for each output of a regressor, else one."""
    if subject.classifies:
        if subject.y is None or scores is None:
            return []
        return _class_calibration(scores, subject)
    if found is not None:
        if subject.kind == "survival":
            return [survival_calibration(found)]
        return [rate_calibration(found)] if subject.weighted else []
    if bars is None or not bars.levels:
        return []
    n = subject.shape[0]
    return [
        [_point(level, share, n) for level, share in zip(bars.levels, seen.tolist(), strict=True)]
        for seen in bars.seen
    ]


def _class_calibration(scores: Array, subject: Subject) -> list[Points]:
    known = np.isfinite(scores).all(axis=1)
    scores, codes = scores[known], subject.codes[known]
    size = subject.model.classes_.size
    probability = crossfit_probabilities(scores, codes, size)
    if probability is None:
        return []
    if size == 2:
        return [reliability(probability[:, 1], codes == 1)]
    winner = probability.argmax(axis=1)
    return [reliability(probability.max(axis=1), codes == winner)]


# features with a bar of their own, and samples in a table
MOST_SHARES, MOST_ROWS = 8, 10
# p-values of strange samples that are marked
STRANGE = 0.05
# multiplications that leaving every sample out may take: a few seconds
INFLUENCE_WORK = 1e9


@dataclass(frozen=True)
class Explained:
    """One prediction as a sum: ``prediction = base + sum(shares)``.

    The last of `names` and `shares` may stand for all features that are not named; `written` are
    the values of the sample.
    """

    sample: int
    title: str
    why: str
    facts: str
    names: list[str]
    written: list[str]
    shares: Array

    @property
    def columns(self) -> dict[str, Any]:
        """The data of its chart."""
        signs = np.where(self.shares > 0, "raises", "lowers")
        return {"name": self.names, "written": self.written, "effect": self.shares, "sign": signs}

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The sum as a table."""
        shares = [number(value, 4) for value in self.shares]
        return [*zip(self.names, self.written, shares, strict=True)]


def explained_samples(subject: Subject, outputs: Array | None) -> list[Explained]:
    """A few telling samples with the strongest contributions to their predictions."""
    if subject.X is None or subject.y is None or outputs is None:
        return []
    known = np.isfinite(outputs).all(axis=1)
    if not known.any():
        return []
    telling = _telling_classes if subject.classifies else _telling_numbers
    found: dict[int, str] = {}
    for why, key in telling(subject, outputs):
        place = int(np.argmax(np.where(known, key, -np.inf)))
        found.setdefault(place, why)
    try:
        return [_explained(subject, sample, why) for sample, why in found.items()]
    except MemoryError:
        return []  # very many features of very many outputs


def _telling_numbers(subject: Subject, outputs: Array) -> list[tuple[str, Array]]:
    """What a sample may be the first of: by the first target, out of fold."""
    own = outputs[:, 0]
    if subject.kind == "survival":
        return [("highest risk", own), ("lowest risk", -own)]
    errors = np.abs(subject.Y[:, 0] - own)
    return [("highest prediction", own), ("lowest prediction", -own), ("largest error", errors)]


def _telling_classes(subject: Subject, outputs: Array) -> list[tuple[str, Array]]:
    """The same for classes, by the scores after the cut, out of fold."""
    M, places = margins(outputs), np.arange(len(outputs))
    second, first = np.partition(M, -2, axis=1)[:, -2:].T
    own, rest = M[places, subject.codes], M.copy()
    rest[places, subject.codes] = -np.inf
    return [
        ("surest prediction", first - second),
        ("least sure prediction", second - first),
        ("label most in doubt", rest.max(axis=1) - own),
    ]


def _explained(subject: Subject, sample: int, why: str) -> Explained:
    model, row = subject.model, subject.X[sample : sample + 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the rows of a frame, without its names
        own, base = _shares(subject, row)
        outputs = model.decision_function(row) if subject.classifies else model.predict(row)
    output = np.asarray(outputs)[0]
    output = np.log(output) if subject.kind == "counts" else output
    at, name = 0, subject.outputs[0]
    if own.ndim == 2:
        at = int(np.argmax(output)) if subject.classifies else 0
        own, base, output, name = own[:, at], base[at], output[at], subject.outputs[at]
    # rounding leaves dust of a mean that is zero
    mean = 0.0 if abs(float(base)) < 1e-12 * np.abs(own).sum() else float(base)
    names, written, strongest = _strongest(subject, own, _numbers(row))
    title, facts = f"Sample {subject.sample_name(sample)}", (name, float(output), mean)
    return Explained(sample, title, why, _facts(subject, sample, *facts), names, written, strongest)


def _shares(subject: Subject, row: Any) -> tuple[Array, Array]:
    """Contributions (D,) or (D, t) to the prediction of one row, and what they are added to."""
    model = subject.model
    try:
        checked, curves = model._explained(row, None)
    except RowsForgottenError:
        # a model from a file knows no means: those of the data that were passed will do
        checked, curves = model._explained(row, subject.X)
    found = contributions_of(model, checked, curves)
    return np.asarray(found)[0], subject.state.shaped(base_of(model, curves))


def _numbers(row: Any) -> Array:
    """The raw numbers of one row."""
    row = row.compute() if hasattr(row, "compute") else row
    return np.asarray(row.toarray() if hasattr(row, "toarray") else row, dtype=float).reshape(-1)


def _strongest(subject: Subject, own: Array, values: Array) -> tuple[list[str], list[str], Array]:
    """Names, values and shares of the strongest features, and what all others add up to."""
    order = np.argsort(-np.abs(own), kind="stable")[:MOST_SHARES]
    order = order[own[order] != 0.0]
    names = distinct([subject.names[j] for j in order])
    written, shares = [number(v) for v in values[order]], own[order]
    others = int(np.count_nonzero(own)) - order.size
    if others > 0:
        names.append(f"all {count(others, 'other feature')}" if others > 1 else "one other feature")
        written.append("")
        shares = np.append(shares, own.sum() - shares.sum())
    return names, written, shares


def _facts(subject: Subject, sample: int, name: str, output: float, base: float) -> str:
    if subject.classifies:
        given = subject.classes[subject.codes[sample]]
        return f"Observed {given}; score of {name} {number(output)}, on average {number(base)}."
    what = f"predicted {number(output)}; on average {number(base)}."
    if subject.kind == "survival":
        event, time = (subject.y[part][sample] for part in ("event", "time"))
        seen = "The event was seen" if event else "Without the event"
        return f"{seen} at {number(time)}; log hazard {what.removeprefix('predicted ')}"
    if subject.kind == "counts":
        return f"Observed {number(subject.Y[sample, 0])}; logarithm of the rate: {what}"
    of = f" (of {name})" if len(subject.outputs) > 1 else ""
    observed = number(subject.Y[sample, 0])
    return f"Observed {observed}, predicted {number(output)}{of}; on average {number(base)}."


def striking_samples(subject: Subject, scores: Array | None) -> Panel | None:
    """Doubtful labels of a classifier, or the most influential samples of a search."""
    if not subject.searched or subject.y is None:
        return None
    if subject.classifies:
        return _doubtful(subject, scores)
    return _influential(subject)


def _doubtful(subject: Subject, outputs: Array | None) -> Panel | None:
    decision = subject.state.decision
    if outputs is None or decision is None or decision.factor is None:
        return None
    known: Index = np.flatnonzero(np.isfinite(outputs).all(axis=1))
    probability = subject.model._probable(outputs[known])
    codes, answers = subject.codes[known], decided(outputs[known])  # as `predict` has them
    own = probability[np.arange(codes.size), codes]
    first = np.argsort(own, kind="stable")[:MOST_ROWS]
    rows = []
    for i in first:
        observed, predicted = subject.classes[codes[i]], subject.classes[answers[i]]
        rows.append((subject.sample_name(known[i]), observed, predicted, share(own[i])))
    caption = (
        "The labels that models which have not seen the sample find least probable: wrong labels "
        "are found here first, and samples unlike the others of their class."
    )
    head = ("sample", "observed", "predicted", "probability of the observed")
    return Panel({}, caption, rows, head, "Labels to look at")


def _influential(subject: Subject) -> Panel | None:
    if subject.kind != "numbers" or _work(subject) > INFLUENCE_WORK:
        return None
    try:
        with quiet():
            found = influence_of(subject.model, None)
    except (RowsForgottenError, NeedsInverseError, ArithmeticError, ValueError):
        return None  # a model from a file, or one without an inverse
    rows = []
    several = subject.state.n_targets > 1
    for i in found.order[:MOST_ROWS]:
        facts = [] if several else [found.observed[i], found.predicted[i], found.without[i]]
        figures = [number(value) for value in (*facts, found.distance[i])]
        rows.append((subject.sample_name(found.samples[i]), *figures))
    caption = (
        "The samples without which predictions would move most: the sum of squared changes of all "
        "predictions, divided by the degrees of freedom and the mean square of the errors of "
        "samples left out. From exact fits without each sample, "
        f"{'models and their weights' if subject.mixture else 'the model'} as chosen on all. A "
        "large distance is no fault; it says on which samples the model depends."
    )
    columns = [] if several else ["observed", "predicted", "predicted without it"]
    return Panel({}, caption, rows, ("sample", *columns, "distance"), "Samples to look at")


def _work(subject: Subject) -> float:
    """Multiplications, roughly, of leaving every sample out of every candidate."""
    n, D = subject.shape
    members = getattr(subject.state, "members", ())
    exact = sum(m.spec.exact for m in members) if members else subject.state.model.spec.exact
    closed = max(1, len(members)) - exact
    return float(closed * n * n * (D + n) + exact * n * n * (30.0 * n + 5.0 * D))


def strange_samples(subject: Subject) -> Panel | None:
    """Leverage and distance of samples by those without a twentieth, with their p-values.

    None where they are not known, or long work.
    """
    n, D = subject.shape
    if subject.X is None or 20.0 * n * n * D > PAGE_WORK or subject.in_blocks:
        return None
    found, rows = reference_of(subject.state, passes=False), np.flatnonzero(subject.state.used)
    if found is None or found.leverage.size != rows.size:
        return None
    p = found.own_p_values()
    names = [subject.sample_name(row) for row in rows]
    columns = {"sample": names, "leverage": found.leverage, "distance": found.distance, "p": p}
    caption = (
        "Each point is a sample, compared with the others by models that have not seen it: to the "
        "right lie samples far out among the others, at the top those that the others do not "
        "explain. Marked is the strangest twentieth of them: there always is one. Look at points "
        "far from the rest. novelty(X) tells the same of new samples."
    )
    if not found.distance.any():
        caption += " So few features leave nothing unexplained: all distances are 0."
    table = [
        (names[i], number(found.leverage[i]), number(found.distance[i]), plain(round(p[i], 3)))
        for i in np.argsort(p, kind="stable")[:MOST_ROWS]
    ]
    return Panel(columns | {"strange": p <= STRANGE}, caption, table)

"""How good a model is: out-of-fold outputs, intervals, and all that a page says of them.

Single samples: what makes their prediction what it is, and which of them deserve a look.
"""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix, roc_auc_score, roc_curve
from sklearn.model_selection import KFold

from skstretch.core.classes import calibrated, decided, margins, probabilities
from skstretch.core.crossfit import jackknife_plus, residual_width
from skstretch.core.types import Array, Index
from skstretch.estimators import StretchyRegressor
from skstretch.estimators.base import base_of, check_outputs, contributions_of
from skstretch.estimators.influence import influence_of
from skstretch.estimators.quality import Evidence, left_out_means
from skstretch.estimators.summary import plain_evidence, stored_evidence, trust, verdict_of
from skstretch.exceptions import NeedsInverseError, RowsForgottenError
from skstretch.report.candidates import (
    PAGE_WORK,
    POINTS,
    FittedCandidates,
    Known,
    Surface,
    fitted_candidates,
    quiet,
    surface_of,
)
from skstretch.report.checks import Panel, strange_samples, sure_effects
from skstretch.report.outcomes import (
    Curves,
    Judged,
    Z,
    curves_of,
    judged,
    point,
    rate_calibration,
    survival_calibration,
)
from skstretch.report.subject import Subject, distinct
from skstretch.style import CURVES, count, near_one, number, share, thousands

# Out-of-fold scores of a classifier: ROC, confusion, reliability.

# what can be told apart in a drawing: corners of a curve, classes of a table, bins of samples
CURVE_POINTS, MOST_CLASSES, N_BINS = 60, 20, 8
# tenths that are kept aside, for intervals and for probabilities
N_FOLDS = 10


def roc(outputs: Array, codes: Index) -> list[dict[str, Any]]:
    """A curve for the second class of two, or for each of the most frequent classes."""
    if outputs.shape[1] == 1:
        columns, positive = [0], [1]
    else:
        frequent = np.argsort(-np.bincount(codes, minlength=outputs.shape[1]), kind="stable")
        columns = positive = sorted(frequent[:CURVES].tolist())
    curves = []
    for column, label in zip(columns, positive, strict=True):
        truth = codes == label
        if truth.all() or not truth.any():
            continue
        false, true, _ = roc_curve(truth, outputs[:, column])
        kept = _thinned(false, true)
        area = float(roc_auc_score(truth, outputs[:, column]))
        curves.append({"label": label, "area": area, "x": false[kept], "y": true[kept]})
    return curves


def _thinned(x: Array, y: Array) -> Index:
    """Corners of a curve at even steps along it, both ends included."""
    if x.size <= CURVE_POINTS:
        return np.arange(x.size)
    length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    at = np.searchsorted(length, np.linspace(0, length[-1], CURVE_POINTS))
    return np.unique(np.clip(at, 0, x.size - 1))


def confusion(outputs: Array, codes: Index, n_classes: int) -> Any:
    """Counts of observed (rows) and predicted (columns) classes."""
    return confusion_matrix(codes, decided(outputs), labels=np.arange(n_classes))


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


def reliability(probability: Array, happened: Any) -> list[dict[str, float]]:
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


def number_note(observed: Array, predicted: Array) -> str:
    """Errors of one target beside the means of the others; nothing where no fold has tested it."""
    known = np.isfinite(predicted)
    if not known.any():
        return ""
    guesses = predicted, left_out_means(observed)
    own, mean = (float(np.mean(np.square(observed - guess)[known])) for guess in guesses)
    r2 = near_one(1.0 - own / mean if mean > 0 else np.nan)
    return f"typical error {number(np.sqrt(own))}, out-of-fold R² {r2}"


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


# One sentence in plain words, and a few figures beside it.


KINDS = {
    "numbers": "A regression model",
    "classes": "A classifier",
    "counts": "A model of counts",
    "survival": "A model of survival",
}
Tile = tuple[str, str, str]  # figure, what it is, how to read it


def interval_sentence(bars: Bars | None) -> str:
    """What the intervals held of observations that they had not seen; nothing without a check."""
    if bars is None or not bars.finite or not bars.levels:
        return ""
    seen = bars.seen[0, bars.levels.index(COVERAGE)]
    return (
        f" Its {share(COVERAGE, 0)} intervals reach about ±{number(bars.half)}; made without a "
        f"tenth of the samples they held {share(seen, 0)} of the observations in it."
    )


def modest_verdict(subject: Subject) -> str:
    """What can be said without the observed values."""
    n, D = subject.shape
    return f"{KINDS[subject.kind]} fitted on {count(n, 'sample')} of {count(D, 'feature')}."


def tiles(subject: Subject, quality: list[Evidence] | None, bars: Bars | None) -> list[Tile]:
    """Figures for the top of the page."""
    found = [*_evidence_tiles(subject, quality), *_bar_tiles(bars)]
    kept, (n, D) = int(subject.state.support.any(axis=0).sum()), subject.shape
    found.append((thousands(kept), "features in use", f"of {thousands(D)} given"))
    dof = np.max(np.atleast_1d(subject.model.dof_))
    found.append((number(dof), "degrees of freedom", f"spent on {count(n, 'sample')}"))
    return found


def _evidence_tiles(subject: Subject, quality: list[Evidence] | None) -> list[Tile]:
    """The error to trust first, then the one that has seen the choice."""
    found: list[Tile] = []
    if quality is not None and len(quality) == 1 and quality[0].enough:
        one = quality[0]
        how = "search repeated on other samples" if one.trusted else "has seen the choice of model"
        found.append((one.write(one.loss), one.words.error, f"{how}, standard error {one.spread}"))
        if one.ridge is not None:
            found.append(
                (
                    one.write(one.ridge.loss),
                    "ridge regression",
                    f"{one.words.short} on the same samples",
                )
            )
        found.append((one.write(one.mean.loss), "knowing nothing", one.words.nothing))
        if one.right is not None and one.largest is not None:
            largest = f"largest class: {share(one.largest)}"
            found.append((share(one.right), "put into their class", largest))
        elif one.found and one.trusted and one.words.explained:
            found.append((near_one(one.r2), one.words.explained, "0 is the mean, 1 is perfect"))
    if (quality is not None and not quality[0].trusted) or not subject.searched:
        return found
    measure, figure = subject.measure, subject.error("best_score_")
    figure, _, error = figure.partition(", standard error ")
    spread = f"has seen the choice of model{f', standard error {error}' if error else ''}"
    return [*found, (figure, f"plain {measure.name}", spread)] if figure else found


def _bar_tiles(bars: Bars | None) -> list[Tile]:
    if bars is None or not bars.finite or bars.lower.shape[1] > 1:
        return []
    how = "from errors of samples left out, not checked"
    if bars.levels:
        seen = share(bars.seen[0, bars.levels.index(COVERAGE)], 0)
        how = f"held {seen} of observations that they had not seen"
    return [(f"±{number(bars.half)}", f"{share(COVERAGE, 0)} interval", how)]


@dataclass(frozen=True)
class Contents:
    """Everything that was worked out for a page."""

    subject: Subject
    surface: Surface | None
    candidates: FittedCandidates
    bars: Bars | None

    @property
    def outputs(self) -> Array | None:
        """Out-of-fold outputs of the chosen candidate or the mixture, (n, t)."""
        return self.candidates.fitted[self.candidates.chosen].outputs

    @cached_property
    def shown(self) -> Index:
        """Samples that are drawn: at most POINTS, even over the observed values."""
        Y = self.subject.Y
        if Y.shape[0] <= POINTS:
            return np.arange(Y.shape[0])
        order = np.argsort(Y[:, 0], kind="stable")
        places = np.linspace(0, Y.shape[0] - 1, POINTS).astype(int)
        return np.sort(order[places])

    @cached_property
    def quality(self) -> list[Evidence] | None:
        """Errors of each target or of the classes: of the search repeated, else plain ones."""
        subject = self.subject
        if (stored := stored_evidence(subject.model)) is not None:
            return stored
        if subject.y is None or self.outputs is None:
            return None
        outputs = getattr(subject.model, "cv_predictions_", self.outputs)
        outputs = np.asarray(outputs, dtype=float).reshape(subject.shape[0], -1)
        return plain_evidence(subject.model, outputs, subject.Y, subject.weights)

    @cached_property
    def judged(self) -> Judged | None:
        """Left-out risks or rates beside what happened; None of numbers and classes."""
        judges = self.subject.kind in ("counts", "survival")
        return judged(self.subject, self.outputs) if judges else None

    @cached_property
    def effects(self) -> Panel | None:
        """Effects with their errors, where they were asked for."""
        return sure_effects(self.subject)

    @cached_property
    def strange(self) -> Panel | None:
        """How unlike the others samples are."""
        return strange_samples(self.subject)

    @cached_property
    def curves(self) -> Curves | None:
        """Survival by thirds of the risk; None of anything else."""
        survives = self.judged is not None and self.subject.kind == "survival"
        return curves_of(self.judged) if survives else None  # type: ignore[arg-type]

    @property
    def note(self) -> str:
        """The figure of the model, for counts and survival."""
        if not self.quality:
            return ""
        return f"{self.quality[0].words.error} {self.quality[0].write(self.quality[0].loss)}"

    @property
    def sentence(self) -> str:
        """How well the model does, for the top of the page."""
        subject = self.subject
        if self.quality is None:
            return f"{modest_verdict(subject)} {trust(subject.model, None)}".strip()
        names = [subject.target] if subject.classifies else subject.outputs
        text = verdict_of(subject.model, self.quality, names)
        return text + (interval_sentence(self.bars) if self.quality[0].found else "")

    def cut(self, row: int) -> Array | None:
        """Out-of-fold scores of a candidate less their cut, which only the model has learned."""
        outputs = self.candidates.fitted[row].outputs
        if outputs is None or row != self.candidates.chosen:
            return outputs
        return outputs - np.atleast_1d(self.subject.model.threshold_)


def contents_of(subject: Subject) -> Contents:
    """Work out everything."""
    surface = surface_of(subject) if subject.searched else None
    candidates = fitted_candidates(subject, surface)
    outputs = candidates.fitted[candidates.chosen].outputs
    return Contents(subject, surface, candidates, bars_of(subject, outputs, candidates.known))


def calibration(contents: Contents) -> list[list[dict[str, float]]]:
    """Points of the calibration chart: one list for each output of a regressor, else one."""
    subject, bars = contents.subject, contents.bars
    if subject.classifies:
        scores = None if subject.y is None else contents.cut(contents.candidates.chosen)
        return [] if scores is None else _class_calibration(scores, subject)
    if contents.judged is not None:
        if subject.kind == "survival":
            return [survival_calibration(contents.judged)]
        return [rate_calibration(contents.judged)] if subject.weighted else []
    if bars is None or not bars.levels:
        return []
    n = subject.shape[0]
    return [
        [_point(level, share, n) for level, share in zip(bars.levels, seen.tolist(), strict=True)]
        for seen in bars.seen
    ]


def _class_calibration(scores: Array, subject: Subject) -> list[list[dict[str, float]]]:
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


def explained_samples(contents: Contents) -> list[Explained]:
    """A few telling samples with the strongest contributions to their predictions."""
    subject, outputs = contents.subject, contents.outputs
    if subject.classifies:
        outputs = contents.cut(contents.candidates.chosen)
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
    names, written, strongest = _strongest(subject, own, _numbers(row))
    title, facts = f"Sample {subject.sample_name(sample)}", (name, float(output), float(base))
    return Explained(sample, title, why, _facts(subject, sample, *facts), names, written, strongest)


def _shares(subject: Subject, row: Any) -> tuple[Array, Array]:
    """Contributions (D,) or (D, t) to the prediction of one row, and what they are added to."""
    model = subject.model
    try:
        checked, curves = model._explained(row, None)
    except RowsForgottenError:
        # a model from a file knows no means: those of the data that were passed will do
        checked, curves = model._explained(row, subject.X)
    found = contributions_of(model, checked, curves, check_outputs)
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


@dataclass(frozen=True)
class Striking:
    """Samples to look at, as a table: the first column is the number of the sample."""

    title: str
    caption: str
    head: list[str]
    rows: list[tuple[str, ...]]


def striking_samples(contents: Contents) -> Striking | None:
    """Doubtful labels of a classifier, or the most influential samples of a search."""
    subject = contents.subject
    if not subject.searched or subject.y is None:
        return None
    if subject.classifies:
        return _doubtful(contents)
    return _influential(subject)


def _doubtful(contents: Contents) -> Striking | None:
    subject, outputs = contents.subject, contents.cut(contents.candidates.chosen)
    decision = subject.state.decision
    if outputs is None or decision is None or decision.factor is None:
        return None
    known: Index = np.flatnonzero(np.isfinite(outputs).all(axis=1))
    probability = subject.model._probable(outputs[known])
    codes = subject.codes[known]
    own = probability[np.arange(codes.size), codes]
    first = np.argsort(own, kind="stable")[:MOST_ROWS]
    rows: list[tuple[str, ...]] = []
    for i in first:
        observed, predicted = subject.classes[codes[i]], subject.classes[probability[i].argmax()]
        rows.append((subject.sample_name(known[i]), observed, predicted, share(own[i])))
    caption = (
        "The labels that models which have not seen the sample find least probable: wrong labels "
        "are found here first, and samples unlike the others of their class."
    )
    head = ["sample", "observed", "predicted", "probability of the observed"]
    return Striking("Labels to look at", caption, head, rows)


def _influential(subject: Subject) -> Striking | None:
    if subject.kind != "numbers" or _work(subject) > INFLUENCE_WORK:
        return None
    try:
        with quiet():
            found = influence_of(subject.model, None)
    except (RowsForgottenError, NeedsInverseError, ArithmeticError, ValueError):
        return None  # a model from a file, or one without an inverse
    rows: list[tuple[str, ...]] = []
    several = subject.state.n_targets > 1
    for i in found.order[:MOST_ROWS]:
        facts = [] if several else [found.observed[i], found.predicted[i], found.without[i]]
        rows.append(
            (
                subject.sample_name(found.samples[i]),
                *(number(v) for v in (*facts, found.distance[i])),
            )
        )
    caption = (
        "The samples without which predictions would move most: the sum of squared changes of all "
        "predictions, divided by the degrees of freedom and the mean square of the errors of "
        "samples left out. From exact fits without each sample, "
        f"{'models and their weights' if subject.mixture else 'the model'} as chosen on all. A "
        "large distance is no fault; it says on which samples the model depends."
    )
    columns = [] if several else ["observed", "predicted", "predicted without it"]
    return Striking("Samples to look at", caption, ["sample", *columns, "distance"], rows)


def _work(subject: Subject) -> float:
    """Multiplications, roughly, of leaving every sample out of every candidate."""
    n, D = subject.shape
    members = getattr(subject.state, "members", ())
    exact = sum(m.spec.exact for m in members) if members else subject.state.model.spec.exact
    closed = max(1, len(members)) - exact
    return float(closed * n * n * (D + n) + exact * n * n * (30.0 * n + 5.0 * D))

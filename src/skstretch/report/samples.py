"""Single samples: what makes their prediction what it is, and which of them deserve a look."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from skstretch.core.classes import margins
from skstretch.core.types import Array, Index
from skstretch.estimators.base import check_outputs
from skstretch.estimators.contributions import base_of, contributions_of
from skstretch.estimators.influence import influence_of
from skstretch.exceptions import NeedsInverseError, RowsForgottenError
from skstretch.report.cells import quiet
from skstretch.report.quality import Contents
from skstretch.report.subject import Subject, distinct
from skstretch.style import count, number, share

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
    why: str
    facts: str
    names: list[str]
    written: list[str]
    shares: Array


def explained_samples(contents: Contents) -> list[Explained]:
    """A few telling samples with the strongest contributions to their predictions."""
    subject, outputs = contents.subject, contents.outputs
    if subject.classifies:
        outputs = contents.cut(contents.cells.chosen)
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
    at, name = 0, subject.outputs[0]
    if own.ndim == 2:
        at = int(np.argmax(output)) if subject.classifies else 0
        own, base, output, name = own[:, at], base[at], output[at], subject.outputs[at]
    names, written, strongest = _strongest(subject, own, _numbers(row))
    return Explained(
        sample, why, _facts(subject, sample, name, float(output), float(base)), names, written,
        strongest,
    )  # fmt: skip


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
    return _influential(subject, contents.cells.known.again or subject.model)


def _doubtful(contents: Contents) -> Striking | None:
    subject, outputs = contents.subject, contents.cut(contents.cells.chosen)
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
        rows.append((str(known[i]), observed, predicted, share(own[i])))
    caption = (
        "The labels that models which have not seen the sample find least probable: wrong labels "
        "are found here first, and samples unlike the others of their class."
    )
    head = ["sample", "observed", "predicted", "probability of the observed"]
    return Striking("Labels to look at", caption, head, rows)


def _influential(subject: Subject, model: Any) -> Striking | None:
    """Of the model, or of its search that was run again on the data that were passed."""
    if _work(subject) > INFLUENCE_WORK:
        return None
    try:
        with quiet():
            found = influence_of(model, None, scores=False)
    except (RowsForgottenError, NeedsInverseError, ArithmeticError, ValueError):
        return None  # a model from a file, or one without an inverse
    rows: list[tuple[str, ...]] = []
    several = subject.state.n_targets > 1
    for i in found.order[:MOST_ROWS]:
        facts = [] if several else [found.observed[i], found.predicted[i], found.without[i]]
        rows.append((str(found.samples[i]), *(number(v) for v in (*facts, found.distance[i]))))
    caption = (
        "The samples without which predictions would move most: the sum of squared changes of all "
        "predictions, divided by the degrees of freedom and the mean square of leave-one-out "
        "residuals. From exact fits without each sample, "
        f"{'cells and weights' if subject.mixture else 'the cell'} held fixed. A large distance "
        "is no fault; it says on which samples the model depends."
    )
    columns = [] if several else ["observed", "predicted", "predicted without it"]
    return Striking("Samples to look at", caption, ["sample", *columns, "distance"], rows)


def _work(subject: Subject) -> float:
    """Multiplications, roughly, of leaving every sample out of every cell."""
    n, D = subject.shape
    members = getattr(subject.state, "members", ())
    exact = sum(m.spec.exact for m in members) if members else subject.state.model.spec.exact
    closed = max(1, len(members)) - exact
    return float(closed * n * n * (D + n) + exact * n * n * (30.0 * n + 5.0 * D))

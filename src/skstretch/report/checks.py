"""How sure effects are, where they were asked for, and which samples are unlike the others."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skstretch.core.types import Array
from skstretch.estimators.novelty import reference_of
from skstretch.estimators.summary import SURE
from skstretch.report.candidates import PAGE_WORK, POINTS
from skstretch.report.subject import Subject, distinct, short
from skstretch.style import number, plain, share

# effects with a bar, and samples in a table
MOST_EFFECTS, MOST_STRANGE = 20, 10
# p-values that are marked
STRANGE = 0.05


@dataclass(frozen=True)
class Sureness:
    """Effects of one standard deviation between two standard errors, as `effects` told them."""

    names: list[str]
    at: Array | None  # places on an axis, such as wavelengths
    effect: Array
    error: Array
    sure: Any
    caption: str
    rows: list[tuple[str, ...]]


def sureness_of(subject: Subject) -> Sureness | None:
    """Of the first target; all along an axis where names are numbers, else the strongest."""
    table = getattr(subject.model, "effects_", None)
    if table is None:
        return None
    columns = ("feature", "effect_per_sd", "standard_error", "sign_stability")
    names, effect, error, stable = (np.asarray(table[name]) for name in columns)
    own = np.arange(names.size // len(subject.outputs))
    each = own.size == subject.shape[1]  # not bands
    known: list[str] = subject.names if each else [short(name) for name in names]
    sure = (stable >= SURE) & (effect != 0.0)
    order = own[np.argsort(-np.abs(effect[own]), kind="stable")]
    rows: list[tuple[str, ...]] = [
        (known[i], number(effect[i], 3), number(error[i], 2), share(stable[i], 0))
        for i in order[:MOST_EFFECTS]
    ]
    along = subject.positions if each else None
    shown = order[:MOST_EFFECTS]
    if along is not None:
        shown = np.unique(np.linspace(0, own.size - 1, min(own.size, POINTS)).astype(np.intp))
    of = f" of {subject.outputs[0]}" if len(subject.outputs) > 1 else ""
    caption = (
        f"Effects{of} of one standard deviation, two standard errors to either side, from fits "
        f"without parts of the samples. Marked are those whose sign {share(SURE, 0)} of pairs of "
        f"halves agree on: {sure[own].sum()} of {own.size}; of features without any effect about "
        "one in twenty is marked by chance."
    )
    return Sureness(
        distinct([known[i] for i in shown]),
        None if along is None else along[shown],
        effect[shown],
        error[shown],
        sure[shown],
        caption,
        rows,
    )


@dataclass(frozen=True)
class Strange:
    """Leverage, distance and p-value of samples, and those that are least like the others."""

    samples: list[str]
    leverage: Array
    distance: Array
    p_value: Array
    caption: str
    rows: list[tuple[str, ...]]


def strange_of(subject: Subject) -> Strange | None:
    """Of the training samples by those without a twentieth; None where not known, or long work."""
    n, D = subject.shape
    if subject.X is None or 20.0 * n * n * D > PAGE_WORK or subject.in_blocks:
        return None
    found, rows = reference_of(subject.state, passes=False), np.flatnonzero(subject.state.used)
    if found is None or found.leverage.size != rows.size:
        return None
    p_value = found.own_p_values()
    order = np.argsort(p_value, kind="stable")
    names = [subject.sample_name(row) for row in rows]
    written: list[tuple[str, ...]] = [
        (
            names[i],
            number(found.leverage[i]),
            number(found.distance[i]),
            plain(round(p_value[i], 3)),
        )
        for i in order[:MOST_STRANGE]
    ]
    caption = (
        "Each point is a sample, compared with the others by models that have not seen it: to the "
        "right lie samples far out among the others, at the top those that the others do not "
        "explain. Marked is the strangest twentieth of them: there always is one. Look at points "
        "far from the rest. novelty(X) tells the same of new samples."
    )
    shown = np.unique(np.linspace(0, rows.size - 1, min(rows.size, POINTS)).astype(np.intp))
    return Strange(
        [names[i] for i in shown],
        found.leverage[shown],
        found.distance[shown],
        p_value[shown],
        caption,
        written,
    )

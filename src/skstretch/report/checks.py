"""How sure effects are, where they were asked for, and which samples are unlike the others."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skstretch.estimators.samples import reference_of
from skstretch.estimators.summary import SURE
from skstretch.report.candidates import PAGE_WORK, POINTS
from skstretch.report.subject import Subject, distinct, short
from skstretch.style import number, plain, share

# effects with a bar, and samples in a table
MOST_EFFECTS, MOST_STRANGE = 20, 10
# p-values that are marked
STRANGE = 0.05


@dataclass(frozen=True)
class Panel:
    """Columns of the data of a chart by name, its caption, and a table of the first of them."""

    columns: dict[str, Any]
    caption: str
    rows: list[tuple[str, ...]]


def sure_effects(subject: Subject) -> Panel | None:
    """Effects of the first target between two standard errors, as `effects` told them.

    All of them `at` places along an axis where names are numbers, else the strongest.
    """
    table = getattr(subject.model, "effects_", None)
    if table is None:
        return None
    columns = ("feature", "effect_per_sd", "standard_error", "sign_stability")
    names, effect, error, stable = (
        np.asarray(table[name])[: len(table["feature"]) // len(subject.outputs)] for name in columns
    )
    each = names.size == subject.shape[1]  # not bands
    known = subject.names if each else [short(name) for name in names]
    sure, order = (stable >= SURE) & (effect != 0.0), np.argsort(-np.abs(effect), kind="stable")
    shown = order = order[:MOST_EFFECTS]
    along = subject.positions if each else None
    if along is not None:
        shown = np.unique(np.linspace(0, names.size - 1, min(names.size, POINTS)).astype(np.intp))
    of = f" of {subject.outputs[0]}" if len(subject.outputs) > 1 else ""
    caption = (
        f"Effects{of} of one standard deviation, two standard errors to either side, from fits "
        f"without parts of the samples. Marked are those whose sign {share(SURE, 0)} of pairs of "
        f"halves agree on: {sure.sum()} of {names.size}; of features without any effect about "
        "one in twenty is marked by chance."
    )
    found = {
        "name": distinct([known[i] for i in shown]),
        **{
            end: (effect + side * error)[shown]
            for end, side in (("low", -2.0), ("effect", 0.0), ("high", 2.0))
        },
        "sure": sure[shown],
        **({} if along is None else {"at": along[shown]}),
    }
    rows: list[tuple[str, ...]] = [
        (known[i], number(effect[i], 3), number(error[i], 2), share(stable[i], 0)) for i in order
    ]
    return Panel(found, caption, rows)


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
    table: list[tuple[str, ...]] = [
        (names[i], number(found.leverage[i]), number(found.distance[i]), plain(round(p[i], 3)))
        for i in np.argsort(p, kind="stable")[:MOST_STRANGE]
    ]
    return Panel(columns | {"strange": p <= STRANGE}, caption, table)

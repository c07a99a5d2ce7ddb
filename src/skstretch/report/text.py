"""The texts of a page: titles, captions, alternatives of charts, tables."""

import platform
import re
from importlib import metadata
from typing import Any

import numpy as np

from skstretch.core.stretch import keep_count
from skstretch.estimators.choice import chance_in_words, choice, left_out, shares_in_words
from skstretch.report.cells import MIXTURE, MOST_OUTPUTS
from skstretch.report.quality import Contents, tiles
from skstretch.report.samples import striking_samples
from skstretch.report.subject import Subject, short
from skstretch.report.surface import best_error, measure_of, nested_error
from skstretch.style import count, near_one, number, plain, share, thousands

# The box of numbers at the foot of a report.


# what scikit-learn's splitters call themselves
SPLITTERS = {
    r"KFold\(n_splits=(\d+)": "exact {} folds",
    r"StratifiedKFold\(n_splits=(\d+)": "exact {} folds, by class",
    r"GroupKFold\(n_splits=(\d+)": "exact {} folds of whole groups",
    r"LeaveOneOut\(": "exact leave-one-out",
    r"LeaveOneGroupOut\(": "exact leave-one-group-out",
}


PACKAGES = ("skstretch", "numpy", "scipy", "scikit-learn", "altair", "vl-convert-python")


def numbers_of(contents: Contents) -> list[tuple[str, str]]:
    """Names and values, all as text."""
    subject = contents.subject
    model, (n, D) = subject.model, subject.shape
    rows = [
        ("model", type(model).__name__),
        *([("steps before it", short(subject.steps, 300))] if subject.steps else []),
        ("data", f"{count(n, 'sample')} × {count(D, 'feature')}"),
        ("fingerprint of the data", _fingerprint(subject)),
        *_cell_rows(subject),
        ("degrees of freedom", _joined(model.dof_)),
        ("space", str(model.space_)),
        ("solver", ", ".join(dict.fromkeys(map(str, np.atleast_1d(model.solver_))))),
        ("condition number", _joined(1.0 / np.maximum(np.atleast_1d(model.rcond_), 1e-300))),
        *_search_rows(subject),
        *([("other cells", _origin(contents))] if subject.searched else []),
    ]
    if subject.seconds is not None:
        rows.append(("time of the fit", f"{number(subject.seconds)} s"))
    return [*rows, ("versions", _versions())]


def _cell_rows(subject: Subject) -> list[tuple[str, str]]:
    """The parameters of the one cell in use, or how many are mixed."""
    if subject.mixture:
        return [("mixture", f"{count(len(subject.mixture), 'cell')}, in the table of the mixture")]
    cell = subject.cell
    return [
        *_transform(subject.model, cell),
        ("c", number(cell["c"], 4)),
        ("density", _density(cell["density"])),
    ]


def _transform(model: Any, cell: dict[str, Any]) -> list[tuple[str, str]]:
    if model.quadrant == "identity":
        return [("a", "not used: features as they are"), ("k", plain(cell["k"]))]
    if cell["a"] == 0:
        exact = "newton" in np.atleast_1d(model.solver_)
        return [("a", "0, the linear limit"), ("k", plain(cell["k"]) if exact else "2: ridge")]
    return [("a", plain(cell["a"])), ("k", plain(cell["k"]))]


def _search_rows(subject: Subject) -> list[tuple[str, str]]:
    model = subject.model
    if not subject.searched:
        return [("search", "none: the parameters were given")]
    usable = int(model.cv_results_["usable"].sum())
    total = len(model.cv_results_["usable"])
    return [
        ("search", f"{count(total, 'cell')}, {thousands(usable)} of them usable"),
        ("cross-validated", best_error(subject)),
        *(
            [("searched again", f"{nested}, without {left_out(model)}")]
            if (nested := nested_error(subject))
            else []
        ),
        ("rule", str(model.rule)),
        ("cross-validation", _cv(model, subject.shape[1])),
        ("scoring", _scoring(model)),
    ]


def _origin(contents: Contents) -> str:
    """Where the page has other cells of the search from."""
    subject, known = contents.subject, contents.cells.known
    if known.outcomes is None or known.why:
        return f"not shown: {known.why}"
    if subject.from_file:
        return "from the model file; the data passed are those of the fit, value by value"
    if hasattr(subject.model, "_outcomes"):
        return "kept by the search"
    stored = hasattr(subject.model, "_kept")
    why = "the data passed are not those of the fit value by value" if stored else "none were kept"
    return f"searched again for this page: {why}; the out-of-fold predictions are the same"


def _scoring(model: Any) -> str:
    absent = getattr(model, "not_stored_", {}).get("scoring", "default")
    return short(absent if model.scoring is None else model.scoring)


def _cv(model: Any, n_features: int) -> str:
    """The folds in words; of a loaded model those of its fit, which a file holds as text."""
    if model.cv is None and "cv" not in getattr(model, "not_stored_", {}):
        densities = model.cv_results_["param_density"]
        automatic = isinstance(model.density_grid, str)
        selects = any(keep_count(density, n_features) < n_features for density in densities)
        if selects and automatic:
            return "exact leave-one-out, ten folds where features are selected"
        return "exact ten folds" if selects else "exact leave-one-out"
    if isinstance(model.cv, int):
        return f"exact {model.cv} folds"
    text = repr(model.cv) if model.cv is not None else model.not_stored_["cv"]
    for pattern, words in SPLITTERS.items():
        if found := re.match(pattern, text):
            return words.format(*found.groups())
    return short(text)


def _density(density: Any) -> str:
    if isinstance(density, int | np.integer):
        return f"{count(int(density), 'feature')} kept"
    return "1 (all features)" if density == 1 else f"{plain(density)} of the features kept"


def _joined(values: Any) -> str:
    return ", ".join(number(v) for v in np.atleast_1d(values)[:5])


def _fingerprint(subject: Subject) -> str:
    if subject.X is None:
        return "not taken: the data were not at hand"
    if subject.in_blocks:
        return "not taken: the data are not in memory"
    return subject.fingerprint


def _versions() -> str:
    found = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


Context = dict[str, Any]


HOW = (
    "Write the report with the training data: skstretch report MODEL --data FILE, or in Python "
    "write_report(model, path, X=X, y=y)."
)


def page_context(contents: Contents, data: dict[str, Any]) -> Context:
    """All that the template asks for."""
    subject = contents.subject
    kind = "Classification" if subject.classifies else "Regression"
    named = subject.target != "the target"
    title = f"{kind} of {subject.target}" if named else f"{kind} report"
    return {
        "title": title,
        "source": subject.source,
        "sentence": contents.sentence,
        "choice": choice(subject.model).replace(" = ", "\u00a0=\u00a0"),
        "tiles": tiles(subject, contents.quality or [], contents.bars),
        "missing": _missing(contents),
        "mixture": _mixture(subject),
        "null": chance_in_words(subject.model),
        "charts": set(data["specs"]),
        "surface": _surface(contents, data),
        "cells": _options(contents),
        "chosen_text": own_text(contents),
        "note": data["fits"][str(data["chosen"])]["notes"][0],
        "outputs": data["outputs"],
        "output_noun": "Class" if subject.classifies else "Target",
        "captions": _captions(contents, data),
        "top": _top_rows(data),
        "targets": _target_rows(contents),
        "density": data["density"],
        "calibration": data["calibration"],
        "confusion": _confusion(data),
        "explained": _explained_rows(data),
        "striking": striking_samples(contents),
        "numbers": numbers_of(contents),
    }


def _missing(contents: Contents) -> list[str]:
    """What is not on the page, and how to get it."""
    subject, found = contents.subject, []
    own = "mixture" if subject.mixture else "chosen cell"
    if subject.y is None:
        found.append(
            "The observed values were not at hand, so the page has no out-of-fold fit and no "
            f"calibration. {HOW}"
        )
    elif subject.X is None:
        found.append(
            f"The features of the training data were not at hand, so only the {own} is shown "
            f"in full, and there are no jackknife+ intervals. {HOW}"
        )
    elif contents.cells.known.why:
        found.append(f"Only the {own} is shown in full: {contents.cells.known.why}.")
    if len(subject.outputs) > MOST_OUTPUTS:
        found.append(
            f"Shown are the first {MOST_OUTPUTS} of {count(len(subject.outputs), 'output')}."
        )
    if not subject.searched:
        found.append(
            f"A {type(subject.model).__name__} does not search, so there is no search surface. "
            f"{type(subject.model).__name__}CV finds a, k, c and density by itself."
        )
    return found


def _mixture(subject: Subject) -> Context | None:
    """The cells of a mixture with their shares, the heaviest first."""
    if not subject.mixture:
        return None
    measure = measure_of(subject)
    rows = []
    for part in subject.mixture:
        error = measure.write(measure.of_scores(np.array([part.score]))[0])
        rows.append((part.name, share(part.share), number(part.c), error))
    own = _flat_error(subject)
    return {"rows": rows, "measure": measure.name, "error": own, "several": _own_shares(subject)}


def _flat_error(subject: Subject) -> str:
    measure = measure_of(subject)
    return measure.write(measure.of_scores(np.array([float(subject.model.best_score_)]))[0])


def _own_shares(subject: Subject) -> bool:
    """Whether several targets mix on their own, so that shares are means over them."""
    return bool(np.ndim(subject.model.weights_["weight"]) > 1)


def _surface(contents: Contents, data: dict[str, Any]) -> Context | None:
    surface = contents.surface
    if surface is None:
        return None
    within = sum(cell.within for cell in surface.cells)
    ranks = contents.subject.model.cv_results_["rank_test_score"]
    subject = contents.subject
    best = surface.ranked(ranks, [] if subject.mixture else subject.members)[:20]
    members = set(subject.members)
    return {
        "best": surface.best,
        "poor": surface.poor,
        "note": surface.note,
        "flattered": _flattered(subject),
        "shows": "see its model" if len(contents.cells.fitted) > 1 else "read its numbers",
        "measure": surface.measure.name,
        "better": surface.measure.better,
        "count": count(len(surface.cells), "cell"),
        "alike": _alike(within, len(surface.cells)),
        "unusable": sum(cell.level < 0 for cell in surface.cells),
        "rows": [
            (cell.name, surface.measure.write(cell.error), cell.within, cell.index in members)
            for cell in best
        ],
        "alt": (
            f"Heat map of {surface.measure.name} over {len(surface.rows)} rows of a and k and "
            f"{len(surface.columns)} strengths of the penalty. {data['own'][0]}: "
            f"{own_text(contents)}. {_alike(within, len(surface.cells))}."
        ),
    }


def _alike(within: int, total: int) -> str:
    """How many cells the data do not tell apart from the best, which is one of them."""
    if within <= 1:
        return (
            f"None of the other {count(total - 1, 'cell')} is within one standard error of the best"
        )
    return (
        f"{thousands(within)} of {count(total, 'cell')} are within one standard error of the best: "
        "the data do not tell these apart"
    )


def _flattered(subject: Subject) -> str:
    """What choosing or mixing has done to the error that was looked at."""
    if subject.mixture:
        text = "The error of the mixture is slightly flattered: its weights were found from it."
    else:
        text = "The error of the chosen cell is slightly flattered by having been chosen."
    nested = nested_error(subject)
    if not nested:
        return text
    return f"{text} Searched again without {left_out(subject.model)}: {nested}."


def own_text(contents: Contents) -> str:
    """The model in a few words: its cell, or the cells that are mixed."""
    if contents.subject.mixture:
        return shares_in_words(contents.subject.mixture)
    if contents.surface is None:
        cell = contents.subject.cell
        return ", ".join(f"{name} = {number(value)}" for name, value in cell.items())
    return next(c.text for c in contents.surface.cells if c.index == contents.cells.chosen)


def _options(contents: Contents) -> list[tuple[int, str]]:
    """Cells for the drop-down list, the chosen one first."""
    surface = contents.surface
    if surface is None:
        return []
    found = []
    for row in contents.cells.fitted:
        if row == MIXTURE:
            found.append((row, f"the mixture ({_flat_error(contents.subject)})"))
            continue
        cell = next(c for c in surface.cells if c.index == row)
        mark = "chosen: " if row == contents.cells.chosen else ""
        found.append((row, f"{mark}{cell.name} ({surface.measure.write(cell.error)})"))
    return found


def _captions(contents: Contents, data: dict[str, Any]) -> dict[str, str]:
    captions = {"fit": _fit_caption(contents), "calibration": _calibration_caption(contents)}
    D, groups = contents.subject.shape[1], len(data["along"])
    captions["profile"] = (
        "The slope of every feature: what one unit more of it changes, at its mean."
        if groups >= D
        else f"The line is the mean slope of each group of {-(-D // max(1, groups))} neighbouring "
        "features, the band their range: what one unit more of a feature changes, at its mean."
    )
    what = "the score of the class" if contents.subject.classifies else "the prediction"
    captions["top"] = (
        f"How much {what} changes when a feature rises by one standard deviation (slope_ times "
        "standard deviation, so that units do not matter). To the right it raises, to the left it "
        "lowers."
    )
    return captions


def _fit_caption(contents: Contents) -> str:
    bars, n = contents.bars, contents.subject.shape[0]
    if bars is None:
        return ""
    text = "Each point is a sample, predicted by a model that has not seen it; on the dashed line "
    text += "prediction and observation agree. "
    if not bars.finite:
        return text + f"With {count(n, 'sample')} there are too few for 90\u00a0% intervals."
    if bars.method == "plus":
        text += (
            "Bars of the chosen cell are 90\u00a0% jackknife+ intervals, each from a fit without "
            "the tenth of the samples to which it belongs; marked are observations outside theirs."
        )
    else:
        own = "mixture" if contents.subject.mixture else "chosen cell"
        text += (
            f"Bars of the {own} reach to the 90\u00a0% quantile of the out-of-fold residuals; "
            "marked are observations outside theirs."
        )
    shown = len(contents.shown)
    return text if shown == n else f"{text} Drawn are {shown} of {count(n, 'sample')}."


def _calibration_caption(contents: Contents) -> str:
    if not contents.subject.classifies and contents.subject.mixture:
        return (
            "Intervals that reach to a quantile of the mixture's out-of-fold residuals were asked "
            "to hold a share of new observations; the points show the share that those of nine "
            "tenths of the samples held in the other tenth, with one set of weights for all. On "
            "the dashed line both agree; below it intervals are too narrow. Bars: 90\u00a0% "
            "interval of the share. (predict_interval gives jackknife+ of the mixture, for which "
            "every cell would have to be fitted without each tenth.)"
        )
    if not contents.subject.classifies:
        return (
            "Jackknife+ intervals were asked to hold a share of new observations; the points show "
            "the share that they held in tenths of the data kept aside. On the dashed line both "
            "agree; below it intervals are too narrow. Bars: 90\u00a0% interval of the share."
        )
    return (
        "Samples in groups of equal size by their out-of-fold probability, against the share that "
        "came true. On the dashed line both agree. The curve from score to probability was learned "
        "without the group's tenth of the data. Bars: 90\u00a0% interval of the share."
    )


def _top_rows(data: dict[str, Any]) -> list[tuple[str, str, str]]:
    picture = data["fits"][str(data["chosen"])]["pictures"][0]
    return [
        (
            data["features"][j],
            number(slope, 4),
            number(slope * data["scales"][j], 4),
        )
        for j, slope in zip(picture["top"], picture["slopes"], strict=True)
    ]


def _explained_rows(data: dict[str, Any]) -> list[Context]:
    """Explained samples with their contributions as text."""
    return [
        {**one, "rows": [(b["name"], b["written"], number(b["effect"], 4)) for b in one["bars"]]}
        for one in data["explained"]
    ]


def _target_rows(contents: Contents) -> list[tuple[str, str, str, str, str]]:
    """A line for each of several targets."""
    if contents.subject.classifies or not contents.quality or len(contents.quality) < 2:
        return []
    return [
        (name, number(q.error), number(q.baseline), share(q.gain, 0), near_one(q.r2))
        for name, q in zip(contents.subject.outputs, contents.quality, strict=True)
    ]


def _confusion(data: dict[str, Any]) -> Context | None:
    table = data["fits"][str(data["chosen"])].get("confusion")
    if not table:
        return None
    right = np.trace(np.array(table))
    return {"labels": data["classes"], "rows": table, "right": int(right)}

"""The texts of a page: titles, captions, alternatives of charts, tables."""

import platform
from importlib import metadata
from typing import Any

import numpy as np

from skstretch.estimators.quality import chance_in_words, folds_in_words
from skstretch.estimators.summary import SCORES, UNNAMED, Summary, shares_in_words, trust
from skstretch.report.candidates import MIXTURE, MOST_OUTPUTS, POINTS
from skstretch.report.quality import Contents, striking_samples, tiles
from skstretch.report.subject import Subject, short
from skstretch.style import count, near_one, number, plain, share, thousands

# The box of numbers at the foot of a report.


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
        *_candidate_rows(subject),
        ("degrees of freedom", _joined(model.dof_)),
        ("space", str(model._state.space)),
        ("solver", ", ".join(dict.fromkeys(map(str, np.atleast_1d(model.solver_))))),
        ("condition number", _joined(1.0 / np.maximum(np.atleast_1d(model.rcond_), 1e-300))),
        *_search_rows(subject),
        *([("other models", _origin(contents))] if subject.searched else []),
    ]
    if subject.seconds is not None:
        rows.append(("time of the fit", f"{number(subject.seconds)} s"))
    return [*rows, ("versions", _versions())]


def _candidate_rows(subject: Subject) -> list[tuple[str, str]]:
    """The parameters of the one model in use, or how many are averaged."""
    if subject.mixture:
        return [("averaged models", f"{len(subject.mixture)}, in the table of the averaged models")]
    candidate = subject.candidate
    return [
        *_transform(subject.model, candidate),
        ("c", number(candidate["c"], 4)),
        ("features", _density(candidate["density"])),
    ]


def _transform(model: Any, candidate: dict[str, Any]) -> list[tuple[str, str]]:
    if model.quadrant == "identity":
        return [("a", "not used: features as they are"), ("k", plain(candidate["k"]))]
    if candidate["a"] == 0:
        exact = "newton" in np.atleast_1d(model.solver_)
        return [("a", "0: linear"), ("k", plain(candidate["k"]) if exact else "2: ridge")]
    return [("a", plain(candidate["a"])), ("k", plain(candidate["k"]))]


def _search_rows(subject: Subject) -> list[tuple[str, str]]:
    model = subject.model
    if not subject.searched:
        return [("search", "none: the parameters were given")]
    usable, nested = model.cv_results_["usable"], subject.error("nested_score_")
    name = subject.measure.name
    return [
        *([("search repeated on other samples", f"{name} {nested}")] if nested else []),
        ("has seen the choice", f"{name} {subject.error('best_score_')}"),
        ("tried", f"{count(usable.size, 'model')}, {thousands(usable.sum())} of them usable"),
        ("combine", str(model.combine)),
        ("cross-validation", short(folds_in_words(model))),
        ("scoring", _scoring(model)),
    ]


def _origin(contents: Contents) -> str:
    """Where the page has other models of the search from."""
    subject, known = contents.subject, contents.candidates.known
    if known.outcomes is None:
        return f"not shown: {known.why}"
    if subject.from_file:
        return "from the model file; the data passed are those of the fit, value by value"
    return "kept by the search"


def _scoring(model: Any) -> str:
    absent = getattr(model, "not_stored_", {}).get("scoring", "default")
    return short(absent if model.scoring is None else model.scoring)


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

TITLES = {
    "numbers": "Regression",
    "classes": "Classification",
    "counts": "Counts",
    "survival": "Survival",
}


HOW = (
    "Write the report with the training data: skstretch report MODEL --data FILE, or in Python "
    "write_report(model, path, X=X, y=y)."
)


def page_context(contents: Contents, data: dict[str, Any]) -> Context:
    """All that the template asks for."""
    subject = contents.subject
    kind = TITLES[subject.kind]
    named = subject.target not in UNNAMED
    title = f"{kind} of {subject.target}" if named else f"{kind} report"
    return {
        "title": title,
        "source": subject.source,
        "sentence": contents.sentence,
        "choice": Summary(subject.model).choice.replace(" = ", "\u00a0=\u00a0"),
        "trust": trust(subject.model, contents.quality) if contents.quality else "",
        "tiles": tiles(subject, contents.quality, contents.bars),
        "missing": _missing(contents),
        "mixture": _mixture(subject),
        "null": chance_in_words(subject.model),
        "charts": set(data["specs"]),
        "surface": _surface(contents, data),
        "candidates": _options(contents),
        "chosen_text": own_text(contents),
        "note": data["fits"][str(data["chosen"])]["notes"][0],
        "outputs": data["outputs"],
        "output_noun": "Class" if subject.classifies else "Target",
        "captions": _captions(contents, data),
        "top": _top_rows(data),
        "targets": _target_rows(contents),
        "density": [
            (
                point["density"] + _role(subject, point["chosen"]),
                thousands(point["features"]),
                point["written"],
                YES[point["within"]],
            )
            for point in data["density"]
        ],
        "survival": contents.curves
        and {
            "test": contents.curves.test,
            "head": contents.curves.head,
            "rows": [third.row for third in contents.curves.thirds],
        },
        "calibration": _calibration_rows(contents, data),
        "confusion": _confusion(data),
        "effects": contents.effects,
        "strange": contents.strange,
        "explained": _explained_rows(data),
        "striking": striking_samples(contents),
        "numbers": numbers_of(contents),
    }


def _missing(contents: Contents) -> list[str]:
    """What is not on the page, and how to get it."""
    subject, found = contents.subject, []
    own = "average" if subject.mixture else "chosen model"
    if subject.y is None:
        found.append(
            "The observed values were not at hand, so the page does not show them beside the "
            f"predictions. {HOW}"
        )
    elif subject.X is None:
        found.append(
            f"The features of the training data were not at hand, so only the {own} is shown "
            f"in full. {HOW}"
        )
    elif contents.candidates.known.why:
        found.append(f"Only the {own} is shown in full: {contents.candidates.known.why}.")
    if len(subject.outputs) > MOST_OUTPUTS:
        found.append(
            f"Shown are the first {MOST_OUTPUTS} of {count(len(subject.outputs), 'output')}."
        )
    if subject.kind == "counts" and subject.y is not None and not subject.weighted:
        found.append(
            "A model file does not hold exposures, so predicted and observed rates are not "
            "compared by groups: skstretch fit --report does so."
        )
    if not subject.searched:
        found.append(
            f"A {type(subject.model).__name__} does not search, so there are no other models to "
            f"show. {type(subject.model).__name__}CV finds a, k and c by itself."
        )
    return found


def _mixture(subject: Subject) -> Context | None:
    """The averaged models with their weights, the heaviest first."""
    if not subject.mixture:
        return None
    measure = subject.measure
    rows = [
        (member.name, share(member.share), number(member.c), measure.write_score(member.score))
        for member in subject.mixture
    ]
    own = measure.write_score(subject.model.best_score_)
    return {"rows": rows, "measure": measure.name, "error": own, "several": _own_shares(subject)}


def _own_shares(subject: Subject) -> bool:
    """Whether every target has weights of its own, so that those shown are means over them."""
    return bool(np.ndim(subject.model._members["weight"]) > 1)


def _surface(contents: Contents, data: dict[str, Any]) -> Context | None:
    surface = contents.surface
    if surface is None:
        return None
    within = sum(candidate.within for candidate in surface.candidates)
    ranks = contents.subject.model.cv_results_["rank_test_score"]
    subject = contents.subject
    best = surface.ranked(ranks, [] if subject.mixture else subject.members)[:20]
    members = set(subject.members)
    return {
        "best": surface.best,
        "poor": surface.poor,
        "note": surface.note,
        "flattered": _flattered(subject),
        "shows": "see its model" if len(contents.candidates.fitted) > 1 else "read its numbers",
        "measure": surface.measure.name,
        "better": surface.measure.better,
        "count": count(len(surface.candidates), "model"),
        "alike": _alike(within, len(surface.candidates)),
        "unusable": sum(candidate.level < 0 for candidate in surface.candidates),
        "rows": [
            (
                candidate.name + _role(subject, candidate.index in members),
                surface.measure.write(candidate.error),
                YES[candidate.within],
            )
            for candidate in best
        ],
        "alt": (
            f"Heat map of {surface.measure.name} over {len(surface.rows)} kinds of models and "
            f"{len(surface.columns)} strengths of the penalty. {data['own'][0]}: "
            f"{own_text(contents)}. {_alike(within, len(surface.candidates))}."
        ),
    }


YES = {True: "yes", False: "no"}


def _role(subject: Subject, own: bool) -> str:
    """What a model of the search is to the one in use."""
    return f" ({'averaged' if subject.mixture else 'chosen'})" * own


def _alike(within: int, total: int) -> str:
    """How many models the data do not tell apart from the best, which is one of them."""
    if within <= 1:
        others = count(total - 1, "model")
        return f"None of the other {others} is within one standard error of the best"
    return (
        f"{thousands(within)} of {count(total, 'model')} are within one standard error of the "
        "best: the data do not tell these apart"
    )


def _flattered(subject: Subject) -> str:
    """What choosing or averaging has done to the errors that are shown."""
    nested = subject.error("nested_score_")
    text = "All these errors have seen the choice among models, which flatters the best of them."
    return (
        f"{text} When the whole search is repeated on other samples: {nested}." if nested else text
    )


def own_text(contents: Contents) -> str:
    """The model in a few words: its parameters, or the averaged models."""
    if contents.subject.mixture:
        return shares_in_words(contents.subject.mixture)
    if contents.surface is None:
        candidate = contents.subject.candidate
        return ", ".join(f"{name} = {number(value)}" for name, value in candidate.items())
    return next(
        c.text for c in contents.surface.candidates if c.index == contents.candidates.chosen
    )


def _options(contents: Contents) -> list[tuple[int, str]]:
    """Models for the drop-down list, the one in use first."""
    surface = contents.surface
    if surface is None:
        return []
    found = []
    for row in contents.candidates.fitted:
        if row == MIXTURE:
            own = surface.measure.write_score(contents.subject.model.best_score_)
            found.append((row, f"the average ({own})"))
            continue
        candidate = next(c for c in surface.candidates if c.index == row)
        mark = "chosen: " if row == contents.candidates.chosen else ""
        found.append((row, f"{mark}{candidate.name} ({surface.measure.write(candidate.error)})"))
    return found


def _captions(contents: Contents, data: dict[str, Any]) -> dict[str, str]:
    fit = _fit_caption(contents) if data["samples"] else ""
    captions = {"fit": fit, "calibration": _calibration_caption(contents)}
    D, groups = contents.subject.shape[1], len(data["along"])
    captions["profile"] = (
        "What one unit more of each feature changes, at its mean."
        if groups >= D
        else f"What one unit more of a feature changes, at its mean: the line is the mean of "
        f"{-(-D // max(1, groups))} neighbouring features, the band their range."
    )
    what = "the score of the class" if contents.subject.classifies else "the prediction"
    what = SCORES.get(contents.subject.state.loss, what)
    captions["survival"] = _survival_caption(contents)
    captions["top"] = (
        f"How much {what} changes when a feature rises by one standard deviation, so that units do "
        "not matter. To the right it raises, to the left it lowers."
    )
    if contents.quality and not any(each.found for each in contents.quality):
        captions["top"] += " Nothing was found, so nothing shows that these features matter."
    return captions


def _fit_caption(contents: Contents) -> str:
    bars, n, subject = contents.bars, contents.subject.shape[0], contents.subject
    text = "Each point is a sample, predicted by a model that has not seen it; on the dashed line "
    text += "prediction and observation agree. "
    if subject.searched:
        text += (
            "The whole search was repeated without the sample. "
            if subject.nested
            else "The choice among models has seen it. "
        )
    shown = "" if len(contents.shown) == n else f" Drawn are {POINTS} of {count(n, 'sample')}."
    if bars is None:
        return f"{text}Intervals are not promised for counts.{shown}"
    if not bars.finite:
        return text + f"With {count(n, 'sample')} there are too few for 90\u00a0% intervals."
    text += (
        "Bars are 90\u00a0% jackknife+ intervals, each from a fit without the tenth of the samples "
        "to which it belongs; marked are observations outside theirs."
        if bars.method == "plus"
        else "Bars reach as far as 90\u00a0% of these errors; marked are observations outside."
    )
    return text + shown


def _survival_caption(contents: Contents) -> str:
    """What the curves are, where the risks are from, and the test."""
    if contents.curves is None or contents.judged is None:
        return ""
    return (
        "The share of samples without the event (Kaplan and Meier), in three groups by "
        f"their risk. {_risks(contents)} {contents.curves.test} Risks that were left out come from "
        "several models, so that the p-value is a guide and no exact one."
    )


def _risks(contents: Contents) -> str:
    """Where risks or rates are from."""
    what = "risk" if contents.subject.kind == "survival" else "rate"
    if contents.judged is None or not contents.judged.left_out:
        return f"No left-out {what}s were kept: these have seen the samples, and look too good."
    seen = (
        "the whole search was repeated without it"
        if contents.subject.nested
        else ("the choice among models has seen it")
    )
    return f"Each {what} is by a model that has not seen the sample; {seen}."


def _calibration_rows(contents: Contents, data: dict[str, Any]) -> list[tuple[str, ...]]:
    """What was said and seen, as text."""
    write = number if contents.subject.kind == "counts" else share
    return (
        [
            (
                write(point["said"]),
                write(point["seen"]),
                f"{write(point['low'])} to {write(point['high'])}",
                thousands(point["n"]),
            )
            for point in data["calibration"][0]
        ]
        if data["calibration"]
        else []
    )


def _calibration_caption(contents: Contents) -> str:
    if contents.judged is not None:
        survives = contents.subject.kind == "survival"
        what = (
            "predicted survival, against the share that was seen"
            if survives
            else ("predicted rate, against the rate that was seen")
        )
        whole = " The hazard at risk 0 is that of the whole model." * survives
        poisson = " if counts scatter as Poisson's do" * (not survives)
        return (
            f"Samples in groups of like size by their {what}. On the dashed line both agree. "
            f"{_risks(contents)}{whole} Bars: 90\u00a0% interval{poisson}."
        )
    ends = (
        "On the dashed line both agree; below it intervals are too narrow. Bars: 90\u00a0% "
        "interval of the share. This needs samples that are independent of each other."
    )
    if not contents.subject.classifies and contents.subject.nested:
        return (
            "Intervals that reach as far as a share of the errors of nine tenths of the samples, "
            "and the share of observations that they held in the other tenth; the search was "
            f"repeated without each sample. {ends}"
        )
    if not contents.subject.classifies:
        return (
            "Jackknife+ intervals were asked to hold a share of new observations; the points show "
            f"the share that they held in tenths of the data kept aside. {ends}"
        )
    return (
        "Samples in groups of equal size by their probability, against the share that came true. "
        "On the dashed line both agree. The curve from score to probability was learned without "
        "the group's tenth of the data; the choice among models has seen all of them. Bars: "
        "90\u00a0% interval of the share."
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
        (name, q.write(q.loss), q.write(q.mean.loss), share(q.gain, 0), near_one(q.r2))
        for name, q in zip(contents.subject.outputs, contents.quality, strict=True)
    ]


def _confusion(data: dict[str, Any]) -> Context | None:
    table = data["fits"][str(data["chosen"])].get("confusion")
    if not table:
        return None
    rows = [
        (label, *map(thousands, counts))
        for label, counts in zip(data["classes"], table, strict=True)
    ]
    return {"labels": data["classes"], "rows": rows}

"""The texts of a page: titles, captions, alternatives of charts, tables."""

import platform
from importlib import metadata
from typing import Any

import numpy as np

from skstretch.estimators.quality import chance_in_words, folds_in_words, left_out
from skstretch.estimators.summary import choice, shares_in_words
from skstretch.report.candidates import MIXTURE, MOST_OUTPUTS
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
        *([("other candidates", _origin(contents))] if subject.searched else []),
    ]
    if subject.seconds is not None:
        rows.append(("time of the fit", f"{number(subject.seconds)} s"))
    return [*rows, ("versions", _versions())]


def _candidate_rows(subject: Subject) -> list[tuple[str, str]]:
    """The parameters of the one candidate in use, or how many are mixed."""
    if subject.mixture:
        return [
            ("mixture", f"{count(len(subject.mixture), 'candidate')}, in the table of the mixture")
        ]
    candidate = subject.candidate
    return [
        *_transform(subject.model, candidate),
        ("c", number(candidate["c"], 4)),
        ("density", _density(candidate["density"])),
    ]


def _transform(model: Any, candidate: dict[str, Any]) -> list[tuple[str, str]]:
    if model.quadrant == "identity":
        return [("a", "not used: features as they are"), ("k", plain(candidate["k"]))]
    if candidate["a"] == 0:
        exact = "newton" in np.atleast_1d(model.solver_)
        return [("a", "0, the linear limit"), ("k", plain(candidate["k"]) if exact else "2: ridge")]
    return [("a", plain(candidate["a"])), ("k", plain(candidate["k"]))]


def _search_rows(subject: Subject) -> list[tuple[str, str]]:
    model = subject.model
    if not subject.searched:
        return [("search", "none: the parameters were given")]
    usable, nested = model.cv_results_["usable"], subject.error("nested_score_")
    return [
        ("search", f"{count(usable.size, 'candidate')}, {thousands(usable.sum())} of them usable"),
        ("cross-validated", f"{subject.measure.name} {subject.error('best_score_')}"),
        *([("searched again", f"{nested}, without {left_out(model)}")] if nested else []),
        ("combine", str(model.combine)),
        ("cross-validation", short(folds_in_words(model))),
        ("scoring", _scoring(model)),
    ]


def _origin(contents: Contents) -> str:
    """Where the page has other candidates of the search from."""
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
        "candidates": _options(contents),
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
    own = "mixture" if subject.mixture else "chosen candidate"
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
    elif contents.candidates.known.why:
        found.append(f"Only the {own} is shown in full: {contents.candidates.known.why}.")
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
    """The candidates of a mixture with their shares, the heaviest first."""
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
    """Whether several targets mix on their own, so that shares are means over them."""
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
        "count": count(len(surface.candidates), "candidate"),
        "alike": _alike(within, len(surface.candidates)),
        "unusable": sum(candidate.level < 0 for candidate in surface.candidates),
        "rows": [
            (
                candidate.name,
                surface.measure.write(candidate.error),
                candidate.within,
                candidate.index in members,
            )
            for candidate in best
        ],
        "alt": (
            f"Heat map of {surface.measure.name} over {len(surface.rows)} rows of a and k and "
            f"{len(surface.columns)} strengths of the penalty. {data['own'][0]}: "
            f"{own_text(contents)}. {_alike(within, len(surface.candidates))}."
        ),
    }


def _alike(within: int, total: int) -> str:
    """How many candidates the data do not tell apart from the best, which is one of them."""
    if within <= 1:
        others = count(total - 1, "candidate")
        return f"None of the other {others} is within one standard error of the best"
    return (
        f"{thousands(within)} of {count(total, 'candidate')} are within one standard error of the "
        "best: the data do not tell these apart"
    )


def _flattered(subject: Subject) -> str:
    """What choosing or mixing has done to the error that was looked at."""
    if subject.mixture:
        text = "The error of the mixture is slightly flattered: its weights were found from it."
    else:
        text = "The error of the chosen candidate is slightly flattered by having been chosen."
    nested = subject.error("nested_score_")
    if not nested:
        return text
    return f"{text} Searched again without {left_out(subject.model)}: {nested}."


def own_text(contents: Contents) -> str:
    """The model in a few words: its candidate, or the candidates that are mixed."""
    if contents.subject.mixture:
        return shares_in_words(contents.subject.mixture)
    if contents.surface is None:
        candidate = contents.subject.candidate
        return ", ".join(f"{name} = {number(value)}" for name, value in candidate.items())
    return next(
        c.text for c in contents.surface.candidates if c.index == contents.candidates.chosen
    )


def _options(contents: Contents) -> list[tuple[int, str]]:
    """Candidates for the drop-down list, the chosen one first."""
    surface = contents.surface
    if surface is None:
        return []
    found = []
    for row in contents.candidates.fitted:
        if row == MIXTURE:
            own = surface.measure.write_score(contents.subject.model.best_score_)
            found.append((row, f"the mixture ({own})"))
            continue
        candidate = next(c for c in surface.candidates if c.index == row)
        mark = "chosen: " if row == contents.candidates.chosen else ""
        found.append((row, f"{mark}{candidate.name} ({surface.measure.write(candidate.error)})"))
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
        f"How much {what} changes when a feature rises by one standard deviation (coef_ times "
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
            "Bars of the chosen candidate are 90\u00a0% jackknife+ intervals, each from a fit "
            "without the tenth of the samples to which it belongs; marked are observations "
            "outside theirs."
        )
    else:
        own = "mixture" if contents.subject.mixture else "chosen candidate"
        text += (
            f"Bars of the {own} reach to the 90\u00a0% quantile of the out-of-fold residuals; "
            "marked are observations "
            "outside theirs."
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
            "every candidate would have to be fitted without each tenth.)"
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

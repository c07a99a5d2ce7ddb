"""What is on a page, and its texts: titles, captions, alternatives of charts, tables."""

import platform
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skstretch.core.types import Array, Index
from skstretch.estimators.quality import Evidence, chance_in_words, folds_in_words
from skstretch.estimators.summary import (
    SCORES,
    UNNAMED,
    Summary,
    mixture_rows,
    plain_evidence,
    sampling,
    shares_in_words,
    stored_evidence,
    trust,
    verdict_of,
)
from skstretch.io.header import versions
from skstretch.report.candidates import (
    MIXTURE,
    MOST_OUTPUTS,
    POINTS,
    FittedCandidates,
    Panel,
    Surface,
    evenly,
    fitted_candidates,
    sure_effects,
    surface_of,
)
from skstretch.report.quality import (
    COVERAGE,
    Bars,
    Explained,
    Judged,
    bars_of,
    explained_samples,
    judged,
    strange_samples,
    striking_samples,
    survival_curves,
)
from skstretch.report.subject import Subject, short
from skstretch.style import count, near_one, number, plain, share, thousands


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
        order = np.argsort(self.subject.Y[:, 0], kind="stable")
        return np.sort(order[evenly(order.size, POINTS)])

    @cached_property
    def quality(self) -> list[Evidence] | None:
        """Errors of each target or of the classes: of the search repeated, else plain ones."""
        subject = self.subject
        if (stored := stored_evidence(subject.model)) is not None:
            return stored
        if subject.y is None or self.outputs is None:
            return None
        outputs = getattr(subject.model, "cv_predictions_", self.outputs)
        used = subject.state.used
        outputs = np.asarray(outputs, dtype=float).reshape(subject.shape[0], -1)[used]
        return plain_evidence(subject.model, outputs, subject.Y[used], *self.sampling)

    @cached_property
    def sampling(self) -> tuple[Array, Index | None]:
        """Weights of the samples that were used, as numbers of samples, and their groups."""
        given = self.subject.given_weights
        used = None if given is None else given[self.subject.state.used]
        return sampling(self.subject.model, used)

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
    def survival(self) -> Panel | None:
        """Survival by thirds of the risk; None of anything else."""
        survives = self.judged is not None and self.subject.kind == "survival"
        return survival_curves(self.judged) if survives else None  # type: ignore[arg-type]

    @cached_property
    def explained(self) -> list[Explained]:
        """A few telling samples with what made their predictions."""
        return explained_samples(self.subject, self.scores)

    @property
    def note(self) -> str:
        """The figure of the model, for counts and survival."""
        if not self.quality:
            return ""
        return f"{self.quality[0].words.error} {self.quality[0].write(self.quality[0].loss)}"

    @property
    def trust(self) -> str:
        """How far to trust it; how to get a better figure is said as on the command line too."""
        text = trust(self.subject.model, self.quality)
        both = "Fit without --no-nested, or in Python with nested_cv=10,"
        return text.replace("Fit with nested_cv=10", both)

    @property
    def sentence(self) -> str:
        """How well the model does, for the top of the page."""
        subject = self.subject
        if self.quality is None:
            n, D = subject.shape
            data = f"fitted on {count(n, 'sample')} of {count(D, 'feature')}"
            return f"{KINDS[subject.kind][1]} {data}. {self.trust}".strip()
        names = [subject.target] if subject.classifies else subject.outputs
        text = verdict_of(subject.model, self.quality, names)
        return text + (interval_sentence(self.bars) if self.quality[0].found else "")

    @property
    def scores(self) -> Array | None:
        """Its outputs, less the cut where they are scores of classes."""
        return self.cut(self.candidates.chosen) if self.subject.classifies else self.outputs

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


# One sentence in plain words, and a few figures beside it.


KINDS = {
    "numbers": ("Regression", "A regression model"),
    "classes": ("Classification", "A classifier"),
    "counts": ("Counts", "A model of counts"),
    "survival": ("Survival", "A model of survival"),
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
            same = f"{one.words.short} on the same samples"
            found.append((one.write(one.ridge.loss), "ridge regression", same))
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


# The box of numbers at the foot of a report.


PACKAGES = ("numpy", "scipy", "scikit-learn", "altair", "vl-convert-python")


def numbers_of(contents: Contents) -> list[tuple[str, str]]:
    """Names and values, all as text."""
    subject = contents.subject
    model, (n, D) = subject.model, subject.shape
    used = {"Python": platform.python_version()} | versions(*PACKAGES)
    seconds = None if subject.seconds is None else f"{number(subject.seconds)} s"
    rows = [
        ("model", type(model).__name__),
        ("steps before it", short(subject.steps, 300)),
        ("data", f"{count(n, 'sample')} × {count(D, 'feature')}"),
        ("fingerprint of the data", subject.fingerprint),
        *_candidate_rows(subject),
        ("degrees of freedom", _joined(model.dof_)),
        ("space", str(model._state.space)),
        ("solver", ", ".join(dict.fromkeys(map(str, np.atleast_1d(model.solver_))))),
        ("condition number", _joined(1.0 / np.maximum(np.atleast_1d(model.rcond_), 1e-300))),
        *_search_rows(contents),
        ("time of the fit", seconds),
        ("versions", ", ".join(f"{package} {version}" for package, version in used.items())),
    ]
    return [(name, value) for name, value in rows if value]


def _candidate_rows(subject: Subject) -> list[tuple[str, str]]:
    """The parameters of the one model in use, or how many are averaged."""
    if subject.mixture:
        return [("averaged models", f"{len(subject.mixture)}, in the table of the averaged models")]
    a, k, c, density = (subject.candidate[name] for name in ("a", "k", "c", "density"))
    told = plain(a), plain(k)
    if subject.model.quadrant == "identity":
        told = "not used: features as they are", plain(k)
    elif a == 0:
        exact = "newton" in np.atleast_1d(subject.model.solver_)
        told = "0: linear", plain(k) if exact else "2: ridge"
    return [*zip("ak", told, strict=True), ("c", number(c, 4)), ("features", _density(density))]


def _search_rows(contents: Contents) -> list[tuple[str, str]]:
    subject, model = contents.subject, contents.subject.model
    if not subject.searched:
        return [("search", "none: the parameters were given")]
    usable, nested = model.cv_results_["usable"], subject.error("nested_score_")
    name = subject.measure.name
    return [
        ("search repeated on other samples", nested and f"{name} {nested}"),
        ("has seen the choice", f"{name} {subject.error('best_score_')}"),
        ("tried", f"{count(usable.size, 'model')}, {thousands(usable.sum())} of them usable"),
        ("combine", str(model.combine)),
        ("cross-validation", short(folds_in_words(model))),
        ("scoring", _scoring(model)),
        ("other models", _origin(contents)),
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


Context = dict[str, Any]


# what says more of a model than the measure that a page shows
COMPARED_BY = {"balanced error rate": "log loss", "concordance": "partial likelihood"}
# numbers of features that a page suggests
FEWER = (30, 10, 3)
HOW = (
    "Write the report with the training data: skstretch report MODEL --data FILE, or in Python "
    "write_report(model, path, X=X, y=y)."
)


def page_context(contents: Contents, data: dict[str, Any]) -> Context:
    """All that the template asks for."""
    subject = contents.subject
    kind, _ = KINDS[subject.kind]
    named = subject.target not in UNNAMED
    title = f"{kind} of {subject.target}" if named else f"{kind} report"
    return {
        "title": title,
        "source": subject.source and short(subject.source, 120),
        "sentence": contents.sentence,
        "choice": Summary(subject.model).choice.replace(" = ", "\u00a0=\u00a0"),
        "trust": contents.trust if contents.quality else "",
        "tiles": tiles(subject, contents.quality, contents.bars),
        "missing": _missing(contents),
        "mixture": _mixture(subject),
        "null": chance_in_words(subject.model),
        "charts": set(data["specs"]),
        "surface": _surface(contents, data),
        "fewer": [n for n in FEWER if 2 * n <= subject.shape[1]][:2],
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
        "survival": contents.survival,
        "calibration": _calibration_rows(contents, data),
        "confusion": _confusion(data),
        "effects": contents.effects,
        "strange": contents.strange,
        "explained": contents.explained,
        "striking": striking_samples(subject, contents.scores),
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
            "compared by groups. Tell them with skstretch report --exposure COL, or in Python "
            "sample_weight=exposure."
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
    return {
        "rows": mixture_rows(subject.model),
        "measure": subject.measure.name,
        "error": subject.measure.write_score(subject.model.best_score_),
        # every target has weights of its own, so that those shown are means over them
        "several": np.ndim(subject.model._members["weight"]) > 1,
    }


def _surface(contents: Contents, data: dict[str, Any]) -> Context | None:
    surface = contents.surface
    if surface is None:
        return None
    within, subject = sum(one.within for one in surface.candidates), contents.subject
    ranks, members = subject.model.cv_results_["rank_test_score"], set(subject.members)
    best = surface.ranked(ranks, [] if subject.mixture else subject.members)[:20]
    alike, write = _told_apart(within, len(surface.candidates)), surface.measure.write
    return {
        **vars(surface),
        "flattered": _flattered(subject),
        "shows": "see its model" if len(contents.candidates.fitted) > 1 else "read its numbers",
        "alike": alike,
        "unusable": sum(candidate.level < 0 for candidate in surface.candidates),
        "table": [
            (one.name + _role(subject, one.index in members), write(one.error), YES[one.within])
            for one in best
        ],
        "alt": (
            f"Heat map of {surface.measure.name} over {len(surface.rows)} kinds of models and "
            f"{len(surface.columns)} strengths of the penalty. {data['own'][0]}: "
            f"{own_text(contents)}. {alike}."
        ),
    }


YES = {True: "yes", False: "no"}


def _role(subject: Subject, own: bool) -> str:
    """What a model of the search is to the one in use."""
    return f" ({'averaged' if subject.mixture else 'chosen'})" * own


def _told_apart(within: int, total: int) -> str:
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
    if subject.mixture and subject.measure.name in COMPARED_BY:
        own = COMPARED_BY[subject.measure.name]
        text += (
            f" The search compares models by the {own}, so others than the darkest are averaged."
        )
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
    neighbours = f"{-(-D // max(1, groups))} neighbouring features"
    drawn = (
        f"a needle is the range of {neighbours}"
        if contents.subject.few
        else f"the line is the mean of {neighbours}, the band their range"
    )
    captions["profile"] = (
        "What one unit more of each feature changes, at its mean."
        if groups >= D
        else f"What one unit more of a feature changes, at its mean: {drawn}."
    )
    what = "the score of the class" if contents.subject.classifies else "the prediction"
    what = SCORES.get(contents.subject.state.loss, what)

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


def _calibration_rows(contents: Contents, data: dict[str, Any]) -> list[tuple[str, ...]]:
    """What was said and seen, as text."""
    write = number if contents.subject.kind == "counts" else share
    rows: list[tuple[str, ...]] = []
    for point in (data["calibration"] or [[]])[0]:
        said, seen, low, high = (write(point[name]) for name in ("said", "seen", "low", "high"))
        rows.append((said, seen, f"{low} to {high}", thousands(point["n"])))
    return rows


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
            f"{contents.judged.origin}{whole} Bars: 90\u00a0% interval{poisson}."
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
    picture, names = data["fits"][str(data["chosen"])]["pictures"][0], data["features"]
    return [
        (names[j], number(slope, 4), number(slope * data["scales"][j], 4))
        for j, slope in zip(picture["top"], picture["slopes"], strict=True)
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

"""From a fitted model to a file that a browser opens."""

import base64
import hashlib
import json
import math
import os
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

from skstretch.core.types import Array
from skstretch.estimators.summary import SCORES
from skstretch.io.archive import replacing
from skstretch.report import candidates, charts, quality
from skstretch.report.subject import Subject, checked_subject, distinct
from skstretch.report.text import Contents, contents_of, own_text, page_context
from skstretch.style import DARK, FONT, LIGHT, MONOSPACE, SHADES, css, number, thousands

# The data of the charts, as plain lists and dicts of few digits.

Data = dict[str, Any]
# kinds of targets whose predictions are drawn beside them
NUMBERS = ("numbers", "counts")
# bars that are drawn; the table below them has more
MOST_BARS = 15


def rounded(values: Any, digits: int = 4) -> list[float | None]:
    """Numbers for a page: few digits, None for what is not finite."""
    form = f"%.{digits}g"
    found = np.asarray(values, dtype=float).tolist()
    return [float(form % value) if math.isfinite(value) else None for value in found]


def chart_data(contents: Contents) -> Data:
    """All data of the page, with the specifications of its charts."""
    subject = contents.subject
    data: Data = {
        "chosen": contents.candidates.chosen,
        "framed": subject.members if subject.searched else [],
        "own": ["The average" if subject.mixture else "Chosen model", own_text(contents)],
        "outputs": subject.outputs[: candidates.MOST_OUTPUTS],
        "config": charts.CONFIG,
        "locale": charts.LOCALE,
        "specs": {},
        **_features(contents),
        **_samples(contents),
    }
    data["fits"] = {str(row): _fit(contents, row, data) for row in contents.candidates.fitted}
    curves = quality.calibration(subject, contents.scores, contents.bars, contents.judged)
    data["calibration"] = [[_rounded(point) for point in points] for points in curves]
    data |= _surface(contents) | _null(contents)
    panels = {"effects": contents.effects, "novelty": contents.strange}
    for name, panel in (panels | {"survival": contents.survival}).items():
        data[name] = [] if panel is None else _records(panel.columns)
    data["explained"] = [
        {"sample": one.sample, "bars": _records(one.columns)} for one in contents.explained
    ]
    data["specs"] = _specs(contents, data)
    return data


def _rounded(point: Data) -> Data:
    return {k: rounded([v])[0] if isinstance(v, float) else v for k, v in point.items()}


def _records(given: dict[str, Any]) -> list[Data]:
    """The columns of a panel as rows, with keys and places for those that have names."""
    arrays = {name: np.asarray(values) for name, values in given.items()}
    columns: dict[str, list[Any]] = {
        name: rounded(values, 7) if values.dtype.kind == "f" else values.tolist()
        for name, values in arrays.items()
    }
    if "name" in columns:
        columns["key"] = [charts.key(name) for name in columns["name"]]
        columns["place"] = [*range(len(columns["name"]))]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _surface(contents: Contents) -> Data:
    if contents.surface is None:
        return {"candidates": [], "density": []}
    placed = [
        {name: value for name, value in vars(one).items() if name != "error"}
        for one in contents.surface.candidates
    ]
    points = candidates.density_curve(contents.subject)
    return {"candidates": placed, "density": [_rounded(point) for point in points]}


def _null(contents: Contents) -> Data:
    """Counts of the scores with targets in random order; none where there was no test."""
    found: Any = getattr(contents.subject.model, "permutation_", None)
    scores = np.zeros(0) if found is None else np.asarray(found.null_distribution, dtype=float)
    scores = scores[np.isfinite(scores)]
    if not scores.size:
        return {"null": [], "statistic": []}
    counts, edges = np.histogram(scores, bins=int(np.clip(scores.size // 10, 5, 40)))
    ends = zip(rounded(edges[:-1]), rounded(edges[1:]), counts.tolist(), strict=True)
    bars = [{"from": low, "to": high, "n": n} for low, high, n in ends]
    return {"null": bars, "statistic": [{"at": rounded([found.statistic])[0]}]}


def _features(contents: Contents) -> Data:
    """Names and scales of the features that some candidate ranks, and the axis of the profile."""
    subject = contents.subject
    tops = [p.top for fitted in contents.candidates.fitted.values() for p in fitted.pictures]
    used = np.unique(np.concatenate([*tops, np.zeros(0, dtype=int)])).astype(int)
    begin = candidates.starts(subject.shape[1])
    along = begin if subject.positions is None else subject.positions[begin]
    shown = subject.shape[1] > candidates.TOP or subject.positions is not None
    return {
        "features": distinct([subject.names[j] for j in used]),
        "places": used.tolist(),
        "scales": rounded(subject.scale[used]),
        "along": rounded(along, 7) if shown else [],
        "grouped": begin.size < subject.shape[1],
    }


def _samples(contents: Contents) -> Data:
    subject, bars = contents.subject, contents.bars
    if subject.y is None or subject.kind not in NUMBERS or contents.outputs is None:
        return {"samples": [], "observed": [], "lower": [], "upper": []}
    shown = contents.shown

    def drawn(values: Array) -> list[Any]:
        return [rounded(column) for column in values[shown, : candidates.MOST_OUTPUTS].T]

    lower, upper = ([], []) if bars is None else (drawn(bars.lower), drawn(bars.upper))
    named = [subject.sample_name(i) for i in shown.tolist()]
    return {"samples": named, "observed": drawn(subject.Y), "lower": lower, "upper": upper}


def _fit(contents: Contents, row: int, data: Data) -> Data:
    """One candidate: a picture for each output, and how it fits."""
    fitted, places = contents.candidates.fitted[row], {j: i for i, j in enumerate(data["places"])}
    pictures = [
        {
            "top": [places[j] for j in p.top.tolist()],
            "slopes": rounded(p.slopes),
            **_profile(p, data),
        }
        for p in fitted.pictures
    ]
    if contents.subject.classifies:
        return {"pictures": pictures, **_class_fit(contents, row)}
    return {"pictures": pictures, **_regression_fit(contents, fitted)}


def _profile(shown: candidates.Picture, data: Data) -> Data:
    """Slopes along the features; with the range of each group where there are groups."""
    if not data["along"]:
        return {"profile": []}
    found = {"profile": rounded(shown.profile)}
    if data["grouped"]:
        found |= {"low": rounded(shown.low, 3), "high": rounded(shown.high, 3)}
    return found


def _regression_fit(contents: Contents, fitted: candidates.Fitted) -> Data:
    subject = contents.subject
    if subject.y is None or fitted.outputs is None:
        return {"predicted": [], "notes": ["" for _ in fitted.pictures]}
    if subject.kind == "survival":
        return {"predicted": [], "notes": [contents.note]}
    outputs, notes = fitted.outputs[:, : candidates.MOST_OUTPUTS], [contents.note]
    if subject.kind == "numbers":
        used, weights = subject.state.used, contents.sampling[0]
        pairs, found = (subject.Y[used].T, outputs[used].T), contents.quality or []
        # a candidate of one target says nothing of the others
        notes = [
            quality.number_note(y, own, weights, each.mean.loss)
            for y, own, each in zip(*pairs, found, strict=False)
        ]
    return {"predicted": [rounded(values) for values in outputs[contents.shown].T], "notes": notes}


def _class_fit(contents: Contents, row: int) -> Data:
    subject, scores = contents.subject, contents.cut(row)
    if subject.y is None or scores is None:
        return {"curves": [], "confusion": [], "notes": [""]}
    known = np.isfinite(scores).all(axis=1)
    scores, codes, size = scores[known], subject.codes[known], subject.model.classes_.size
    weights = np.zeros(subject.shape[0])
    weights[subject.state.used] = contents.sampling[0]
    found, table = quality.roc(scores, codes), quality.confusion(scores, codes, size)
    weighed = quality.confusion(scores, codes, size, weights[known])
    curves = [
        {
            "label": subject.classes[curve["label"]],
            "area": rounded([curve["area"]])[0],
            "x": rounded(curve["x"], 3),
            "y": rounded(curve["y"], 3),
        }
        for curve in found
    ]
    kept = _shown_classes(subject)
    shown = table[np.ix_(kept, kept)].tolist()
    return {"curves": curves, "confusion": shown, "notes": [quality.class_note(weighed, found)]}


def _shown_classes(subject: Subject) -> list[int]:
    """The classes that a confusion matrix has room for."""
    return quality.frequent(subject.codes, len(subject.classes), quality.MOST_CLASSES)


def _specs(contents: Contents, data: Data) -> Data:
    """The charts that there are data for."""
    subject, surface, specs = contents.subject, contents.surface, {}
    if surface is not None:
        specs["surface"] = charts.surface_chart(surface.rows, surface.columns, surface.column_title)
    if data["density"]:
        features = [point["features"] for point in data["density"]]
        wide = min(features) > 0 and max(features) > 20 * min(features)
        specs["density"] = charts.density_chart(contents.surface.measure.name, wide)  # type: ignore[union-attr]
    if data["null"]:
        specs["null"] = charts.null_chart("score: greater is better")
    for i, one in enumerate(data["explained"]):
        what = SCORES.get(subject.state.loss, "score" if subject.classifies else "prediction")
        what = what.removeprefix("the ")
        specs[f"sample{i}"] = charts.share_chart(max(1, len(one["bars"])), what)
    tops = [len(one["top"]) for fit in data["fits"].values() for one in fit["pictures"]]
    data["bars"] = min(MOST_BARS, max(tops))
    specs["top"] = charts.top_chart(max(1, data["bars"]))
    if data["along"]:
        named = subject.positions is not None
        specs["profile"] = charts.profile_chart(named, subject.few, data["grouped"])
    own = data["fits"][str(data["chosen"])]
    if data["samples"]:
        specs["fit"] = charts.fit_chart("" if subject.target == "the target" else subject.target)
    if own.get("curves"):
        specs["roc"] = charts.roc_chart([curve["label"] for curve in own["curves"]])
    if own.get("confusion"):
        data["classes"] = [subject.classes[i] for i in _shown_classes(subject)]
        data["levels"] = SHADES
        specs["confusion"] = charts.confusion_chart(data["classes"])
    if data["effects"]:
        along = "at" in data["effects"][0]
        specs["effects"] = charts.effects_chart(len(data["effects"]), along)
    if data["novelty"]:
        specs["novelty"] = charts.novelty_chart()
    if data["survival"]:
        names = [*dict.fromkeys(point["label"] for point in data["survival"])]
        specs["survival"] = charts.survival_chart(names)
    if data["calibration"]:
        ends = None
        if subject.kind == "counts":
            ends = max(point[name] for point in data["calibration"][0] for name in ("said", "high"))
        specs["calibration"] = charts.calibration_chart(*_calibration_titles(contents), ends)
    return specs


def _calibration_titles(contents: Contents) -> tuple[str, str]:
    if contents.judged is not None and contents.subject.kind == "survival":
        at = number(quality.chosen_time(contents.subject))
        return f"predicted to be without the event at {at}", "seen without it (Kaplan–Meier)"
    if contents.judged is not None:
        return "predicted rate", "observed rate"
    if not contents.subject.classifies:
        return "coverage asked for", "observations inside"
    if contents.subject.model.classes_.size > 2:
        return "probability of the predicted class", "share of right predictions"
    return f"probability of {contents.subject.classes[1]}", "observed share"


# The page: template, data and scripts in one file that may ask for nothing.


def render(context: dict[str, Any], data: dict[str, Any]) -> str:
    """One HTML text.

    All of `context` is escaped by the template; `data` is JSON without a single ``<``, so that
    nothing in it can end the element that holds it. The content security policy allows the two
    scripts and the style sheet by their hashes, and no request, no evaluation of strings, no form.
    """
    style, drawing, script = _style(), charts.library(), _file("page.js")
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"script-src {_hash(drawing)} {_hash(script)}; style-src {_hash(style)}"
    )
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_file),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html").render(
        **context,
        policy=policy,
        thousands=thousands,
        style=Markup(style),
        library=Markup(drawing),
        script=Markup(script),
        data=Markup(script_json(data)),
    )


def script_json(data: Any) -> str:
    """JSON in ASCII that is safe inside a script element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _file(name: str) -> str:
    return (resources.files("skstretch.report") / "template" / name).read_text("utf-8")


def _style() -> str:
    """The style sheet with the colours and fonts of all drawings."""
    return Template(_file("page.css")).substitute(
        light=css(LIGHT), dark=css(DARK), font=FONT, monospace=MONOSPACE
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def write_report(
    model: Any,
    path: Any,
    X: Any = None,
    y: Any = None,
    *,
    source: str | None = None,
    seconds: float | None = None,
    target: str | None = None,
    samples: Any = None,
    at: float | None = None,
    sample_weight: Any = None,
) -> Path:
    """Write a report on a fitted model as one HTML file that asks for nothing else.

    The figure that leads is that of the whole search repeated on other samples, where the model was
    fitted with ``nested_cv``; without, the page says that its figure has seen the choice.

    Parameters
    ----------
    model : StretchyRegressorCV, StretchyClassifierCV, StretchySurvivalCV, StretchyRegressor, \
            StretchyClassifier or sklearn.pipeline.Pipeline
        Fitted, or from `skstretch.load`. Of a pipeline that ends in one of ours, the page shows
        the features that its last step sees.
    path : str or path-like
        By convention with the ending ``.html``. An older file is replaced in one step.
    X, y : array-like, optional
        The data of the fit, in any container that `fit` takes. With them the page shows other
        models than the one in use, predictions of samples left out, intervals and calibration; with
        y alone those of the model in use; without them what the model itself holds, and
        it says what is missing.
    source : str, optional
        Where the data came from, such as the name of a file; shown at the top.
    seconds : float, optional
        How long the fit took; shown with the other numbers.
    target : str, optional
        What is predicted; by default the name of y where it has one, as a pandas Series may.
    samples : sequence of str, optional
        Names of the rows; by default the index of X or y, where it does not only count.
    at : float, optional
        Of survival: the time at which predictions are compared with what was seen; by default the
        middle one of the events.
    sample_weight : array-like of shape (n_samples,), optional
        The weights of the fit, for counts their exposure. A model from a file does not know them.

    Returns
    -------
    path : pathlib.Path
        The file that was written.

    See Also
    --------
    skstretch.StretchyRegressorCV.summary : The same in sentences.

    Notes
    -----
    A search that was fitted in this process is not run again: the page is made from what it kept of
    every candidate. Nor is one from a file that holds this too, where X and y are those of the fit
    value by value: a digest in the file tells. Of other models from files and pickles only the
    model in use is shown in full, and the page says so. At most 150 candidates
    can be picked, divided by the number of outputs, fewer for large data. The page holds at most 50
    features and a profile of 500 points for each candidate, and 500 samples. Names of features,
    values of y and predictions are on it: it is as confidential as these.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_diabetes
    >>> from skstretch import StretchyRegressor
    >>> from skstretch.report import write_report
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = StretchyRegressor().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(model, f"{folder}/diabetes.html", X=X, y=y)
    ...     size = path.stat().st_size
    >>> size < 3_000_000
    True
    """
    with replacing(path) as file:  # where there is no folder for it, it is said at once
        told = source, seconds, target, samples, at, sample_weight
        subject = checked_subject(model, X, y, *told)
        contents = contents_of(subject)
        data = chart_data(contents)
        file.write(render(page_context(contents, data), data).encode("utf-8"))
    return Path(os.fspath(path))

"""The data of the charts, as plain lists and dicts of few digits."""

from typing import Any

import numpy as np

from skstretch.report import charts, quality
from skstretch.report.cells import MOST_OUTPUTS, TOP, Fitted, starts
from skstretch.report.contents import Contents, calibration
from skstretch.report.quality import class_quality, regression_quality
from skstretch.report.surface import LEVELS, density_curve
from skstretch.report.words import distinct, rounded

Data = dict[str, Any]
MOST_BARS = 15


def chart_data(contents: Contents) -> Data:
    """All data of the page, with the specifications of its charts."""
    subject = contents.subject
    data: Data = {
        "chosen": contents.cells.chosen,
        "outputs": subject.outputs[:MOST_OUTPUTS],
        "config": charts.CONFIG,
        "specs": {},
        **_features(contents),
        **_samples(contents),
    }
    data["fits"] = {str(row): _fit(contents, row, data) for row in contents.cells.fitted}
    curves = calibration(contents)
    data["calibration"] = [[_rounded(point) for point in points] for points in curves]
    data |= _surface(contents)
    data["specs"] = _specs(contents, data)
    return data


def _rounded(point: Data) -> Data:
    return {k: rounded([v])[0] if isinstance(v, float) else v for k, v in point.items()}


def _surface(contents: Contents) -> Data:
    surface = contents.surface
    if surface is None:
        return {"cells": [], "density": []}
    cells = [
        {
            "cell": c.index,
            "row": surface.rows[c.row],
            "column": surface.columns[c.column],
            "at": [c.row, c.column],
            "level": c.level,
            "within": c.within,
            "text": c.text,
            "name": c.name,
        }
        for c in surface.cells
    ]
    points = density_curve(contents.subject)
    return {"cells": cells, "density": [_rounded(p) for p in points] if len(points) > 1 else []}


def _features(contents: Contents) -> Data:
    """Names and scales of the features that some cell ranks, and the axis of the profile."""
    subject = contents.subject
    tops = [p.top for fitted in contents.cells.fitted.values() for p in fitted.pictures]
    used = np.unique(np.concatenate([*tops, np.zeros(0, dtype=int)])).astype(int)
    begin = starts(subject.shape[1])
    along = begin if subject.positions is None else subject.positions[begin]
    shown = subject.shape[1] > TOP or subject.positions is not None
    return {
        "features": distinct([subject.names[j] for j in used]),
        "places": used.tolist(),
        "scales": rounded(subject.scale[used]),
        "along": rounded(along, 7) if shown else [],
    }


def _samples(contents: Contents) -> Data:
    subject, bars = contents.subject, contents.bars
    if subject.y is None or subject.classifies or contents.outputs is None:
        return {"samples": [], "observed": [], "lower": [], "upper": []}
    shown = contents.shown
    sides = {}
    for side in ("lower", "upper"):
        values = None if bars is None else getattr(bars, side)
        sides[side] = [] if values is None else [rounded(v) for v in values[shown, :MOST_OUTPUTS].T]
    observed = [rounded(values) for values in subject.Y[shown, :MOST_OUTPUTS].T]
    return {"samples": shown.tolist(), "observed": observed, **sides}


def _fit(contents: Contents, row: int, data: Data) -> Data:
    """One cell: a picture for each output, and how it fits."""
    fitted, places = contents.cells.fitted[row], {j: i for i, j in enumerate(data["places"])}
    pictures = [
        {
            "top": [places[j] for j in p.top.tolist()],
            "slopes": rounded(p.slopes),
            "profile": rounded(p.profile) if data["along"] else [],
        }
        for p in fitted.pictures
    ]
    if contents.subject.classifies:
        return {"pictures": pictures, **_class_fit(contents, row)}
    return {"pictures": pictures, **_regression_fit(contents, fitted)}


def _regression_fit(contents: Contents, fitted: Fitted) -> Data:
    subject = contents.subject
    if subject.y is None or fitted.outputs is None:
        return {"predicted": [], "notes": ["" for _ in fitted.pictures]}
    outputs = fitted.outputs[:, :MOST_OUTPUTS]
    pairs = list(zip(subject.Y.T, outputs.T, strict=False))
    return {
        "predicted": [rounded(values) for values in outputs[contents.shown].T],
        "notes": [regression_quality(*pair).text for pair in pairs],
    }


def _class_fit(contents: Contents, row: int) -> Data:
    subject, scores = contents.subject, contents.cut(row)
    if subject.y is None or scores is None:
        return {"curves": [], "confusion": [], "notes": [""]}
    known = np.isfinite(scores).all(axis=1)
    scores, codes, size = scores[known], subject.codes[known], subject.model.classes_.size
    curves = [
        {
            "label": subject.classes[curve["label"]],
            "area": rounded([curve["area"]])[0],
            "x": rounded(curve["x"], 3),
            "y": rounded(curve["y"], 3),
        }
        for curve in quality.roc(scores, codes)
    ]
    table = quality.confusion(scores, codes, size)
    kept = frequent(subject, table)
    note = class_quality(scores, codes, size).text
    return {"curves": curves, "confusion": table[np.ix_(kept, kept)].tolist(), "notes": [note]}


def frequent(subject: Any, table: Any) -> list[int]:
    """The classes that a confusion matrix has room for."""
    order = np.argsort(-table.sum(axis=1), kind="stable")[: quality.MOST_CLASSES]
    return sorted(order.tolist())


def _specs(contents: Contents, data: Data) -> Data:
    """The charts that there are data for."""
    subject, surface, specs = contents.subject, contents.surface, {}
    if surface is not None:
        specs["surface"] = charts.surface_chart(surface.rows, surface.columns, surface.column_title)
    if data["density"]:
        features = [point["features"] for point in data["density"]]
        wide = min(features) > 0 and max(features) > 20 * min(features)
        specs["density"] = charts.density_chart(contents.surface.measure.name, wide)  # type: ignore[union-attr]
    data["bars"] = min(MOST_BARS, max(len(p["top"]) for p in _pictures(data)))
    specs["top"] = charts.top_chart(max(1, data["bars"]))
    if data["along"]:
        few = subject.state.support.any(axis=0).mean() < 0.5
        specs["profile"] = charts.profile_chart(_profile_title(contents), bool(few))
    own = data["fits"][str(data["chosen"])]
    if data["samples"]:
        specs["fit"] = charts.fit_chart("" if subject.target == "the target" else subject.target)
    if own.get("curves"):
        specs["roc"] = charts.roc_chart([curve["label"] for curve in own["curves"]])
    if own.get("confusion"):
        data["classes"] = confusion_labels(contents)
        data["levels"] = LEVELS
        specs["confusion"] = charts.confusion_chart(data["classes"])
    if data["calibration"]:
        specs["calibration"] = charts.calibration_chart(*_calibration_titles(contents))
    return specs


def _pictures(data: Data) -> list[Data]:
    return [picture for fit in data["fits"].values() for picture in fit["pictures"]]


def confusion_labels(contents: Contents) -> list[str]:
    """Names of the classes in the confusion matrix."""
    subject, scores = contents.subject, contents.cut(contents.cells.chosen)
    assert scores is not None
    known = np.isfinite(scores).all(axis=1)
    size = subject.model.classes_.size
    table = quality.confusion(scores[known], subject.codes[known], size)
    return [subject.classes[i] for i in frequent(subject, table)]


def _profile_title(contents: Contents) -> str:
    subject = contents.subject
    if subject.positions is not None:
        return "names of the features, read as numbers"
    return "number of the feature"


def _calibration_titles(contents: Contents) -> tuple[str, str]:
    if not contents.subject.classifies:
        return "coverage asked for", "observations inside"
    if contents.subject.model.classes_.size > 2:
        return "probability of the predicted class", "share of right predictions"
    return f"probability of {contents.subject.classes[1]}", "observed share"

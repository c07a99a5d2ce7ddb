"""Small models for the tests of the report, and what a page holds."""

import functools
import json
import re
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_iris

from skstretch import StretchyClassifierCV, StretchyRegressorCV, StretchySurvivalCV
from skstretch.exceptions import GridEdgeWarning
from skstretch.report import write_report

GRID = {"k_grid": (1.25, 2.0), "c_grid": (0.01, 1.0, 100.0), "combine": "best"}
EVIL = "<script>alert(1)</script>"
NAMES = [
    EVIL, "</script><b>", "a.b[0]['c']", 'quo"te', "it's", "&amp;", "back\\slash", "${x}",
    "{{ 7*7 }}", "<!--", "\u2028line", "datum.level", "größe", "x" * 300,
]  # fmt: skip


def quietly(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridEdgeWarning)
        return model.fit(X, y)


@functools.cache
def regression():
    """A wide regression with nasty names."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 60))
    y = X[:, 0] - 2 * X[:, 3] + 0.3 * rng.normal(size=40)
    names = NAMES + [f"f{j}" for j in range(60 - len(NAMES))]
    X, y = pd.DataFrame(X, columns=names), pd.Series(y, name=EVIL)
    return quietly(StretchyRegressorCV(**GRID), X, y), X, y


@functools.cache
def spectra():
    """Names that are numbers."""
    rng = np.random.default_rng(1)
    X = np.cumsum(rng.normal(size=(30, 80)), axis=1)
    y = X[:, 20] - X[:, 60] + 0.1 * rng.normal(size=30)
    X = pd.DataFrame(X, columns=[str(1100 + 2 * j) for j in range(80)])
    return quietly(StretchyRegressorCV(**GRID, n_features_to_select=[1.0, 0.2]), X, y), X, y


@functools.cache
def tall():
    """More samples than features."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 5))
    y = X[:, 0] - X[:, 1] + 0.2 * rng.normal(size=60)
    return quietly(StretchyRegressorCV(**GRID), X, y), X, y


@functools.cache
def two_classes():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 30))
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=60) > 0, EVIL, "no")
    return quietly(StretchyClassifierCV(**GRID), X, y), X, y


@functools.cache
def nested():
    """The mixture with the whole search repeated on other samples."""
    model, X, y = mixture()
    model = clone(model).set_params(nested_cv=5)
    return quietly(model, X, pd.Series(y, name="yield")), X, y


@functools.cache
def three_classes():
    iris = load_iris(as_frame=True)
    y = pd.Series(iris.target_names[iris.target], name="species")
    return quietly(StretchyClassifierCV(**GRID), iris.data, y), iris.data, y


@functools.cache
def three_targets():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 10))
    y = X[:, 1] + 0.2 * rng.normal(size=30)
    # one target in three units: targets that differ would choose a candidate each
    Y = y[:, None] * [1.0, -2.0, 0.5] + [0.0, 3.0, -1.0]
    return quietly(StretchyRegressorCV(**GRID), X, Y), X, Y


@functools.cache
def mixture():
    """Several candidates make one model, some of them on 30 of the features."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 64))
    y = X[:, :3].sum(axis=1) + 0.5 * rng.normal(size=40)
    X = pd.DataFrame(X, columns=[f"f{j}" for j in range(64)])
    return quietly(StretchyRegressorCV(), X, pd.Series(y, name="yield")), X, y


@functools.cache
def mixed_classes():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(50, 20))
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=50) > 0, "high", "low")
    return quietly(StretchyClassifierCV(c_grid=(0.01, 1.0, 100.0)), X, y), X, y


@functools.cache
def mixed_targets():
    """Every target has weights of its own."""
    _, X, Y = three_targets()
    return quietly(StretchyRegressorCV(c_grid=(0.01, 1.0)), X, Y), X, Y


@functools.cache
def survival():
    """Censored times, and a search that was repeated on other samples."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(90, 30))
    time, end = rng.exponential(np.exp(X[:, 1] - X[:, 0])), rng.exponential(2.0, 90)
    y = pd.DataFrame({"died": time <= end, "months": np.minimum(time, end)})
    model = StretchySurvivalCV(k_grid=(1.1, 2.0), cv=4, nested_cv=3)
    return model.fit(X, y), X, y


@functools.cache
def counts():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(80, 30))
    y = rng.poisson(2 * np.exp(0.6 * X[:, 0])).astype(float)
    return StretchyRegressorCV(loss="poisson", k_grid=(1.1, 2.0), cv=4).fit(X, y), X, y


def page(sample, folder, **options):
    """The text of a report on a sample with its training data."""
    model, X, y = sample
    path = write_report(model, folder / "report.html", X=X, y=y, **options)
    return path.read_text("utf-8")


@functools.cache
def text_of(sample):
    """The text of a report on a sample, written once."""
    with tempfile.TemporaryDirectory() as folder:
        return page(sample(), Path(folder))


def data_of(text):
    """The data of the charts on a page."""
    found = re.findall(
        r'<script type="application/json" id="report-data">(.*?)</script>', text, re.DOTALL
    )
    assert len(found) == 1
    return json.loads(found[0])


def without_origin(text):
    """A page but for the line that tells where it has other models of the search from."""
    short = re.sub(r"<div><dt>other models</dt>.*", "", text)
    assert short != text
    return short


def visible(text):
    """A page without its scripts and its style sheet."""
    return re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)

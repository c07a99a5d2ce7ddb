"""From a fitted model to a file that a browser opens."""

import base64
import functools
import hashlib
import json
import os
import re
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import altair
import jinja2
import vl_convert
from markupsafe import Markup

from skstretch.io.files import replacing
from skstretch.report.contents import contents_of
from skstretch.report.data import chart_data
from skstretch.report.subject import checked_subject
from skstretch.report.text import page_context
from skstretch.style import DARK, FONT, LIGHT, MONOSPACE, css

# The page: template, data and scripts in one file that may ask for nothing.


def render(context: dict[str, Any], data: dict[str, Any]) -> str:
    """One HTML text.

    All of `context` is escaped by the template; `data` is JSON without a single ``<``, so that
    nothing in it can end the element that holds it. The content security policy allows the two
    scripts and the style sheet by their hashes, and no request, no evaluation of strings, no form.
    """
    style, library, script = _style(), _library(), _file("page.js")
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"script-src {_hash(library)} {_hash(script)}; style-src {_hash(style)}"
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
        style=Markup(style),
        library=Markup(library),
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


@functools.cache
def _library() -> str:
    """Vega, Vega-Lite and Vega-Embed, in the version that altair writes for."""
    version = "_".join(altair.SCHEMA_VERSION.split(".")[:2])
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)
    # in a function, so that its thousands of names stay out of the page's
    closed = re.sub(r"<(?=/script|!--)", r"\\x3c", bundle, flags=re.IGNORECASE)
    return "(()=>{" + closed + "\n})();"


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def write_report(
    model: Any,
    path: Any,
    *,
    X: Any = None,
    y: Any = None,
    source: str | None = None,
    seconds: float | None = None,
    target: str | None = None,
) -> Path:
    """Write a report on a fitted model as one HTML file that asks for nothing else.

    Parameters
    ----------
    model : StretchyRegressorCV, StretchyClassifierCV, StretchyRegressor or StretchyClassifier
        Fitted, or from `skstretch.load`.
    path : str or path-like
        By convention with the ending ``.html``. An older file is replaced in one step.
    X, y : training data, optional
        Those of the fit, in any container that `fit` takes. With them the page shows other cells
        than the chosen one, out-of-fold fits, intervals and calibration; with y alone the
        out-of-fold fit of the chosen cell; without them what the model itself holds, and it says
        what is missing.
    source : str, optional
        Where the data came from, such as the name of a file; shown at the top.
    seconds : float, optional
        How long the fit took; shown with the other numbers.
    target : str, optional
        What is predicted; by default the name of y where it has one, as a pandas Series may.

    Returns
    -------
    path : pathlib.Path

    Notes
    -----
    A search that was fitted in this process is not run again: the page is made from what it kept
    of every cell. A model from a file or a pickle is searched once more, where X and y are passed
    and that takes no longer than some ten seconds; else only the chosen cell is shown in full. At
    most 150 cells can be picked, divided by the number of outputs, fewer for large data.
    The page holds at most 50
    features and a profile of 500 points for each cell, and 500 samples. Names of features, values
    of y and predictions are on it: it is as confidential as these.

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
    path = Path(os.fspath(path))
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {str(path.parent)!r} to write {path.name!r} into: create it, or "
            "pass another path."
        )
    subject = checked_subject(model, X, y, source, seconds, target)
    contents = contents_of(subject)
    data = chart_data(contents)
    page = render(page_context(contents, data), data)
    with replacing(path) as file:
        file.write(page.encode("utf-8"))
    return path

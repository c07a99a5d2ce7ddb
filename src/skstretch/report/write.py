"""From a fitted model to a file that a browser opens."""

import os
from pathlib import Path
from typing import Any

from skstretch.io.atomic import replacing
from skstretch.report.contents import contents_of
from skstretch.report.data import chart_data
from skstretch.report.page import render
from skstretch.report.story import page_context
from skstretch.report.subject import checked_subject


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
    With X and y the cost is about one more search, a fit for every cell that can be chosen on the
    page (at most 150, fewer for large data), and ten fits for the intervals; where that would take
    longer than some ten seconds, only the chosen cell is shown in full. The page holds at most 50
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

"""From a fitted model to a file."""

import zipfile
from typing import Any, BinaryIO

from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from skstretch import estimators
from skstretch.io.about import checked_facts
from skstretch.io.atomic import replacing
from skstretch.io.contents import Contents, contents_of
from skstretch.io.header import FORMAT, NAME, SCHEMA, header_bytes, versions
from skstretch.io.npy import write_array

CLASSES = {
    cls.__name__: cls
    for cls in (
        estimators.StretchyRegressor,
        estimators.StretchyClassifier,
        estimators.StretchyRegressorCV,
        estimators.StretchyClassifierCV,
    )
}


def save(
    model: Any, path: Any, intervals: bool = False, *, about: dict[str, Any] | None = None
) -> None:
    """Write a fitted model to a file that `load` reads.

    Parameters
    ----------
    model : StretchyRegressor, StretchyClassifier, StretchyRegressorCV or StretchyClassifierCV
        Fitted.
    path : str or path-like
        By convention with the ending ``.stretchy``. An older file is replaced in one step.
    intervals : bool, default=False
        Also store what jackknife+ intervals (``predict_interval(X, method="plus")``) and
        `coef_std` need: the transformed training features of the kept columns, the targets and
        the weights, ``8 * n_samples * (n_kept + n_targets + 1)`` bytes. From these the training
        data can be worked out; leave it off where that must stay private.
    about : dict of str to str, int, float or bool, optional
        Facts of the origin to keep with the model, such as the name of the target;
        `skstretch.io.about` reads them back, and reports show ``target`` and ``seconds``.

    Notes
    -----
    Callables and splitters among the parameters are stored as their repr; the loaded model has
    the default in their place. For a regressor the leave-one-out residuals are worked out (about
    the cost of one more fit) and stored, so that intervals with ``method="residual"`` need no
    training data.

    Examples
    --------
    >>> import tempfile
    >>> import skstretch
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = skstretch.StretchyRegressor().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     skstretch.save(model, f"{folder}/diabetes.stretchy")
    ...     again = skstretch.load(f"{folder}/diabetes.stretchy")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    if type(model) not in CLASSES.values():
        raise TypeError(
            f"a {type(model).__name__} cannot be saved: pass a fitted {', '.join(CLASSES)}."
        )
    check_is_fitted(model)
    if intervals and is_classifier(model):
        raise ValueError("intervals=True is for regressors: a classifier has no intervals.")
    facts = checked_facts({} if about is None else about)
    contents = contents_of(model, bool(intervals))
    if facts:
        contents.header["about"] = facts
    with replacing(path) as file:
        write_contents(file, contents)


def write_contents(file: BinaryIO, contents: Contents) -> None:
    """Arrays first, then the header that knows their checksums."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        entries = {
            name: write_array(archive, name, array) for name, array in contents.arrays.items()
        }
        header = {"format": FORMAT, "schema": SCHEMA, "versions": versions()}
        header |= {**contents.header, "arrays": entries}
        archive.writestr(zipfile.ZipInfo(NAME), header_bytes(header))

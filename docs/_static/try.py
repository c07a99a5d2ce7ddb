"""What runs in a visitor's browser: a table of text in, predictions and a summary out."""

import csv
import io
import warnings

import numpy as np


def columns_of(text):
    """The names in the first line of a CSV."""
    return next(csv.reader(io.StringIO(text)))


def read_table(text, target):
    """Features, target and names; an error names the cell that is no number."""
    head, *rows = [row for row in csv.reader(io.StringIO(text)) if row]
    if target not in head:
        raise ValueError(f"there is no column {target!r}; there are: {', '.join(head[:20])}.")
    place = head.index(target)
    names = [name for name in head if name != target]
    X = np.empty((len(rows), len(names)))
    for i, row in enumerate(rows):
        cells = [cell for j, cell in enumerate(row) if j != place]
        for j, cell in enumerate(cells):
            try:
                X[i, j] = float(cell)
            except ValueError:
                raise ValueError(
                    f"row {i + 1}, column {names[j]!r}: {cell!r} is no number: drop the column."
                ) from None
    return X, [row[place] for row in rows], names


def is_number(words):
    """Whether a target is a number with more than two different values."""
    try:
        return len({float(word) for word in words}) > 2
    except ValueError:
        return False


def answer(text, target):
    """Fit a model to a CSV; returns its summary and a CSV of what it says of left-out rows."""
    from skstretch import StretchyClassifierCV, StretchyRegressorCV

    X, words, names = read_table(text, target)
    out = io.StringIO()
    writer = csv.writer(out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if is_number(words):
            y = np.array(words, dtype=float)
            model = StretchyRegressorCV().fit(X, y)
            lower, upper = model.predict_interval(X, coverage=0.9)
            held_out = np.ravel(model.cv_predictions_)
            writer.writerow([target, "predicted without this row", "lower", "upper"])
            writer.writerows(zip(y, held_out, lower, upper, strict=True))
        else:
            y = np.array(words)
            model = StretchyClassifierCV().fit(X, y)
            proba = model.predict_proba(X)
            writer.writerow([target, *(f"probability {name}" for name in model.classes_)])
            writer.writerows([label, *row] for label, row in zip(y, proba, strict=True))
        model.feature_names_in_ = np.array(names, dtype=object)
        return str(model.summary()), out.getvalue()

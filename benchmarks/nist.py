"""The 11 linear least-squares sets of NIST's Statistical Reference Datasets, and correct digits.

Each file has its certified coefficients in the header and its data after the last "Data:".
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from skstretch import StretchyRegressor
from skstretch.core import solve_qr

# certified values have 15 digits
MOST_DIGITS = 15.0
SETS = (
    "Norris",
    "Pontius",
    "NoInt1",
    "NoInt2",
    "Filip",
    "Longley",
    "Wampler1",
    "Wampler2",
    "Wampler3",
    "Wampler4",
    "Wampler5",
)


@dataclass(frozen=True)
class ReferenceSet:
    """A model ``y = B0 + P B`` with certified coefficients.

    `P` (M x D) holds the predictors or the powers of the one predictor; `certified` starts with
    B0 where the model has an intercept.
    """

    name: str
    P: np.ndarray
    y: np.ndarray
    certified: np.ndarray
    intercept: bool

    @property
    def matrix(self):
        """P, after a column of ones where the model has an intercept."""
        return np.column_stack([np.ones(len(self.y)), self.P]) if self.intercept else self.P


def read_set(path):
    """Parse one file."""
    text = Path(path).read_text(encoding="ascii")
    head, data = text.rsplit("Data:", 1)
    found = re.findall(r"^ +B(\d+) +(\S+) +\S+ *$", head, re.MULTILINE)
    numbers = [int(number) for number, _ in found]
    rows = [line.split() for line in data.splitlines()[1:] if line.strip()]
    table = np.array(rows, dtype=np.float64)
    y, X = table[:, 0], table[:, 1:]
    degree = max(numbers) if X.shape[1] == 1 else 1
    P = X if degree == 1 else X ** np.arange(1, degree + 1)
    certified = np.array([float(value) for _, value in found])
    return ReferenceSet(Path(path).stem, P, y, certified, 0 in numbers)


def read_sets(folder):
    """All sets of a folder, from the easiest to the hardest."""
    return [read_set(Path(folder) / f"{name}.dat") for name in SETS]


def by_estimator(ref):
    """k = 2 and c = inf is least squares: on the raw data, or on z where data is negative.

    Returns the coefficients in the order of the certified ones, and how they were found.
    """
    raw = bool((ref.P >= 0).all())
    model = StretchyRegressor(
        k=2.0,
        c=np.inf,
        a=-0.2 if raw else 0.0,
        quadrant="identity" if raw else "exp",
        fit_intercept=ref.intercept,
    ).fit(ref.P, ref.y)
    way = f"{'identity' if raw else 'a = 0'}, {model.solver_}"
    if not ref.intercept:
        return model.alpha_, way
    return np.append(model.intercept_, model.coef_), way


def by_core(ref):
    """``solve_qr`` on the model matrix, the column of ones included."""
    return solve_qr(ref.matrix, ref.y, k=2.0, c=np.inf)


def by_lstsq(ref):
    """``numpy.linalg.lstsq`` on the model matrix; the better of its default and no cut-off."""
    solutions = [np.linalg.lstsq(ref.matrix, ref.y, rcond=rcond)[0] for rcond in (None, 0.0)]
    return max(solutions, key=lambda coef: correct_digits(coef, ref.certified))


def correct_digits(found, certified):
    """The smallest ``-log10`` of the relative errors; absolute where the certified value is 0."""
    size = np.where(certified == 0, 1.0, np.abs(certified))
    error = np.abs(np.asarray(found) - certified) / size
    with np.errstate(divide="ignore"):
        digits = np.minimum(-np.log10(error), MOST_DIGITS)
    return float(digits.min())


@dataclass(frozen=True)
class Digits:
    """Correct digits on one set."""

    name: str
    estimator: float
    way: str
    core: float
    lstsq: float


def digits_table(folder):
    """Correct digits on every set of the folder: the estimator's, `solve_qr`'s and lstsq's."""
    rows = []
    for ref in read_sets(folder):
        coef, way = by_estimator(ref)
        others = (correct_digits(by(ref), ref.certified) for by in (by_core, by_lstsq))
        core, lstsq = others
        rows.append(Digits(ref.name, correct_digits(coef, ref.certified), way, core, lstsq))
    return rows

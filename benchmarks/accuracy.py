"""Correct digits, measured: writes docs/accuracy.md.

Run from the root of the repository: `python -m benchmarks.accuracy`.
"""

import os
import platform
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy

from benchmarks import single
from benchmarks.nist import digits_table
from skstretch import StretchyRegressor
from skstretch.exceptions import IllConditionedWarning
from tests.references import (
    DIGITS,
    INTERCEPTS,
    exact_solution,
    exponential_features,
    five_points,
    hard_powers,
    plain_dual,
    plain_primal,
    relative_error,
)

PAGE = Path("docs/accuracy.md")
KS = (1.02, 1.05, 1.1, 1.25, 1.5, 1.75, 2.0)
CS = (1e-2, 1e2, 1e8, 1e15, np.inf)
CASES = {
    "Five points": "the paper's polynomial example, powers 1 to 10 of five points (5 × 10)",
    "Wide": "exp(−0.2 z) of random normal z (12 × 40)",
    "Tall": "exp(−0.2 z) of random normal z (40 × 6)",
    "Hard powers": "powers up to 7 of 30 equal steps on [0.05, 1], y = sin 3x (30 × 7 or 8)",
}


@dataclass(frozen=True)
class Cell:
    """Relative errors of one (k, c), the largest of the three kinds of intercept."""

    ours: float
    plain: float
    warned: bool

    def __str__(self):
        plain = f"{self.plain:.0e}" if np.isfinite(self.plain) else "singular"
        return f"{self.ours:.0e}{'!' if self.warned else ''} ({plain})"


def problem(case, intercept):
    """P and y of a case; the hard powers hold the power 0 only where nothing else does."""
    if case == "Five points":
        return five_points()
    if case == "Hard powers":
        return hard_powers(0 if intercept is False else 1)
    return exponential_features(*((12, 40) if case == "Wide" else (40, 6)))


def promise(case, k):
    """The largest error that the tests allow, or None where there is no promise."""
    if k < 1.05:
        return None
    return 1e-10 if case != "Hard powers" else 3e-5 if k < 1.1 else 5e-8


def reference(P, y, k, c, intercept):
    """The exact solution, with more digits where the powers span more of them."""
    logs = np.log10(P[P > 0])
    span = (1 + 1 / (k - 1)) * max(np.ptp(logs), np.abs(logs).max())
    return exact_solution(P, y, k, c, intercept, digits=DIGITS + int(span))


def plain_error(P, y, k, c, intercept, exact):
    """The error of ``P @ Q.T`` and ``numpy.linalg.solve``: the formula as a book prints it."""
    solve = plain_dual if P.shape[0] < P.shape[1] else plain_primal
    try:
        coef, constant = solve(P, y, k, c, intercept=intercept)
    except np.linalg.LinAlgError:
        return np.inf
    return relative_error(coef, constant, exact)


def measure(case, k, c):
    """Both errors of a case at one (k, c)."""
    ours, plain, warned = 0.0, 0.0, False
    for intercept in INTERCEPTS:
        P, y = problem(case, intercept)
        exact = reference(P, y, k, c, intercept)
        model = StretchyRegressor(k, c, quadrant="identity", fit_intercept=intercept)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", IllConditionedWarning)
            model.fit(P, y)
        ours = max(ours, relative_error(model.alpha_, model.intercept_, exact))
        plain = max(plain, plain_error(P, y, k, c, intercept, exact))
        warned = warned or bool(caught)
    return Cell(ours, plain, warned)


def table(head, rows):
    """A Markdown table."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def case_section(case):
    """The table of one case."""
    rows = []
    for k in KS:
        cells = [measure(case, k, c) for c in CS]
        bound = promise(case, k)
        rows.append([f"k = {k:g}", *cells, "none" if bound is None else f"{bound:.0e}"])
        print(f"{case}, k = {k:g}: {max(cell.ours for cell in cells):.0e}", file=sys.stderr)
    head = ["", *(f"c = {c:g}".replace("e+", "e").replace("e0", "e") for c in CS), "promise"]
    return f"## {case}\n\nFeatures: {CASES[case]}.\n\n{table(head, rows)}\n"


def nist_section():
    """The table of NIST's sets, or why there is none."""
    title = "## NIST reference sets\n"
    folder = os.environ.get("SKSTRETCH_DATA", "")
    if not folder:
        return f"{title}\nNot measured: the environment variable SKSTRETCH_DATA names no folder.\n"
    rows = [
        [row.name, f"{row.estimator:.1f}", f"{row.core:.1f}", f"{row.lstsq:.1f}", row.way]
        for row in digits_table(Path(folder) / "nist_strd")
    ]
    head = ["set", "StretchyRegressor", "solve_qr", "numpy lstsq", "data and solver"]
    text = (
        "Correct digits of the worst coefficient (at most 15, those of the certified values) of "
        'least squares, `k=2, c=inf`: the estimator with `quadrant="identity"` on the raw data, '
        "with `a=0` where data is negative; `skstretch.core.solve_qr` on the model matrix; and "
        "`numpy.linalg.lstsq`, the better of its default cut-off and none."
    )
    return f"{title}\n{text}\n\n{table(head, rows)}\n"


def single_section():
    """The table of float32."""
    head = ["", *(f"s = {s:g}" for s in single.STRENGTHS)]
    text = (
        f"Largest relative error of predictions for new rows from X in float32 (100 and 50 rows of "
        f"{single.SHAPE[1]:,} features: five factors and noise), at relative strengths s. First "
        "as the estimators do it: blocks of float32 are turned into float64, and K is multiplied "
        "and summed in float64. In brackets K multiplied in float32: twice as fast, but its "
        "rounding is divided by the penalty, and small penalties are what wide data asks for. So "
        "K is always made in float64."
    )
    return f"## float32\n\n{text}\n\n{table(head, single.rows())}\n"


def page():
    """The whole page."""
    python, machine = platform.python_version(), platform.machine()
    intro = f"""# Accuracy

Written by `make accuracy` (`python -m benchmarks.accuracy`); do not edit. Measured with
Python {python}, numpy {np.__version__} and scipy {scipy.__version__} on {machine}.

Relative errors of coefficients and intercept together, in the 2-norm, against the same formula in
{DIGITS} and more digits from the same float64 features. In every entry first `StretchyRegressor`
with `solver="auto"`, then in brackets the formula as a book prints it (`P @ Q.T` and
`numpy.linalg.solve`); each is the worst of the three kinds of intercept. An exclamation mark says
that the library warned of it. The promise is what the tests hold; there is none at k = 1.02.
"""
    return "\n".join(
        [intro, *(case_section(case) for case in CASES), nist_section(), single_section()]
    )


def write(path, text):
    """Write under another name first, so that a reader never sees half a page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


if __name__ == "__main__":
    write(PAGE, page())
    print(f"wrote {PAGE}")

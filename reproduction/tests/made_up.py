"""Made-up tables of results and curves, for the claims and the page."""

from __future__ import annotations

import itertools

import pandas as pd

from reproduction.evidence import Evidence
from reproduction.files import COLUMNS, join, series

KS = (1.1, 1.25, 1.5, 1.75, 2.0)
MIXINGS = (1.0, 0.75, 0.5, 0.25, 0.0001)
MEASURES = {"corn": "rmse", "prostate": "mse", "diabetes": "mse"}


def rows(dataset, method, error, *, cpu=1.0, k=None, c=None, density=None, mixing=None, size=None,
         trials=2, piece="study"):  # fmt: skip
    """The lines of one cell: the same error in every trial and fold."""
    measure = MEASURES.get(dataset, "ber")
    values = dict(
        piece=piece, dataset=dataset, method=method, k=k, c=c, density=density, mixing=mixing,
        size=size, error=error, measure=measure, cpu=cpu, wall=cpu, nonzero=1, seed=0,
        versions="made-up", commit="made-up",
    )  # fmt: skip
    places = itertools.product(range(trials), range(2))
    return [{**values, "trial": trial, "fold": fold} for trial, fold in places]


def method(dataset, name, error, *, cpu=1.0):
    """A method of Fig. 9 and 10 at all its places; `error` a number or one per place."""
    errors = error if isinstance(error, (tuple, list)) else [error] * 5
    found = []
    for place, value in enumerate(errors):
        if name.startswith("SR"):
            density = float(name[2:].split()[0])
            c = 1e100 if "1e100" in name else 100.0
            cell = {"k": KS[place], "c": c, "density": density}
            found += rows(dataset, "SR", value, cpu=cpu, **cell)
        else:
            found += rows(dataset, name, value, cpu=cpu, mixing=MIXINGS[place])
    return found


def evidence(lines=(), curves=()):
    """Evidence of these lines and curves."""
    numbers = ["k", "c", "density", "mixing", "size", "trial", "fold", "error", "cpu", "wall"]
    table = pd.DataFrame(list(lines), columns=list(COLUMNS))
    table[numbers] = table[numbers].astype(float)
    return Evidence(table, join([*curves, series("none", "", "", [], [])]))

"""The plan says how often the data is read, and it is read so often."""

import re

import numpy as np
import pytest

from stretchy import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)

pytestmark = pytest.mark.filterwarnings("ignore::stretchy.exceptions.GridEdgeWarning")


class Counting:
    """An array that lives elsewhere and counts what is read of it."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.read = array, array.shape, array.dtype, 0

    def __len__(self):
        return len(self.array)

    def __getitem__(self, key):
        block = self.array[key]
        self.read += block.size
        return block


def walks(model, X, y, capfd):
    """Walks that were made, and walks that were planned."""
    source = Counting(np.ascontiguousarray(X))
    model.set_params(verbose=1).fit(source, y)
    plan = capfd.readouterr().err
    return source.read / X.size, int(re.search(r"([\d,]+) walks", plan)[1].replace(",", ""))


WIDE = np.random.default_rng(0).random((30, 100))
NOISE = np.random.default_rng(1).random(100)
EXACT = {
    "wide": (StretchyRegressor(), WIDE),
    "tall": (StretchyRegressor(), WIDE.T),
    "wide search": (StretchyRegressorCV(), WIDE),
    "tall search": (StretchyRegressorCV(), WIDE.T),
}


@pytest.mark.parametrize("name", EXACT)
def test_regression_reads_as_planned(name, capfd):
    model, X = EXACT[name]
    read, planned = walks(model, X, X[:, 0] + NOISE[: len(X)], capfd)
    assert read == planned


@pytest.mark.parametrize("search", [StretchyClassifier, StretchyClassifierCV])
@pytest.mark.parametrize("X", [WIDE, WIDE.T], ids=["wide", "tall"])
def test_classification_reads_as_planned(search, X, capfd):
    read, planned = walks(search(), X, X[:, 0] + NOISE[: len(X)] > 1, capfd)
    assert read == planned


@pytest.mark.parametrize("X", [WIDE, WIDE.T], ids=["wide", "tall"])
def test_selections_and_iterations_are_estimates(X, capfd):
    Y = X[:, :3] + NOISE[: len(X), None]
    for model in (
        StretchyRegressor(density=0.2),
        StretchyRegressor(solver="krylov"),
        StretchyRegressorCV(density_grid=(0.2,), c_grid=(1.0,), k_grid=(1.5,), cv=3),
    ):
        y = Y if model.get_params().get("density") == 0.2 else Y[:, 0]
        read, planned = walks(model, X, y, capfd)
        assert planned / 4 < read <= 1.6 * planned

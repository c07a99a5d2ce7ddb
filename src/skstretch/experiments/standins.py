"""What is run on the generated stand-ins: a few settings, for pipelines and timings alone."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from skstretch.experiments.cells import Cell, Unit
from skstretch.experiments.settings import Settings

__all__ = ["PIECE", "PROBES", "Probe", "standin_units"]

PIECE = "standin"


@dataclass(frozen=True)
class Probe:
    """The settings that are run on a stand-in.

    Attributes
    ----------
    powers, densities : tuple of float
        k and shares of kept features of SR, all pairs of them, at the c of Fig. 9 and 10.
    mixings, searched : tuple of float
        Mixing values of LASSO1, 2 and 100, and of LASSOCV.
    left_out : str
        What is not run, and why.
    """

    powers: tuple[float, ...]
    densities: tuple[float, ...]
    mixings: tuple[float, ...]
    searched: tuple[float, ...]
    left_out: str


PROBES = {
    "tfidf-standin": Probe(
        (1.25, 2.0), (1.0, 0.01), (1.0, 0.5), (1.0,),
        "SR at density 0.5 and 0.1, about half a minute a fit.",
    ),
    "gaze-standin": Probe(
        (1.5, 2.0), (1.0,), (), (),
        "all LASSO: glmnet holds a dense half as float64 several times over, 9.4 GB each time; "
        "SR at densities below 1, which reads the file twice as often.",
    ),
    "gisette-standin": Probe(
        (2.0,), (1.0, 0.1), (1.0,), (),
        "LASSOCV, about three minutes a fit; SR at other k, which take as long as k = 2.",
    ),
}  # fmt: skip


def standin_units(dataset: str, settings: Settings) -> list[Unit]:
    """The units of a stand-in, trial after trial."""
    cells = _cells(PROBES[dataset], settings)
    return [
        Unit(dataset, family, trial, fold, cells[family])
        for trial in range(settings.trials_of(dataset, "SR"))
        for family, fold in product(cells, range(settings.folds))
    ]


def _cells(probe: Probe, settings: Settings) -> dict[str, tuple[Cell, ...]]:
    """Cells by family; a family without cells is left out."""
    lasso = product(probe.mixings, settings.lambda_counts)
    cells = {
        "SR": tuple(
            Cell(PIECE, "SR", k=k, c=settings.shown_strength, density=density)
            for k, density in product(probe.powers, probe.densities)
        ),
        "LASSO": tuple(Cell(PIECE, f"LASSO{count}", mixing=mixing) for mixing, count in lasso),
        "LASSOCV": tuple(Cell(PIECE, "LASSOCV", mixing=mixing) for mixing in probe.searched),
    }
    return {family: some for family, some in cells.items() if some}

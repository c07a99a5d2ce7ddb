"""The paper's settings, and what of them each run takes, as data."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from skstretch.io import files as atomic

__all__ = ["FULL", "QUICK", "STANDIN", "Settings", "keep_settings", "read_settings"]

STANDIN = "-standin"  # ends the names of generated sets


@dataclass(frozen=True)
class Settings:
    """What is run on every data set.

    Attributes
    ----------
    powers, strengths, densities : tuple of float
        The paper's k, c and shares of kept features.
    shown_strength, free_strength, shown_power : float
        c and c of Fig. 9 and 10 (the second is the paper's solution without regularisation), and
        k of Fig. 11.
    mixings : tuple of float
        Elastic-net mixing values of the LASSO.
    lambda_counts : tuple of int
        MATLAB's ``NumLambda`` of LASSO1, LASSO2 and LASSO100.
    searched_counts : tuple of int
        The ``NumLambda`` values that LASSOCV searches.
    search_folds : int
        Inner folds of that search; the paper does not state its number.
    trials, folds, seed : int
        Trials of 2-fold, and the seed of the first trial's split.
    searched_trials : pairs of str and int
        Trials of LASSOCV where they are fewer than `trials`, by data set.
    projection_powers : pairs of int and tuple
        The k that are run for every size of the random projection network.
    projected_features : int
        Features that the network sees.
    standin_trials : int
        Trials on generated stand-ins, which are there for pipelines and timings.
    other_draws : int
        Further draws of the 20 points of Fig. 5 and 6.
    """

    powers: tuple[float, ...] = (1.1, 1.25, 1.5, 1.75, 2.0)
    strengths: tuple[float, ...] = (10.0, 1e2, 1e3, 1e4, 1e8, 1e100)
    densities: tuple[float, ...] = (1.0, 0.5, 0.1, 0.01)
    shown_strength: float = 1e2
    free_strength: float = 1e100
    shown_power: float = 1.25
    a: float = -0.2
    mixings: tuple[float, ...] = (1.0, 0.75, 0.5, 0.25, 0.0001)
    lambda_counts: tuple[int, ...] = (1, 2, 100)
    searched_counts: tuple[int, ...] = (1, 2, 5, 10, 20, 30, 40, 60, 80, 100)
    search_folds: int = 5
    trials: int = 10
    folds: int = 2
    seed: int = 0
    searched_trials: tuple[tuple[str, int], ...] = ()
    projection_powers: tuple[tuple[int, tuple[float, ...]], ...] = (
        (500, (1.1, 1.25, 1.5, 1.75, 2.0)),
        (1000, (1.1, 1.25, 1.5, 1.75, 2.0)),
        (5000, (1.5, 2.0)),
        (10000, (2.0,)),
        (20000, (2.0,)),
    )
    projected_features: int = 8
    standin_trials: int = 1
    other_draws: int = 100

    def trials_of(self, dataset: str, family: str) -> int:
        """Trials of a family of methods on a data set."""
        if dataset.endswith(STANDIN):
            return min(self.trials, self.standin_trials)
        if family != "LASSOCV":
            return self.trials
        return min(self.trials, dict(self.searched_trials).get(dataset, self.trials))


# The paper has no LASSOCV on Gaze either, because of its time.
UNSEARCHED = (("gaze", 0), ("gaze-standin", 0))
FULL = Settings(searched_trials=UNSEARCHED)
QUICK = replace(
    FULL,
    powers=(1.1, 1.25, 2.0),
    strengths=(10.0, 1e2, 1e4, 1e100),
    mixings=(1.0, 0.5, 0.0001),
    searched_counts=(1, 2, 10, 40, 100),
    trials=1,
    other_draws=20,
    projection_powers=((500, (1.1, 2.0)), (1000, (1.1, 2.0)), (5000, (2.0,))),
)

FILE = "settings.json"


def keep_settings(folder: Path, settings: Settings) -> None:
    """Note what a folder is a run of; refuse to mix two kinds of run in one folder."""
    found = read_settings(folder)
    if found is None:
        folder.mkdir(parents=True, exist_ok=True)
        with atomic.replacing(folder / FILE) as file:
            file.write(json.dumps(asdict(settings), indent=1).encode())
    elif _kind(found) != _kind(settings):
        raise ValueError(
            f"{str(folder)!r} holds a run with other settings (quick and full runs do not mix): "
            "choose another folder with --out, or remove that one."
        )


def _kind(settings: Settings) -> Settings:
    """All but the numbers of trials, which may grow from run to run in one folder."""
    return replace(settings, trials=0, standin_trials=0)


def read_settings(folder: Path) -> Settings | None:
    """The settings of the run in a folder, or None where there is no run yet."""
    path = folder / FILE
    if not path.exists():
        return None
    return Settings(**{name: _tuples(v) for name, v in json.loads(path.read_text("utf-8")).items()})


def _tuples(value: Any) -> Any:
    return tuple(_tuples(each) for each in value) if isinstance(value, list) else value

"""What happens to the data before the model: filling gaps, and filters of spectra."""

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer

from skstretch.cli.console import counted
from skstretch.exceptions import DataError

PANEL = "Before the model"
# the parabola that scatter correction of powders is usually followed by
DEGREE = 2


class Fill(StrEnum):
    """What takes the place of missing values."""

    MEAN = "mean"
    MEDIAN = "median"


@dataclass(frozen=True)
class Recipe:
    """Steps before the model, as they were asked for."""

    impute: str | None = None
    snv: bool = False
    detrend: bool = False
    derivative: int | None = None
    window: int = 11
    polyorder: int = 2
    recipes: bool = False

    @property
    def filters(self) -> bool:
        """Whether rows are taken for spectra."""
        return self.snv or self.detrend or self.recipes or self.derivative is not None

    def steps(self) -> list[Any]:
        """The steps, not fitted yet."""
        found: list[Any] = []
        if self.impute is not None:
            from sklearn.impute import SimpleImputer

            found.append(SimpleImputer(strategy=self.impute))
        if self.filters and not self.recipes:
            from skstretch import SpectralFilter

            smoothing = {} if self.derivative is None else {"derivative": self.derivative}
            if smoothing:
                smoothing |= {"window": self.window, "polyorder": self.polyorder}
            degree = DEGREE if self.detrend else None
            found.append(SpectralFilter(snv=self.snv, detrend=degree, **smoothing))
        return found

    def check(self, table: Any) -> None:
        """Refuse data that the filters cannot work on."""
        if self.filters and table.is_sparse:
            raise DataError(
                "--snv, --detrend, --derivative and --recipes are for spectra, not sparse data."
            )
        if self.derivative is not None and self.window > table.X.shape[1]:
            raise DataError(
                f"--window {self.window}: the file has {counted(table.X.shape[1], 'feature')}; a "
                "window cannot be wider."
            )


# an option about what happens before the model
step: Any = partial(typer.Option, rich_help_panel=PANEL)


def read_recipe(
    impute: Annotated[
        Fill | None,
        step(
            help="Fill missing values with the mean or median of their column; the model "
            "remembers it for predict."
        ),
    ] = None,
    snv: Annotated[
        bool,
        step("--snv", help="Spectra: every row gets mean 0 and deviation 1."),
    ] = False,
    detrend: Annotated[
        bool,
        step("--detrend", help="Spectra: take a parabola out of every row."),
    ] = False,
    derivative: Annotated[
        int | None,
        step(metavar="N", help="Spectra: Savitzky–Golay derivative along the columns; 0 smooths."),
    ] = None,
    window: Annotated[
        int | None,
        step(metavar="N", help="Columns in the window of the derivative; 11 by default."),
    ] = None,
    polyorder: Annotated[
        int | None,
        step(metavar="N", help="Degree of the polynomial in a window; 2 by default."),
    ] = None,
    recipes: Annotated[
        bool,
        step(
            "--recipes",
            help="Spectra: try seven recipes (as measured, SNV, SNV and detrending, first and "
            "second derivatives, these after SNV) and average them.",
        ),
    ] = False,
) -> Recipe:
    """The recipe that the options ask for; refuses what no data could follow."""
    for option, value in (("--window", window), ("--polyorder", polyorder)):
        if value is not None and derivative is None:
            raise DataError(f"{option} {value} goes with --derivative; --derivative 0 smooths.")
    wide, order = 11 if window is None else window, 2 if polyorder is None else polyorder
    if wide < 1 or wide % 2 == 0:
        raise DataError(f"--window {wide} must be an odd number, 11 for example.")
    if not 0 <= order < min(wide, 21):
        raise DataError(f"--polyorder {order} must lie from 0 to below the window {wide}.")
    if derivative is not None and not 0 <= derivative <= order:
        raise DataError(
            f"--derivative {derivative} must lie from 0 to the --polyorder, which is {order}."
        )
    if recipes and (snv or detrend or derivative is not None):
        raise DataError(
            "--recipes tries these by itself: leave out --snv, --detrend, --derivative."
        )
    filling = None if impute is None else str(impute)
    return Recipe(filling, snv, detrend, derivative, wide, order, recipes)

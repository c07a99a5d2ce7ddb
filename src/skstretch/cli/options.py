"""Options of the commands, each declared once, and the objects that are made of them.

Nothing here loads numpy: a help page does not wait for it.
"""

import inspect
import math
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import typer

from skstretch.cli.console import Talk
from skstretch.cli.data.files import Form
from skstretch.exceptions import DataError

Command = TypeVar("Command", bound=Callable[..., Any])

# how much of a file is read to complete the name of a column
HEAD = 1 << 16
# where bash and the other shells put the line that is being typed
TYPED = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")


def completed_columns(ctx: Any, incomplete: str) -> list[str]:
    """For the shell: names in the header of the CSV that was typed; nothing where that fails."""
    from skstretch.cli.data.delimited import column_names, fields, separator_of

    try:
        line = shlex.split(" ".join(os.environ.get(name, "") for name in TYPED))
        # the first word of the line that is a data file
        path = next(w for w in line if Path(w).suffix != ".stretchy" and Path(w).is_file())
        with open(path, encoding="utf-8-sig") as file:
            header, *rest = file.read(HEAD).splitlines()
        names = fields(header, separator_of([header, *rest[:1]]))
    except Exception:  # a shell that waits for Tab must never see a traceback
        return []
    return [name for name in column_names(names, len(names)) if name.startswith(incomplete)]


class TaskName(StrEnum):
    """What is to be learned."""

    AUTO = "auto"
    REGRESSION = "regression"
    CLASSIFICATION = "classification"
    SURVIVAL = "survival"


class ComparedTask(StrEnum):
    """What other methods are compared on."""

    AUTO = "auto"
    REGRESSION = "regression"
    CLASSIFICATION = "classification"


class LossName(StrEnum):
    """What is minimised."""

    SQUARED = "squared"
    LOG = "log"
    POISSON = "poisson"


class CombineName(StrEnum):
    """How the candidates of the search become one model."""

    AVERAGE = "average"
    BEST = "best"
    ONE_SE = "1se"


class Fill(StrEnum):
    """What takes the place of missing values."""

    MEAN = "mean"
    MEDIAN = "median"


# What an option is called on a help page, and what is said of it.

# an option that takes a column; that says how the data are written; what happens before the model
column: Any = partial(typer.Option, metavar="COL", autocompletion=completed_columns)
written: Any = partial(typer.Option, rich_help_panel="How the data are written")
before: Any = partial(typer.Option, rich_help_panel="Before the model")


def output(help: str) -> Any:
    """The option -o of a command; `help` says what is written."""
    return typer.Option("--output", "-o", metavar="FILE", help=help)


# an option of the past, which is not shown
GONE: Any = typer.Option(hidden=True)
# the arguments of commands and of what they take, by name
OPTIONS: dict[str, Any] = {
    "data": typer.Argument(
        metavar="DATA",
        help="CSV or TSV (also .gz, .bz2, .xz, .zst), Excel, Parquet, Feather, NPZ, Matrix Market "
        "or LIBSVM/SVMlight; - is standard input.",
    ),
    "model": typer.Argument(metavar="MODEL", help="A file that skstretch fit wrote."),
    "target": column(
        "--target",
        "-t",
        help="The column to predict. For NPZ the name of an array, for SVMlight the label by "
        "default; for a bare matrix a file with one value a row (.npy, .mtx or text).",
    ),
    "task": typer.Option(
        help="auto: classification if the target holds text or exactly two different values, "
        "survival with --time, else regression."
    ),
    "json": typer.Option("--json", help="Print the result as JSON."),
    "quiet": typer.Option("--quiet", "-q", help="Print nothing but errors and the data asked for."),
    "groups": column(help="Rows with the same value stay in one fold."),
    "weights": column(help="A weight for each row."),
    "drop": column(
        metavar="COLS",
        help="Leave columns out: a name, several with commas, a range of numbers (1100-1200) or a "
        "pattern ('x*'); may be repeated.",
    ),
    "features": column(
        metavar="COLS",
        help="Learn from these columns alone, written as for --drop; '*' takes all.",
    ),
    "keep_index": typer.Option(
        "--keep-index",
        help="Use the first column as a feature, even where it labels or numbers the rows.",
    ),
    "drop_missing": typer.Option(
        "--drop-missing", help="Leave out the rows that have a missing value."
    ),
    # how a data file is written
    "format": written(help="auto looks at the file."),
    "sep": written(
        metavar="CHAR",
        help="Between the fields of a CSV: a character, or tab. Detected by default.",
    ),
    "decimal": written(metavar="CHAR", help="The decimal mark: . or , Detected by default."),
    "encoding": written(metavar="NAME", help="Of a CSV; UTF-8 by default."),
    "no_header": written(
        "--no-header",
        help="The first line of a CSV is data; columns are called 'column 1' and so on.",
    ),
    "comment": written(metavar="START", help="Leave out lines of a CSV that start so, say '#'."),
    "skip_rows": written(min=0, metavar="N", help="Leave out the first N lines of a CSV."),
    "zero_based": written(
        "--zero-based", help="Features of an SVMlight file are numbered from 0, not from 1."
    ),
    "sheet": written(
        metavar="NAME|NUMBER",
        help="Of an Excel workbook: a sheet by name, or by number among the visible ones. "
        "The first by default.",
    ),
    "max_memory": written(
        metavar="SIZE",
        help="What reading a file may take, say 8GB; half of this machine's memory by default.",
    ),
    # what is minimised
    "loss": typer.Option(
        help="squared; log: log-odds of classes (logistic, softmax); poisson: rates of counts."
    ),
    "time": column(
        help="Survival, in place of --target: the time of the event, or of the last visit."
    ),
    "event": column(help="With --time: 1 where the event was seen, 0 where it was not (censored)."),
    "exposure": column(
        help="With --loss poisson: how long, or how much, was counted; predictions are for one "
        "unit of it."
    ),
    # what a search tries, and how it chooses
    "cv": typer.Option(
        metavar="loo|N",
        help="Leave one out, or N folds. Default: loo, or 10 where features are selected.",
    ),
    "k": typer.Option(
        "--k",
        metavar="LIST",
        help="Stretching powers to try, say 1.1,2: near 1 few features matter, 2 is ridge.",
    ),
    "c": typer.Option(
        "--c",
        metavar="LIST",
        help="Strengths to try (a small c is a strong penalty), or auto (default).",
    ),
    "a": typer.Option("--a", metavar="LIST", help="Curves exp(a z) to try; 0 is linear."),
    "select": typer.Option(
        metavar="LIST",
        help="Numbers of features to choose from, say 10,30; with a point shares of them, 1.0 for "
        "all. By default all, and an average also tries some of them.",
    ),
    "combine": typer.Option(
        help="average: a weighted mean of the best models of all kinds; best: the least "
        "error; 1se: the simplest within one standard error of the best."
    ),
    "nested": typer.Option(
        help="Repeat the whole search without each of ten folds and predict these: the error to "
        "trust. Takes about ten times as long."
    ),
    "penalty_factor": typer.Option(
        metavar="COL=NUMBER",
        help="Penalise a feature so many times as much as the others: 0 never (age, sex, batch), "
        "inf leaves it out; may be repeated.",
    ),
    "keep": GONE,
    "density": GONE,
    "rule": GONE,
    # what happens before the model
    "impute": before(
        help="Fill missing values with the mean or median of their column; the model remembers it "
        "for predict."
    ),
    "snv": before("--snv", help="Spectra: every row gets mean 0 and deviation 1."),
    "detrend": before("--detrend", help="Spectra: take a parabola out of every row."),
    "derivative": before(
        metavar="N", help="Spectra: Savitzky–Golay derivative along the columns; 0 smooths."
    ),
    "window": before(metavar="N", help="Columns in the window of the derivative; 11 by default."),
    "polyorder": before(metavar="N", help="Degree of the polynomial in a window; 2 by default."),
    "recipes": before(
        "--recipes",
        help="Spectra: try seven recipes (as measured, SNV, SNV and detrending, first and second "
        "derivatives, these after SNV) and average them.",
    ),
}


def taking(**given: Any) -> Callable[[Command], Command]:
    """Make a function a command, whose arguments are declared by `given` or else by `OPTIONS`.

    An argument that `MADE` names is made of several options, which are listed where it stands.
    """

    def declared(parameter: inspect.Parameter) -> inspect.Parameter:
        option = given.get(parameter.name, OPTIONS.get(parameter.name))
        # by name alone: then those with and without a default may stand in any order
        return parameter.replace(
            kind=inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[parameter.annotation, option]
        )

    def decorated(command: Command) -> Command:
        own = inspect.signature(command)
        makers = {name: MADE[name] for name in own.parameters if name in MADE}
        shared = {name: inspect.signature(maker).parameters for name, maker in makers.items()}

        @wraps(command)
        def run(**words: Any) -> Any:
            made = {
                name: maker(**{key: words.pop(key) for key in shared[name]})
                for name, maker in makers.items()
            }
            return command(**made, **words)

        listed = [
            declared(parameter)
            for key, place in own.parameters.items()
            for parameter in (shared[key].values() if key in shared else [place])
        ]
        changed = cast(Any, run)
        changed.__signature__ = own.replace(parameters=listed)
        changed.__annotations__ = {parameter.name: parameter.annotation for parameter in listed}
        return cast(Command, run)

    return decorated


@dataclass(frozen=True)
class Chosen:
    """Rows and columns of a file to learn from."""

    groups: str | None = None
    drop: list[str] | None = None
    features: list[str] | None = None
    keep_index: bool = False
    drop_missing: bool = False


@dataclass(frozen=True)
class Aim:
    """What is minimised, and the columns beside or in place of the target that it needs."""

    loss: LossName = LossName.SQUARED
    time: str | None = None
    event: str | None = None
    exposure: str | None = None

    def check(self, target: str | None, task: TaskName, intervals: bool) -> None:
        """Refuse what does not go together."""
        if (self.time is None) != (self.event is None):
            raise DataError("--time and --event go together: both are columns of survival data.")
        if self.time is None and task is TaskName.SURVIVAL:
            raise DataError("--task survival needs --time COL and --event COL.")
        if self.time is not None:
            other = target is not None or task not in (TaskName.AUTO, TaskName.SURVIVAL)
            if other or self.loss != "squared":
                raise DataError(
                    "--time and --event take the place of --target, --task and --loss: leave those "
                    "out."
                )
        if self.exposure is not None and self.loss != "poisson":
            raise DataError("--exposure goes with --loss poisson.")
        if self.loss == "poisson" and task is TaskName.CLASSIFICATION:
            raise DataError("--loss poisson is for counts: leave out --task classification.")
        if self.loss == "log" and task is TaskName.REGRESSION:
            raise DataError("--loss log is for classes: leave out --task regression.")
        what = f"--loss {self.loss}" if self.time is None else "survival"
        if intervals and what != "--loss squared":
            raise DataError(f"--intervals is not for {what}: leave it out.")

    @property
    def beside(self) -> str | None:
        """The column that the target needs: of events, or of exposures."""
        return self.event or self.exposure


# What a search tries, and how it chooses.

# below this the penalty 1/(c k) leaves the range of float64
LEAST_C = 1e-249
# what values of a grid must be
GRIDS: dict[str, tuple[Callable[[float], bool], str]] = {
    "k": (
        lambda value: 1 < value < math.inf,
        "must be a number above 1: values up to 2 compress the coefficients, 2 is ridge "
        "regression.",
    ),
    "c": (
        lambda value: value >= LEAST_C,
        "must be a number above 0: a large one regularises little, inf not at all.",
    ),
    "a": (math.isfinite, "must be a finite number: the paper's is -0.2, 0 is plain ridge."),
}
# options of the past, and what took their place
NEW_OPTIONS = {
    "keep": "--select 10,30",
    "density": "--select 0.1,1.0 (shares have a point)",
    "rule": "--combine average, best or 1se",
}


@dataclass(frozen=True)
class Plan:
    """What to search, and how to judge it, in the words of the options."""

    cv: str | None = None
    k: str | None = None
    c: str | None = None
    a: str | None = None
    select: str | None = None
    combine: CombineName = CombineName.AVERAGE
    nested: bool = True
    penalty_factor: list[str] | None = None
    keep: str | None = None
    density: str | None = None
    rule: str | None = None

    def __post_init__(self) -> None:
        """Refuse what no data could follow."""
        for old, new in NEW_OPTIONS.items():
            if getattr(self, old) is not None:
                raise DataError(f"there is no --{old} any more: use {new}.")
        _ = fold_number(self.cv), self.grid, named_factors(self.penalty_factor)

    @property
    def grid(self) -> dict[str, Any]:
        """What the search tries, by its parameters."""
        grid: dict[str, Any] = {"c_grid": "auto", "n_features_to_select": None}
        if self.select is not None:
            grid["n_features_to_select"] = selected(self.select)
        for name, text in {"k": self.k, "c": self.c, "a": self.a}.items():
            if text is not None and text.strip() != "auto":
                grid[f"{name}_grid"] = numbers(f"--{name}", text, *GRIDS[name])
        return grid


def numbers(
    option: str, text: str, allowed: Callable[[float], bool], way_out: str
) -> tuple[float, ...]:
    """Numbers with commas between them, ``1.1,1.5,2``, each of which is allowed."""
    try:
        found = tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        found = ()
    if not found:
        raise DataError(f"{option} {text!r} is not a list of numbers such as 1.1,1.5,2.")
    for value in found:
        if not allowed(value):
            raise DataError(f"{option} {value:g} {way_out}")
    return found


def selected(text: str) -> list[Any]:
    """Numbers of features to choose from, and with a point shares of them: ``10,30,1.0``."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise DataError(f"--select {text!r} is not a list of numbers such as 10,30.")
    way_out = "must be a number of features from 1, or a share such as 0.1; 1.0 is all of them."
    found: list[Any] = []
    for word in words:
        if "." in word:
            found += numbers("--select", word, lambda value: 0 < value <= 1, way_out)
        else:
            whole = numbers("--select", word, lambda v: v >= 1 and v.is_integer(), way_out)
            found += map(int, whole)
    return found


def named_factors(words: Sequence[str] | None) -> dict[str, float]:
    """Penalty factors by the names of their columns, from ``NAME=NUMBER``."""
    found: dict[str, float] = {}
    for word in words or ():
        name, equals, number = word.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not equals or not value >= 0:
            raise DataError(
                f"--penalty-factor {word!r} is not a column and a number from 0, such as age=0."
            )
        if found.setdefault(name, value) != value:
            raise DataError(
                f"--penalty-factor names {name!r} twice, with {found[name]:g} and {value:g}."
            )
    return found


def fold_number(text: str | None) -> int | None:
    """How many folds were asked for; None for ``loo`` and where nothing was said."""
    word = "loo" if text is None else text.strip().lower()
    if word == "loo":
        return None
    if not word.isdecimal() or int(word) < 2:
        raise DataError(f"--cv {text!r} is not known: use loo, or a number of folds from 2.")
    return int(word)


# the parabola that scatter correction of powders is usually followed by
DEGREE = 2


@dataclass(frozen=True)
class Recipe:
    """Steps before the model, as they were asked for; refuses what no data could follow."""

    impute: Fill | None = None
    snv: bool = False
    detrend: bool = False
    derivative: int | None = None
    window: int | None = None
    polyorder: int | None = None
    recipes: bool = False

    def __post_init__(self) -> None:
        for option, value in (("--window", self.window), ("--polyorder", self.polyorder)):
            if value is not None and self.derivative is None:
                raise DataError(f"{option} {value} goes with --derivative; --derivative 0 smooths.")
        if self.recipes and (self.snv or self.detrend or self.derivative is not None):
            raise DataError(
                "--recipes tries these by itself: leave out --snv, --detrend, --derivative."
            )
        if self.derivative is not None:
            with Talk().translating():
                self.steps()[-1]._check_window()

    @property
    def filters(self) -> bool:
        """Whether rows are taken for spectra."""
        return self.snv or self.detrend or self.recipes or self.derivative is not None

    def steps(self) -> list[Any]:
        """The steps, not fitted yet."""
        found: list[Any] = []
        if self.impute is not None:
            from sklearn.impute import SimpleImputer

            found.append(SimpleImputer(strategy=str(self.impute)))
        if self.filters and not self.recipes:
            from skstretch import SpectralFilter

            asked = {name: getattr(self, name) for name in ("derivative", "window", "polyorder")}
            given = {name: value for name, value in asked.items() if value is not None}
            degree = DEGREE if self.detrend else None
            found.append(SpectralFilter(snv=self.snv, detrend=degree, **given))
        return found

    def check(self, table: Any) -> None:
        """Refuse data that the filters cannot work on."""
        if self.filters and table.is_sparse:
            raise DataError(
                "--snv, --detrend, --derivative and --recipes are for spectra, not sparse data."
            )


# arguments of commands that are made of several options
MADE: dict[str, Callable[..., Any]] = {
    "form": Form,
    "chosen": Chosen,
    "aim": Aim,
    "plan": Plan,
    "recipe": Recipe,
    "talk": Talk,
}

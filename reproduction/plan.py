"""What each table and figure needs: curves to compute, and units of the study to run.

On the generated stand-ins a few settings are run, for pipelines and timings alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from reproduction.sets import LOADED, StudySet, checked_name, lasso_fits
from reproduction.settings import DESCENT, FAMILIES, Cell, Settings, Unit, units_of

STANDIN_PIECE = "standin"  # labels the rows


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
            Cell(STANDIN_PIECE, "SR", k=k, c=settings.shown_strength, density=density)
            for k, density in product(probe.powers, probe.densities)
        ),
        "LASSO": tuple(
            Cell(STANDIN_PIECE, f"LASSO{count}", mixing=mixing) for mixing, count in lasso
        ),
        "LASSOCV": tuple(
            Cell(STANDIN_PIECE, "LASSOCV", mixing=mixing) for mixing in probe.searched
        ),
    }
    return {family: some for family, some in cells.items() if some}


FIGURES = tuple(f"fig{number}" for number in range(1, 13))
PIECES = ("all", "table1", "table2", "table3", *FIGURES, "madelon", "descent", "standins")
SYNTHETIC = {"table1", "fig1", "fig2", "fig4", "fig5", "fig6"}
# Piece -> the task whose sets it runs, and the families that it needs on them.
STUDIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "fig9": (("regression",), ("SR", "LASSO", "LASSOCV")),
    "fig10": (("classification",), ("SR", "LASSO", "LASSOCV", "RPN")),
    "fig11": (("regression", "classification"), ("SR",)),
    "fig12": (("classification",), ("SR", "LASSO", "LASSOCV")),
}
COEFFICIENTS = {"fig7": "regression", "fig8": "classification"}
SIZES = {"table2": "regression", "table3": "classification"}
PROJECTED = "madelon"
# Data set -> the methods that the coordinate descent runs on it. On Corn a cold start at the least
# penalty takes as long as five paths, and a search over NumLambda as some thirty.
DESCENDED = {
    "prostate": ("LASSO2", "LASSO100", "LASSOCV"),
    "diabetes": ("LASSO2", "LASSO100", "LASSOCV"),
    "corn": ("LASSO100",),
}
SLOW = ("LASSOCV", "DESCENT", "RPN")


@dataclass(frozen=True)
class CurveTask:
    """One part of the file of curves: a figure, or one data set of a figure."""

    figure: str
    dataset: str = ""

    @property
    def prefix(self) -> str:
        """What the names of its panels start with."""
        return f"{self.dataset}: " if self.dataset else ""


@dataclass(frozen=True)
class Plan:
    """Work in the order in which it is done, and the figures to draw from it."""

    curves: tuple[CurveTask, ...]
    units: tuple[Unit, ...]
    figures: tuple[str, ...]

    @property
    def datasets(self) -> set[str]:
        """Names of the data sets that the work reads."""
        names = {task.dataset for task in self.curves} | {unit.dataset for unit in self.units}
        return (names - {""}) | ({PROJECTED} if CurveTask("fig3") in self.curves else set())


def make_plan(pieces: Iterable[str], sets: Sequence[StudySet], settings: Settings) -> Plan:
    """The plan of these pieces on these sets.

    Cheap families come first, set after set. The slow ones follow trial after trial over all
    sets, so that a run that is stopped has the same trials everywhere. Stand-ins come last, and
    belong to the piece ``standins`` alone.
    """
    wanted = _spelled_out(pieces)
    standins = [entry.name for entry in sets if entry.standin and "standins" in wanted]
    sets = [entry for entry in sets if not entry.standin]
    families = _families(wanted, sets)
    order = {entry.name: i for i, entry in enumerate(sets)}
    units = [
        unit
        for (family, name), entry in families.items()
        for unit in units_of(name, family, settings, large=entry.large)
    ]
    if "descent" in wanted:
        units += [unit for entry in sets for unit in descent_units(entry.name, settings)]
    units.sort(key=lambda unit: _turn(unit, order[unit.dataset]))
    figures = tuple(figure for figure in FIGURES if figure in wanted)
    if any(family == "RPN" for family, _ in families):
        figures += ("projection",)
    curves = [*_curves(wanted, sets), *(CurveTask(LOADED, name) for name in standins)]
    for name in standins:
        units += standin_units(name, settings)
    return Plan(tuple(curves), tuple(units), figures)


def _families(wanted: set[str], sets: Sequence[StudySet]) -> dict[tuple[str, str], StudySet]:
    """The families of methods that the pieces need, each with the set that it runs on."""
    families: dict[tuple[str, str], StudySet] = {}
    for piece in wanted & STUDIES.keys():
        tasks, names = STUDIES[piece]
        for entry in sets:
            if entry.task in tasks:
                families |= {(name, entry.name): entry for name in names if _fits(name, entry)}
    for entry in sets:
        if entry.name == PROJECTED and "madelon" in wanted:
            families |= {(name, PROJECTED): entry for name in ("SR", "RPN")}
        if entry.name in DESCENDED and "descent" in wanted:  # what the descent is compared with
            searching = ("LASSOCV",) if "LASSOCV" in DESCENDED[entry.name] else ()
            families |= {(name, entry.name): entry for name in ("SR", "LASSO", *searching)}
    return families


def descent_units(dataset: str, settings: Settings) -> list[Unit]:
    """The units of the coordinate descent on a data set, trial after trial; of most sets none."""
    methods = DESCENDED.get(dataset, ())
    cells = tuple(
        Cell(DESCENT, method, mixing=mixing)
        for method, mixing in product(methods, settings.mixings)
    )
    trials = settings.trials_of(dataset, "DESCENT") if methods else 0
    return [
        Unit(dataset, "DESCENT", trial, fold, cells)
        for trial, fold in product(range(trials), range(settings.folds))
    ]


def _turn(unit: Unit, place: int) -> tuple[bool, int, int, int, int]:
    """When a unit is run; the cheap families do not wait for their trial."""
    slow = unit.family in SLOW
    return slow, unit.trial if slow else 0, place, FAMILIES.index(unit.family), unit.trial


def _spelled_out(pieces: Iterable[str]) -> set[str]:
    wanted = {checked_name(piece, PIECES, "piece") for piece in pieces}
    return set(PIECES) - {"all"} if "all" in wanted else wanted


def _fits(family: str, entry: StudySet) -> bool:
    """The random projection network is Madelon's; LASSO needs dense features in memory."""
    if family in ("LASSO", "LASSOCV"):
        return lasso_fits(entry.name)
    return family != "RPN" or entry.name == PROJECTED


def _curves(wanted: set[str], sets: Sequence[StudySet]) -> list[CurveTask]:
    tasks = [CurveTask(piece) for piece in PIECES if piece in wanted & SYNTHETIC]
    for table, task in SIZES.items():
        if table in wanted:
            tasks += [CurveTask(LOADED, entry.name) for entry in sets if entry.task == task]
    if "fig3" in wanted and any(entry.name == PROJECTED for entry in sets):
        tasks.append(CurveTask("fig3"))
    for figure, task in COEFFICIENTS.items():
        if figure in wanted:
            named = [entry.name for entry in sets if entry.task == task]
            tasks += [CurveTask(figure, name) for name in named]
            tasks += [CurveTask("compression", name) for name in named]
    return tasks

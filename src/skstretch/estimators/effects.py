"""Effects of features with their errors: the model fitted again without parts of the samples.

Candidates, their weights and the z-scores are those of the model; only coefficients, and which
features a candidate selects, are found again.
"""

import numbers
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skstretch.core.losses import Loss
from skstretch.core.quadrant import Quadrant
from skstretch.core.stability import complementary_halves, parts_of_units
from skstretch.core.survival import event_and_time
from skstretch.core.types import Array, Index, Mask
from skstretch.designs.protocol import Design
from skstretch.estimators.inputs import Targets, check_count, group_codes
from skstretch.estimators.losses import SQUARED, loss_of, targets_of
from skstretch.estimators.mixture import Mixture
from skstretch.estimators.state import State, as_table
from skstretch.estimators.summary import feature_names
from skstretch.exceptions import RowsForgottenError
from skstretch.search.losses import null_supports
from skstretch.search.selection import path_supports
from skstretch.solve.choose import N_JACKKNIFE, Spec, is_matrix_free
from skstretch.solve.losses import solve_losses
from skstretch.solve.model import fit_columns, fit_model
from skstretch.solve.newton import minimised_coefs

NO_SAMPLES = (
    "effects need the training samples, which this model does not have (it was loaded from a "
    "file): pass them, effects(X, y), with the weights of the fit as sample_weight."
)


@dataclass(frozen=True)
class Part:
    """One candidate, or what it is for some targets: where it is fitted, and what it counts.

    `weight` (t,) is zero for targets that have no part in it. `kept` are its columns; `count` is
    how many it selects: along the lasso path, or with `by_size` by the size of its coefficients.
    """

    design: Design
    quadrant: Quadrant
    spec: Spec
    weight: Array
    kept: Index
    count: int | None = None
    by_size: bool = False

    @property
    def targets(self) -> Index:
        return np.flatnonzero(self.weight)

    @property
    def minimised(self) -> bool:
        """Whether it is the minimiser of a power on all columns, ridge regression included."""
        smooth = self.spec.linear and self.spec.c < np.inf and self.count is None
        return smooth and (self.spec.exact or not is_matrix_free(self.design, self.spec))

    def effect(self, coef: Array) -> Array:
        """What coefficients (t, D') mean for one standard deviation, by its weight."""
        slope = self.quadrant.slope(self.weight[:, None] * coef)
        return np.asarray(slope * self.quadrant.moments.scale)


def parts_of(state: State, *, searched: bool) -> list[Part]:
    """The candidates of a fitted model, targets that keep other columns apart."""
    found, ones = [], np.ones(state.n_targets)
    if isinstance(state, Mixture):
        for member in state.members:
            term, density = state.terms[member.term], member.density
            own = term.design, term.quadrant.take(state.columns), member.spec
            few = isinstance(density, numbers.Integral)
            for number, kept in enumerate(member.kept):
                weight = _of_targets(member.weight, member.targets(number))
                count = density if few else kept.size if density < 1.0 else None
                found.append(Part(*own, weight, kept, count))
        return [part for part in found if part.targets.size]
    design, quadrant = state.model.design, state.quadrant.take(state.columns)
    passes, spec = state.model.passes, state.model.spec
    few = max(p.columns.size for p in passes) < design.shape[1]
    if few and not searched:
        first = passes[0].columns
        return [Part(design, quadrant, spec, ones, first, first.size, by_size=True)]
    for p in passes:
        weight, count = _of_targets(ones, p.targets), p.columns.size if few else None
        found.append(Part(design, quadrant, spec, weight, p.columns, count))
    return found


def _of_targets(weight: Array, targets: Index) -> Array:
    """The weights of some targets, zero for the others."""
    out = np.zeros_like(weight)
    out[targets] = weight[targets]
    return out


@dataclass(frozen=True)
class Sample:
    """What parts are fitted to: targets with their weights, and the loss that is minimised."""

    targets: Targets
    loss: str = SQUARED
    ties: str = ""

    def at(self, rows: Index) -> "TargetRows":
        """The same of some rows, which weigh as much as all do: so penalties keep their balance."""
        weights = self.targets.weights
        share = float(weights.sum() / weights[rows].sum())
        loss = None
        if self.loss != SQUARED:
            loss = loss_of(self.loss, self.targets, rows, self.ties)(weights[rows])
        return TargetRows(self.targets.Y[rows], share * weights[rows], share, loss)


@dataclass(frozen=True)
class TargetRows:
    """Targets (m, t) and raised weights (m) of some rows. A loss other than squared error has their
    own weights, and its penalties are lowered by the `share` instead: Efron's ties count whole
    samples."""

    Y: Array
    weights: Array
    share: float
    loss: Loss | None

    def supports(self, part: Part, design: Design, counts: list[int]) -> dict[int, Index]:
        """What the lasso path of the targets of a part selects."""
        if self.loss is not None:
            return null_supports(design, part.spec.intercept, self.loss, counts)
        return path_supports(design, self.Y[:, part.targets], self.weights, counts)

    def fits(
        self, parts: Sequence[Part], design: Design, columns: Index
    ) -> Iterator[tuple[Array, Mask]]:
        """Coefficients (t, D') and selected columns of parts that `_together` has put together."""
        part = parts[0]
        if self.loss is not None:
            for one in parts:
                yield self._by_loss(one, design, columns)
        elif part.minimised:
            specs = [p.spec for p in parts]
            for coef in minimised_coefs(design, self.Y, self.weights, specs, part.targets):
                yield coef, coef != 0.0
        elif part.by_size and part.count is not None:
            model = fit_model(design, self.Y, self.weights, part.spec, part.count)
            yield model.coef, model.support
        else:
            given = part.spec, columns, part.targets
            model = fit_columns(design, self.Y, self.weights, *given)
            yield model.coef, model.support

    def _by_loss(self, part: Part, design: Design, columns: Index) -> tuple[Array, Mask]:
        assert self.loss is not None
        coef = np.zeros((self.Y.shape[1], design.shape[1]))
        kept = design if columns.size == design.shape[1] else design.take(columns)
        spec, c = part.spec, self.share * part.spec.c
        [found] = solve_losses(kept, [self.loss], spec.k, c, spec.intercept)
        coef[:, columns] = found.coef.T
        return coef, np.broadcast_to(np.isin(np.arange(design.shape[1]), columns), coef.shape)


def refitted(parts: Sequence[Part], sample: Sample, rows: Index) -> tuple[Array, Array | None]:
    """Effects (t, D') of one standard deviation by the model of some rows, and what is selected.

    What is selected (D') is the share of the selecting candidates, by their weights; None where
    none selects.
    """
    taken = {id(p.design): p.design.take_rows(rows) for p in parts}
    linear = next((p.design for p in parts if p.quadrant.kind == "linear"), parts[0].design)
    data = sample.at(rows)
    supports = _supports(parts, taken[id(linear)], data)
    total, chosen = np.zeros((data.Y.shape[1], linear.shape[1])), np.zeros(linear.shape[1])
    for some in _together(parts):
        first = some[0]
        columns = supports.get((*first.targets.tolist(), first.count), first.kept)
        found = data.fits(some, taken[id(first.design)], columns)
        for part, (coef, support) in zip(some, found, strict=True):
            total += part.effect(coef)
            if part.count is not None:
                chosen += (part.weight[:, None] * support).sum(axis=0)
    share = sum(float(part.weight.sum()) for part in parts if part.count is not None)
    return total, chosen / share if share else None


def _together(parts: Sequence[Part]) -> list[list[Part]]:
    """Minimisers of the same targets from the largest power on; each of the others alone."""
    found: dict[tuple[int, ...], list[Part]] = {}
    for part in sorted(parts, key=lambda part: -part.spec.k):
        if part.minimised:
            found.setdefault(tuple(part.targets.tolist()), []).append(part)
    return [*found.values(), *([part] for part in parts if not part.minimised)]


def _supports(
    parts: Sequence[Part], design: Design, data: TargetRows
) -> dict[tuple[int | None, ...], Index]:
    """What the lasso paths select, by targets and count: one path for the same targets."""
    asked: dict[tuple[int, ...], list[Part]] = {}
    for part in parts:
        if part.count is not None and not part.by_size:
            asked.setdefault(tuple(part.targets.tolist()), []).append(part)
    found: dict[tuple[int | None, ...], Index] = {}
    for targets, some in asked.items():
        counts = sorted({part.count for part in some if part.count is not None})
        paths = data.supports(some[0], design, counts)
        found |= {(*targets, count): columns for count, columns in paths.items()}
    return found


@dataclass(frozen=True)
class Bands:
    """Features that are told together: `names`, and the `places` of all, which `starts` divides.

    `columns` are those of the D features that take part in a model.
    """

    names: list[Any]
    places: Index
    starts: Index
    columns: Index
    n_features: int

    def of(self, values: Array, join: Any = np.add) -> Array:
        """Values (.., D') of columns that take part, added up (or joined otherwise) by band."""
        spread = np.zeros((*values.shape[:-1], self.n_features))
        spread[..., self.columns] = values
        return np.asarray(join.reduceat(spread[..., self.places], self.starts, axis=-1))


def tallied(
    parts: Sequence[Part],
    sample: Sample,
    effect: Array,
    halves: Mask,
    folds: list[Index],
    bands: Bands,
) -> dict[str, Array]:
    """What the fits without parts of the samples tell of bands, (t, n): jackknife errors, and the
    share of pairs whose halves both have the sign of the effect."""
    everything = np.arange(len(sample.targets.Y))
    sums, squares = np.zeros_like(effect), np.zeros_like(effect)
    for fold in folds:
        rows = np.setdiff1d(everything, fold, assume_unique=True)
        moved = bands.of(refitted(parts, sample, rows)[0]) - effect
        sums, squares = sums + moved, squares + moved**2
    n = len(folds)
    variance = (n - 1) / n * np.maximum(squares - sums**2 / n, 0.0)
    agree, chosen = np.zeros_like(effect), None
    for pair in halves:
        same = effect != 0.0  # no effect, no sign
        for half in pair:
            found, share = refitted(parts, sample, np.flatnonzero(half))
            same &= np.sign(bands.of(found)) == np.sign(effect)
            if share is not None:
                each = bands.of(share, np.maximum) / (2 * len(halves))
                chosen = each if chosen is None else chosen + each
        agree += same / len(halves)
    told = {"effect_per_sd": effect, "standard_error": np.sqrt(variance), "sign_stability": agree}
    if chosen is not None:
        told["selection_frequency"] = np.broadcast_to(chosen, effect.shape)
    return told


def effects_of(
    model: Any, data: tuple[Any, Any, Mask] | None, bands: Any, n_pairs: Any, groups: Any, seed: Any
) -> Any:
    """The table of a fitted model; `data` are other samples, their targets as numbers, and which
    of those that were given they are."""
    check_count("n_pairs", n_pairs, 2, "say 50")
    state: State = model._state
    parts = parts_of(state, searched=hasattr(model, "cv_results_"))
    targets, used = targets_of(state), state.used
    if data is None and not np.isfinite(targets.Y).all():
        raise RowsForgottenError(NO_SAMPLES)
    if data is not None:
        design_at, targets, used = data
        parts = [replace(p, design=design_at(p.quadrant)) for p in parts]
    units = everything = np.arange(len(targets.Y))
    if groups is not None:
        units = np.unique(group_codes(groups, used.size)[used], return_inverse=True)[1]
    n_units = int(units.max()) + 1
    if n_units < 6:
        raise ValueError(f"{n_units} samples or groups: errors of effects need at least six.")
    rng = check_random_state(seed)
    strata = np.zeros(units.size, dtype=np.intp)
    if groups is None:
        strata = _alike(state.loss, targets)
    halves = complementary_halves(units, strata, int(n_pairs), rng)
    folds = parts_of_units(units, strata, min(N_JACKKNIFE, n_units), rng)
    sample = Sample(targets, state.loss, getattr(model, "ties", ""))
    told = bands_of(model, state.columns, bands)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit has told them
        whole = refitted(parts, sample, everything)[0]
        found = tallied(parts, sample, told.of(whole), halves, folds, told)
    per_unit = told.of(whole / state.quadrant.moments.scale[state.columns])
    t, names = len(per_unit), told.names
    table: dict[str, Any] = {"feature": np.array(names * t, dtype=object)}
    if not state.single:
        labels = [*getattr(model, "classes_", range(t))]
        table["target"] = np.repeat(np.array(labels, dtype=object), len(names))
    figures = {"effect_per_unit": per_unit} | found
    return as_table(table | {name: values.ravel() for name, values in figures.items()})


def _alike(loss: str, targets: Targets) -> Index:
    """What halves and parts have the same shares of: classes, events, counts above zero."""
    if targets.codes is not None:
        return targets.codes
    y = targets.Y[:, 0]
    if loss == "cox":
        return event_and_time(y)[0].astype(np.intp)
    return (y > 0.0).astype(np.intp) if loss == "poisson" else np.zeros(y.size, dtype=np.intp)


def bands_of(model: Any, columns: Index, bands: Any) -> Bands:
    """Every feature on its own, or the bands that are asked for."""
    D, names = model.n_features_in_, feature_names(model)
    if bands is None:
        groups: dict[Any, Any] = {name: [j] for j, name in enumerate(names)}
    elif isinstance(bands, numbers.Integral) and not isinstance(bands, bool):
        if not 1 <= int(bands) <= D:
            raise ValueError(f"bands={bands} must lie between 1 and the {D} features.")
        pieces = np.array_split(np.arange(D), int(bands))
        groups = {f"{names[p[0]]} .. {names[p[-1]]}": p for p in pieces}
    elif isinstance(bands, Mapping):
        groups = {name: _listed_places(name, listed, names) for name, listed in bands.items()}
    else:
        raise TypeError(
            f"bands={bands!r} must be None, a number of contiguous bands, or a dict from the name "
            "of a band to its features."
        )
    empty = [name for name, listed in groups.items() if len(listed) == 0]
    if empty or not groups:
        raise ValueError(f"bands={bands!r:.60} has a band without features, or none.")
    sizes = np.array([len(listed) for listed in groups.values()])
    places = np.concatenate([np.asarray(listed, dtype=np.intp) for listed in groups.values()])
    return Bands([*groups], places, np.cumsum(sizes) - sizes, columns, D)


def _listed_places(name: Any, listed: Any, names: list[Any]) -> list[int]:
    """The places of features that are given by name or number."""
    known = {feature: place for place, feature in enumerate(names)}
    found = []
    for one in listed:
        place = known.get(one, one)
        if not isinstance(place, numbers.Integral) or not 0 <= int(place) < len(names):
            raise ValueError(f"bands[{name!r}] lists {one!r}, which is no feature of the model.")
        found.append(int(place))
    return found

"""One model mixed from several candidates: a weighted mean of their predictions.

Candidates of one a share their features, so that their coefficients merge into one vector:

``f(x) = level + sum_a P_a(x) (sum_m w_m alpha_m)``.

Candidates of a = 0 alone make a linear model; with others it is additive, one curve a feature.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Array, Index, Mask
from skstretch.designs.protocol import Design
from skstretch.estimators.state import State, as_table
from skstretch.solve.choose import Spec
from skstretch.solve.left_out import Jackknife, make_jackknife
from skstretch.solve.model import FittedModel, fit_stretchy, of_columns


@dataclass(frozen=True)
class Term:
    """The merged coefficients (t, D') of all candidates of one a, of features in their unit."""

    quadrant: Quadrant
    design: Design
    coef: Array


@dataclass(frozen=True)
class Member:
    """One candidate of a mixture.

    Attributes
    ----------
    term : int
        The place of its a among the terms.
    spec : Spec
    weight : array of shape (t,)
        What it counts for every target.
    kept : tuple of index arrays
        The columns of the design that it keeps: one entry, or one for each target.
    row : int
        The row of the candidate in ``cv_results_``.
    density : float or int
    dof, rcond : float
    gap : float or None
        The certificate of an exact minimiser.
    """

    term: int
    spec: Spec
    weight: Array
    kept: tuple[Index, ...]
    row: int
    density: Any
    dof: float
    rcond: float
    gap: float | None = None

    def targets(self, number: int) -> Index:
        """The targets of one pass over kept columns: of one alone, all that the candidate counts
        for."""
        return np.flatnonzero(self.weight) if len(self.kept) == 1 else np.array([number])


@dataclass(frozen=True, kw_only=True)
class Mixture(State):
    """A state of several candidates; `model` is that of the heaviest one.

    `quadrant` is the transform that all candidates share. Where they differ it is that of z-scores,
    `held_out` are residuals (M,
    t) of the search by models that have not seen the sample, where each was left out on its own:
    there members that select features have selected without it.
    """

    terms: tuple[Term, ...]
    members: tuple[Member, ...]
    mixed_level: Array
    mixed_intercept: Array
    mixed_support: Mask
    held_out: Array | None = None

    def __getstate__(self) -> dict[str, Any]:
        # inverses can be made again: they stay out of pickles
        return {name: v for name, v in super().__getstate__().items() if name != "jackknives"}

    @property
    def level(self) -> Array:
        return self.mixed_level

    @property
    def intercept(self) -> Array:
        return self.mixed_intercept

    @property
    def support(self) -> Mask:
        """The columns that some member of the target keeps, shape (t, D)."""
        return self.mixed_support

    @property
    def quadrants(self) -> list[Quadrant]:
        return [term.quadrant for term in self.terms]

    @property
    def model_quadrant(self) -> Quadrant:
        """The transform of the heaviest member."""
        heaviest = max(self.members, key=lambda member: float(member.weight.sum()))
        return self.terms[heaviest.term].quadrant

    @property
    def _learned(self) -> list[tuple[Design, Array]]:
        return [(term.design, term.coef) for term in self.terms]

    @property
    def alpha(self) -> Array:
        raise AttributeError(
            "an average has no alpha_ of its own: its candidates do not share their features. "
            "coef_ and effect_ are those of the average, weights_ lists the candidates, and "
            'combine="best" or "1se" makes a model of one.'
        )

    @property
    def dual(self) -> Array:
        raise AttributeError(
            "an average has no dual coefficients of its own: each of its candidates has. Use "
            'combine="best" or "1se" for a model of one candidate.'
        )

    def facts(self) -> dict[str, Any]:
        gaps = [m.gap for m in self.members if m.gap is not None]
        return {
            "solver_": "average",
            "rcond_": min(m.rcond for m in self.members),
            "dof_": float(sum(m.weight.mean() * m.dof for m in self.members)),
            "n_iter_": None,
            "dual_gap_": max(gaps) if gaps else None,
        }

    def std(self, noise: Array | None) -> Array:
        """The deviations of all members, added up with their weights."""
        total = np.zeros((self.n_targets, self.n_features))
        for member in self.members:
            own = self.spread(np.sqrt(self._alone(member).variance(noise)))
            slope = self.terms[member.term].quadrant.slope(own)
            total += member.weight[:, None] * np.abs(slope)
        return total

    def fitted_to(self, rows: Index) -> tuple[list[Array], Array]:
        coefs, level = [np.zeros_like(term.coef) for term in self.terms], np.zeros(self.n_targets)
        for member in self.members:
            for p in self._alone(member, rows).passes:
                share = member.weight[p.targets]
                coefs[member.term][np.ix_(p.targets, p.columns)] += share[:, None] * p.coef.T
                level[p.targets] += share * p.level
        return coefs, level

    def _alone(self, member: Member, rows: Index | None = None) -> FittedModel:
        """One member on the columns that it keeps, fitted to the targets that it counts for."""
        design, spec = self.terms[member.term].design, member.spec
        Y, weights, passes = self.model.Y, self.model.weights, []
        if rows is not None:
            design, Y, weights = design.take_rows(rows), Y[rows], weights[rows]
        for number, kept in enumerate(member.kept):
            part, targets = _columns(design, kept), member.targets(number)
            # a minimiser has a pass for every target
            for own in targets[:, None] if spec.exact else [targets]:
                if own.size:
                    solution = fit_stretchy(part, Y[:, own], weights, spec)
                    passes.append(of_columns(solution, own, kept, part))
        return FittedModel(design, Y, weights, spec, passes)

    def _parts(self, designs: Sequence[Design]) -> Iterator[tuple[Member, Index, Design]]:
        """Every pass of every member: its targets, and what it sees of rows of every transform."""
        for member in self.members:
            for number, kept in enumerate(member.kept):
                yield member, member.targets(number), _columns(designs[member.term], kept)

    @cached_property
    def jackknives(self) -> list[Jackknife]:
        """The leave-one-out models of every pass of every member."""
        return self.make_jackknives(lambda: None)

    def make_jackknives(self, step: Callable[[], None]) -> list[Jackknife]:
        """The same, made anew; `step` is called after each."""
        Y, weights, found = self.model.Y, self.model.weights, []
        for member, own, design in self._parts(self.training):
            found.append(make_jackknife(design, Y[:, own], weights, member.spec))
            step()
        return found

    @cached_property
    def loo_residuals(self) -> Array:
        """Residuals of every sample by the mixture of the models fitted without it, (M, t)."""
        if self.held_out is not None:
            return self.held_out
        residuals, parts = np.zeros_like(self.model.Y), self._parts(self.training)
        for (member, own, _), jackknife in zip(parts, self.jackknives, strict=True):
            residuals[:, own] += member.weight[own] * jackknife.residuals
        return residuals

    def without_each(self, new: Sequence[Design]) -> Array:
        """Predictions of new rows by the model without each sample, (t, N, M)."""
        out = np.zeros((self.n_targets, new[0].shape[0], self.model.weights.size))
        for (member, own, part), jackknife in zip(self._parts(new), self.jackknives, strict=True):
            for place, target in enumerate(own):
                out[target] += member.weight[target] * jackknife.predictions(part, place)
        return out


def _columns(design: Design, kept: Index) -> Design:
    return design if kept.size == design.shape[1] else design.take(kept)


@dataclass(frozen=True)
class Fitted:
    """A fitted candidate on its way into a mixture: its weight (t,), and where it comes from."""

    state: State
    weight: Array
    row: int
    density: Any


def mixed(candidates: Sequence[Fitted], linear: Quadrant, held_out: Array | None) -> Mixture:
    """The mixture of fitted candidates whose weights add up to one for every target.

    `linear` is the transform to z-scores, for coefficients of candidates that do not share theirs;
    `held_out` are residuals as a `Mixture` has them.
    """
    heaviest = max(candidates, key=lambda candidate: float(candidate.weight.sum())).state
    places: dict[float, int] = {}
    terms: list[Term] = []
    members = []
    t, columns = heaviest.n_targets, heaviest.columns
    level, intercept = np.zeros(t), np.zeros(t)
    support = np.zeros((t, heaviest.n_features), dtype=bool)
    for candidate in candidates:
        state, quadrant = candidate.state, candidate.state.quadrant
        coef = candidate.weight[:, None] * state.model.coef
        place = places.setdefault(quadrant.a, len(terms))
        if place == len(terms):
            terms.append(Term(quadrant, state.model.design, coef))
        else:
            terms[place] = Term(quadrant, terms[place].design, terms[place].coef + coef)
        members.append(_member(candidate, place))
        level += candidate.weight * state.level
        intercept += candidate.weight * state.intercept
        support |= state.support & (candidate.weight > 0)[:, None]
    return Mixture(
        heaviest.model,
        terms[0].quadrant if len(terms) == 1 else linear,
        columns,
        heaviest.used,
        heaviest.dtype,
        heaviest.single,
        heaviest.decision,
        terms=tuple(terms),
        members=tuple(members),
        mixed_level=level,
        mixed_intercept=intercept,
        mixed_support=support,
        held_out=held_out,
    )


def _member(candidate: Fitted, place: int) -> Member:
    passes = candidate.state.model.passes
    kept = [p.columns for p in passes]
    same = all(np.array_equal(columns, kept[0]) for columns in kept)
    gaps = [p.gap for p in passes if p.gap is not None]
    return Member(
        place,
        candidate.state.model.spec,
        candidate.weight,
        tuple(kept[:1] if same else kept),
        candidate.row,
        candidate.density,
        float(np.mean([p.dof for p in passes])),
        float(min(p.rcond for p in passes)),
        max(gaps) if gaps else None,
    )


def framed(table: dict[str, Any]) -> Any:
    """A `weights_table` with one number a cell, as a DataFrame or as it is without pandas.

    Where targets differ, ``weight`` is their mean and ``weight_0``, ``weight_1`` ... are theirs.
    """
    shares = table["weight"]
    if np.ndim(shares) > 1:
        each = {f"weight_{target}": own for target, own in enumerate(shares.T)}
        table = {**table, "weight": shares.mean(axis=1), **each}
    return as_table(table)


def weights_table(results: dict[str, Any], mix: Mapping[int, Array]) -> dict[str, Any]:
    """The candidates of a model with their weights, the heaviest first; `results` is
    ``cv_results_``.

    Several targets have a column of weights each.
    """
    rows = sorted(mix, key=lambda row: -float(mix[row].sum()))
    shares = np.array([mix[row] for row in rows])
    single = shares.shape[1] == 1 or (shares == shares[:, :1]).all()
    names = ("recipe", "a", "k", "c") if "param_recipe" in results else ("a", "k", "c")
    return {
        **{name: results[f"param_{name}"][rows] for name in names},
        # counts and shares, each as it was asked for
        "density": np.array(results["param_density"][rows].tolist(), dtype=object),
        "weight": shares[:, 0] if single else shares,
        "score": results["mean_test_score"][rows],
        "row": np.array(rows),
    }

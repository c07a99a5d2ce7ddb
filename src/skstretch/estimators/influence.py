"""What single training samples do to a model: predictions without each of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstretch.core.classes import decided
from skstretch.core.crossfit import distances, squared_changes
from skstretch.core.types import Array, Index
from skstretch.designs import Design, is_dask
from skstretch.estimators.base import StretchyModel
from skstretch.estimators.inputs import check_memory, checked_X
from skstretch.estimators.progress import show_left_out
from skstretch.estimators.state import State, pandas_for
from skstretch.solve.model import row_chunks
from skstretch.style import count, number, share

# samples that are printed
SHOWN = 10


@dataclass(frozen=True, eq=False)
class Influence:
    """What changes without each training sample; ``print`` it, or take the table ``frame``.

    Made by the method `influence` of the search estimators. Candidates, weights, kept features,
    z-scores and the cut of classes are those of all samples.

    Parameters
    ----------
    samples : ndarray of shape (n,)
        Rows of the training data with a positive weight; all else is in their order.
    observed : ndarray of shape (n,) or (n, n_targets)
        Targets, or the labels of a classifier.
    predicted : ndarray of shape (n,) or (n, n_outputs)
        Predictions of the model, of a classifier the scores of `decision_function`.
    without : ndarray, of the shape of `predicted`
        The same by the model without the sample.
    distance : ndarray of shape (n,)
        How far the predictions of all samples move without this one:
        ``sum_j w_j d_j**2 / (dof * s**2)`` with the change d_j of the prediction of sample j, the
        effective degrees of freedom, and the mean square s**2 of leave-one-out residuals; the mean
        over targets.
    probability : ndarray of shape (n,) or None
        Of classifiers: the probability of the given label by models that have not seen the sample.
        Where it is small, the label or the sample deserves a second look.
    changes : ndarray of shape (n_new, n) or (n_new, n, n_outputs), or None
        For new samples: how much the prediction would fall without each training sample.

    See Also
    --------
    skstretch.StretchyRegressorCV.influence : Makes it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skstretch import StretchyRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = StretchyRegressorCV().fit(X[:100], y[:100]).influence()
    >>> found.frame.columns.tolist()
    ['observed', 'predicted', 'without', 'change', 'distance']
    """

    samples: Index
    observed: Any
    predicted: Array
    without: Array
    distance: Array
    probability: Array | None
    changes: Array | None = None

    @property
    def order(self) -> Index:
        """Places of the samples: the most influential first, of classes the most doubtful label."""
        key = -self.distance if self.probability is None else self.probability
        return np.argsort(np.where(np.isfinite(key), key, np.inf), kind="stable")

    @property
    def frame(self) -> Any:
        """One row a sample as a pandas DataFrame, in `order`; the index is the row of X.

        ``change`` is what the sample adds to its own prediction.
        """
        pd = pandas_for("influence().frame", "attributes of the same object")
        columns = {
            **_columns("observed", self.observed),
            **_columns("predicted", self.predicted),
            **_columns("without", self.without),
            **_columns("change", self.predicted - self.without),
            "distance": self.distance,
        }
        if self.probability is not None:
            columns["probability"] = self.probability
        index = pd.Index(self.samples, name="sample")
        return pd.DataFrame(columns, index=index).iloc[self.order]

    def __str__(self) -> str:
        total = count(self.samples.size, "sample")
        if self.probability is not None:
            head = f"The most doubtful labels of {total}, and their out-of-fold probability:"
            tell = self._doubt
        else:
            head = f"The most influential of {total}, and how far predictions move without each:"
            tell = self._weight
        return "\n".join([head, *(f"  {tell(i)}" for i in self.order[:SHOWN])])

    def _doubt(self, i: int) -> str:
        assert self.probability is not None
        return f"sample {self.samples[i]}: {self.observed[i]}, {share(self.probability[i])}"

    def _weight(self, i: int) -> str:
        return f"sample {self.samples[i]}: distance {number(self.distance[i])}"


class WithInfluence(StretchyModel):
    """Of the estimators that search."""

    def influence(self, X: Any = None) -> Influence:
        """What would change without each training sample: predictions, and doubtful labels.

        From the leave-one-out models behind the search, mostly without a refit.
        Candidates and their weights, kept features, z-scores and the cut of classes are held fixed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or None, default=None
            New samples: `Influence.changes` then tells how much each of their predictions owes to
            each training sample.

        Returns
        -------
        influence : Influence
            ``print`` it; ``influence.frame`` is the table of all samples (needs pandas).

        See Also
        --------
        contributions : What single features do.
        """
        check_is_fitted(self)
        self._check_squared("influence", "fit again without the sample in question")
        if X is None:
            return influence_of(self, None)
        if is_dask(X):
            raise TypeError("influence needs the new samples in memory: pass X.compute().")
        return influence_of(self, self._new_designs(checked_X(self, X)))


def _columns(name: str, values: Any) -> dict[str, Any]:
    """One column, or one for each of several outputs."""
    if np.ndim(values) == 1:
        return {name: values}
    return {f"{name}_{j}": column for j, column in enumerate(np.asarray(values).T)}


def influence_of(model: Any, new: list[Design] | None) -> Influence:
    """The influence of every sample of a fitted search; `new` are new rows by every transform."""
    state: State = model._state
    show_left_out(model)
    Y, weights, M = state.model.Y, state.model.weights, state.model.weights.size
    if M < 3:
        raise ValueError(f"{M} samples of positive weight: influence needs at least three.")
    fitted = state.fitted
    squares, own = _moved(state, fitted)
    left_out = Y - fitted + own
    dof = np.broadcast_to(np.asarray(state.facts()["dof_"], dtype=float), (Y.shape[1],))
    shift = 0.0 if state.decision is None else state.decision.cuts
    classes, labels = getattr(model, "classes_", None), Y
    if classes is not None:
        labels = classes[decided(Y)]
    return Influence(
        np.flatnonzero(state.used),
        labels if classes is not None else state.flat(Y),
        state.flat(fitted - shift),
        state.flat(fitted - own - shift),
        distances(squares, left_out, weights, dof),
        None if classes is None else _of_given_labels(model),
        None if new is None else _changes(state, new),
    )


def _moved(state: State, fitted: Array) -> tuple[Array, Array]:
    """``(sum_j w_j d_ji^2 (t, M), d_ii (M, t))`` over the training samples, some at a time."""
    weights, (M, t) = state.model.weights, fitted.shape
    squares, own = np.zeros((t, M)), np.empty((M, t))
    for rows in row_chunks(M, M * t):
        without = state.without_each([design.take_rows(rows) for design in state.training])
        changes = fitted[rows].T[:, :, None] - without
        squares += squared_changes(changes, weights[rows])
        own[rows] = changes[:, np.arange(rows.size), rows].T
    return squares, own


def _of_given_labels(model: Any) -> Array:
    """Out-of-fold probabilities (M,) of the labels; NaN where none is known."""
    state = model._state
    outputs = np.asarray(model.cv_predictions_, dtype=np.float64)
    outputs = outputs.reshape(len(outputs), -1)[state.used] - state.decision.cuts
    known, found = np.isfinite(outputs).all(axis=1), np.full(len(outputs), np.nan)
    if state.decision.factor is not None and known.any():
        codes = decided(state.model.Y[known])
        found[known] = model._probable(outputs[known])[np.arange(codes.size), codes]
    return found


def _changes(state: State, new: list[Design]) -> Any:
    """What the outputs at new rows lose without each sample, (N, M) or (N, M, t)."""
    N, M, t = new[0].shape[0], state.model.weights.size, state.n_targets
    what = f"the changes of {N:,} predictions without each of {M:,} samples"
    check_memory(8 * N * M * t, what, "Pass fewer rows")
    outputs, found = state.outputs_at(new), np.empty((N, M, t))
    for rows in row_chunks(N, M * t):
        without = state.without_each([design.take_rows(rows) for design in new])
        found[rows] = outputs[rows][:, None, :] - without.transpose(1, 2, 0)
    return found[:, :, 0] if state.single else found

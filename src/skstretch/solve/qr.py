"""The closed forms by sorted, pivoted QR: slower, and accurate where LU loses digits."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skstretch.core.accurate import TallSystem, WideSystem, tall_system, wide_system
from skstretch.core.features import Features
from skstretch.core.fit import Fit
from skstretch.core.types import Array
from skstretch.core.variance import repeated_norm
from skstretch.solve.spec import Space, Spec


@dataclass(frozen=True)
class WideQR:
    """The dual form by sorted, pivoted QR of ``Q'``."""

    features: Features
    weights: Array
    spec: Spec
    space: Space = "dual"
    solver: str = "qr"

    @cached_property
    def system(self) -> WideSystem:
        lam = self.spec.lam / self.weights
        return wide_system(self.features, self.spec.r, lam, self.spec.intercept)

    @property
    def rcond(self) -> float:
        return self.system.pivoted.factor.rcond

    @property
    def dof(self) -> float:
        return self.system.dof

    def fit(self, Y: Array) -> Fit:
        return self.system.fit(Y)

    def variance(self) -> Array:
        return np.asarray(np.square(self._unit_coef()).sum(axis=1))

    def covariance(self) -> Array:
        A = self._unit_coef()
        return np.asarray(A @ A.T)

    def _unit_coef(self) -> Array:
        return self.system.fit(np.diag(self.weights**-0.5)).coef

    def residual_norm(self) -> float:
        return repeated_norm(self.system.residuals, self.weights)


@dataclass(frozen=True)
class TallQR:
    """The primal form by sorted, pivoted QR of Q."""

    features: Features
    weights: Array
    spec: Spec
    space: Space = "primal"
    solver: str = "qr"

    @cached_property
    def system(self) -> TallSystem:
        spec = self.spec
        return tall_system(self.features, spec.r, spec.lam, self.weights, spec.intercept)

    @property
    def rcond(self) -> float:
        return self.system.pivoted.factor.rcond

    @property
    def dof(self) -> float:
        return self.system.dof

    def fit(self, Y: Array) -> Fit:
        return self.system.fit(Y)

    def variance(self) -> Array:
        return self.system.covariance.diagonal().copy()

    def covariance(self) -> Array:
        return self.system.covariance

    def residual_norm(self) -> float:
        norm = self.system.hat_norm(self.features)
        return float(self.weights.sum()) - 2.0 * self.dof + norm

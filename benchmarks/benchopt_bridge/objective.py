"""The bridge problem, for benchopt: see the README beside this file."""

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    """The minimum over α (D,) and m of ``Σ_j |α_j|^k + 2c ‖y − Zα − m‖²``, 1 < k ≤ 2.

    Z (M × D) are the z-scores of the data. Beside the value, every result is judged by its duality
    gap, which needs no other solver: with ``λ = 1/(4c)``, the centred residual e and ``v = Zᵀe``,
    no α gives ``½‖e‖² + λ Σ|α|^k`` less than ``yᵀe − ½‖e‖² − λ(k−1) Σ (|v|/(λk))^(k/(k−1))``.
    """

    name = "Bridge regression"
    min_benchopt_version = "1.10"
    requirements = ("numpy",)
    parameters = {"k": [1.1, 1.5], "c": [0.01, 1.0]}  # noqa: RUF012  benchopt reads it from the class

    def set_data(self, X, y):
        spread = X.std(axis=0)
        self.Z = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
        self.y = y

    def get_objective(self):
        return {"Z": self.Z, "y": self.y, "k": self.k, "c": self.c}

    def evaluate_result(self, alpha, m):
        e = self.y - self.Z @ alpha - m
        value = np.sum(np.abs(alpha) ** self.k) + 2.0 * self.c * (e @ e)
        return {"value": value, "gap": self.gap(alpha, e - e.mean())}

    def gap(self, alpha, e):
        """Primal less dual over primal, of a residual that sums to zero: the free intercept."""
        lam, k = 1.0 / (4.0 * self.c), self.k
        primal = 0.5 * (e @ e) + lam * np.sum(np.abs(alpha) ** k)
        v = np.abs(self.Z.T @ e) / (lam * k)
        dual = self.y @ e - 0.5 * (e @ e) - lam * (k - 1.0) * np.sum(v ** (k / (k - 1.0)))
        return (primal - dual) / primal

    def get_one_result(self):
        return {"alpha": np.zeros(self.Z.shape[1]), "m": float(self.y.mean())}

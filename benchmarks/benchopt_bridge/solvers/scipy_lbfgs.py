"""What one would do without a solver of one's own: scipy's L-BFGS on value and gradient."""

import numpy as np
from benchopt import BaseSolver
from scipy.optimize import minimize


class Solver(BaseSolver):
    """L-BFGS over α and m together, from zero, for more and more iterations.

    The gradient is continuous for k > 1, but its slope has no bound at zero: ``k (k−1) |α|^(k−2)``.
    """

    name = "scipy-lbfgs"
    requirements = ("scipy",)
    sampling_strategy = "iteration"

    def set_objective(self, Z, y, k, c):
        self.Z, self.y, self.k, self.c = Z, y, k, c

    def value_and_gradient(self, point):
        alpha, e = point[:-1], self.y - self.Z @ point[:-1] - point[-1]
        size = np.abs(alpha)
        value = np.sum(size**self.k) + 2.0 * self.c * (e @ e)
        slope = self.k * np.sign(alpha) * size ** (self.k - 1.0) - 4.0 * self.c * (self.Z.T @ e)
        return value, np.append(slope, -4.0 * self.c * e.sum())

    def warm_up(self):
        self.run_once()  # imports and caches are not part of the time

    def run(self, n_iter):
        self.point = np.zeros(self.Z.shape[1] + 1)
        if n_iter == 0:
            return
        options = {"maxiter": n_iter, "maxfun": 20 * n_iter, "ftol": 0.0, "gtol": 0.0}
        found = minimize(
            self.value_and_gradient, self.point, jac=True, method="L-BFGS-B", options=options
        )
        self.point = found.x

    def get_result(self):
        return {"alpha": self.point[:-1], "m": float(self.point[-1])}

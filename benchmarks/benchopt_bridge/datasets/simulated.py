"""Correlated columns, of which few carry the target."""

import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Neighbouring columns correlate by `rho`; ten of them make y, and noise of the same size."""

    name = "Simulated"
    requirements = ("numpy",)
    parameters = {  # noqa: RUF012  benchopt reads it from the class
        "n_samples, n_features": [(100, 1_000), (200, 5_000)],
        "rho": [0.0, 0.8],
    }
    test_parameters = {"n_samples, n_features": [(20, 40)], "rho": [0.5]}  # noqa: RUF012

    def get_data(self):
        rng = np.random.default_rng(self.get_seed(use_dataset=True, use_repetition=True))
        X = rng.standard_normal((self.n_samples, self.n_features))
        for j in range(1, self.n_features):
            X[:, j] = self.rho * X[:, j - 1] + np.sqrt(1.0 - self.rho**2) * X[:, j]
        true = rng.choice(self.n_features, 10, replace=False)
        signal = X[:, true] @ rng.choice([-1.0, 1.0], 10)
        y = signal + signal.std() * rng.standard_normal(self.n_samples)
        return {"X": X, "y": y}

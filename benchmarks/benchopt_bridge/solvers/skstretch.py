"""Newton's method on the dual: one call, which ends at its own certificate."""

from benchopt import BaseSolver

from skstretch import StretchyRegressor


class Solver(BaseSolver):
    """`StretchyRegressor` at a = 0; it has no tolerance to turn, so that it is run once."""

    name = "skstretch"
    requirements = ("pip::skstretch",)
    sampling_strategy = "run_once"

    def set_objective(self, Z, y, k, c):
        self.Z, self.y = Z, y
        self.model = StretchyRegressor(k, c, a=0.0)

    def warm_up(self):
        self.run_once()  # imports and caches are not part of the time

    def run(self, _):
        self.model.fit(self.Z, self.y)

    def get_result(self):
        # Z has the spread one, so that slopes are effects, and the mean zero
        return {"alpha": self.model.coef_, "m": float(self.y.mean())}

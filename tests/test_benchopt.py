"""The benchmark for benchopt: its objective is the problem, and its solvers solve it.

benchopt itself is not needed here: its base classes are replaced by empty ones.
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad

FOLDER = Path(__file__).parents[1] / "benchmarks" / "benchopt_bridge"


@pytest.fixture
def load(monkeypatch):
    """A class of a file of the benchmark, made with given parameters."""
    stub = ModuleType("benchopt")
    for name in ("BaseObjective", "BaseDataset", "BaseSolver"):
        setattr(stub, name, type(name, (), {"get_seed": lambda self, **_: 0}))
    monkeypatch.setitem(sys.modules, "benchopt", stub)

    def made(file, **parameters):
        spec = importlib.util.spec_from_file_location(f"benchopt_{Path(file).stem}", FOLDER / file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        (kind,) = (kind for name, kind in vars(module).items() if name in NAMES)
        thing = kind()
        vars(thing).update(parameters)
        return thing

    return made


NAMES = ("Objective", "Dataset", "Solver")


def problem(load, k, c, n=30, d=60):
    data = load("datasets/simulated.py", n_samples=n, n_features=d, rho=0.5).get_data()
    objective = load("objective.py", k=k, c=c)
    objective.set_data(**data)
    return objective


@pytest.mark.parametrize("k", [1.1, 1.5, 2.0])
@pytest.mark.parametrize("c", [0.01, 1.0])
def test_value_and_gap(load, k, c):
    """The value is the sum that the page states, the gap bounds what can still be gained."""
    objective = problem(load, k, c)
    Z, y = objective.Z, objective.y
    assert_allclose(Z.std(axis=0), 1.0)
    solver = load("solvers/skstretch.py")
    solver.set_objective(**objective.get_objective())
    solver.run(None)
    least = objective.evaluate_result(**solver.get_result())
    assert abs(least["gap"]) < 1e-9
    rng = np.random.default_rng(0)
    best = solver.get_result()
    for size in (1e-3, 0.1, 1.0):
        alpha = best["alpha"] + size * rng.standard_normal(len(Z.T))
        m = best["m"] + size
        found = objective.evaluate_result(alpha, m)
        loss = sum((y[i] - sum(Z[i] * alpha) - m) ** 2 for i in range(len(y)))
        assert_allclose(found["value"], sum(abs(a) ** k for a in alpha) + 2 * c * loss)
        at_mean = objective.evaluate_result(alpha, y.mean())
        gained = at_mean["value"] - least["value"]
        assert 0 < gained <= at_mean["gap"] * at_mean["value"] * (1 + 1e-9)


@pytest.mark.parametrize("k", [1.25, 1.5, 2.0])
def test_both_solvers_find_the_minimum(load, k):
    objective = problem(load, k, 0.1)
    values = []
    for file, budget in (("solvers/skstretch.py", None), ("solvers/scipy_lbfgs.py", 2000)):
        solver = load(file)
        solver.set_objective(**objective.get_objective())
        solver.run(budget)
        values.append(objective.evaluate_result(**solver.get_result())["value"])
    assert_allclose(values[1], values[0], rtol=1e-6)
    assert values[0] <= values[1] * (1 + 1e-12)


def test_gradient_of_the_generic_solver(load):
    objective = problem(load, 1.5, 0.1)
    solver = load("solvers/scipy_lbfgs.py")
    solver.set_objective(**objective.get_objective())
    point = np.random.default_rng(0).standard_normal(61)
    error = check_grad(
        lambda at: solver.value_and_gradient(at)[0],
        lambda at: solver.value_and_gradient(at)[1],
        point,
    )
    assert error < 1e-4 * np.linalg.norm(solver.value_and_gradient(point)[1])
    solver.run(0)
    assert not solver.get_result()["alpha"].any()


def test_a_result_for_its_own_tests(load):
    objective = problem(load, 1.5, 0.1)
    assert objective.evaluate_result(**objective.get_one_result())["gap"] > 0

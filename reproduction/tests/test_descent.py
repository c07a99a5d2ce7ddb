"""The coordinate descent with MATLAB's stopping rule, and what the page says of it."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import ElasticNet

from reproduction import study
from reproduction.claims.stopping import stopping_section
from reproduction.descent import descend, fit_descent
from reproduction.lasso import largest_penalty, penalty_sequence
from reproduction.page import page_text
from reproduction.plan import DESCENDED, make_plan
from reproduction.sets import DEFAULT, choose_sets
from reproduction.settings import FULL, QUICK
from reproduction.tests.made_up import evidence, method


def spectra(n=40, D=60):
    """Neighbouring channels that are nearly alike, and a target of two of them."""
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.standard_normal((n, D)), axis=1)
    y = X[:, 20] - X[:, 40]
    return X, y / np.std(y) + 0.05 * rng.standard_normal(n)


def objective(X, y, mixing, penalty, coef):
    """The problem of the docstring, in standardised columns."""
    Z, b = (X - X.mean(axis=0)) / X.std(axis=0), coef * X.std(axis=0)
    fit = np.mean((y - y.mean() - Z @ b) ** 2) / 2
    return fit + penalty * (mixing * np.abs(b).sum() + (1 - mixing) / 2 * np.sum(b**2))


@pytest.mark.parametrize("mixing", [1.0, 0.5, 0.0001])
@pytest.mark.parametrize("data", [load_diabetes(return_X_y=True), spectra()], ids=["few", "many"])
def test_tight_tolerance_is_scikit_learn(data, mixing):
    X, y = data
    penalties = penalty_sequence(largest_penalty(X, y, mixing), 6, ratio=1e-2)
    path = descend(X, y, mixing, penalties, tolerance=1e-12)
    deviation = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / deviation
    for i, penalty in enumerate(penalties):
        other = ElasticNet(alpha=penalty, l1_ratio=mixing, tol=1e-12, max_iter=10**6).fit(Z, y)
        scale = max(1.0, np.abs(other.coef_).max())
        np.testing.assert_allclose(path.coef[:, i] * deviation, other.coef_, atol=1e-6 * scale)
        np.testing.assert_allclose(
            path.at(i).predict(X), other.predict(Z), atol=1e-6 * np.std(y), rtol=0
        )


@pytest.mark.slow
def test_the_usual_tolerance_stops_short_of_the_minimum_on_columns_alike():
    X, y = spectra()
    penalties = penalty_sequence(largest_penalty(X, y, 1.0), 2)
    early, late = (descend(X, y, 1.0, penalties, tolerance=t) for t in (1e-4, 1e-8))
    above, least = (objective(X, y, 1.0, penalties[1], path.coef[:, 1]) for path in (early, late))
    assert above > 1.05 * least
    # one more cycle from there moves no coefficient by more than the rule allows
    Z, b = (X - X.mean(axis=0)) / X.std(axis=0), early.coef[:, 1] * X.std(axis=0)
    for j in np.flatnonzero(b):
        pull = Z[:, j] @ (y - y.mean() - Z @ b) / len(y) + b[j]
        new = np.sign(pull) * max(abs(pull) - penalties[1], 0)
        assert abs(new - b[j]) / (1 + abs(b[j])) < 1e-4
        b[j] = new


def test_path_starts_at_the_mean_and_ends_when_all_is_explained():
    X, y = spectra()
    X = np.column_stack([X, np.full(len(y), 7.0)])
    path = fit_descent(X, y, 1.0, 100)
    np.testing.assert_array_equal(path.coef[:, 0], 0)
    assert path.intercept[0] == y.mean()
    assert not path.coef[-1].any()
    left = path.errors(X, y) / np.var(y)
    assert len(left) < 100
    assert left[-1] < 1e-3 <= left[-2]


def test_units_of_the_piece():
    plan = make_plan(["descent"], choose_sets(DEFAULT), FULL)
    own = [unit for unit in plan.units if unit.family == "DESCENT"]
    assert {unit.dataset for unit in plan.units} == {*DESCENDED}
    assert len(own) == len(DESCENDED) * FULL.descent_trials * FULL.folds
    assert {cell.piece for unit in own for cell in unit.cells} == {"descent"}
    assert {unit.family for unit in plan.units if unit.dataset == "corn"} == {
        "SR", "LASSO", "DESCENT",
    }  # fmt: skip


def test_rows_are_labelled_and_agree_with_glmnet_where_columns_differ():
    pytest.importorskip("glmnet", reason="needs python-glmnet: pip install python-glmnet")
    small = replace(QUICK, mixings=(1.0,), searched_counts=(2, 20))
    units = make_plan(["descent"], choose_sets(["diabetes"]), small).units
    found = {
        (row["piece"], row["method"]): row["error"]
        for unit in units
        if unit.fold == 0
        for row in study.run_unit(unit, small)
    }
    for name in ("LASSO2", "LASSO100", "LASSOCV"):
        assert found["descent", name] == pytest.approx(found["study", name], rel=1e-3)


def lines(dataset, stretchy, glmnet, descent, times=(0.001, 0.01, 5.0)):
    """SR, LASSO100 by glmnet and by the descent, with their seconds."""
    own = [
        {**line, "piece": "descent"}
        for line in method(dataset, "LASSO100", descent, cpu=times[2])
        if line["trial"] == 0
    ]
    return [
        *method(dataset, "SR1.0", stretchy, cpu=times[0]),
        *method(dataset, "LASSO100", glmnet, cpu=times[1]),
        *own,
    ]


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        ((0.4, 0.1, 0.11), "MATLAB's stopping rule does not explain the claim"),
        ((0.4, 0.1, 0.25), "MATLAB's stopping rule explains part of the difference"),
        ((0.4, 0.1, 0.41), "explains that the paper finds them comparable"),
        ((0.4, 0.41, 0.39), "comparable with both"),
        ((0.4, 0.41, 0.8), "comparable only where the descent does not stop early"),
    ],
)
def test_verdict_on_errors_follows_the_numbers(errors, words):
    text = "\n".join(stopping_section(evidence(lines("corn", *errors))))
    assert words in text
    assert f"SR1.0 has {errors[0] / errors[1]:.3g} times the error of LASSO100 by glmnet" in text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(5.0, "a factor of thousands."), (0.5, "gives hundreds"), (0.05, "does not give a factor")],
)
def test_verdict_on_times_follows_the_numbers(seconds, words):
    made = evidence(lines("prostate", 0.4, 0.4, 0.4, times=(0.001, 0.01, seconds)))
    text = "\n".join(stopping_section(made))
    assert f"10 times as long as SR1.0 by glmnet (LASSO100) and {1000 * seconds:.3g} times" in text
    assert words in text


def test_the_descent_is_in_no_other_part_of_the_page():
    made = lines("corn", 0.4, 0.1, 0.11)
    without = [line for line in made if line["piece"] != "descent"]
    page, plain = (page_text(evidence(some), []) for some in (made, without))
    section = "\n\n".join(stopping_section(evidence(made)))
    assert section in page
    assert page.replace(section + "\n\n", "") == plain
    assert stopping_section(evidence(without)) == []

"""Every design gives the model of the dense one: predictions, intervals, spread, out-of-fold."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.model_selection import ShuffleSplit

from skstretch import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)
from skstretch.solve.choose import SCORING
from tests.zoo import (
    CONTAINERS,
    SHAPES,
    SPARSE,
    TOLERANCE,
    contained,
    numbers,
    targets,
    weights,
)

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")

# c is small enough for LU to keep its digits: rounding must not decide the comparison
MODELS = {
    "exp": {"c": 10.0},
    "column": {"c": 10.0, "fit_intercept": "column"},
    "none": {"c": 10.0, "fit_intercept": False},
    "identity": {"c": 1e-2, "quadrant": "identity"},
    "linear": {"c": 1.0, "a": 0.0},
}
CANDIDATES = [
    {"k": k, "density": density, "weighted": weighted}
    for k, density, weighted in product((1.1, 1.5, 2.0), (1.0, 0.4), (False, True))
]
# float64 through the default transform sees every candidate, the others a third of them: every k,
# both densities, with weights and without
THIRD = (0, 3, 6, 9)
# how a number is stored and how it is transformed have little to do with each other
PAIRS = [("float64", model) for model in MODELS]
PAIRS += [("float32", "exp"), ("uint8", "exp"), ("uint8", "identity")]
GRID = {"a_grid": (-0.2, 0.0), "k_grid": (1.1, 1.5, 2.0), "c_grid": (0.1, 10.0)}
# a few columns or rows at a time, and few entries of a sparse matrix
MEMORY = 0.02

containers = pytest.mark.parametrize("container", CONTAINERS)
shapes = pytest.mark.parametrize("shape", SHAPES)
# searches pass over columns and over rows of sparse data as fits do: one of the two is enough
RARE = [pytest.param(c, marks=pytest.mark.slow if c == "csc" else ()) for c in CONTAINERS]
searched_containers = pytest.mark.parametrize("container", RARE)


def regressor(model, candidate):
    return StretchyRegressor(k=candidate["k"], density=candidate["density"], **MODELS[model])


def sample_weight(X, weighted):
    return weights(X.shape[0]) if weighted else None


def new_numbers(shape, dtype):
    """Rows of which some lie outside the training range."""
    X = numbers(shape, dtype)[::-1]
    return X if dtype == "uint8" else (1.3 * X).astype(dtype)


def answers(fitted, new):
    """What a user may ask of a fitted regressor."""
    lower, upper = fitted.predict_interval(new, coverage=0.7)
    return {
        "predict": fitted.predict(new),
        "lower": lower,
        "upper": upper,
        "coef": fitted.alpha_,
        "slope": fitted.coef_,
        "dual": fitted.dual_coef_,
        "coef_std": fitted.coef_std(1.0),
    }


@cache
def expected(shape, dtype, model, number):
    """The answers of float64 numbers in an ordinary array, with all the memory there is."""
    X, candidate = numbers(shape, dtype).astype(np.float64), CANDIDATES[number]
    fitted = regressor(model, candidate).fit(X, targets(X), sample_weight(X, candidate["weighted"]))
    assert np.min(fitted.rcond_) > 1e-5, "too ill-conditioned to compare to ten digits"
    return answers(fitted, new_numbers(shape, dtype).astype(np.float64))


# Newton's method ends at steps of 1e-2 in candidates with approximate residuals: it squares what is
# left
NEAR = SCORING.step**2


def assert_alike(found, true, tolerance):
    assert set(found) == set(true)
    for name in true:
        finite = np.isfinite(true[name])
        np.testing.assert_array_equal(np.isfinite(found[name]), finite, err_msg=name)
        atol = np.abs(true[name][finite]).max(initial=0.0) * (
            NEAR if name.startswith("near") else tolerance
        )
        np.testing.assert_allclose(
            found[name][finite], true[name][finite], rtol=0, atol=atol, err_msg=name
        )


@containers
@shapes
@pytest.mark.parametrize(("dtype", "model"), PAIRS)
def test_regressor(container, shape, dtype, model, tmp_path):
    X, new = numbers(shape, dtype), new_numbers(shape, dtype)
    held = contained(container, X, tmp_path)
    held_new = contained(container, new, tmp_path)
    y = targets(X.astype(np.float64))
    candidates = range(len(CANDIDATES)) if (dtype, model) == PAIRS[0] else THIRD
    for number, candidate in ((number, CANDIDATES[number]) for number in candidates):
        with config_context(working_memory=MEMORY):
            fitted = regressor(model, candidate).fit(
                held, y, sample_weight(X, candidate["weighted"])
            )
            found = answers(fitted, held_new)
        assert fitted.coef_.dtype == (np.float32 if dtype == "float32" else np.float64)
        assert_alike(found, expected(shape, dtype, model, number), TOLERANCE[dtype])


@containers
@shapes
def test_new_data_in_another_container(container, shape, tmp_path):
    """Training and new data need not be stored alike."""
    X, new = numbers(shape), new_numbers(shape, "float64")
    fitted = regressor("exp", CANDIDATES[0]).fit(contained(container, X, tmp_path), targets(X))
    true = expected(shape, "float64", "exp", 0)
    for other in CONTAINERS:
        assert_alike(answers(fitted, contained(other, new, tmp_path)), true, 1e-10)


@cache
def expected_search(shape, dtype, density, weighted):
    X = numbers(shape, dtype).astype(np.float64)
    return searched(X, X, density, weighted)


def searched(X, held, density, weighted):
    search = StretchyRegressorCV(**GRID, n_features_to_select=density, combine="best")
    search.fit(held, targets(X), sample_weight=sample_weight(X, weighted))
    chosen = np.array([search.a_, search.k_, search.c_, search.density_])
    table = {
        name: np.asarray(values, dtype=float)
        for name, values in search.cv_results_.items()
        if name.startswith(("mean_", "std_", "dof", "param_")) and "time" not in name
    }
    assert table
    exact = search.cv_results_["loo"] == "exact"
    near = {f"near {name}": values[~exact] for name, values in table.items()}
    return (
        {name: values[exact] for name, values in table.items()}
        | near
        | {
            "chosen": chosen,
            "cv_predictions": search.cv_predictions_,
            "predict": search.predict(held),
            "upper": search.predict_interval(held, 0.7)[1],
        }
    )


@searched_containers
@shapes
@pytest.mark.parametrize(
    ("density", "weighted"),
    [((1.0,), False), ((1.0, 0.4), False), ((1.0, 0.4), True)],
    ids=["loo", "compressed", "compressed, weighted"],
)
def test_search(container, shape, density, weighted, tmp_path):
    dtype = "uint8" if weighted else "float64"
    X = numbers(shape, dtype)
    with config_context(working_memory=MEMORY):
        found = searched(X.astype(np.float64), contained(container, X, tmp_path), density, weighted)
    assert_alike(found, expected_search(shape, dtype, density, weighted), 1e-10)


@containers
@shapes
def test_several_targets(container, shape, tmp_path):
    X, new = numbers(shape), new_numbers(shape, "float64")
    Y = targets(X, 3)
    for density in (1.0, 0.4):
        params = {"k": 1.25, "c": 1.0, "density": density}
        true = answers(StretchyRegressor(**params).fit(X, Y), new)
        held = contained(container, X, tmp_path)
        with config_context(working_memory=MEMORY):
            found = answers(StretchyRegressor(**params).fit(held, Y), new)
        assert_alike(found, true, 1e-10)


@searched_containers
@shapes
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "Classifier",
    [StretchyClassifier, pytest.param(StretchyClassifierCV, marks=pytest.mark.slow)],
)
def test_classifier(container, shape, n_classes, Classifier, tmp_path):
    X, new = numbers(shape), new_numbers(shape, "float64")
    y = targets(X)
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    # data that is read in blocks has no automatic selection of features
    search = GRID | {"n_features_to_select": 1.0}
    params = search if Classifier is StretchyClassifierCV else {"c": 1.0}

    def scores(held, held_new):
        model = Classifier(**params).fit(held, labels)
        return {
            "decision": model.decision_function(held_new),
            "probability": model.predict_proba(held_new),
            "label": model.predict(held_new).astype(float) + 1,
        }

    with config_context(working_memory=MEMORY):
        found = scores(contained(container, X, tmp_path), contained(container, new, tmp_path))
    assert_alike(found, scores(X, new), 1e-10)


@pytest.mark.parametrize("container", SPARSE)
def test_sparse_matrix_class_of_scipy(container):
    """The older matrix classes are as good as the array classes."""
    from scipy import sparse

    X = numbers("wide")
    y = targets(X)
    older = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix}[container](X)
    newer = contained(container, X, None)
    np.testing.assert_array_equal(
        StretchyRegressor().fit(older, y).predict(older),
        StretchyRegressor().fit(newer, y).predict(newer),
    )


@pytest.mark.parametrize("seed", [7, 25, 31])
def test_equal_rows_are_cut_alike_in_every_storage(seed):
    rng = np.random.default_rng(seed)
    X, y = (rng.random((150, 20)) < 0.08) * 1.0, np.arange(150) % 3
    assert len(np.unique(X, axis=0)) < 120
    dense = StretchyClassifier(density=0.3).fit(X, y)
    other = StretchyClassifier(density=0.3).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(other.threshold_, dense.threshold_, atol=1e-8)
    np.testing.assert_array_equal(other.predict(X), dense.predict(X))


@shapes
@pytest.mark.parametrize("container", [name for name in CONTAINERS if name != "C"])
@pytest.mark.parametrize("density", [(1.0,), (0.3, 1.0)], ids=str)
def test_folds_may_be_in_any_order(container, shape, density, tmp_path):
    X = numbers(shape)
    y = targets(X)
    grid = {**GRID, "n_features_to_select": density, "combine": "best"}
    for cv in (ShuffleSplit(4, test_size=0.3, random_state=0), [([5, 0, 9, 7, 3], [8, 2, 6, 1])]):
        here = StretchyRegressorCV(cv=cv, **grid).fit(X, y)
        there = StretchyRegressorCV(cv=cv, **grid).fit(contained(container, X, tmp_path), y)
        expected = here.cv_results_["mean_test_score"]
        np.testing.assert_allclose(there.cv_results_["mean_test_score"], expected, rtol=1e-8)

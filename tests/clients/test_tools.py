"""Round trips and searches in tools around scikit-learn."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import cross_val_score

from skstretch import StretchyClassifierCV, StretchyRegressor, StretchyRegressorCV

pytestmark = pytest.mark.filterwarnings("ignore")
SEARCH = {"a_grid": (-0.2, 0.0), "k_grid": (1.5, 2.0)}


def models():
    X, y = load_diabetes(return_X_y=True)
    Z, classes = load_breast_cancer(return_X_y=True)
    return [
        (StretchyRegressorCV(**SEARCH).fit(X[:80], y[:80]), X[80:120]),
        (StretchyClassifierCV(**SEARCH).fit(Z[:80], classes[:80]), Z[80:120]),
    ]


def test_joblib(tmp_path):
    joblib = pytest.importorskip("joblib")
    for model, new in models():
        joblib.dump(model, tmp_path / "model")
        again = joblib.load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict(new), model.predict(new))


def test_skops():
    """Types are named to be trusted, all of them ours or numpy's; intervals come back too."""
    skops = pytest.importorskip("skops.io", reason="needs skops: make test-clients installs it")
    for model, new in models():
        data = skops.dumps(model)
        types = skops.get_untrusted_types(data=data)
        assert {name.partition(".")[0] for name in types} <= {"skstretch", "numpy", "sklearn"}
        again = skops.loads(data, trusted=types)
        np.testing.assert_array_equal(again.predict(new), model.predict(new))
        if hasattr(model, "predict_interval"):
            found, told = (np.array(m.predict_interval(new[:3])) for m in (again, model))
            np.testing.assert_allclose(found, told, rtol=1e-10)


def test_mlflow(tmp_path, monkeypatch):
    reason = "needs mlflow: make test-clients installs it"
    mlflow = pytest.importorskip("mlflow", reason=reason)
    pytest.importorskip("mlflow.sklearn", reason=reason)
    monkeypatch.chdir(tmp_path)
    for at, (model, new) in enumerate(models()):
        mlflow.sklearn.save_model(model, tmp_path / str(at), serialization_format="cloudpickle")
        again = mlflow.sklearn.load_model(str(tmp_path / str(at)))
        np.testing.assert_array_equal(again.predict(new), model.predict(new))


def test_optuna():
    optuna = pytest.importorskip("optuna", reason="needs Optuna: make test-clients installs it")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    X, y = load_diabetes(return_X_y=True)

    def loss(trial):
        model = StretchyRegressor(
            k=trial.suggest_float("k", 1.05, 2.0),
            c=trial.suggest_float("c", 1e-4, 1e2, log=True),
            a=trial.suggest_float("a", -0.5, 0.5),
        )
        return -cross_val_score(model, X, y, cv=3, scoring="neg_mean_squared_error").mean()

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(loss, n_trials=15)
    assert study.best_value < 0.7 * y.var()
    assert clone(StretchyRegressor(**study.best_params)).fit(X, y).score(X, y) > 0.3

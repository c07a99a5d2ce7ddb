"""Ridge Cox of scikit-survival and lifelines, Coxnet's lasso, and both concordances."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from skstretch import StretchySurvivalCV

pytest.importorskip("sksurv", reason="needs scikit-survival: make test-clients installs it")
pytest.importorskip("lifelines", reason="needs lifelines: make test-clients installs it")

from lifelines import CoxPHFitter
from sksurv.linear_model import CoxnetSurvivalAnalysis, CoxPHSurvivalAnalysis
from sksurv.metrics import concordance_index_censored, concordance_index_ipcw

pytestmark = pytest.mark.filterwarnings("ignore")


def data(n=80, p=6, seed=0):
    """Standardised features, and times in whole numbers, of which many are alike."""
    rng = np.random.default_rng(seed)
    X = StandardScaler().fit_transform(rng.standard_normal((n, p)))
    time = np.ceil(5 * rng.exponential(np.exp(-X[:, 0])))
    censored = np.ceil(5 * rng.exponential(2.0, size=n))
    y = np.empty(n, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = time <= censored, np.minimum(time, censored)
    return X, y


def one(k, c, **parameters):
    return StretchySurvivalCV(k_grid=(k,), c_grid=(c,), combine="best", **parameters)


@pytest.mark.parametrize("c", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_ridge_of_scikit_survival(ties, c):
    X, y = data()
    theirs = CoxPHSurvivalAnalysis(alpha=1 / (2 * c), ties=ties, tol=1e-12, n_iter=500).fit(X, y)
    ours = one(2.0, c, ties=ties).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("c", [0.01, 0.1, 1.0])
def test_ridge_of_lifelines(c):
    """It has Efron's ties, a mean over samples, and standard deviations over n - 1."""
    X, y = data()
    n = len(X)
    frame = pd.DataFrame(X).assign(event=y["event"], time=y["time"])
    strength = (n - 1) / n / (2 * c * n)
    theirs = CoxPHFitter(penalizer=strength).fit(
        frame, "time", "event", fit_options={"precision": 1e-12}
    )
    ours = one(2.0, c, ties="efron").fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.params_, atol=1e-6 * abs(ours.coef_).max())


@pytest.mark.parametrize("beside", [("entry",), ("stratum",), ("entry", "stratum")])
def test_entries_and_strata_of_lifelines(beside):
    X, y = data()
    n, c, rng = len(X), 0.1, np.random.default_rng(1)
    more = {"entry": y["time"] - rng.uniform(0.1, 4.0, n), "stratum": rng.integers(0, 3, n)}
    frame = pd.DataFrame({"event": y["event"], "time": y["time"]} | {x: more[x] for x in beside})
    how = {"entry_col": "entry" if "entry" in beside else None}
    how |= {"strata": ["stratum"] if "stratum" in beside else None}
    theirs = CoxPHFitter(penalizer=(n - 1) / n / (2 * c * n)).fit(
        pd.DataFrame(X).join(frame), "time", "event", fit_options={"precision": 1e-12}, **how
    )
    ours = one(2.0, c, ties="efron").fit(X, frame)
    np.testing.assert_allclose(ours.coef_, theirs.params_, atol=1e-6 * abs(ours.coef_).max())


def objective(coef, X, y, c):
    """Minus the logarithm of Breslow's partial likelihood, and the lasso's penalty."""
    risk = X @ coef
    at_risk = [np.logaddexp.reduce(risk[y["time"] >= time]) for time in y["time"]]
    return float(np.sum((np.array(at_risk) - risk)[y["event"]]) + abs(coef).sum() / (4 * c))


def test_the_lasso_of_coxnet_is_the_limit():
    """As k falls towards 1 the objective of the lasso at our coefficients falls to its minimum."""
    X, y = data(80, 30)
    c = 0.05
    lasso = CoxnetSurvivalAnalysis(l1_ratio=1.0, alphas=[1 / (4 * c * len(X))], tol=1e-12)
    least = objective(lasso.fit(X, y).coef_[:, 0], X, y, c)
    above = [objective(one(k, c).fit(X, y).coef_, X, y, c) / least - 1 for k in (1.3, 1.1, 1.02)]
    assert -1e-9 < above[2] < above[1] < above[0]
    assert above[2] < 0.01


def test_concordances():
    X, y = data()
    model = one(1.5, 0.1).fit(X, y)
    risk = model.predict(X)
    harrell = concordance_index_censored(y["event"], y["time"], risk)[0]
    assert model.score(X, y) == pytest.approx(harrell, abs=1e-12)
    # where events and censorings fall together the two count different ones as seen
    y["time"] += np.random.default_rng(1).uniform(0.0, 0.5, len(y))
    late = np.sort(y["time"][y["event"]])[-5]
    uno = concordance_index_ipcw(y, y, risk, tau=late)[0]
    assert model.score_uno(X, y, until=late) == pytest.approx(uno, abs=1e-9)

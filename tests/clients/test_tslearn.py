"""Our search after the features of tslearn, on series that it makes itself."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifierCV
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

from skstretch import StretchyClassifierCV

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of file formats that are not installed
    pytest.importorskip("tslearn", reason="needs tslearn: make test-clients installs it")
    from tslearn.generators import random_walk_blobs
    from tslearn.preprocessing import TimeSeriesScalerMeanVariance
    from tslearn.utils import to_sklearn_dataset

pytestmark = pytest.mark.filterwarnings("ignore")


def data(seed):
    X, y = random_walk_blobs(
        n_ts_per_blob=40, sz=64, d=1, n_blobs=3, noise_level=20.0, random_state=seed
    )
    order = np.random.default_rng(seed).permutation(len(y))
    return TimeSeriesScalerMeanVariance().fit_transform(X)[order], y[order]


def test_series():
    """Series as rows of a table: tslearn turns them into one, and pipelines take both."""
    X, y = data(0)
    table = to_sklearn_dataset(X)
    head = StretchyClassifierCV(
        a_grid=(0.0,), k_grid=(2.0,), n_features_to_select=1.0, class_weight=None
    )
    ours = make_pipeline(head).fit(table[:60], y[:60])
    ridge = RidgeClassifierCV(np.logspace(-3, 3, 10)).fit(table[:60], y[:60])
    scores = [model.score(table[60:], y[60:]) for model in (ours, ridge)]
    shares = np.full((60, 3), 1 / 3)
    losses = [log_loss(y[60:], p, labels=[0, 1, 2])
              for p in (ours.predict_proba(table[60:]), shares)]  # fmt: skip
    print({"ours": scores[0], "ridge": scores[1], "log loss": round(losses[0], 3)})
    assert scores[0] >= scores[1] - 0.05
    assert losses[0] < 0.9 * losses[1]

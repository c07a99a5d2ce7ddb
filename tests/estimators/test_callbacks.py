"""Scikit-learn's callbacks: one task a candidate, and a teardown whatever happens."""

import subprocess
import sys

import numpy as np
import pytest

from skstretch import StretchyClassifierCV, StretchyRegressorCV
from tests.estimators.samples import problem

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
GRIDS = {"a_grid": (-0.2, 0.0), "k_grid": (1.25, 2.0), "c_grid": (0.1, 10.0), "cv": 3}
N_CANDIDATES = 2 * (2 + 2)
searches = pytest.mark.parametrize("search", [StretchyRegressorCV, StretchyClassifierCV])


@pytest.fixture(autouse=True)
def callbacks(request):
    """Skip where there is nothing to call, but for the test of exactly that."""
    if "without" not in request.node.name:
        pytest.importorskip(
            "sklearn.callback", reason="needs the callbacks of scikit-learn 1.9 or later"
        )


class Recorder:
    """Writes down what it is told."""

    def __init__(self, stop_at=None):
        self.log, self.stop_at = [], stop_at

    def setup(self, estimator, context):
        self.log.append(("setup", context.task_name, context.max_subtasks))

    def on_fit_task_begin(self, estimator, context):
        self.log.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context):
        self.log.append(("end", context.task_name, context.task_id))
        if context.task_name == "candidate" and context.task_id == self.stop_at:
            raise KeyboardInterrupt

    def teardown(self, estimator, context):
        self.log.append(("teardown", context.task_name, None))

    def candidates(self, event):
        return [task_id for name, task, task_id in self.log if (name, task) == (event, "candidate")]


def data(search):
    X, y = problem((40, 5))
    return X, y > np.median(y) if search is StretchyClassifierCV else y


@searches
def test_one_task_a_candidate(search):
    recorder = Recorder()
    model = search(**GRIDS).set_callbacks(recorder).fit(*data(search))
    assert len(model.cv_results_["params"]) == N_CANDIDATES
    assert recorder.log[0] == ("setup", "search", N_CANDIDATES)
    assert recorder.log[1][:2] == ("begin", "search")
    assert recorder.log[-2][:2] == ("end", "search")
    assert recorder.log[-1][:2] == ("teardown", "search")
    assert recorder.candidates("begin") == recorder.candidates("end") == list(range(N_CANDIDATES))


@searches
def test_callbacks_change_nothing(search):
    X, y = data(search)
    watched = search(**GRIDS).set_callbacks(Recorder()).fit(X, y)
    alone = search(**GRIDS).fit(X, y)
    np.testing.assert_array_equal(watched.coef_, alone.coef_)
    np.testing.assert_array_equal(watched.cv_predictions_, alone.cv_predictions_)


@searches
def test_teardown_after_an_interrupt(search):
    recorder = Recorder(stop_at=2)
    model = search(**GRIDS).set_callbacks(recorder)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*data(search))
    assert recorder.candidates("end") == [0, 1, 2]
    assert recorder.log[-1] == ("teardown", "search", None)
    assert not model.__sklearn_is_fitted__()


@searches
def test_teardown_after_an_error(search):
    def broken(estimator, X, y):
        raise RuntimeError("no score")

    recorder = Recorder()
    model = search(scoring=broken, **GRIDS).set_callbacks(recorder)
    with pytest.raises(RuntimeError, match="no score"):
        model.fit(*data(search))
    assert recorder.log[-1] == ("teardown", "search", None)


WITHOUT = """
import sys, warnings
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[:2] == ["sklearn", "callback"]:
            raise ImportError(name)
import sklearn.base, sklearn.model_selection, sklearn.metrics, sklearn.pipeline, sklearn.compose
for name in [n for n in sys.modules if n.startswith("sklearn.callback")]:
    del sys.modules[name]
if hasattr(sklearn, "callback"):
    del sklearn.callback
sys.meta_path.insert(0, Block())
warnings.simplefilter("error")
from skstretch.estimators import progress
assert not progress.HAS_CALLBACKS
import numpy as np
from skstretch import StretchyClassifierCV, StretchyRegressorCV
from skstretch.exceptions import GridEdgeWarning
rng = np.random.default_rng(0)
X = rng.standard_normal((30, 4))
y = X[:, 0] + rng.standard_normal(30)
settings = dict(k_grid=(1.25, 2.0), c_grid=(1e-6, 1.0, 1e9))
assert not hasattr(StretchyRegressorCV, "set_callbacks")
assert len(StretchyRegressorCV(**settings).fit(X, y).cv_results_["params"]) == 12
assert len(StretchyClassifierCV(**settings).fit(X, y > 0).cv_results_["params"]) == 12
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    StretchyRegressorCV(k_grid=(1.25,), c_grid=(1e-9, 1e-8), combine="best").fit(X, y)
assert [w.category for w in caught] == [GridEdgeWarning], caught
assert caught[0].filename == "<string>", caught[0].filename
print("done")
"""


def test_without_callbacks():
    """Older versions of scikit-learn have none: everything else works."""
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr

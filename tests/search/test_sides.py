"""Where samples and features are about equally many, both forms find the same models."""

import numpy as np
import pytest

from skstretch import StretchyRegressorCV
from skstretch.search import grid
from tests.references import INTERCEPTS
from tests.search.grids import data


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.parametrize("shape", [(20, 26), (24, 26), (26, 26), (27, 26), (33, 26)])
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("cv", [None, 4])
def test_scores_of_both_forms(shape, intercept, cv, monkeypatch):
    """To what the condition of the larger system leaves of sixteen digits."""
    X, Y = data(shape, n_targets=2)
    how = {"a_grid": (-0.2,), "k_grid": (1.25, 2.0), "c_grid": (1e-3, 0.1, 10.0), "combine": "best"}
    how |= {"fit_intercept": intercept, "cv": cv}
    chosen = StretchyRegressorCV(**how).fit(X, Y)
    tables = [chosen.cv_results_]
    for space in ("dual", "primal"):
        monkeypatch.setattr(grid, "crossfit_space", lambda *_, space=space: space)
        monkeypatch.setattr(grid, "choose_space", lambda *_, space=space: space)
        found = StretchyRegressorCV(**how).fit(X, Y)
        tables.append(found.cv_results_)
        bound = 1e-13 / min(table["rcond"].min() for table in tables)
        assert bound < 1e-6
        np.testing.assert_allclose(found.cv_predictions_, chosen.cv_predictions_, atol=bound)
        np.testing.assert_allclose(found.coef_, chosen.coef_, atol=bound)
        for name in ("mean_test_score", "dof"):
            np.testing.assert_allclose(tables[-1][name], tables[0][name], rtol=bound)
    # the smaller system is the one that is taken; of 26 and 27, whichever the intercept makes so
    if shape[0] not in (26, 27):
        assert chosen._state.space == ("dual" if shape[0] < 26 else "primal")

"""Exact cross-validation over a grid of (a, k, c, density)."""

from skstretch.search.candidates import Candidate as Candidate
from skstretch.search.candidates import Folds as Folds
from skstretch.search.candidates import Outcome as Outcome
from skstretch.search.candidates import Outcomes as Outcomes
from skstretch.search.candidates import Problem as Problem
from skstretch.search.candidates import View as View
from skstretch.search.candidates import folds_from_splits as folds_from_splits
from skstretch.search.candidates import kept_outcomes as kept_outcomes
from skstretch.search.candidates import leave_one_out as leave_one_out
from skstretch.search.choice import RULES as RULES
from skstretch.search.choice import CandidateTable as CandidateTable
from skstretch.search.choice import Mix as Mix
from skstretch.search.choice import Verdict as Verdict
from skstretch.search.grid import Grid as Grid
from skstretch.search.grid import crossfit as crossfit
from skstretch.search.grid import evaluate_grid as evaluate_grid
from skstretch.search.grid import finished_model as finished_model
from skstretch.search.grid import in_one_pass as in_one_pass

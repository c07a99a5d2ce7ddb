"""The page for users of R: its lines and the calls of its table run, through reticulate."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from skstretch import StretchyRegressorCV

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "r.md"
# the calls of the table, on data that R makes and writes for us to fit as well
TABLE = """
classes <- ifelse(X[, 1] > 0, "case", "control")
model <- sk$StretchyClassifierCV(loss = "log")$fit(X[, 1:40], classes)
stopifnot(dim(model$predict_proba(X[, 1:40])) == c(60, 2))
counts <- rpois(60, exp(1 + X[, 1] / 2))
model <- sk$StretchyRegressorCV(loss = "poisson")$fit(X[, 1:40], counts)
stopifnot(all(model$predict(X[, 1:40]) > 0))
times <- data.frame(event = runif(60) < 0.7, time = rexp(60, exp(X[, 1])))
model <- sk$StretchySurvivalCV()$fit(X[, 1:40], times)
stopifnot(model$score(X[, 1:40], times) > 0.6)
model <- sk$StretchyRegressorCV(penalty_factor = c(0, rep(1, 39)))$fit(X[, 1:40], y)
model <- sk$StretchyRegressorCV()$fit(X[, 1:40], y, groups = rep(1:20, each = 3))
model <- sk$StretchyRegressorCV(5L)$fit(X[, 1:40], y)
write.table(cbind(X[, 1:40], y, model$predict(X[, 1:40])), "R.txt", col.names = FALSE,
            row.names = FALSE)
"""


def usable(python):
    """Whether R is here with a reticulate that knows this numpy."""
    if shutil.which("Rscript") is None:
        return False
    line = f"library(reticulate); use_python('{python}', required = TRUE); import('numpy')$ones(2L)"
    done = subprocess.run(["Rscript", "-e", line], capture_output=True, text=True)
    return done.returncode == 0 and done.stdout.rstrip().endswith("[1] 1 1")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
def test_the_page_runs(tmp_path):
    if not usable(sys.executable):
        pytest.skip("needs R with reticulate (r-cran-reticulate; its version 1.28 with numpy<2)")
    install, use = re.findall(
        r"^```r\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert "virtualenv_install" in install
    begin = f"library(reticulate)\nuse_python('{sys.executable}', required = TRUE)\nset.seed(1)\n"
    code = begin + 'sk <- import("skstretch")\n' + use + TABLE
    (tmp_path / "page.R").write_text(code)
    done = subprocess.run(
        ["Rscript", "page.R"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert "StretchyRegressorCV: 60 samples, 1,000 features" in done.stdout
    assert (tmp_path / "model.stretchy").exists()
    table = np.loadtxt(tmp_path / "R.txt")
    X, y, theirs = table[:, :40], table[:, 40], table[:, 41]
    ours = StretchyRegressorCV(5).fit(X, y).predict(X)
    np.testing.assert_allclose(theirs, ours, atol=1e-9 * np.ptp(y))

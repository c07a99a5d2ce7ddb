"""Messages of the library in the words of the command line."""

import numpy as np
import pytest

from skstretch import StretchyRegressor, StretchyRegressorCV
from skstretch.cli.console import in_options
from skstretch.exceptions import GridEdgeWarning

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((20, 4)), RNG.standard_normal(20)


def message_of(model, X=X, **keywords):
    with pytest.raises(ValueError, match=r".") as caught:
        model.fit(X, Y, **keywords)
    return str(caught.value)


def test_columns_have_their_names():
    wild = X.copy()
    wild[0, 2] = 1e6
    said = message_of(StretchyRegressor(a=500.0), wild)
    assert "in column 2 at a=500" in said
    words = in_options(said, ["a", "b", "c d", "e"])
    assert "in column 'c d' at a=500" in words
    assert words.endswith("Use an --a nearer to 0, or look at the outlying values of that column.")


def test_features_that_do_not_vary():
    said = message_of(StretchyRegressorCV(), np.ones((20, 3)))
    assert in_options(said) == (
        "every feature has one value in all rows: there is nothing to choose between."
    )


def test_edges_of_the_grid():
    with pytest.warns(GridEdgeWarning) as caught:
        StretchyRegressorCV(c_grid=(1e-9, 1e-8), k_grid=(2.0,), combine="best").fit(X, X[:, 0])
    assert in_options(str(caught[0].message)).endswith("extend --c with larger values.")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Use a smaller c or a larger k.", "Use a smaller --c or a larger --k."),
        ("Try smaller values of c or larger k.", "Try smaller values of --c or larger --k."),
        ("the prediction for row 0 is", "the prediction for row 1 is"),
        ("use a smaller c, another cv, or fit in place of partial_fit.",
         "use a smaller --c, or another --cv in skstretch fit."),
        ("column 'c' holds 2 rows", "column 'c' holds 2 rows"),
        ("at k=1.5, c=3 the system", "at k=1.5, c=3 the system"),
    ],
)  # fmt: skip
def test_other_words(said, words):
    assert in_options(said) == words

"""Parts of the samples without which a search is repeated, and what cells lose without them.

What is no closed form is fitted again. An exact minimiser is solved without each part, and tells by
leave one out from there what the other samples lose. A cell that selects features is fitted
without the part and a third of the others at a time, which it predicts. So nothing of the choice
without a part has seen it. Cells in between are left out: losses change little from one to another.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skstretch.core.types import Array, Index
from skstretch.search.cells import Folds

# samples that the parts hold at least, if there are so many: what a repeated search loses more than
# the search itself varies far less than what either loses
ENOUGH = 12
# of automatic penalties every so many-th is tried again
STRIDE = 3


def outer_parts(folds: Folds) -> tuple[Index, ...]:
    """As many of folds that test every sample once as hold enough samples."""
    found: list[Index] = []
    for fold in folds.folds or ():
        if sum(part.size for part in found) < ENOUGH:
            found.append(np.sort(fold.tested))
    return tuple(found)


@dataclass(frozen=True)
class Without:
    """Residuals (P, n, t) of all samples without each part, its own samples too."""

    parts: Sequence[Index]
    residuals: Array

    def __call__(self, some: Index) -> Array:
        """Residuals (m, n, t) without the part of each of some samples (m,)."""
        number = np.empty(self.residuals.shape[1], dtype=np.intp)
        for at, part in enumerate(self.parts):
            number[part] = at
        return np.asarray(self.residuals[number[some]])

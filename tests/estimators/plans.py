"""What ``verbose=1`` prints before a fit, taken apart; data that counts how often it is read."""

import re
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import KFold

rng = np.random.default_rng(0)
SHAPES = {"wide": (24, 70), "tall": (70, 9), "square": (30, 30), "one more": (31, 30)}
DATA = {name: rng.standard_normal(shape) for name, shape in SHAPES.items()}
GRID = {"k_grid": (1.1, 1.5, 2.0), "c_grid": (0.1, 1.0)}
SHUFFLED = KFold(3, shuffle=True, random_state=0)

LINE = re.compile(
    r"skstretch: [\d,]+ x [\d,]+ \w+(?: \([\d,]+ of positive weight\))?, (?P<kind>[^;]+); "
    r"(?P<space>dual|primal) form by (?P<solver>LU|QR|Krylov)(?: in the first pass)?, "
    r"a [\d,]+ x [\d,]+ system(?P<fallback> \(QR if LU loses digits\))?, [\d,]+ cells?; "
    r"(?P<walks>.*); about [\d.]+ [kMG]B of memory (?:here )?and (?P<time>.+)"
)
NAMES = {"LU": {"dual", "primal"}, "QR": {"qr"}, "Krylov": {"krylov"}}


@dataclass(frozen=True)
class Printed:
    """A plan as it was printed."""

    text: str
    kind: str
    space: str
    solvers: frozenset
    walks: int
    more: int

    @property
    def exact(self):
        return "at most" not in self.sentence and "about" not in self.sentence and not self.more

    @property
    def sentence(self):
        """The part about walks over the data."""
        return LINE.match(self.text)["walks"].split("tasks and")[0]


def printed(err):
    """The plan at the beginning of what a fit wrote to stderr."""
    text = err.split("\n")[0]
    found = LINE.match(text)
    assert found, text
    extra = re.findall(r"up to ([\d,]+) more if", found["walks"])
    single = re.search(r"([\d,]+) walks over the data", found["walks"])
    parts = re.findall(r"([\d,]+) for ", found["walks"])
    counts = [single[1]] if single else parts
    solvers = NAMES[found["solver"]] | (NAMES["QR"] if found["fallback"] else set())
    total, more = (sum(int(n.replace(",", "")) for n in some) for some in (counts, extra))
    return Printed(text, found["kind"], found["space"], frozenset(solvers), total, more)


class Counting:
    """An array that lives elsewhere and counts how often each of its numbers is read."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self.reads = np.zeros(array.shape, dtype=int)

    def __len__(self):
        return len(self.array)

    def __getitem__(self, key):
        self.reads[key] += 1
        return self.array[key]

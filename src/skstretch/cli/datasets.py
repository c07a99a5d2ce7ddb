"""``skstretch datasets``: the data sets of the paper, listed or written to a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from skstretch.cli import options
from skstretch.cli.console import Talk, columns, nearest, print_json, quoted, show
from skstretch.exceptions import DataError, Failure
from skstretch.style import count

EXAMPLES = ("skstretch datasets", "skstretch datasets spectra -o spectra.csv")
# a set that is made on the spot, beside those of the paper
SPECTRA = {
    "name": "spectra",
    "task": "regression",
    "kind": "dense",
    "samples": 60,
    "features": 501,
    "where": "generated",
}


@options.taking(
    name=typer.Argument(help="A set to write; without, list all."),
    output=options.output("Where to write the set: .csv, or .svm (LIBSVM) for sparse ones."),
)
def datasets(
    name: str | None = None,
    output: Path | None = None,
    *,
    talk: Talk,
) -> None:
    """List the data sets and where each would come from, or write one to a file."""
    from skstretch.datasets import list_datasets

    listed = [*list_datasets(), SPECTRA]
    if name is None:
        if output is not None:
            raise DataError("-o goes with the name of a set: skstretch datasets NAME -o FILE.")
        print_json(listed) if talk.json else show(_table(listed))
        return
    names = [row["name"] for row in listed]
    if name not in names:
        near = nearest(name, names)
        hint = f"; did you mean {near!r}?" if near else f"; there are {quoted(names, 20)}."
        raise DataError(f"there is no data set {name!r}{hint}")
    if output is None:
        raise DataError(f"say where to write it: skstretch datasets {name} -o {name}.csv")
    talk.check_output(output)
    _write(name, output, talk)


def _write(name: str, output: Path, talk: Talk) -> None:
    from skstretch import datasets as sets
    from skstretch.io.archive import is_special, replacing

    try:
        bunch = sets.make_spectra() if name == "spectra" else getattr(sets, f"fetch_{name}")()
    except (sets.DatasetNotFoundError, sets.ChecksumError) as error:
        raise Failure(str(error)) from None
    sparse = hasattr(bunch.data, "tocsr")
    wanted = (".svm", ".libsvm", ".svmlight") if sparse else (".csv",)
    if output.suffix not in wanted and not is_special(output):
        raise DataError(f"{name} is {'sparse' if sparse else 'dense'}: name a {wanted[0]} file.")
    with replacing(output) as file:
        rows = as_svmlight(bunch) if sparse else as_csv(bunch)
        for line in rows:
            file.write(line)
    talk.done(
        f"wrote {count(bunch.data.shape[0], 'row')} to {output}; the target is "
        + ("the label" if sparse else "'target'")
    )


def _table(listed: list[dict[str, Any]]) -> Any:
    """One line for each set; an address from which it would be downloaded is in --json."""
    sides = {"name": "left", "task": "left", "kind": "left", "samples": "right"}
    rows = []
    for row in listed:
        where = "download" if row["where"].startswith("download: ") else row["where"]
        sizes = f"{row['samples']:,}", f"{row['features']:,}"
        rows.append([row["name"], row["task"], row["kind"], *sizes, where])
    return columns(sides | {"features": "right", "where": "left"}, rows)


# Data sets as lines of CSV or SVMlight.


def as_csv(bunch: Any) -> Iterator[bytes]:
    """A header, then a line for each row; the target is the last column."""
    names = getattr(bunch, "feature_names", None)
    if names is None:
        names = [f"x{number}" for number in range(1, bunch.data.shape[1] + 1)]
    yield (",".join([*map(str, names), "target"]) + "\n").encode()
    for row, target in zip(bunch.data, bunch.target.tolist(), strict=True):
        yield (",".join(map(repr, [*row.tolist(), target])) + "\n").encode()


def as_svmlight(bunch: Any) -> Iterator[bytes]:
    """A line ``label index:value ...`` for each row, the first index is 1."""
    X = bunch.data.tocsr()
    for row, target in enumerate(bunch.target.tolist()):
        part = slice(X.indptr[row], X.indptr[row + 1])
        pairs = zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)
        yield (" ".join([f"{target:g}", *(f"{i + 1}:{v!r}" for i, v in pairs)]) + "\n").encode()

"""Tables 2 and 3: what the loaders gave, and the registry's numbers where nothing was loaded."""

from __future__ import annotations

from typing import Any

from skstretch.datasets import list_datasets
from skstretch.experiments.evidence import Evidence
from skstretch.experiments.loaded import FIGURE, panel_of
from skstretch.experiments.sets import SETS
from skstretch.experiments.tables import markdown

__all__ = ["DAGGER", "loaded", "table_2", "table_3"]

DAGGER = "†"  # marks the registry's numbers


def loaded(evidence: Evidence, dataset: str) -> dict[str, float]:
    """The numbers that were counted in the arrays of a set, by name; empty where there are none."""
    rows = evidence.curves_of(FIGURE)
    rows = rows[rows["panel"] == panel_of(dataset)]
    return dict(zip(rows["series"], rows["y"], strict=True))


def table_2(evidence: Evidence) -> str:
    """The regression sets."""
    body = []
    for row in list_datasets():
        if row["table"] == 2:
            sizes = loaded(evidence, row["name"])
            counts = [_count(sizes, row, name) for name in ("features", "samples")]
            body.append([SETS[row["name"]].title, row["domain"], *counts, _share(sizes)])
    return markdown(["data set", "domain", "features", "samples", "not zero"], body)


def table_3(evidence: Evidence) -> str:
    """The classification sets. The labels of the test parts were never published."""
    body = []
    for row in list_datasets():
        if row["table"] == 3:
            sizes = loaded(evidence, row["name"])
            names = ("features", "samples", "train", "valid")
            counts = [_count(sizes, row, name) for name in names]
            test = f"{row['test']:,}{DAGGER}"
            classes = [_classes(sizes), _share(sizes)]
            body.append(
                [SETS[row["name"]].title, row["domain"], row["kind"], *counts, test, *classes]
            )
    header = [
        "data set", "domain", "type", "features", "samples", "train", "validation", "test",
        "classes −1, +1", "not zero",
    ]  # fmt: skip
    return markdown(header, body)


def _count(sizes: dict[str, float], row: dict[str, Any], name: str) -> str:
    """The counted number, or the registry's with its mark."""
    return f"{sizes[name]:,.0f}" if name in sizes else f"{row[name]:,}{DAGGER}"


def _classes(sizes: dict[str, float]) -> str:
    found = [f"{size:,.0f}" for name, size in sizes.items() if name.startswith("class ")]
    return ", ".join(found) or "–"


def _share(sizes: dict[str, float]) -> str:
    return f"{100 * sizes['nonzero share']:.3g} %" if "nonzero share" in sizes else "–"

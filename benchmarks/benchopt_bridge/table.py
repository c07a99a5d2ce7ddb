"""Rewrite the table of the README from the newest run of benchopt.

``python -m benchmarks.benchopt_bridge.table`` runs this. It needs pandas and pyarrow, which come
with the group `benchopt` of pyproject.toml.
"""

from pathlib import Path

import pandas as pd

from benchmarks.page import write_part

FOLDER = Path(__file__).parent
KEYS = ["p_dataset_n_samples", "p_dataset_n_features", "p_dataset_rho", "p_obj_k", "p_obj_c"]


def last_points(found: pd.DataFrame) -> pd.DataFrame:
    """The last point of every curve, medians over the repetitions."""
    curve = [*KEYS, "solver_name", "idx_rep"]
    last = found.sort_values("stop_val").groupby(curve).last().reset_index()
    return last.groupby([*KEYS, "solver_name"])[
        ["time", "objective_value", "objective_gap"]
    ].median()


def rows(found: pd.DataFrame) -> list[str]:
    """The table, one line for a problem, with a time and a gap of both solvers."""
    points = last_points(found).unstack("solver_name")
    lines = [
        "| samples × features | correlation | k | c | skstretch: s, gap | L-BFGS: s, gap |",
        "|---|---|---|---|---|---|",
    ]
    for (n, d, rho, k, c), row in points.iterrows():
        ours, theirs = (
            f"{row['time', name]:.3f}, {abs(row['objective_gap', name]):.0e}"
            for name in ("skstretch", "scipy-lbfgs")
        )
        lines.append(f"| {n:g} × {d:g} | {rho:g} | {k:g} | {c:g} | {ours} | {theirs} |")
    versions = found.filter(regex="^version-(numpy|scipy)$").iloc[0]
    seen = ", ".join(f"{name.removeprefix('version-')} {value}" for name, value in versions.items())
    repeated = found["idx_rep"].nunique()
    return [
        *lines,
        "",
        f"Medians of {repeated} repetitions on {found['run_date'].iloc[0][:10]}, {seen}.",
    ]


def main() -> None:
    newest = max((FOLDER / "outputs").glob("*.parquet"), key=lambda path: path.stat().st_mtime)
    write_part(FOLDER / "README.md", "table.py", rows(pd.read_parquet(newest)))


if __name__ == "__main__":
    main()

"""The page follows the two files: what they hold, what they lack, and a number that is changed."""

import re

import pytest

from stretchy.experiments.command import main
from stretchy.experiments.page import page_text
from stretchy.experiments.tables import table_2, table_3
from tests.experiments.made_up import evidence, method


def test_table_one_end_to_end(tmp_path):
    assert main(["table1", "--quick", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "reproduction.md").read_text("utf-8")
    assert "| α3 | -0.340 / " in page
    assert "| paper | -0.340 / -0.382 (0.171) |" in page
    assert re.search(r"\| Table 1, noiseless .*\*\*(partly|reproduced)\*\*", page)
    assert not (tmp_path / "figures").exists()


def test_corrupt_number_changes_the_page(tmp_path):
    pytest.importorskip("glmnet", reason="python-glmnet is not installed (extra experiments)")
    run = ["fig9", "--quick", "--datasets", "diabetes", "--out", str(tmp_path)]
    assert main([*run, "--jobs", "1"]) == 0
    path, page = tmp_path / "results.csv", tmp_path / "reproduction.md"
    before = page.read_text("utf-8")
    assert main([*run, "--draw-only"]) == 0
    assert page.read_text("utf-8") == before
    lines = path.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("study,diabetes,LASSO1,"))
    fields = lines[at].split(",")
    fields[10] = str(2 * float(fields[10]))
    lines[at] = ",".join(fields)
    path.write_text("\n".join(lines) + "\n")
    assert main([*run, "--draw-only"]) == 0
    after = page.read_text("utf-8")
    changed = [
        new for old, new in zip(before.split("\n"), after.split("\n"), strict=True) if old != new
    ]
    assert any(line.startswith("| Diabetes |") for line in changed)


def test_page_names_cuts_gaps_and_stand_ins():
    lines = method("prostate", "SR1.0", 0.5) + method("gisette-standin", "SR1.0", 0.1)
    lines += [line for line in method("prostate", "LASSOCV", 0.5) if line["trial"] == 0]
    page = page_text(evidence(lines), [])
    assert "Not finished when this page was written: Prostate LASSOCV 1 of 2." in page
    assert "no evidence for any claim: Gisette (stand-in)" in page
    assert "Not measured: Diabetes, Corn, TFIDF" in page
    assert "`made-up`" in page


def test_tables_two_and_three_come_from_the_loaders():
    assert "| tfidf | Text | 150,360 | 3,308 |" in table_2()
    assert "| 100,000 | 800 | 350 | 800 |" in table_3()
    assert (table_2().count("\n"), table_3().count("\n")) == (6, 6)

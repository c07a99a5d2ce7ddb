"""The page follows the two files: what they hold, what they lack, and a number that is changed."""

import re
from dataclasses import replace

import pytest
from scipy import sparse

from reproduction.command import main
from reproduction.files import series
from reproduction.page import page_text
from reproduction.settings import FULL
from reproduction.tests.made_up import evidence, method, rows


def test_table_one_end_to_end(tmp_path):
    assert main(["table1", "--quick", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "reproduction.md").read_text("utf-8")
    assert "| α3 | -0.340 / " in page
    assert "| paper | -0.340 / -0.382 (0.171) |" in page
    assert re.search(r"is σ = 0\.012\d; for every σ between 0\.0\d+ and 0\.0\d+ all of", page)
    assert re.search(r"\| Table 1, noiseless .*\*\*(partly|reproduced)\*\*", page)
    assert not (tmp_path / "figures").exists()


def test_corrupt_number_changes_the_page(tmp_path):
    pytest.importorskip("glmnet", reason="needs python-glmnet: pip install python-glmnet")
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
    lines += method("gaze", "SR1.0", 0.5)
    page = page_text(evidence(lines), [])
    assert "Not finished when this page was written: Prostate LASSOCV 1 of 2." in page
    assert "no evidence for any claim: Gisette (stand-in)" in page
    assert "Not measured: Diabetes, Corn, TFIDF, Arcene" in page
    assert "No LASSO on Gaze: glmnet holds dense features" in page
    assert "`made-up`" in page


def test_fewer_trials_are_said_only_where_they_are():
    lines = method("prostate", "SR1.0", 0.5) + method("prostate", "LASSOCV", 0.5)
    lines += method("gisette-standin", "SR1.0", 0.1)[:2]
    page = page_text(evidence(lines), [])
    assert "Fewer trials" not in page
    assert "Not finished" not in page
    assert "on the trials that both methods have" not in page
    few = replace(FULL, trials=2, searched_trials=(("prostate", 1),))
    lines = [line for line in lines if line["method"] != "LASSOCV" or line["trial"] == 0]
    page = page_text(evidence(lines), [], few)
    assert "Fewer trials by plan, because of their time: Prostate LASSOCV 1 of 2." in page
    assert "on the trials that both methods have" in page
    assert "Not finished" not in page


def test_tables_two_and_three_are_counted_in_what_was_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr("reproduction.command.DEFAULT", ("diabetes",))
    assert main(["table2", "table3", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "reproduction.md").read_text("utf-8")
    assert "| Diabetes | Medical | 10 | 442 | 100 % |" in page
    assert "| TFIDF | Text | 150,360† | 3,308† | – |" in page
    assert "| 100,000† | 1,150† | 800† | 350† | 800† | – | – |" in page
    curves = (tmp_path / "curves.csv").read_text()
    changed = curves.replace("samples,0.0,442.0", "samples,0.0,441.0")
    assert changed != curves
    (tmp_path / "curves.csv").write_text(changed)
    assert main(["table2", "--out", str(tmp_path), "--draw-only"]) == 0
    page = (tmp_path / "reproduction.md").read_text("utf-8")
    assert "| Diabetes | Medical | 10 | 441 | 100 % |" in page


def test_a_run_without_sizes_gets_them_later(tmp_path, data_dir):
    """Files of a run that knew no sizes, and the piece that adds them."""
    assert main(["fig1", "--out", str(tmp_path), "--datasets", "dexter"]) == 0
    before = (tmp_path / "curves.csv").read_text()
    assert main(["table2", "table3", "--out", str(tmp_path), "--datasets", "dexter"]) == 0
    page = (tmp_path / "reproduction.md").read_text("utf-8")
    row = next(line for line in page.split("\n") if line.startswith("| Dexter | Text categ."))
    share = 100 * sparse.load_npz(data_dir / "dexter_X.npz").count_nonzero() / (600 * 20_000)
    assert row == (
        "| Dexter | Text categ. | sparse | 20,000 | 600 | 300 | 300 | 2,000† | 300, 300 "
        f"| {share:.3g} % |"
    )
    assert (tmp_path / "curves.csv").read_text().startswith(before)


def test_stand_ins_have_their_own_tables():
    lines = method("corn", "SR1.0", 0.5) + method("corn", "LASSO100", 0.5)
    lines += rows(
        "gisette-standin", "SR", 0.123, cpu=43.21, k=2.0, c=1e2, density=0.1, trials=1,
        piece="standin",
    )  # fmt: skip
    lines += rows(
        "gisette-standin", "LASSO100", 0.456, cpu=7.0, mixing=1.0, trials=1, piece="standin"
    )
    sizes = [
        series("datasets", "gisette-standin: loaded", name, 0.0, value)
        for name, value in (("samples", 7000), ("features", 5000), ("nonzero share", 0.13))
    ]
    page = page_text(evidence(lines, sizes), [])
    before, _, section = page.partition("## Stand-ins: pipelines and timings, no evidence")
    section = section.partition("\n## ")[0]
    assert "| Gisette (stand-in) | SR0.1 | k = 2 | BER 12.3 % | 43 | 43 |" in section
    assert "| Gisette (stand-in) | LASSO100 | mixing 1 | BER 45.6 % | 7 | 7 |" in section
    assert "| Gisette (stand-in) | 7,000 × 5,000 | 13 % |" in section
    assert "By plan they have 1 trial of two folds; means" in section
    assert "| Gisette (stand-in)" not in before
    assert "12.3 %" not in before
    assert "Gisette" not in section.replace("Gisette (stand-in)", "").replace(
        "Generated in the shape and sparsity of Gisette", ""
    )


def test_a_page_without_stand_ins_has_no_such_heading():
    assert "## Stand-ins" not in page_text(evidence(method("corn", "SR1.0", 0.5)), [])

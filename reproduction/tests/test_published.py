"""The page of the full run is what its result files give."""

import gzip
from pathlib import Path

import pytest

from reproduction.command import main
from reproduction.evidence import Evidence
from reproduction.files import read_curves, read_results, read_settings
from reproduction.page import CAPTIONS, page_text

DOCS = Path(__file__).parents[2] / "docs"


def page_of(folder):
    evidence = Evidence(read_results(folder / "results.csv"), read_curves(folder / "curves.csv"))
    drawn = [name for name in CAPTIONS if (DOCS / "figures" / f"{name}.png").exists()]
    return page_text(evidence, drawn, read_settings(DOCS))


@pytest.fixture(scope="module")
def published():
    return (DOCS / "reproduction.md").read_text("utf-8")


@pytest.mark.slow
def test_the_published_page_is_drawn_from_the_published_files(published):
    assert page_of(DOCS) == published


@pytest.mark.slow
def test_another_number_is_another_page(published, tmp_path):
    lines = gzip.decompress((DOCS / "results.csv.gz").read_bytes()).decode().splitlines()
    names = lines[0].split(",")
    fields = next(line for line in lines if ",arcene,SR,1.25,100.0,1.0," in line).split(",")
    fields[names.index("error")] = "0.9"
    (tmp_path / "results.csv").write_text("\n".join([*lines, ",".join(fields)]) + "\n", "utf-8")
    (tmp_path / "curves.csv.gz").write_bytes((DOCS / "curves.csv.gz").read_bytes())
    assert page_of(tmp_path) != published


def test_a_packed_run_is_not_run_again(capsys):
    assert main(["table1", "--out", str(DOCS)]) == 2
    assert "is packed" in capsys.readouterr().err
    assert not (DOCS / "results.csv").exists()
    assert not (DOCS / ".lock").exists()

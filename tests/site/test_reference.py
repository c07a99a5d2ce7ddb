"""The reference lists every public name and every command, and faults of docstrings are found."""

import re

import pytest

from tests.site.build import ROOT
from tools import docstrings


def listed_names():
    """The names that the reference has pages for."""
    text = (ROOT / "docs" / "api" / "index.md").read_text("utf-8")
    return {f"skstretch.{name}" for name in re.findall(r"^   ([A-Za-z][\w.]+)$", text, re.M)}


def object_of(name):
    home, _, short = name.rpartition(".")
    return getattr(docstrings.import_module(home), short)


def test_reference_lists_every_public_name():
    public = {id(object_of(name)): name for name in docstrings.public_names()}
    shown = {id(object_of(name)): name for name in listed_names()}
    assert len(shown) > 50
    assert {public[key] for key in public.keys() - shown.keys()} == set()
    assert {shown[key] for key in shown.keys() - public.keys()} == set()


def test_methods_of_the_family_are_found():
    names = set(docstrings.methods("skstretch.StretchyRegressorCV"))
    assert {f"skstretch.StretchyRegressorCV.{m}" for m in ("fit", "predict_interval")} <= names


def test_a_fault_is_found(tmp_path, monkeypatch):
    pytest.importorskip("numpydoc", reason="needs numpydoc: pip install --group check")
    code = 'def bad(x):\n    """Does it.\n\n    Parameters\n    ----------\n    x : int\n    """\n'
    (tmp_path / "badly_described.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = " ".join(docstrings.faults("badly_described.bad", set()))
    assert "PR07" in found
    assert "SA01" in found
    assert "EX01" in found


def test_public_docstrings_have_no_fault(capsys):
    pytest.importorskip("numpydoc", reason="needs numpydoc: pip install --group check")
    assert docstrings.main() == 0, capsys.readouterr().out

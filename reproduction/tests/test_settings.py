"""A folder holds one kind of run, and knows which."""

import json
from dataclasses import asdict, replace

import pytest

from reproduction.command import usual_folder
from reproduction.files import keep_settings, read_settings
from reproduction.settings import FULL, QUICK


@pytest.mark.parametrize("settings", [FULL, QUICK])
def test_settings_survive_their_file(tmp_path, settings):
    assert read_settings(tmp_path) is None
    keep_settings(tmp_path / "run", settings)
    assert read_settings(tmp_path / "run") == settings


def test_file_of_a_run_that_knew_no_stand_ins(tmp_path):
    """A folder is gone on with although its settings lack a field that has a default."""
    old = {name: value for name, value in asdict(FULL).items() if name != "standin_trials"}
    (tmp_path / "settings.json").write_text(json.dumps(old))
    assert read_settings(tmp_path) == FULL
    keep_settings(tmp_path, FULL)


def test_stand_ins_have_few_trials():
    assert FULL.trials_of("gisette-standin", "SR") == 1
    assert FULL.trials_of("gisette", "SR") == 10
    assert replace(FULL, trials=3, standin_trials=5).trials_of("tfidf-standin", "LASSO") == 3


def test_quick_and_full_do_not_mix(tmp_path):
    keep_settings(tmp_path, QUICK)
    keep_settings(tmp_path, replace(QUICK, trials=3))  # more trials of the same run
    with pytest.raises(ValueError, match="quick and full runs do not mix"):
        keep_settings(tmp_path, FULL)
    assert usual_folder(True) != usual_folder(False)

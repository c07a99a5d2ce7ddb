"""A folder holds one kind of run, and knows which."""

from dataclasses import replace

import pytest

from stretchy.experiments.command import usual_folder
from stretchy.experiments.settings import FULL, QUICK, keep_settings, read_settings


@pytest.mark.parametrize("settings", [FULL, QUICK])
def test_settings_survive_their_file(tmp_path, settings):
    assert read_settings(tmp_path) is None
    keep_settings(tmp_path / "run", settings)
    assert read_settings(tmp_path / "run") == settings


def test_quick_and_full_do_not_mix(tmp_path):
    keep_settings(tmp_path, QUICK)
    keep_settings(tmp_path, replace(QUICK, trials=3))  # more trials of the same run
    with pytest.raises(ValueError, match="quick and full runs do not mix"):
        keep_settings(tmp_path, FULL)
    assert usual_folder(True) != usual_folder(False)

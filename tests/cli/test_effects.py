"""`skstretch effects` against the Python API."""

import json

import numpy as np
import pandas as pd
import pytest

import skstretch
from tests.cli.samples import NAMES, diabetes, floats, read_csv, tumours, write_csv

X, y = diabetes()
BATCH = np.arange(120) // 6


@pytest.fixture
def model(folder):
    """A model of the diabetes data in m.stretchy, and its data in d.csv."""
    frame = pd.DataFrame(X, columns=NAMES)
    found = skstretch.StretchyRegressorCV(a_grid=(0,), k_grid=(2,)).fit(frame, y)
    skstretch.save(found, "m.stretchy", about={"target": "y"})
    write_csv(folder / "d.csv", X, {"y": y, "batch": BATCH}, names=NAMES)
    return found


@pytest.mark.parametrize("bands", [None, 3])
def test_as_in_python(call, model, bands):
    options = [] if bands is None else ["--bands", str(bands)]
    done = call("effects", "m.stretchy", "d.csv", "--pairs", "4", "--json", *options)
    assert done.code == 0, done.err
    assert "warning" not in done.err
    found, expected = json.loads(done.out), model.effects(n_pairs=4, bands=bands)
    assert list(found) == list(expected)
    assert found["feature"] == expected["feature"].tolist()
    for name in [*found][1:]:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-8, atol=1e-12)


def test_groups_and_a_file(call, model):
    words = ("--pairs", "4", "--groups", "batch", "-o", "e.csv")
    done = call("effects", "m.stretchy", "d.csv", *words)
    assert (done.code, done.out) == (0, "")
    refused = call("effects", "m.stretchy", "d.csv", "--bands", "11")
    assert "error: --bands 11 must lie between 1 and the 10 features." in refused.err
    refused = call("effects", "m.stretchy", "d.csv", "--groups", "btach")
    assert "--groups: there is no column 'btach'; did you mean 'batch'?" in refused.err
    assert "wrote 10 effects to e.csv" in done.err
    with open("e.csv") as file:
        found = read_csv(file.read())
    expected = model.effects(n_pairs=4, groups=BATCH)
    np.testing.assert_allclose(floats(found["standard_error"]), expected["standard_error"])


def test_weights_and_groups_are_those_of_the_fit(call, folder):
    """The file names their columns, so that neither command has to be told."""
    columns = {"y": y, "w": 1 + np.arange(120) % 3, "batch": BATCH}
    write_csv(folder / "d.csv", X, columns, names=NAMES)
    words = ("d.csv", "-t", "y", "--weights", "w", "--groups", "batch", "--select", "3")
    done = call("fit", *words, "--no-nested", "-o", "w.stretchy", "-q")
    assert done.code == 0, done.err
    loaded, frame = skstretch.load("w.stretchy"), pd.DataFrame(X, columns=NAMES)
    rows = {"sample_weight": columns["w"], "groups": BATCH.astype(str)}
    expected = loaded.effects(frame, y, **rows, n_pairs=4)
    found = json.loads(call("effects", "w.stretchy", "d.csv", "--pairs", "4", "--json").out)
    for name in [*found][1:]:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-12, atol=1e-12)
    unaware = loaded.effects(frame, y, n_pairs=4)
    assert not np.allclose(found["standard_error"], unaware["standard_error"], rtol=0.01)
    done = call("report", "w.stretchy", "--data", "d.csv", "--effects", "-o", "w.html")
    assert done.code == 0, done.err
    write_csv(folder / "bare.csv", X, {"y": y}, names=NAMES)
    refused = call("report", "w.stretchy", "--data", "bare.csv")
    assert "--weights of the fit: there is no column 'w'" in refused.err


def test_the_strongest_are_shown(call, model):
    done = call("effects", "m.stretchy", "d.csv", "--pairs", "2", "--top", "2")
    strongest = model.effect_.__abs__().argsort()[::-1]
    assert done.code == 0, done.err
    assert "sign stability" in done.out
    for place, shown in ((0, True), (1, True), (5, False)):
        assert (f"{NAMES[strongest[place]]} " in done.out) is shown


def test_classes(call, folder):
    data, labels = tumours()
    frame = pd.DataFrame(data, columns=[f"f{j}" for j in range(12)])
    found = skstretch.StretchyClassifier(a=0, k=2).fit(frame, labels)
    skstretch.save(found, "c.stretchy")
    write_csv(folder / "t.csv", data, {"kind": labels}, names=[*frame])
    words = ("effects", "c.stretchy", "t.csv", "--target", "kind", "--pairs", "3", "--json")
    told, expected = json.loads(call(*words).out), found.effects(n_pairs=3)
    np.testing.assert_allclose(told["effect_per_sd"], expected["effect_per_sd"], rtol=1e-8)


def test_other_data_are_refused(call, model, folder):
    write_csv(folder / "few.csv", X[:50], {"y": y[:50]}, names=NAMES)
    done = call("effects", "m.stretchy", "few.csv")
    assert done.code == 2
    assert "the model was fitted to 120 rows" in done.err

"""Which columns of a file are features, and which are not."""

import io
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

import skstretch

RNG = np.random.default_rng(5)
A, B = RNG.standard_normal((2, 30))
Y = A - B + 0.1 * RNG.standard_normal(30)


def written(folder, names, columns, kind):
    """A table whose names may occur twice."""
    table = np.column_stack(columns)
    if kind == "csv":
        lines = [",".join(names), *(",".join(map(str, row)) for row in table.tolist())]
        (folder / "d.csv").write_text("\n".join(lines) + "\n")
    elif kind == "parquet":
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pa.table(list(table.T), names), folder / "d.parquet")
    elif kind == "feather":
        pa = pytest.importorskip("pyarrow")
        made = pa.table(list(table.T), names)
        with pa.ipc.new_file(str(folder / "d.feather"), made.schema) as file:
            file.write(made)
    else:
        named = {"feature_names": np.array(names[:-1]), names[-1]: table[:, -1]}
        np.savez(folder / "d.npz", X=table[:, :-1], **named)
    return f"d.{kind}"


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "npz"])
@pytest.mark.parametrize("role", ["target", "weights", "groups"])
def test_a_role_that_two_columns_could_have(kind, role, call, folder):
    """Neither is taken in silence."""
    names = {"target": ["a", "y", "y"], "weights": ["a", "w", "w", "y"]}
    listed = names.get(role, ["a", "g", "g", "y"])
    columns = [A, Y - Y.min(), B + 9, Y] if len(listed) == 4 else [A, B, Y]
    data = written(folder, listed, columns, kind)
    options = [] if role == "target" else [f"--{role}", listed[1]]
    done = call("fit", data, "--target", "y", *options, "-o", "m.stretchy")
    assert done.code == 2, done
    assert f"the name {listed[1]!r} occurs 2 times" in done.err
    assert not (folder / "m.stretchy").exists()


def test_names_of_targets_and_arrays_that_occur_twice(call, folder):
    names = {"target_names": np.array(["y", "y"]), "Y": np.column_stack([Y, B])}
    np.savez(folder / "targets.npz", X=np.column_stack([A, B]), **names)
    done = call("fit", "targets.npz", "--target", "y", "-o", "m.stretchy")
    assert done.code == 2
    assert "the name 'y' occurs twice among the vectors" in done.err
    with zipfile.ZipFile(folder / "arrays.npz", "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for values in (np.column_stack([A, B]), np.column_stack([B, B])):
            held = io.BytesIO()
            np.save(held, values)
            archive.writestr("X.npy", held.getvalue())
    done = call("fit", "arrays.npz", "--target", "y", "-o", "m.stretchy")
    assert done.code == 2
    assert "it has two arrays 'X'" in done.err


def test_many_columns_of_one_name(call, folder):
    """The message has a few of the places."""
    names = ["a", *["b"] * 5000, "y"]
    data = written(folder, names, [A, *[B] * 5000, Y], "csv")
    done = call("fit", data, "--target", "y", "-o", "m.stretchy")
    assert done.code == 2
    message = " ".join(done.err.replace("│", " ").split())
    assert "occurs 5,000 times (columns 2, 3, 4, 5, 6, 7, 8, 9 and 4,992 more)" in message


@pytest.fixture
def model(call, folder):
    pd.DataFrame({"a": A, "b": B, "y": Y}).to_csv(folder / "train.csv", index=False)
    assert call("fit", "train.csv", "--target", "y", "-o", "m.stretchy").code == 0
    return "m.stretchy"


@pytest.mark.parametrize("name", ["prediction", "lower", "upper"])
def test_a_copied_column_is_not_overwritten(name, call, folder, model):
    pd.DataFrame({"a": A, "b": B, name: "kept"}).to_csv(folder / "new.csv", index=False)
    done = call("predict", model, "new.csv", "--id", name, "--interval", "0.9")
    assert done.code == 2
    assert f"--id {name!r} has the name of a column of the predictions" in done.err
    assert done.out == ""


def test_an_identifier_that_two_columns_could_be(call, folder, model):
    data = written(folder, ["a", "b", "name", "name"], [A, B, A, B], "csv")
    done = call("predict", model, data, "--id", "name")
    assert done.code == 2
    assert "the name 'name' occurs 2 times (columns 3, 4), and one of them" in done.err


def fitted(call, frame, *words, index=False):
    """The names of the features of a model that the program has fitted, and what it said."""
    frame.to_csv("d.csv", index=index)
    done = call("fit", "d.csv", "-t", "y", "--a", "0", "--k", "2", "-o", "m.stretchy", *words)
    assert done.code == 0, done.err
    return list(skstretch.load("m.stretchy").feature_names_in_), done.err


TABLE = pd.DataFrame({"a": A, "b": B, "y": Y})


@pytest.mark.parametrize("index", [range(30), [*range(0, 45, 3), *range(70, 85)], list("ab") * 15])
def test_row_labels_are_no_feature(index, call, folder):
    """Neither with gaps, as after rows were dropped, nor as text; predict does not ask for them."""
    frame = TABLE.set_axis(index, axis=0)
    found, said = fitted(call, frame, index=True)
    assert found == ["a", "b"]
    assert "left out the unnamed column 1, which labels the rows; --keep-index takes it" in said
    assert call("predict", "m.stretchy", "d.csv").code == 0


def test_row_labels_are_taken_where_they_are_asked_for(call, folder):
    found, said = fitted(call, TABLE, "--keep-index", index=True)
    assert found == ["column 1", "a", "b"]
    assert "left out" not in said


def test_a_named_first_column_of_rising_whole_numbers(call, folder):
    numbered = TABLE.copy()
    numbered.insert(0, "number", np.arange(30) * 3 + 7)
    found, said = fitted(call, numbered)
    assert found == ["a", "b"]
    assert "left out the first column 'number'" in said
    assert fitted(call, numbered, "--keep-index")[0] == ["number", "a", "b"]
    # among whole numbers it is a feature like others
    whole = numbered.assign(a=(9 * A).round(), b=(9 * B).round())
    assert fitted(call, whole)[0] == ["number", "a", "b"]


WAVES = [f"{1100 + 2 * i}" for i in range(40)]
SPECTRA = pd.DataFrame(RNG.standard_normal((30, 40)), columns=WAVES)
SPECTRA = SPECTRA.assign(moisture=A, oil=B, y=Y)


def test_other_results_of_the_laboratory_are_no_feature(call, folder):
    found, said = fitted(call, SPECTRA)
    assert found == WAVES
    assert "left out 'moisture', 'oil': the other 40 features are named by numbers" in said
    assert "fit with --recipes" in said
    assert call("predict", "m.stretchy", "d.csv").code == 0


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--features", "*"], [*WAVES, "moisture", "oil"]),
        (["--features", "1100-1110"], WAVES[:6]),
        (["--features", "1100-1104,oil"], [*WAVES[:3], "oil"]),
        (["--features", "11*", "--features", "moisture"], [*WAVES, "moisture"]),
        (["--features", "110?", "--drop", "1102,1104"], ["1100", "1106", "1108"]),
        (["--drop", "1104-1178", "--drop", "moisture,oil"], WAVES[:2]),
    ],
)
def test_features_are_chosen_by_names_ranges_and_patterns(words, names, call, folder):
    wanted = [name for name in names if not name.startswith("11") or name in WAVES]
    assert fitted(call, SPECTRA, *words)[0] == wanted
    assert call("predict", "m.stretchy", "d.csv").code == 0


def test_words_that_mean_no_column(call, folder):
    SPECTRA.to_csv("d.csv", index=False)
    for option, word in (("--features", "3000-4000"), ("--drop", "1100,oel"), ("--drop", "q*")):
        done = call("fit", "d.csv", "-t", "y", option, word, "-o", "m.stretchy")
        assert done.code == 2
        assert f"{option}: there is no column {word!r}" in done.err


def test_no_header_has_no_labels(call, folder):
    TABLE.to_csv("d.csv", index=False, header=False)
    done = call("fit", "d.csv", "--no-header", "-t", "column 3", "-o", "m.stretchy")
    assert done.code == 0
    assert list(skstretch.load("m.stretchy").feature_names_in_) == ["column 1", "column 2"]


def test_a_suggestion_is_no_column_that_the_model_uses(call, folder):
    fitted(call, TABLE.rename(columns={"a": "width1", "b": "width2"}))
    TABLE.rename(columns={"a": "width1", "b": "height"})[["width1", "height"]].to_csv(
        "new.csv", index=False
    )
    done = call("predict", "m.stretchy", "new.csv")
    assert done.code == 2
    assert "'width2'" in done.err
    assert "called 'width1'" not in done.err

"""Which columns of a file are features, and which are not."""

import io
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

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

"""Every format gives the same features, target and model."""

import bz2
import gzip
import io
import lzma
import re
import tracemalloc
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import io as scipy_io
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import skstretch
from skstretch.cli.columns import TrainingColumns, check_features, read_table
from skstretch.cli.console import Talk
from skstretch.cli.data import columnar
from skstretch.cli.data.files import Form, Kind, Numbers
from skstretch.cli.options import Chosen
from skstretch.exceptions import DataError
from tests.cli.samples import NAMES, diabetes, write_csv

SAVED = ("-o", "m.stretchy")


def read(source, target="y", form=None, drop=(), notes=None, keep_index=False):
    roles = {"target": target, "weights": None, "groups": None}
    note = (lambda text: None) if notes is None else notes.append
    chosen = Chosen(drop=drop, keep_index=keep_index)
    choose = TrainingColumns(roles, chosen, note)
    return read_table(str(source), form or Form(), choose, Talk(quiet=True))


def target_of(table):
    return np.array([float(value) for value in table.aside["target"]])


@pytest.fixture
def data(tmp_path):
    X, y = diabetes(60)
    return tmp_path, X, y, write_csv(tmp_path / "d.csv", X, {"y": y.tolist()}, names=NAMES)


def same(table, X, y, names=NAMES):
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(target_of(table), y)
    assert table.names == names


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("suffix", PACKERS)
def test_compressed_text(data, suffix):
    folder, X, y, path = data
    packed = folder / f"d.csv.{suffix}"
    packed.write_bytes(PACKERS[suffix](path.read_bytes()))
    same(read(packed), X, y)
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"d\.csv\..* is not a sound \w+ file: "):
        read(packed)


def test_zstandard(data):
    import pyarrow as pa

    folder, X, y, path = data
    (folder / "d.csv.zst").write_bytes(pa.compress(path.read_bytes(), "zstd", asbytes=True))
    same(read(folder / "d.csv.zst"), X, y)


@pytest.mark.parametrize("separator", [";", "\t", "|", " "])
def test_separators_are_found(data, separator):
    folder, X, y, _ = data
    path = folder / "d.txt"
    write_csv(path, X, {"y": y.tolist()}, names=NAMES, separator=separator)
    same(read(path), X, y)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(data, encoding):
    folder, X, y, _ = data
    path = write_csv(
        folder / "d.csv", X, {"y": y.tolist()}, names=NAMES, separator=";", encoding=encoding
    )
    same(read(path), X, y)


def test_other_encodings_are_named(data):
    folder, X, y, _ = data
    names = [*NAMES[:-1], "café"]
    path = write_csv(folder / "l.csv", X, {"y": y.tolist()}, names=names, encoding="latin-1")
    with pytest.raises(DataError) as error:
        read(path)
    assert str(error.value) == (
        f"line 1 of {str(path)!r} is not UTF-8 (byte 0xe9): save the file as UTF-8, or name its "
        "encoding, for example --encoding latin-1."
    )
    same(read(path, form=Form(encoding="latin-1")), X, y, names)


def test_the_line_of_a_bad_byte(tmp_path):
    rows = [b"1,2\n"] * 30_000
    rows[20_000] = b"1,\xff\n"
    (tmp_path / "b.csv").write_bytes(b"a,y\n" + b"".join(rows))
    with pytest.raises(DataError, match=r"line 20002 of .* is not UTF-8 \(byte 0xff\)"):
        read(tmp_path / "b.csv")


def test_lines_that_are_blank_or_hold_nothing_but_commas(data):
    _, X, y, path = data
    text = path.read_text().splitlines()
    text.insert(0, "")
    text.insert(4, "  ")
    path.write_text("\r\n".join([*text, "," * 10, ""]) + "\r\n")
    same(read(path), X, y)


def test_row_names_of_r(data):
    _, X, y, path = data
    header, *rows = path.read_text().splitlines()
    path.write_text("\n".join([header, *(f'"{i}",{row}' for i, row in enumerate(rows, 1))]))
    notes = []
    same(read(path, notes=notes), X, y)
    assert notes == ["left out the unnamed column 1, which labels the rows; --keep-index takes it."]
    table = read(path, keep_index=True)
    assert table.names == ["column 1", *NAMES]
    np.testing.assert_array_equal(table.X[:, 0], np.arange(1, 61))


def test_without_header(data):
    _, X, y, path = data
    path.write_text("\n".join(path.read_text().splitlines()[1:]))
    table = read(path, "column 11", Form(no_header=True))
    same(table, X, y, [f"column {j}" for j in range(1, 11)])
    with pytest.raises(
        DataError, match="If the first line is data and not names, pass --no-header"
    ):
        read(path)


def test_underscores_are_no_part_of_numbers(tmp_path):
    (tmp_path / "u.csv").write_text("id,y\n12_3,1\n4,2\n")
    table = read(tmp_path / "u.csv")
    assert table.stray["id"].place == "'12_3' in line 2"
    assert np.isnan(table.X[0, 0])
    assert table.X[1, 0] == 4


def test_text_stops_the_reading_of_a_long_file(tmp_path):
    (tmp_path / "t.csv").write_text("city,y\n" + "Oslo,1\n" * 5000)
    table = read(tmp_path / "t.csv")
    assert table.X.shape[0] == 1000


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_decimal_commas_are_found_out(data, separator):
    folder, X, y, path = data
    text = path.read_text().replace(",", separator).replace(".", ",")
    (folder / "e.csv").write_text(text)
    table = read(folder / "e.csv")
    same(table, X, y)
    assert table.notes == ["commas are read as decimal marks; --decimal . says otherwise."]
    assert read(folder / "e.csv", form=Form(decimal=",")).notes == []
    assert read(folder / "e.csv", form=Form(decimal=".")).stray


def test_decimal_commas_that_may_part_thousands_are_not_found_out(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("a;y\n1,234;1\n2,345;2\n")
    with pytest.raises(DataError, match=r"pass --decimal , and if it parts thousands, write the"):
        check_features(read(path))
    path.write_text("a;b;y\n1,234;1.5;1\n2,34;2;2\n")
    assert read(path).stray["a"].value == "1,234"
    np.testing.assert_array_equal(
        read(path, form=Form(decimal=","), drop=["b"]).X, [[1.234], [2.34]]
    )


def test_points_are_no_part_of_numbers_with_decimal_commas(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("a;y\n1.234;1,5\n2,5;2\n")
    table = read(path, form=Form(decimal=","))
    assert table.stray["a"].pointed
    with pytest.raises(DataError, match=r"write 1234 in place of '1\.234'"):
        check_features(table)
    path.write_text("a;y\n1,5;1.234\n2,5;2\n")
    with pytest.raises(DataError, match=r"line 2 of .* has '1.234', and the comma is the decimal"):
        read(path, form=Form(decimal=","))


@pytest.mark.parametrize(
    ("head", "form"),
    [
        ("# instrument 7, serial 3\n# 2024\n", Form(comment="#")),
        ("instrument 7; serial 3\n\n", Form(skip_rows=2)),
        ("1st\n% comment\n", Form(comment="%", skip_rows=1)),
    ],
)
def test_comments_before_the_header(data, head, form):
    _, X, y, path = data
    text = path.read_text()
    path.write_text(head + text)
    same(read(path, form=form), X, y)
    path.write_text(head + text.replace("\n", "\n" + (form.comment or "\n") + "\n", 3))
    same(read(path, form=form), X, y)


def test_lines_are_numbered_as_in_the_file(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("# one\n\na,y\n# four\n1,2\nx,3\n1,2,3\n")
    with pytest.raises(DataError, match=r"line 7 of .* has 3 fields, and the header has 2"):
        read(path, form=Form(comment="#"))
    path.write_text("# one\n\na,y\n# four\n1,2\nx,3\n")
    assert read(path, form=Form(comment="#")).stray["a"].line == 6
    for text in ("# one\na,y\n1,2\n", "# one,\na,y,z,w\n1,2,3,4\n"):
        path.write_text(text)
        with pytest.raises(DataError, match=r"If the first lines are comments, pass --comment '#'"):
            read(path, "y" if text[5] == "\n" else "column 2")


def test_true_and_false(data):
    """A feature in every format; a target stays words."""
    pd = pytest.importorskip("pandas", reason="writes the file")
    pytest.importorskip("pyarrow", reason="reads the file")
    folder, X, _, _ = data
    frame = pd.DataFrame(X, columns=NAMES).assign(smokes=X[:, 2] > 25, y=X[:, 0] > 50)
    frame.to_csv(folder / "b.csv", index=False)
    frame.to_parquet(folder / "b.parquet")
    for name in ("b.csv", "b.parquet"):
        table = read(folder / name)
        assert not table.stray
        np.testing.assert_array_equal(table.X[:, -1], X[:, 2] > 25)
        assert list(table.aside["target"]) == [str(value) for value in X[:, 0] > 50]


def test_true_beside_numbers_is_text(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n1,TRUE,1\ntrue,,2\n0,false,3\n")
    table = read(tmp_path / "t.csv")
    assert {name: stray.place for name, stray in table.stray.items()} == {"a": "'true' in line 3"}
    np.testing.assert_array_equal(table.X[:, 1], [1, np.nan, 0])


def test_numbers_as_names():
    names = Numbers(12)
    assert list(names) == [str(number) for number in range(1, 13)]
    assert [name in names for name in ("1", "12", "13", "0", "01", "x", "", "²")] == [
        True, True, False, False, False, False, False, False
    ]  # fmt: skip
    assert names[2:5] == ["3", "4", "5"]
    assert [names.index(name) for name in ("1", "12")] == [0, 11]
    with pytest.raises(ValueError, match=r"^$"):
        names.index("13")


def test_parquet_of_several_row_groups_and_pieces(data, monkeypatch):
    pa = pytest.importorskip("pyarrow", reason="reads the file")
    pq = pytest.importorskip("pyarrow.parquet", reason="reads the file")
    folder, X, y, _ = data
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    pq.write_table(pa.table({**columns, "y": y}), folder / "g.parquet", row_group_size=25)
    same(read(folder / "g.parquet"), X, y)
    monkeypatch.setattr(columnar, "PIECE", 8 * 11 * 4)
    same(read(folder / "g.parquet"), X, y)


def test_columns_of_several_kinds_side_by_side(tmp_path):
    """Numbers of any kind, gaps and words between columns of float64."""
    pa = pytest.importorskip("pyarrow", reason="reads the file")
    pq = pytest.importorskip("pyarrow.parquet", reason="reads the file")
    feather = pytest.importorskip("pyarrow.feather", reason="reads the file")
    columns = {
        "a": pa.array([1.5, None, 3.0]),
        "b": pa.array([1, 2, 3], pa.int8()),
        "c": pa.array([0.1, 0.2, 0.3]),
        "d": pa.array(["x", None, "z"]),
        "e": pa.array([1.0, 2.0, None], pa.float32()),
        "y": pa.array([1.0, 2.0, 3.0]),
        "f": pa.array([7.0, 8.0, 9.0]),
    }
    expected = np.array(
        [
            [1.5, 1, 0.1, np.nan, 1, 7],
            [np.nan, 2, 0.2, np.nan, 2, 8],
            [3, 3, 0.3, np.nan, np.nan, 9],
        ]
    )
    pq.write_table(pa.table(columns), tmp_path / "k.parquet")
    feather.write_feather(pa.table(columns), tmp_path / "k.feather")
    for name in ("k.parquet", "k.feather"):
        table = read(tmp_path / name)
        np.testing.assert_array_equal(table.X, expected)
        assert {name: stray.count for name, stray in table.stray.items()} == {"d": 2}
        np.testing.assert_array_equal(table.aside["target"], [1, 2, 3])


def test_empty_and_binary_files(tmp_path):
    path = tmp_path / "e.csv"
    for content, words in [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a,y\n", "has a header and no rows"),
        (b"a,\0y\n\1\2", "is a binary file"),
    ]:
        path.write_bytes(content)
        with pytest.raises(DataError, match=words):
            read(path)


@pytest.mark.parametrize("name", ["leaf.dx", "leaf.jdx", "leaf.spc"])
def test_a_file_of_an_instrument_leads_to_its_reader(tmp_path, name):
    (tmp_path / name).write_bytes(b"##TITLE=leaf\n")
    with pytest.raises(DataError, match=r"read_spectra of skstretch\.datasets reads it in Python"):
        read(tmp_path / name)


def test_memory_of_wide_text_is_that_of_the_result(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 20_000))
    path = write_csv(tmp_path / "w.csv", X, {"y": range(40)})
    tracemalloc.start()
    try:
        table = read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (table.X == X).all()
    assert peak < 3 * X.nbytes, f"{peak:,} bytes for {X.nbytes:,} of data"


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_columnar(data, kind):
    import pandas as pd

    folder, X, y, _ = data
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y)
    path = folder / f"d.{kind}"
    write = frame.to_parquet if kind == "parquet" else frame.to_feather
    write(path, **({"row_group_size": 13} if kind == "parquet" else {}))
    same(read(path), X, y)
    (folder / "unnamed").write_bytes(path.read_bytes())
    same(read(folder / "unnamed"), X, y)
    frame = frame.assign(
        city="Oslo", yes=True, few=pd.array([1, None] * 30, dtype="Int64"), kind=["a", "b"] * 30
    )
    write = frame.to_parquet if kind == "parquet" else frame.to_feather
    write(path)
    table = read(path, "kind")
    assert table.aside["target"] == ["a", "b"] * 30
    assert {name: stray.place for name, stray in table.stray.items()} == {"city": "'Oslo'"}
    assert (table.X[:, table.names.index("yes")] == 1).all()
    assert np.isnan(table.X[1::2, table.names.index("few")]).all()
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(DataError, match=f"is not a sound {kind} file"):
        read(path)


def test_npz(data):
    folder, X, y, _ = data
    path, notes = folder / "d.npz", []
    np.savez(path, X=X, y=y, feature_names=np.array(NAMES), other=np.zeros(3))
    same(read(path, None, notes=notes), X, y)
    assert notes == ["target: 'y', which the file names so."]
    same(read(path, "y"), X, y)
    np.savez(path, X=X, y=np.column_stack([y, -y]), target_names=np.array(["up", "down"]))
    same(read(path, "down"), X, -y, None)
    np.savez(path, X=X, y=np.column_stack([y, -y]))
    same(read(path, "y2"), X, -y, None)
    np.savez(path, spectra=X.astype(np.float32))
    table = read(path, "3")
    np.testing.assert_array_equal(table.X, np.delete(X.astype(np.float32), 2, axis=1))
    assert table.names is None
    np.savez(path, X=np.array([[{}]], dtype=object))
    with pytest.raises(DataError, match="arrays of Python objects are never loaded"):
        read(path)
    np.savez(path, a=X, b=X)
    with pytest.raises(DataError, match="has no matrix X of shape"):
        read(path)


@pytest.fixture
def thin(tmp_path):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((50, 300)) < 0.05, rng.random((50, 300)), 0.0)
    return tmp_path, sparse.csr_array(X), rng.integers(0, 2, 50)


def written(folder, X, y, kind):
    if kind == "npz":
        sparse.save_npz(folder / "s.npz", X)
        np.save(folder / "y.npy", y)
    elif kind == "mtx":
        scipy_io.mmwrite(folder / "s.mtx", X, precision=17)
        np.save(folder / "y.npy", y)
    else:
        dump_svmlight_file(X, y, str(folder / "s.svm"), zero_based=False)
    return folder / f"s.{kind}"


@pytest.mark.parametrize("kind", ["npz", "mtx", "svm"])
def test_sparse_formats_stay_sparse(thin, kind):
    folder, X, y = thin
    path = written(folder, X, y, kind)
    target = None if kind == "svm" else str(folder / "y.npy")
    table = read(path, target)
    assert table.is_sparse
    assert table.X.format == "csr"
    assert table.X.nnz == X.nnz
    width = min(table.X.shape[1], 300)
    np.testing.assert_allclose(table.X.toarray()[:, :width], X.toarray()[:, :width], rtol=1e-15)
    if kind == "svm":
        np.testing.assert_array_equal(target_of(table), y)


@pytest.mark.parametrize("kind", ["npz", "mtx", "svm"])
def test_models_of_sparse_files(thin, call, kind, monkeypatch):
    folder, X, y = thin
    path = written(folder, X, y, kind)
    target = () if kind == "svm" else ("-t", folder / "y.npy")
    seen, plain = [], skstretch.StretchyClassifierCV.fit
    monkeypatch.setattr(
        skstretch.StretchyClassifierCV,
        "fit",
        lambda self, X, y, **more: seen.append(X.format) or plain(self, X, y, **more),
    )
    done = call("fit", path, *target, *SAVED, "--combine", "best")
    assert done.code == 0, done.err
    assert seen == ["csr"]
    D = X.shape[1] if kind != "svm" else int(X.indices.max()) + 1
    model = skstretch.StretchyClassifierCV(combine="best").fit(X[:, :D], y)
    loaded = skstretch.load("m.stretchy")
    assert (loaded.a_, loaded.k_, loaded.c_) == (model.a_, model.k_, model.c_)
    np.testing.assert_allclose(loaded.alpha_, model.alpha_, rtol=1e-9, atol=1e-12)
    done = call("predict", "m.stretchy", path)
    assert done.code == 0, done.err
    assert done.out.split()[1:] == [str(label) for label in loaded.predict(X[:, :D])]


def test_svmlight_files_of_other_widths(thin, call):
    folder, X, y = thin
    assert call("fit", written(folder, X[:, :200], y, "svm"), *SAVED).code == 0
    D = skstretch.load("m.stretchy").n_features_in_
    done = call("predict", "m.stretchy", written(folder, X, y, "svm"))
    last = int(X.indices.max()) + 1
    assert done.err == f"note: ignored features {D + 1} to {last}, which the model does not know.\n"
    assert call("predict", "m.stretchy", written(folder, X[:, :50], y, "svm")).code == 0


def test_svmlight_numbers_start_at_one(thin, call):
    folder, X, y = thin
    dump_svmlight_file(X, y, str(folder / "z.svm"), zero_based=True)
    done = call("fit", folder / "z.svm", *SAVED)
    assert done.err == (
        f"error: {str(folder / 'z.svm')!r} has a feature number 0, and numbers start at 1: pass "
        "--zero-based, in predict too.\n"
    )
    table = read(folder / "z.svm", None, Form(zero_based=True))
    np.testing.assert_allclose(table.X.sum(), X.sum())


def test_broken_matrices(tmp_path):
    for name, content, words in [
        (
            "a.mtx",
            b"%%MatrixMarket matrix coordinate real general\n2 2 5\n1 1 1\n",
            "Matrix Market",
        ),
        ("a.svm", b"1 1:2 x:3\n", "SVMlight"),
        ("a.npz", b"PK\3\4 not a zip", "NPZ"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=f"is not a sound {words} file"):
            read(tmp_path / name)
    sparse.save_npz(tmp_path / "b.npz", sparse.csr_array(np.eye(3)))
    with np.load(tmp_path / "b.npz") as file:
        held = dict(file)
    held["indices"] = held["indices"] + 7
    np.savez(tmp_path / "b.npz", **held)
    with pytest.raises(DataError, match=r"is not a sound sparse matrix"):
        read(tmp_path / "b.npz", "1")


def test_targets_in_files(tmp_path, call):
    X, y = diabetes(40)
    np.savez(tmp_path / "m.npz", X=X)
    (tmp_path / "y.txt").write_text("value\n" + "\n".join(map(repr, y.tolist())) + "\n")
    done = call("fit", tmp_path / "m.npz", "-t", tmp_path / "y.txt", *SAVED)
    assert done.code == 0, done.err
    model = skstretch.StretchyRegressorCV().fit(X, y)
    np.testing.assert_array_equal(skstretch.load("m.stretchy").coef_, model.coef_)
    np.save(tmp_path / "y.npy", y[:-1])
    done = call("fit", tmp_path / "m.npz", "-t", tmp_path / "y.npy", *SAVED)
    assert done.err == (
        f"error: --target {str(tmp_path / 'y.npy')!r} has 39 values, and the data have 40 rows.\n"
    )


def test_a_file_is_read_once(data):
    path, seen = data[-1], []

    def watch(file, size):
        seen.append(size)
        return Counted(file, seen)

    class Counted(io.RawIOBase):
        def __init__(self, file, seen):
            self.file, self.seen = file, seen

        def readable(self):
            return True

        def readinto(self, buffer):
            part = self.file.read(len(buffer))
            buffer[: len(part)] = part
            self.seen.append(len(part))
            return len(part)

    roles = {"target": "y", "weights": None, "groups": None}
    watched = SimpleNamespace(reading=lambda: nullcontext(watch), note=print)
    read_table(str(path), Form(), TrainingColumns(roles, Chosen(), print), watched)
    assert seen[0] == path.stat().st_size
    assert sum(seen[1:]) == path.stat().st_size


@pytest.mark.filterwarnings("ignore:Feather V1")
def test_the_first_feather_with_columns_of_several_lengths(tmp_path):
    feather = pytest.importorskip("pyarrow.feather")
    path, length = tmp_path / "d.feather", (60).to_bytes(8, "little")
    columns = {"a": np.arange(60.0) / 7, "y": np.arange(60.0)}
    feather.write_feather(pytest.importorskip("pyarrow").table(columns), path, version=1)
    sound = path.read_bytes()
    np.testing.assert_array_equal(read(path).X[:, 0], columns["a"])
    places = [found.start() for found in re.finditer(re.escape(length), sound)]
    assert len(places) == 3
    for at in places:
        path.write_bytes(sound[:at] + (7).to_bytes(8, "little") + sound[at + 8 :])
        with pytest.raises(DataError, match="is not a sound feather file"):
            read(path)


def test_a_format_can_be_forced(data):
    folder, X, y, path = data
    odd = folder / "d.svm"
    odd.write_bytes(path.read_bytes())
    same(read(odd, form=Form(format=Kind.CSV)), X, y)

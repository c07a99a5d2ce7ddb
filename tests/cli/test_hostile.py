"""Files made to take memory: each ends in an error in our words, with little memory taken.

Memory is the most that a process of its own had in use, as Linux counts it.
"""

import bz2
import gzip
import io
import lzma
import sys
import zipfile
from dataclasses import dataclass

import numpy as np
import pytest

from tests.cli.program import run

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="Linux says how much memory was used"
)

ALLOWED = 150 << 20
MANY = 1 << 30


@dataclass(frozen=True)
class Ended:
    code: int
    err: str
    peak: int  # bytes


def measured(*words, cwd):
    """A command in a folder, and the most memory that it took."""
    done = run(*words, cwd=cwd, PEAK=str(cwd / "peak"))
    assert done.code in (0, 1, 2), done
    return Ended(done.code, done.err, int((cwd / "peak").read_text()) << 10)


@pytest.fixture(scope="module")
def baseline(tmp_path_factory):
    """Memory of a fit to a small file in each format that loads packages of its own."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "s.csv").write_text("a,y\n" + "1,2\n2,1\n3,4\n" * 4)
    done = measured("fit", "s.csv", "-t", "y", "-o", "m.stretchy", "--c", "1", cwd=folder)
    assert done.code == 0, done.err
    return done.peak


def hollow(path, head, size=MANY):
    """A file of a head and nothing: NUL bytes that take no room on the disk."""
    with path.open("wb") as file:
        file.write(head)
        file.truncate(size)


def npz(path, member):
    """An NPZ file with one member."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", member)


def header(shape, dtype="<f8"):
    file = io.BytesIO()
    fields = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, fields)
    return file.getvalue()


def sparse_npz(path, shape):
    np.savez(
        path,
        format=np.array(b"csr"),
        shape=np.array(shape),
        data=np.ones(1),
        indices=np.zeros(1, dtype=np.int64),
        indptr=np.array([0, 1, 1]),
    )


def svmlight(path, text):
    path.write_text(text)


def market(path, claims):
    path.write_text(f"%%MatrixMarket matrix {claims}\n1 1 1\n")


CLAIMS = {
    "svmlight column": ("s.svm", lambda p: svmlight(p, "1 1:1 25000000:1\n0 2:1\n1 3:1\n2 4:1\n")),
    "svmlight far column": ("s.svm", lambda p: svmlight(p, "1 1:1 99999999999999:1\n0 2:1\n")),
    "mtx values": ("m.mtx", lambda p: market(p, "coordinate real general\n9 9 999999999999")),
    "mtx rows": ("m.mtx", lambda p: market(p, "coordinate real general\n999999999999 3 1")),
    "mtx columns": ("m.mtx", lambda p: market(p, "coordinate real general\n3 999999999999 1")),
    "mtx dense": ("m.mtx", lambda p: market(p, "array real general\n9999999 9999999")),
    "mtx symmetric": ("m.mtx", lambda p: market(p, "array real symmetric\n99999 99999")),
    "mtx negative": ("m.mtx", lambda p: market(p, "coordinate real general\n-3 3 1")),
    "mtx digits": ("m.mtx", lambda p: market(p, "array real general\n" + "9" * 5000 + " 1")),
    "npz shape": ("x.npz", lambda p: npz(p, header((1_000_000_000_000, 1)) + b"\0" * 80)),
    "npz words": ("x.npz", lambda p: npz(p, header((3, 3), "<U99999999") + b"\0" * 80)),
    "npz nothing wide": ("x.npz", lambda p: npz(p, header((1_000_000_000_000, 3), "<U0"))),
    "npz sparse columns": ("x.npz", lambda p: sparse_npz(p, (2, 10**13))),
}


REFUSALS = ("claim", "the line with its shape", "is too large", "is not a sound SVMlight file")


# kinds of claims that another one of the same reader stands for
RARE = ("mtx symmetric", "mtx negative", "mtx digits", "npz words", "svmlight far column")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in RARE else ()) for n in CLAIMS]
)
def test_claims(name, tmp_path, baseline):
    """A few bytes that claim to be a matrix of terabytes: refused without any option."""
    file, write = CLAIMS[name]
    write(tmp_path / file)
    assert (tmp_path / file).stat().st_size < 10_000
    target = () if file == "s.svm" else ("-t", "1")
    done = measured("fit", file, *target, "-o", "m.stretchy", cwd=tmp_path)
    check(done, baseline)
    assert any(words in done.err for words in REFUSALS), done.err


def check(done, baseline):
    assert done.code == 2, done.err
    assert done.err.startswith("error: "), done.err
    assert len(done.err.splitlines()) == 1, done.err
    assert done.peak < baseline + ALLOWED, f"{(done.peak - baseline) >> 20} MB: {done.err}"


ROW = b"1," * 1000 + b"1\n"
PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def packed_bomb(path, suffix):
    """A CSV of 640 MB, packed in pieces: all these formats may be strung together."""
    names = ",".join([*(f"x{j}" for j in range(1000)), "y"]) + "\n"
    if suffix == "zst":
        pa = pytest.importorskip("pyarrow", reason=".zst files are read by pyarrow")

        def pack(data):
            return pa.compress(data, "zstd", asbytes=True)
    else:
        pack = PACKERS[suffix]
    piece = pack(ROW * 8000)
    path.write_bytes(pack(names.encode()) + piece * 40)


SMALL = ("--max-memory", "64MB")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst"])
def test_packed_tables(suffix, tmp_path, baseline):
    packed_bomb(tmp_path / f"b.csv.{suffix}", suffix)
    done = measured("fit", f"b.csv.{suffix}", "-t", "y", "-o", "m.stretchy", *SMALL, cwd=tmp_path)
    check(done, baseline)
    assert "are allowed. If the file is sound, allow more with --max-memory." in done.err


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mtx", "npz", "parquet", "feather"])
def test_packed_files_that_are_read_as_a_whole(kind, tmp_path, baseline):
    head = {"mtx": b"%%MatrixMarket matrix array real general\n9 9\n"}.get(kind, b"")
    piece = gzip.compress(b"1" * (16 << 20))
    (tmp_path / "b.gz").write_bytes(gzip.compress(head) * bool(head) + piece * 40)
    done = measured(
        "fit", "b.gz", "--format", kind, "-t", "1", "-o", "m.stretchy", *SMALL, cwd=tmp_path
    )
    check(done, baseline)
    assert "the unpacked file would take" in done.err


def test_an_xz_file_with_a_huge_dictionary(tmp_path, baseline):
    """The claim is nothing: memory is taken as the file is unpacked."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 512 << 20}]
    data = lzma.compress(b"a,y\n" + b"1,2\n2,1\n3,4\n" * 4, filters=filters)
    (tmp_path / "b.csv.xz").write_bytes(data)
    words = ("fit", "b.csv.xz", "-t", "y", "-o", "m.stretchy", "--c", "1", *SMALL)
    done = measured(*words, cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.peak < baseline + ALLOWED


LINES = {
    "csv": ("l.csv", b"a,y\n" + b"1,2\n" * 32000),
    "first line": ("l.csv", b"a,y" + b" " * (1 << 17)),
    "quote": ("l.csv", b"a,y\n" + b"1,2\n" * 32000 + b'"'),
    "svmlight": ("l.svm", b"1 1:2\n" * 8000),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LINES)
def test_lines_of_a_gigabyte(name, tmp_path, baseline):
    file, head = LINES[name]
    hollow(tmp_path / file, head)
    target = () if file == "l.svm" else ("-t", "y")
    done = measured("fit", file, *target, "-o", "m.stretchy", *SMALL, cwd=tmp_path)
    check(done, baseline)
    assert "--max-memory" in done.err or "NUL" in done.err, done.err


def test_a_matrix_market_line_of_a_gigabyte(tmp_path, baseline):
    hollow(tmp_path / "l.mtx", b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n")
    done = measured("fit", "l.mtx", "-t", "1", "-o", "m.stretchy", *SMALL, cwd=tmp_path)
    check(done, baseline)


@pytest.mark.slow
def test_records_that_never_end(tmp_path, baseline):
    """Quoted line breaks: no line is long, and the record is."""
    (tmp_path / "q.csv").write_bytes(b"a,y\n1,2\n" + b'"\n",' * (20 << 20))
    done = measured("fit", "q.csv", "-t", "y", "-o", "m.stretchy", *SMALL, cwd=tmp_path)
    check(done, baseline)
    assert "is a quote not closed?" in done.err


@pytest.mark.slow
def test_an_npz_of_zeros(tmp_path, baseline):
    member = header((50 << 20, 1)) + bytes(400 << 20)
    npz(tmp_path / "z.npz", member)
    assert (tmp_path / "z.npz").stat().st_size < 1 << 20
    done = measured("fit", "z.npz", "-t", "1", "-o", "m.stretchy", *SMALL, cwd=tmp_path)
    check(done, baseline)
    assert "its arrays would take 400 MB, and 64 MB are allowed" in done.err


@pytest.mark.slow
def test_a_parquet_file_of_zeros(tmp_path, baseline):
    pa = pytest.importorskip("pyarrow", reason="reads the file")
    pq = pytest.importorskip("pyarrow.parquet", reason="reads the file")
    piece = pa.table({"a": np.zeros(1 << 20), "y": np.zeros(1 << 20)})
    with pq.ParquetWriter(tmp_path / "z.parquet", piece.schema) as writer:
        for _ in range(50):
            writer.write_table(piece)
    done = measured("fit", "z.parquet", "-t", "y", "-o", "m.stretchy", *SMALL, cwd=tmp_path)
    check(done, baseline)
    assert "52,428,800 rows would take 400 MB" in done.err


@pytest.mark.slow
def test_a_parquet_file_of_one_long_word(tmp_path, baseline):
    pa = pytest.importorskip("pyarrow", reason="reads the file")
    pq = pytest.importorskip("pyarrow.parquet", reason="reads the file")
    word = pa.DictionaryArray.from_arrays(np.zeros(2000, dtype=np.int32), ["x" * (1 << 20)])
    table = pa.table({"a": np.arange(2000.0), "y": word})
    pq.write_table(table, tmp_path / "w.parquet", use_dictionary=["y"], store_schema=False)
    done = measured("fit", "w.parquet", "-t", "y", "-o", "m.stretchy", *SMALL, cwd=tmp_path)
    check(done, baseline)
    assert "2,000 words would take 2.0 GB" in done.err


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_a_feather_file_of_zeros(compression, tmp_path, baseline):
    pa = pytest.importorskip("pyarrow", reason="reads the file")
    feather = pytest.importorskip("pyarrow.feather", reason="reads the file")
    table = pa.table({"a": np.zeros(25 << 20), "y": np.zeros(25 << 20)})
    feather.write_feather(table, tmp_path / "z.feather", compression, chunksize=25 << 20)
    done = measured("fit", "z.feather", "-t", "y", "-o", "m.stretchy", *SMALL, cwd=tmp_path)
    check(done, baseline)
    assert "26,214,400 rows would take 200 MB" in done.err


ROWS = "xl/worksheets/sheet1.xml"
WORKBOOKS = {
    "sheet of blanks": lambda parts: {ROWS: " " * (400 << 20) + parts[ROWS]},
    "endless row": lambda parts: {ROWS: parts[ROWS].replace("<row>", "<row>" + "<c/>" * (8 << 20))},
    "empty rows": lambda parts: {
        ROWS: parts[ROWS].replace("<row>", "<row/>" * (8 << 20) + "<row>")
    },
    "texts": lambda parts: {"xl/sharedStrings.xml": "<sst>" + "<si/>" * (8 << 20) + "</sst>"},
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n == "endless row" else pytest.mark.slow) for n in WORKBOOKS],
)
def test_workbooks(name, tmp_path, baseline):
    pytest.importorskip("openpyxl", reason="reads the file")
    parts = {
        "[Content_Types].xml": "<Types/>",
        ROWS: "<worksheet><sheetData><row></row></sheetData>",
    }
    parts = {**parts, **WORKBOOKS[name](parts)}
    with zipfile.ZipFile(tmp_path / "b.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        for part, text in parts.items():
            archive.writestr(part, text)
    assert (tmp_path / "b.xlsx").stat().st_size < 1 << 20
    done = measured("fit", "b.xlsx", "-t", "y", "-o", "m.stretchy", *SMALL, cwd=tmp_path)
    check(done, baseline)
    assert "64 MB are allowed. If the file is sound, allow more with --max-memory." in done.err


TARGETS = {
    "npy": ("y.npy", header((10**12,)) + b"\0" * 80),
    "mtx": ("y.mtx", b"%%MatrixMarket matrix array real general\n999999999999 1\n1\n"),
}


@pytest.mark.parametrize("name", TARGETS)
def test_targets(name, tmp_path, baseline):
    np.savez(tmp_path / "x.npz", X=np.eye(3))
    file, data = TARGETS[name]
    (tmp_path / file).write_bytes(data)
    done = measured("fit", "x.npz", "-t", file, "-o", "m.stretchy", cwd=tmp_path)
    check(done, baseline)
    assert "claims" in done.err


@pytest.mark.slow
def test_a_target_of_many_lines(tmp_path, baseline):
    np.savez(tmp_path / "x.npz", X=np.eye(3))
    (tmp_path / "y.txt.gz").write_bytes(gzip.compress(b"1\n" * (1 << 20)) * 8)
    done = measured("fit", "x.npz", "-t", "y.txt.gz", "-o", "m.stretchy", cwd=tmp_path)
    check(done, baseline)
    assert "has 8,388,608 values, and the data have 3 rows" in done.err


def test_a_sparse_file_may_be_wide(tmp_path, baseline):
    """A million columns need no more memory than a few vectors of that length."""
    (tmp_path / "s.svm").write_text("1.5 1:1 999999:1\n0 2:1\n2 3:1\n1 4:1\n0.5 1:2 5:1\n")
    words = ("fit", "s.svm", "-o", "m.stretchy", "--k", "2", "--a", "0", "--c", "0.1,1", "-q")
    done = measured(*words, cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.peak < baseline + ALLOWED


@pytest.mark.parametrize("size", ["0", "much", "-5GB", "5 furlongs"])
def test_sizes_that_are_none(size, call):
    done = call("fit", "diabetes.csv", "-t", "progression", "-o", "m", "--max-memory", size)
    assert done.code == 2
    assert done.err == (f"error: --max-memory {size!r} is no size: write it like 500MB or 8GB.\n")

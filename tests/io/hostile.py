"""Files that no one should load, made from a good one: name -> (bytes, what the error says)."""

import io
import json
import stat
import struct
import zipfile

import numpy as np

from tests.io.samples import members, npy, packed, with_array, with_header

HUGE = 1 << 40
# fields of the header that a model is made from
NEEDED = (
    "class", "parameters", "dtype", "quadrant", "spec", "spaces", "solvers", "has_dual", "single",
    "intervals", "arrays",
)  # fmt: skip


def npy_header(descr="<f8", shape="(9,)", order="False"):
    text = f"{{'descr': {descr!r}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + 1) + text + b"\n"


def containers(good):
    """Files whose zip container is wrong."""
    parts = members(good)
    bomb = {**parts, "coef.npy": npy(np.zeros(1 << 23))}
    link = zipfile.ZipInfo("coef.npy")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    others = {name: data for name, data in parts.items() if name != "coef.npy"}
    flagged = bytearray(good)
    flagged[good.index(b"PK\x01\x02") + 8] |= 1
    yield "empty", b"", "is empty"
    yield "not a zip", b"k,c\n1.5,100\n" * 50, "does not end like a zip file"
    yield "short", b"PK", "does not end like a zip file"
    yield "only an end", b"PK\x05\x06" + bytes(18), "'header.json' is missing"
    yield "truncated", good[: len(good) // 2], "does not end like a zip file"
    yield "last byte gone", good[:-1], "does not end like a zip file"
    yield "middle gone", good[:900] + good[1400:], None
    yield "deflated", packed(parts, zipfile.ZIP_DEFLATED), "is compressed"
    yield "bomb", packed(bomb, zipfile.ZIP_DEFLATED), "is compressed"
    yield "lzma bomb", packed(bomb, zipfile.ZIP_LZMA), "is compressed"
    yield "traversal", packed({**parts, "../coef.npy": b"x"}), r"a member '\.\./coef\.npy'"
    yield "absolute", packed({**parts, "/tmp/coef.npy": b"x"}), "a member '/tmp/coef.npy'"
    yield "windows", packed({**parts, "C:\\coef.npy": b"x"}), "which no model file has"
    yield "null", packed({**parts, "coef.npz": b""}).replace(b"coef.npz", b"coe\0.npy"), None
    yield "folder", packed({**parts, "arrays/": b""}), "a member 'arrays/'"
    yield "code", packed({**parts, "setup.py": b"raise SystemExit"}), "a member 'setup.py'"
    yield "link", packed([(link, b"/etc/passwd"), *others.items()]), "is a link"
    yield "twice", packed([*parts.items(), ("coef.npy", b"x")]), "two members 'coef.npy'"
    yield "encrypted", bytes(flagged), "is encrypted"
    yield "no header", packed({"coef.npy": parts["coef.npy"]}), "'header.json' is missing"
    yield "extra", packed({**parts, "extra.npy": npy(np.zeros(3))}), "'extra' is only in the file"
    yield "missing", packed(others), "'coef' is only in the header"
    yield "many members", packed({f"a{i}.npy": b"" for i in range(5000)}), "claims 5000 members"
    yield "comment", good[:-2] + b"\x05\x00hello", "does not end like a zip file"
    yield "zip64", zip64(good), "claims 100000000 members"
    yield "claimed sizes", claimed(good), "claim .* bytes, and the file has"


def zip64(good):
    """End records that claim a directory far larger than the file."""
    start = len(good) - 22
    record = b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 10**8, 10**8, HUGE, 0)
    locator = b"PK\x06\x07" + struct.pack("<IQI", 0, start, 1)
    return good[:start] + record + locator + good[start:]


def claimed(good):
    """A directory that claims a gigabyte for one member."""
    at = good.index(b"PK\x01\x02")
    return good[: at + 20] + struct.pack("<II", 1 << 30, 1 << 30) + good[at + 28 :]


def headers(good):
    """Files whose header is wrong."""
    parts = members(good)
    header = json.loads(parts["header.json"])

    def raw(data):
        return packed({**parts, "header.json": data})

    yield "not json", raw(b"\x80\x04pickle"), "not sound JSON"
    yield "no object", raw(b"[1, 2]"), "not that of a stretchy model"
    yield "empty header", raw(b""), "not sound JSON"
    yield "other format", with_header(good, format="other"), "not that of a stretchy model"
    yield "too large", raw(b" " * (1 << 21)), "its header has 2097152 bytes"
    yield "deep", raw(b"[" * 500_000), "not sound JSON"
    yield "deep objects", raw(b'{"a":' * 100_000), "not sound JSON"
    yield "many lists", raw(b"[" + b"[]," * 340_000 + b"[]]"), "not that of a stretchy model"
    yield "long number", raw(b'{"a": ' + b"9" * 900_000 + b"}"), "not sound JSON"
    yield "nan", raw(b'{"a": NaN}'), "NaN is no JSON number"
    yield "field twice", raw(b'{"a": 1, "a": 2}'), "a field occurs twice"
    yield "no schema", with_header(good, schema=None), "schema version None"
    yield "schema text", with_header(good, schema="1"), "schema version 1 is not"
    yield "schema true", with_header(good, schema=True), "schema version True"
    yield "schema zero", with_header(good, schema=0), "schema version 0"
    for name in NEEDED:
        assert name in header
        yield f"{name} odd", with_header(good, **{name: "odd"}), None
        yield f"{name} list", with_header(good, **{name: [[[]]]}), None
        yield f"{name} object", with_header(good, **{name: {"$tuple": 3}}), None
    yield "names", with_header(good, feature_names=["x"]), "1 names for 9 features"
    yield "names numbers", with_header(good, feature_names=[1] * 9), "list 'feature_names'"
    yield "class", with_header(good, **{"class": "os.system"}), "its class 'os.system'"
    yield "parameter", with_header(good, parameters={"evil": 1}), "'evil' is not one of"
    yield "value", with_header(good, parameters={"k": {"$eval": "1"}}), "unknown kind of value"
    long_type = {"$numpy": ["<U999999999", "a"]}
    yield "type", with_header(good, parameters={"k": long_type}), "unknown type"
    yield "about", with_header(good, about=["target"]), "field 'about': it must be a dict"
    yield "about deep", with_header(good, about={"a": {"b": 1}}), "'a' is neither a string nor"
    yield "about long", with_header(good, about={"a": "x" * 20_000}), "'a' has 20000 characters"
    yield "about many", with_header(good, about={str(i): 1 for i in range(99)}), "99 entries"
    yield "about huge", with_header(good, about={"a": 10**300}), "too large a number"
    yield "notes", with_header(good, notes="x"), "field 'notes'"
    yield "notes numbers", with_header(good, notes=[1]), "list 'notes'"
    yield "versions", with_header(good, versions=["1"]), "field 'versions'"
    yield "version", with_header(good, versions={"numpy": {"a": 1}}), "sound version of 'numpy'"
    yield "task", with_header(good, task="\x1b[2Jclassification"), "task is not that of a Stretchy"
    yield "solvers", with_header(good, solvers=["\x1b[2J"]), "that no model has"
    yield "infinite", raw(b'{"a": 1e999}'), "1e999 is no JSON number"
    many = [{"$numpy": ["<U999999", "a"]}] * 500
    yield "text bomb", with_header(good, parameters={"solver": many}), "not of the type <U999999"
    yield "spec", with_header(good, spec=[0.5, 1.0, "free", "auto"]), "that no model has"
    yield "spec two", with_header(good, spec=[1.5, 1.0, "no", "auto"]), "not a valid Intercept"


def arrays(good):
    """Files with arrays that are wrong."""
    line, D = np.ones(9), 9
    spoilt = np.ones((1, D))
    spoilt[0, 2] = np.nan
    zeros = np.zeros(D)
    objects = npy(np.array([1, "a"], dtype=object), allow_pickle=True)
    yield "nan in coef", with_array(good, "coef", spoilt), "'coef' has entries that are not fin"
    yield "inf in mean", with_array(good, "mean", line * np.inf), "'mean' has entries"
    yield (
        "zero scale",
        with_array(good, "scale", zeros),
        "'scale' has entries that are not pos",
    )
    yield "shape", with_array(good, "coef", np.ones((1, 7))), "'coef' is float64 of shape"
    yield "dimensions", with_array(good, "coef", np.ones((1, 1, D))), "'coef' is float64"
    yield "wrong type", with_array(good, "coef", np.ones((1, D), "i8")), "'coef' is int64"
    yield "narrow", with_array(good, "coef", np.ones((1, D), "f4")), "'coef' is float32"
    yield "no samples", with_array(good, "used", np.zeros(36, bool)), "on 0 samples"
    yield "no targets", with_array(good, "level", np.ones(0)), "not fit the others"
    yield "targets", with_array(good, "level", np.ones(3)), None
    yield "more names", with_array(good, "unheard", line), "'unheard' of no known use"
    yield "objects", with_array(good, "mean", line, objects), "its array 'mean' holds pickled"
    yield "object dtype", with_array(good, "mean", line, dtype="|O"), r"a dtype '\|O'"
    yield "long text", with_array(good, "mean", line, dtype="<U99999999"), "a dtype"
    yield "structured", with_array(good, "mean", line, dtype="<f8,<f8"), "a dtype"
    yield "negative", with_array(good, "mean", line, shape=[-9]), "a shape"
    yield "float shape", with_array(good, "mean", line, shape=[9.0]), "a shape"
    yield "many axes", with_array(good, "mean", line, shape=[1] * 40), "a shape"
    yield "header shape", with_array(good, "mean", line, shape=[HUGE]), "header says <f8"
    yield "checksum", with_array(good, "mean", line, sha256="0" * 64), "checksum of its array"
    yield "no checksum", with_array(good, "mean", line, sha256=None), "has no checksum"
    bits = npy(np.zeros(D, bool))[:-D] + b"\x02" * D
    yield "bool", with_array(good, "constant", np.zeros(D, bool), bits), "neither true nor false"
    yield from raw_arrays(good, line)


def raw_arrays(good, line):
    """Files with arrays whose own header is wrong."""
    data = line.tobytes()

    def raw(content, **entry):
        return with_array(good, "mean", line, content, **entry)

    both = {"shape": [HUGE]}
    yield "npy shape", raw(npy_header(shape=f"({HUGE},)") + data), "header says <f8 of shape"
    yield "both shapes", raw(npy_header(shape=f"({HUGE},)") + data, **both), "not the size"
    yield "npy objects", raw(npy_header("|O") + data), "pickled objects"
    yield "npy fortran", raw(npy_header(order="True") + data), "header says"
    yield "npy code", raw(npy_header(shape="__import__('os')") + data), "cannot be read"
    yield "npy parens", raw(npy_header(shape="(" * 3000) + data), "cannot be read"
    yield "npy long", raw(npy_header(shape="(9,)" + " " * 20000) + data), "cannot be read"
    yield "npy version", raw(b"\x93NUMPY\x09\x00" + data), "cannot be read|npy version"
    yield "no npy", raw(b"hello"), "cannot be read"
    yield "nothing", raw(b""), "cannot be read"
    yield "cut", raw(npy_header() + data[:-8]), "not the size"
    yield "longer", raw(npy_header() + data + b"12345678"), "not the size"
    out = io.BytesIO()
    np.savez(out, line)
    yield "npz", out.getvalue(), "which no model file has|'header.json' is missing"

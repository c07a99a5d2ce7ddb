"""Files of spectrometers become one table, or a refusal that names the file and the way out."""

import re
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skstretch.datasets import instruments, read_spectra
from tests.datasets.instruments import jcamp, opus, spc

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "preprocessing.md"
X = np.linspace(4000.0, 1000.0, 61)


def needs(name):
    return pytest.importorskip(
        name, reason=f"reading needs {name}: pip install 'skstretch[spectra]' lifts this"
    )


def numbers(kind, size, seed=0):
    """Whole numbers of all signs, with runs of equal ones, or that change little."""
    rng = np.random.default_rng(seed)
    drawn = {
        "wild": rng.integers(-30_000, 30_000, size),
        "runs": np.repeat(rng.integers(-5, 5, size), 3)[:size] * 100,
        "calm": np.cumsum(rng.integers(-2, 3, size)),
        "small": rng.integers(0, 10, size),
    }[kind]
    return [int(value) for value in drawn]


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# JCAMP-DX


@pytest.mark.parametrize("form", ["AFFN", "PAC", "SQZ", "DIF", "DIFDUP"])
@pytest.mark.parametrize("kind", ["wild", "runs", "calm"])
@pytest.mark.parametrize("axis", [X, X[::-1], np.linspace(1100.5, 2498.5, 50)])
def test_jcamp_in_every_form(form, kind, axis, tmp_path):
    needs("jcamp")
    values = numbers(kind, len(axis))
    found = read_spectra(written(tmp_path / "a.jdx", jcamp(axis, values, form)))
    order = np.argsort(axis)
    assert_allclose(found.wavelengths, axis[order], rtol=1e-14)
    assert_allclose(found.data, [0.001 * np.array(values)[order]], rtol=1e-14)
    assert (found.x_units, found.y_units, found.names) == ("1/cm", "absorbance", ["a.jdx"])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_jcamp_of_other_systems(end, tmp_path):
    """Lines end as on Unix, Windows or an old Mac; DOS closes a text with one more character."""
    needs("jcamp")
    values = numbers("wild", len(X))
    text = jcamp(X, values).replace("\n", end) + "\x1a"
    found = read_spectra(written(tmp_path / "a.dx", text))
    assert_allclose(found.data, [0.001 * np.array(values)[::-1]], rtol=1e-14)


@pytest.mark.parametrize("form", ["SQZ", "SQZDUP", "DIF", "DIFDUP"])
def test_what_the_package_misreads_is_refused(form, tmp_path):
    """Some tables that follow the standard are beyond jcamp; none may give other numbers."""
    needs("jcamp")
    refused = 0
    for seed in range(60):
        values = numbers(("wild", "runs", "calm", "small")[seed % 4], 30, seed)
        path = written(tmp_path / "a.dx", jcamp(np.arange(30.0), values, form))
        try:
            found = read_spectra(path)
        except ValueError:
            refused += 1
        else:
            assert_allclose(found.data, [0.001 * np.array(values)], rtol=1e-14, atol=1e-15)
    assert refused < 60
    assert (refused > 20) == (form == "SQZDUP")


def test_a_cut_file_is_refused(tmp_path):
    needs("jcamp")
    text = jcamp(X, numbers("wild", len(X))).splitlines()
    path = written(tmp_path / "cut.jdx", "\n".join([*text[:-3], "##END="]))
    with pytest.raises(ValueError, match=r"cut\.jdx .* it has \d+ values for 61 points"):
        read_spectra(path)
    # cut within the last number, every value is there, and the last is wrong
    whole = "\n".join(text[:-1])
    assert whole[-2:].isdigit()
    for end in ("", "\n##EN"):
        path = written(tmp_path / "cut.jdx", whole[:-1] + end)
        with pytest.raises(ValueError, match=r"cut\.jdx .* ##END= is missing|not enough values"):
            read_spectra(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("##NPOINTS=900000000000", "claims 900,000,000,000 points"),
        ("##NPOINTS=nan", "##NPOINTS=nan is no such number"),
        ("##NPOINTS=-5", "claims -5 points"),
        ("##YFACTOR=1e400", "##YFACTOR=1e400 is no such number"),
        ("##YFACTOR=0", "##YFACTOR=0 is no such number"),
        ("##XFACTOR=none", "##XFACTOR=none is no such number"),
    ],
)
def test_what_a_header_claims_is_checked_before_memory_is_taken(line, message, tmp_path):
    needs("jcamp")
    text = jcamp(X, numbers("wild", len(X)))
    key = line.partition("=")[0]
    changed = re.sub(rf"{key}=.*", line, text)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message):
            read_spectra(written(tmp_path / "a.dx", changed))
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def test_repetitions_of_a_forged_file_take_no_memory(tmp_path):
    needs("jcamp")
    text = jcamp(X, numbers("runs", len(X)), "DIFDUP").replace("##END=", "3000@Z99999999\n##END=")
    with pytest.raises(ValueError, match="claims to repeat"):
        read_spectra(written(tmp_path / "a.dx", text))


def test_points_of_a_forged_spc_file_take_no_memory(tmp_path):
    needs("spc_io")
    data = bytearray(spc(X, np.ones((1, len(X)))))
    data[4:8] = b"\xff\xff\xff\xff"
    with pytest.raises(ValueError, match="claims 4,294,967,295 points"):
        read_spectra(written(tmp_path / "a.spc", bytes(data)))


@pytest.mark.parametrize("kind", ["jcamp", "spc_io", "brukeropus"])
def test_nothing_of_a_package_is_printed(kind, tmp_path, capsys, monkeypatch):
    needs(kind)
    reader = {"jcamp": "_jcamp", "spc_io": "_spc", "brukeropus": "_opus"}[kind]

    def loud(path, block):
        print("hello from a package")
        yield from ()

    monkeypatch.setattr(instruments, reader, loud)
    heads = {"jcamp": b"##TITLE=a", "spc_io": b"\0\x4b", "brukeropus": b"\n\n\xfe\xfe"}
    with pytest.raises(ValueError, match="no spectrum"):
        read_spectra(written(tmp_path / "a", heads[kind]))
    assert capsys.readouterr().out == ""


def test_a_changed_digit_of_a_checked_form_is_refused(tmp_path):
    needs("jcamp")
    head, table, tail = jcamp(X, numbers("calm", len(X)), "DIF").partition("(X++(Y..Y))\n")
    lines = tail.splitlines()
    lines[2] = lines[2][:-1] + ("K" if lines[2][-1] != "K" else "L")
    path = written(tmp_path / "a.jdx", head + table + "\n".join(lines))
    with pytest.raises(ValueError, match="checked value"):
        read_spectra(path)


def test_compound_files_give_a_row_for_each_block(tmp_path):
    needs("jcamp")
    values = [numbers("wild", len(X), seed) for seed in (1, 2)]
    blocks = "".join(jcamp(X, row) for row in values)
    text = f"##TITLE=all\n##JCAMP-DX=4.24\n##DATA TYPE=LINK\n##BLOCKS=3\n{blocks}##END=\n"
    found = read_spectra(written(tmp_path / "both.jdx", text))
    assert found.names == ["both.jdx#1", "both.jdx#2"]
    assert_allclose(found.data, 0.001 * np.array(values)[:, ::-1], rtol=1e-14)


def test_a_peak_table_is_no_spectrum(tmp_path):
    needs("jcamp")
    text = "##TITLE=ms\n##NPOINTS=2\n##PEAK TABLE=(XY..XY)\n31,100 45,60\n##END=\n"
    with pytest.raises(ValueError, match="it holds no spectrum over an axis"):
        read_spectra(written(tmp_path / "ms.jdx", text))


# SPC


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("rows", [1, 3])
def test_spc_of_floats(even, rows, tmp_path):
    needs("spc_io")
    axis = X if even else np.cumsum(np.linspace(1.0, 2.0, 61)).astype(np.float32)
    Y = np.random.default_rng(0).standard_normal((rows, 61)).astype(np.float32)
    found = read_spectra(written(tmp_path / "a.spc", spc(axis, Y, even=even)))
    order = np.argsort(axis)
    assert_allclose(found.wavelengths, axis[order], rtol=1e-14)
    assert_array_equal(found.data, Y[:, order])
    assert len(found.names) == rows
    assert (found.x_units, found.y_units) == ("1/cm", "absorbance")


@pytest.mark.parametrize(("bits", "exponent"), [(16, 4), (32, 4), (32, -3), (32, 0)])
@pytest.mark.parametrize("rows", [1, 2])
def test_spc_of_integers(bits, exponent, rows, tmp_path):
    needs("spc_io")
    Y = 2.0 ** (exponent - 2) * np.random.default_rng(0).uniform(-1, 1, (rows, 61))
    found = read_spectra(written(tmp_path / "a.spc", spc(X, Y, exponent=exponent, bits=bits)))
    assert np.abs(found.data - Y[:, ::-1]).max() <= 0.5 * 2.0 ** (exponent - bits)


def test_the_exponent_of_a_single_spectrum_stands_in_its_main_header(tmp_path):
    needs("spc_io")
    y = np.random.default_rng(0).uniform(-1, 1, (1, 61))
    content = spc(X, y, exponent=4, sub_exponent=0)
    found = read_spectra(written(tmp_path / "a.spc", content))
    assert_allclose(found.data, y[:, ::-1], atol=2.0**-28)


def test_old_and_cut_spc_files_are_refused(tmp_path):
    needs("spc_io")
    content = spc(X, np.ones((1, 61)))
    old = content[:1] + b"\x4d" + content[2:]
    for name, damaged in (("old.spc", old), ("cut.spc", content[:-5]), ("head.spc", content[:99])):
        with pytest.raises(ValueError, match=rf"{name} cannot be read as a SPC file: .*Save it"):
            read_spectra(written(tmp_path / name, damaged))


# Bruker OPUS


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_opus_takes_the_result(scale, tmp_path):
    needs("brukeropus")
    Y = np.random.default_rng(0).standard_normal((3, 61)).astype(np.float32)
    content = opus(X, {"sm": Y[0], "a": Y[1], "igsm": Y[2]}, scale=scale)
    path = written(tmp_path / "leaf.0", content)
    found = read_spectra(path)
    assert_allclose(found.wavelengths, X[::-1], rtol=1e-14)
    assert_array_equal(found.data, Y[1:2, ::-1])
    assert (found.x_units, found.y_units, found.names) == ("1/cm", "absorbance", ["leaf.0"])
    assert_array_equal(read_spectra(path, block="sm").data, Y[:1, ::-1])


def test_opus_with_two_results_or_none_asks_which(tmp_path):
    needs("brukeropus")
    y = np.ones(61)
    both = written(tmp_path / "both.0", opus(X, {"a": y, "t": y}))
    raw = written(tmp_path / "raw.0", opus(X, {"sm": y, "igsm": y}))
    for path in (both, raw):
        with pytest.raises(ValueError, match=r"\.0 has the blocks '.*name one of them, not bl"):
            read_spectra(path)
    assert read_spectra(both, block="t").y_units == "transmittance"
    with pytest.raises(ValueError, match="name one of them, not block='km'"):
        read_spectra(both, block="km")


def test_damaged_opus_files_are_refused(tmp_path):
    needs("brukeropus")
    content = opus(X, {"a": np.ones(61)})
    whole = opus(X, {"a": np.ones(61)}, form=2)
    for name, damaged in (("cut.0", content[:-40]), ("head.0", content[:20]), ("int.0", whole)):
        with pytest.raises(ValueError, match=rf"{name} cannot be read as a Bruker OPUS file"):
            read_spectra(written(tmp_path / name, damaged))


# All of them


def test_three_forms_of_one_spectrum_are_equal(tmp_path):
    for name in ("jcamp", "spc_io", "brukeropus"):
        needs(name)
    values = numbers("wild", len(X))
    y = 2.0**-10 * np.array(values)  # exact in float32, as in the text
    paths = [
        written(tmp_path / "a.dx", jcamp(X, values, "DIFDUP", factor=2.0**-10)),
        written(tmp_path / "b.SPC", spc(X[::-1], y[None, ::-1])),
        written(tmp_path / "c.1", opus(X, {"a": y})),
    ]
    found = read_spectra(paths)
    assert found.names == ["a.dx", "b.SPC", "c.1"]
    assert_array_equal(found.data, np.tile(y[::-1], (3, 1)))
    one = read_spectra(iter(map(str, paths[2:])))
    assert_array_equal(one.data, found.data[2:])
    assert found.feature_names[0] == "1000"


def test_axes_agree_to_a_thousandth_of_a_step(tmp_path):
    needs("jcamp")
    values = numbers("wild", len(X))
    first = written(tmp_path / "a.dx", jcamp(X, values))
    close = written(tmp_path / "b.dx", jcamp(X + 0.04, values))
    far = written(tmp_path / "c.dx", jcamp(X + 0.06, values))
    assert_array_equal(read_spectra([first, close]).wavelengths, read_spectra(first).wavelengths)
    with pytest.raises(ValueError, match=r"c\.dx has 61 points from 1000\.06 to 4000\.06 1/cm"):
        read_spectra([first, far])


def test_other_axes_and_units_are_refused_by_name(tmp_path):
    needs("jcamp")
    values = numbers("wild", len(X))
    first = written(tmp_path / "a.dx", jcamp(X, values))
    short = written(tmp_path / "b.dx", jcamp(X[:-1], values[:-1]))
    words = r"b\.dx has 60 points .* and a\.dx has 61 points .*one axis\. Interpolate first"
    with pytest.raises(ValueError, match=words):
        read_spectra([first, short])
    other = written(tmp_path / "c.dx", jcamp(X, values, units=("1/CM", "TRANSMITTANCE")))
    with pytest.raises(ValueError, match=r"c\.dx is transmittance over 1/cm, and a\.dx is absorb"):
        read_spectra([first, other])


def test_interpolation_as_the_error_says(tmp_path):
    """The way out that the message names works on axes that go down as well."""
    needs("jcamp")
    fine, coarse = np.linspace(2000.0, 1000.0, 101), np.linspace(1990.0, 1010.0, 50)
    axis = np.linspace(1020.0, 1980.0, 49)
    rows = []
    for name, x in (("a.dx", fine), ("b.dx", coarse)):
        line = [round(3 * value) for value in x]
        one = read_spectra(written(tmp_path / name, jcamp(x, line, factor=1.0)))
        rows.append(np.interp(axis, one.wavelengths, one.data[0]))
    assert_allclose(rows, np.tile(3 * axis, (2, 1)), atol=1.0)


def test_other_files_and_none_are_refused(tmp_path):
    path = written(tmp_path / "table.csv", "1100,1102\n0.3,0.4\n")
    with pytest.raises(ValueError, match=r"table\.csv starts with b'1100,110': that is neither"):
        read_spectra(path)
    with pytest.raises(ValueError, match="paths is empty"):
        read_spectra([])


@pytest.mark.parametrize(
    ("package", "content"),
    [
        ("jcamp", jcamp(X, [1] * 61)),
        ("spc_io", spc(X, np.ones((1, 61)))),
        ("brukeropus", opus(X, {"a": np.ones(61)})),
    ],
)
def test_a_missing_package_is_named_with_the_way_to_install_it(
    package, content, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"needs {package}: pip install 'skstretch\[spectra\]'"):
        read_spectra(written(tmp_path / "a.dat", content))


def test_the_guide_runs_on_files(tmp_path, monkeypatch, capsys):
    """Its example reads a folder of JCAMP-DX files and a table of the laboratory."""
    needs("jcamp")
    pytest.importorskip("pandas", reason="the example reads a CSV with pandas: pip install pandas")
    code = re.search(r"^```py\n(.*?)^```", GUIDE.read_text("utf-8"), re.M | re.S)[1]
    rng = np.random.default_rng(0)
    axis = np.linspace(2500.0, 1100.0, 141)
    moisture = rng.uniform(8, 12, 24)
    band = np.exp(-(((axis - 1940) / 60) ** 2))
    (tmp_path / "run7").mkdir()
    lines = ["file,moisture"]
    for number, share in enumerate(moisture):
        values = np.rint(1e5 * (0.1 * share * band + 0.2 + 1e-3 * rng.standard_normal(141)))
        text = jcamp(axis, [int(value) for value in values], "DIFDUP", 1e-5)
        text = text.replace("1/CM", "NANOMETERS")
        written(tmp_path / "run7" / f"{number:02}.dx", text)
        lines.append(f"{number:02}.dx,{share}")
    (tmp_path / "laboratory.csv").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(GUIDE), "exec"), {})
    assert "24" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} >= {"moisture.stretchy", "run7.csv"}

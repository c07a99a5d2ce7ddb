"""Excel workbooks: the same features and target as a CSV, the same checks, and forged files."""

import datetime
import gzip
import io
import re
import zipfile

import numpy as np
import pytest

from skstretch.cli.columns import check_features, missing_counts
from skstretch.cli.data.files import Form, kind_of
from skstretch.exceptions import DataError
from tests.cli.data.test_formats import read, same
from tests.cli.samples import NAMES, diabetes, floats, read_csv, write_csv

openpyxl = pytest.importorskip("openpyxl", reason="reads and writes the files")


def write(path, rows, title="Sheet", **more):
    """A workbook of one sheet of rows, and of further sheets by name."""
    book = openpyxl.Workbook()
    book.active.title = title
    for name, lines in {title: rows, **more}.items():
        sheet = book[name] if name in book.sheetnames else book.create_sheet(name)
        for line in lines:
            sheet.append(list(line))
    book.save(path)
    return path


@pytest.fixture
def data(tmp_path):
    X, y = diabetes(40)
    rows = [[*NAMES, "y"], *([*row, value] for row, value in zip(X.tolist(), y, strict=True))]
    return tmp_path, X, y, write(tmp_path / "d.xlsx", rows)


def test_a_sheet_is_read_as_its_csv(data):
    folder, X, y, path = data
    same(read(path), X, y)
    plain = read(write_csv(folder / "d.csv", X, {"y": y.tolist()}, names=NAMES))
    np.testing.assert_array_equal(read(path).X, plain.X)


def test_every_number_is_read_as_it_was_written(tmp_path):
    values = [0.1, 1e-300, -1.7976931348623157e308, 2**53 + 1.0, 5e-324, 1 / 3, -0.0, 12.0]
    path = write(tmp_path / "n.xlsx", [["a", "y"], *([1000 + i, 1] for i in range(len(values)))])
    for i, value in enumerate(values):  # openpyxl writes 16 digits, Excel writes 17
        edited(path, SHEET, lambda t, i=i, v=value: t.replace(b">%d<" % (1000 + i), b">%r<" % v))
    np.testing.assert_array_equal(read(path).X[:, 0], values)


def test_other_ways_in(data, tmp_path):
    """Packed, as .xlsm, and under a name that says something else."""
    folder, X, y, path = data
    (folder / "d.xlsx.gz").write_bytes(gzip.compress(path.read_bytes()))
    for name in ("d.xlsm", "d.csv", "d"):
        (folder / name).write_bytes(path.read_bytes())
        same(read(folder / name), X, y)
    same(read(folder / "d.xlsx.gz"), X, y)
    with np.load(saved(folder / "x.npz", X)) as held:
        assert kind_of("x.xlsx", (folder / "x.npz").read_bytes()) == "npz"
        np.testing.assert_array_equal(held["X"], X)


def saved(path, X):
    np.savez_compressed(path, X=X)
    return path


SHEETS = {"A": [["a", "y"], [1, 2], [3, 4]], "B": [["a", "y"], [5, 6]], "3": [["a", "y"], [7, 8]]}


def sheets(path, hidden=()):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in SHEETS.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
        sheet.sheet_state = "hidden" if name in hidden else "visible"
    book.save(path)
    return path


@pytest.mark.parametrize(
    ("asked", "value"), [(None, 1), ("A", 1), ("2", 5), ("B", 5), ("3", 7), ("1", 1)]
)
def test_sheets(asked, value, tmp_path):
    """By name before by number: '3' is a name here, and the third one too."""
    table = read(sheets(tmp_path / "s.xlsx"), form=Form(sheet=asked))
    assert table.X[0, 0] == value
    note = ["the sheet 'A' is read, the first of 3; --sheet takes another."]
    assert table.notes == (note if asked is None else [])


def test_hidden_sheets(tmp_path):
    """They are not counted, and are read where they are named."""
    path = sheets(tmp_path / "s.xlsx", hidden=["A"])
    assert read(path).X[0, 0] == 5
    assert read(path).notes == ["the sheet 'B' is read, the first of 2; --sheet takes another."]
    assert read(path, form=Form(sheet="1")).X[0, 0] == 5
    assert read(path, form=Form(sheet="A")).X[0, 0] == 1


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("4", "has no sheet '4'; its sheets are 'A', 'B', '3'."),
        ("0", "has no sheet '0'"),
        ("9" * 5000, "has no sheet"),
        ("²", "has no sheet '²'"),
        ("", "has no sheet ''"),
    ],
)
def test_sheets_that_are_none(asked, words, tmp_path):
    with pytest.raises(DataError, match=re.escape(words)):
        read(sheets(tmp_path / "s.xlsx"), form=Form(sheet=asked))


def test_a_sheet_of_another_format(tmp_path):
    (tmp_path / "d.csv").write_text("a,y\n1,2\n")
    with pytest.raises(DataError, match=r"--sheet is for Excel workbooks, and .* is read as csv"):
        read(tmp_path / "d.csv", form=Form(sheet="1"))


def test_text_where_numbers_belong(tmp_path):
    """As in a CSV: words, 1_000, dates and errors are text, with the row of the sheet."""
    day = datetime.datetime(2024, 3, 1)
    rows = [
        ["a", "b", "c", "d", "y"],
        [1, 1, 1, 1, 1],
        ["1_000", day, "#DIV/0!", datetime.time(8, 30), 2],
        [" 7 ", day.replace(hour=9), "x", 1, 3],
    ]
    table = read(write(tmp_path / "t.xlsx", rows))
    assert {name: (stray.place, stray.count) for name, stray in table.stray.items()} == {
        "a": ("'1_000' in row 3", 1),
        "b": ("'2024-03-01' in row 3", 2),
        "c": ("'#DIV/0!' in row 3", 2),
        "d": ("'08:30:00' in row 3", 1),
    }
    np.testing.assert_array_equal(table.X[:, 0], [1, np.nan, 7])
    with pytest.raises(DataError, match=r"column 'a' holds text in 1 of 3 rows \('1_000' in row 3"):
        check_features(table)


def test_gaps(tmp_path):
    """Empty fields, and the words that stand for them in a CSV, #N/A among them."""
    rows = [["a", "b", "y"], [1, None, 1], ["NA", 2, 2], ["#N/A", "  ", 3], [None, None, 4]]
    table = read(write(tmp_path / "g.xlsx", rows))
    assert not table.stray
    assert missing_counts(table)[0] == {"a": 3, "b": 3}


def test_true_and_false(tmp_path):
    rows = [["a", "b", "y"], [True, 1, True], [False, True, False]]
    table = read(write(tmp_path / "b.xlsx", rows))
    np.testing.assert_array_equal(table.X[:, 0], [1, 0])
    assert table.aside["target"] == ["TRUE", "FALSE"]
    assert table.stray["b"].place == "'TRUE' in row 3"


def test_names_that_occur_twice(tmp_path):
    with pytest.raises(DataError, match=r"the name 'a' occurs 2 times \(columns 1, 2\)"):
        read(write(tmp_path / "n.xlsx", [["a", "a ", "y"], [1, 2, 3]]))


def test_wavelengths_are_names(tmp_path):
    table = read(write(tmp_path / "n.xlsx", [[1100, 1100.5, "y"], [1, 2, 3], [2, 3, 4]]))
    assert table.names == ["1100", "1100.5"]


def test_decimal_commas_in_text(tmp_path):
    """Numbers stay numbers where --decimal , reads the text beside them."""
    path = write(tmp_path / "c.xlsx", [["a", "y"], ["1,5", 2.5], [2.25, 3], [4, 5.125]])
    with pytest.raises(DataError, match="If the comma is a decimal mark, pass --decimal ,"):
        check_features(read(path))
    table = read(path, form=Form(decimal=","))
    assert not table.stray
    np.testing.assert_array_equal(table.X[:, 0], [1.5, 2.25, 4])
    assert table.aside["target"] == ["2.5", "3", "5.125"]


def test_a_table_somewhere_on_the_sheet(tmp_path):
    """Blank rows and columns before it, titles that are skipped, formats behind it."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet["A1"] = "Trial 7"
    for row, line in enumerate([["a", "b", "y"], [1, 2, 3], [None] * 3, [4, 5, 6]], 4):
        for column, value in enumerate(line, 3):
            sheet.cell(row, column, value)
    sheet["J9"].number_format = "0.00"
    book.save(tmp_path / "o.xlsx")
    table = read(tmp_path / "o.xlsx", form=Form(skip_rows=1))
    assert table.names == ["a", "b"]
    np.testing.assert_array_equal(table.X, [[1, 2], [4, 5]])
    with pytest.raises(DataError, match="there is no column 'y'"):
        read(tmp_path / "o.xlsx")
    sheet["B7"] = "remark"
    book.save(tmp_path / "o.xlsx")
    with pytest.raises(DataError, match=r"B7 of .* holds 'remark', beside the columns of the tab"):
        read(tmp_path / "o.xlsx", form=Form(skip_rows=1))
    sheet["B7"], sheet["H7"] = None, 5
    book.save(tmp_path / "o.xlsx")
    with pytest.raises(DataError, match=r"H7 of .* holds '5', beside the columns of the table"):
        read(tmp_path / "o.xlsx", form=Form(skip_rows=1))


def test_columns_without_a_name_keep_their_place(tmp_path):
    """Of a sheet the place is known: a short header is not R's."""
    table = read(write(tmp_path / "r.xlsx", [["a", "y"], [1, 2, 3], [4, 5, 6]]))
    assert table.names == ["a", "column 3"]
    rows = [[None, "a", "b", "y"], ["r1", 1, 2, 3], ["r2", 4, 5, 6]]
    notes = []
    assert read(write(tmp_path / "r.xlsx", rows), notes=notes).names == ["a", "b"]
    assert notes == ["left out the unnamed column 1, which labels the rows; --keep-index takes it."]


def test_merged_fields(tmp_path):
    """The first one has the value, the others are gaps, as in a CSV that Excel writes."""
    book = openpyxl.Workbook()
    for row in [["a", "b", "y"], [1, 2, 3], [4, 5, 6]]:
        book.active.append(row)
    book.active.merge_cells("A2:A3")
    book.save(tmp_path / "m.xlsx")
    assert missing_counts(read(tmp_path / "m.xlsx"))[0] == {"a": 1}


def test_hidden_rows_and_columns_are_read(tmp_path):
    book = openpyxl.Workbook()
    for row in [["a", "b", "y"], [1, 2, 3], [4, 5, 6]]:
        book.active.append(row)
    book.active.row_dimensions[2].hidden = True
    book.active.column_dimensions["B"].hidden = True
    book.save(tmp_path / "h.xlsx")
    np.testing.assert_array_equal(read(tmp_path / "h.xlsx").X, [[1, 2], [4, 5]])


def test_without_header_and_comments(tmp_path):
    rows = [["# instrument 7"], [1, 2, 3], [" # pause", 1], [4, 5, 6]]
    path = write(tmp_path / "c.xlsx", rows)
    table = read(path, "column 3", Form(no_header=True, comment="#"))
    np.testing.assert_array_equal(table.X, [[1, 2], [4, 5]])


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "the sheet 'Sheet' of .* is empty"),
        ([[None, " "]], "is empty"),
        ([["a", "y"]], "the sheet 'Sheet' of .* has a header and no rows"),
    ],
)
def test_sheets_without_data(rows, words, tmp_path):
    with pytest.raises(DataError, match=words):
        read(write(tmp_path / "e.xlsx", rows))


def test_a_workbook_of_charts_alone(tmp_path):
    from openpyxl.chart import BarChart

    book = openpyxl.Workbook()
    book.create_chartsheet("chart").add_chart(BarChart())
    book.active.sheet_state = "hidden"
    book.save(tmp_path / "c.xlsx")
    with pytest.raises(DataError, match="has no sheet that is shown"):
        read(tmp_path / "c.xlsx")


# Formulas.


def edited(path, part, change):
    """The same workbook with one part changed: bytes in, bytes out."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[part] = change(parts[part])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


SHEET = "xl/worksheets/sheet1.xml"


def formulas(path):
    return write(path, [["a", "b", "y"], [1, "=A2*2", 3], [2, "=A3*2", 5], [3, 9, 7]])


def test_values_of_formulas(tmp_path):
    path = edited(
        formulas(tmp_path / "f.xlsx"),
        SHEET,
        lambda text: re.sub(rb"<v ?/>|<v></v>", b"<v>8</v>", text),
    )
    np.testing.assert_array_equal(read(path).X[:, 1], [8, 8, 9])


def test_a_formula_without_a_value_is_no_gap(tmp_path):
    path = formulas(tmp_path / "f.xlsx")
    with pytest.raises(DataError) as error:
        read(path)
    assert str(error.value) == (
        "B2 of the sheet 'Sheet' has a formula without a value: open the workbook in a spreadsheet "
        "program, save it there, and read it again."
    )
    assert read(path, drop=["b"]).names == ["a"]


# A workbook as Excel writes it: texts in a part of their own.

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
PARTS = {
    "[Content_Types].xml": f"""<Types xmlns="{PACKAGE}/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/xl/workbook.xml" ContentType="{TYPE}.sheet.main+xml"/>
<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{TYPE}.worksheet+xml"/>
<Override PartName="/xl/sharedStrings.xml" ContentType="{TYPE}.sharedStrings+xml"/></Types>""",
    "_rels/.rels": f"""<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1"
Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>""",
    "xl/workbook.xml": f"""<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>
<sheet name="Mine" sheetId="1" r:id="rId1"/></sheets></workbook>""",
    "xl/_rels/workbook.xml.rels": f"""<Relationships xmlns="{PACKAGE}/relationships">
<Relationship Id="rId1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>
<Relationship Id="rId2" Type="{OFFICE}/sharedStrings" Target="sharedStrings.xml"/>
</Relationships>""",
    SHEET: f"""<worksheet xmlns="{MAIN}"><sheetData>
<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c>
<c r="C1" t="s"><v>2</v></c></row>
<row r="2"><c r="A2"><v>1.1000000000000001</v></c><c r="B2"><f>A2*2</f><v>2.2000000000000002</v></c>
<c r="C2" t="s"><v>3</v></c></row>
<row r="4"><c r="A4" t="e"><v>#N/A</v></c><c r="B4"><v>1E-3</v></c>
<c r="C4" t="s"><v>2</v></c></row>
</sheetData></worksheet>""",
    "xl/sharedStrings.xml": f"""<sst xmlns="{MAIN}" count="4" uniqueCount="4"><si><t>a</t></si>
<si><r><t>b</t></r><r><t>old</t></r></si><si><t>y</t></si><si><t>n\u00e9</t></si></sst>""",
}


def by_hand(path, **changes):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**PARTS, **changes}.items():
            archive.writestr(name, content)
    return path


def test_texts_in_a_part_of_their_own(tmp_path):
    table = read(by_hand(tmp_path / "e.xlsx"))
    assert table.names == ["a", "bold"]
    np.testing.assert_array_equal(table.X, [[1.1, 2.2], [np.nan, 0.001]])
    assert table.aside["target"] == ["né", "y"]


def test_a_text_that_is_none(tmp_path):
    forged = PARTS[SHEET].replace("<v>3</v>", "<v>999</v>")
    with pytest.raises(DataError, match="is not a sound Excel workbook: list index out of range"):
        read(by_hand(tmp_path / "e.xlsx", **{SHEET: forged}))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('<row r="4"', '<row r="2"'),
        ('<row r="4"', '<row r="1"'),
        ('<row r="1"', '<row r="0"'),
        ('r="B4"', 'r="A4"'),
        ('r="A4"', 'r="XA4"'),
        ('r="B4"', 'r="B9"'),
        ('r="B4"', 'r="B"'),
    ],
)
def test_rows_and_fields_out_of_order(old, new, tmp_path):
    """None is left out without a word."""
    forged = PARTS[SHEET].replace(old, new)
    assert forged != PARTS[SHEET]
    with pytest.raises(DataError, match="is not a sound Excel workbook: "):
        read(by_hand(tmp_path / "e.xlsx", **{SHEET: forged}))


def test_sheets_without_places(tmp_path):
    """Some programs write rows and fields without saying where they are."""
    close = PARTS[SHEET].replace('4"', '3"')
    for pattern in (r' r="[A-C]?\d"', r' r="\d"', r' r="[A-C]\d"'):
        table = read(by_hand(tmp_path / "e.xlsx", **{SHEET: re.sub(pattern, "", close)}))
        np.testing.assert_array_equal(table.X, [[1.1, 2.2], [np.nan, 0.001]])


def test_the_strict_form_is_named(tmp_path):
    """Another form that Excel can write, of which openpyxl sees no sheets."""
    strict = {
        name: text.replace(OFFICE, "http://purl.oclc.org/ooxml/officeDocument/relationships")
        .replace(MAIN, "http://purl.oclc.org/ooxml/spreadsheetml/main")
        for name, text in PARTS.items()
    }  # fmt: skip
    with pytest.raises(DataError, match="not Strict Open XML"):
        read(by_hand(tmp_path / "e.xlsx", **strict))


# Files that are not sound, or made to do harm.


def test_files_that_are_cut(data):
    _, _, _, path = data
    content = path.read_bytes()
    for size in (0, 4, 30, 500, len(content) // 2, len(content) - 10):
        path.write_bytes(content[:size])
        with pytest.raises(DataError, match=r"is not a sound Excel workbook|is empty"):
            read(path)


def test_bytes_that_were_changed(data):
    """Of 60 places, each ends in our words or in a table."""
    _, _, _, path = data
    content = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    refused = 0
    for place in rng.integers(4, len(content), 60):
        changed = bytearray(content)
        changed[place] ^= 0xFF
        path.write_bytes(changed)
        try:
            read(path)
        except DataError:
            refused += 1
    assert refused > 30


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.xlsx", b"a,y\n1,2\n", r"not a zip file\. If it is text, pass --format csv"),
        ("o.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel workbook, or one with a pas"),
        ("o.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "save it as .xlsx without one, or the shee"),
        ("o.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel workbook: save it as .xlsx"),
        ("o.xlsb", b"PK\3\4", "a binary Excel workbook: save it as .xlsx"),
        ("o.ods", b"PK\3\4", "an OpenDocument spreadsheet: save it as .xlsx, or the sheet as CSV"),
    ],
)
def test_files_that_are_something_else(name, content, words, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=words):
        read(tmp_path / name)


def test_an_opendocument_under_another_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "o.xlsx", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
    with pytest.raises(DataError, match="is an OpenDocument spreadsheet: save it"):
        read(tmp_path / "o.xlsx")


ENTITIES = b"""<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("part", [SHEET, "xl/workbook.xml", "xl/_rels/workbook.xml.rels"])
def test_entities(part, encoding, data):
    _, _, _, path = data

    def change(text):
        body = re.sub(rb"^<\?xml[^>]*\?>", b"", text).decode()
        head = f'<?xml version="1.0" encoding="{encoding}"?>' + ENTITIES.decode()
        return (head + " " * 70_000 + body).encode(encoding)

    with pytest.raises(DataError, match=f"{part!r} declares a document type, which no workbook"):
        read(edited(path, part, change))


def test_a_claim_of_rows_and_columns_is_no_matter(data):
    _, X, y, path = data
    claim = re.compile(rb'<dimension ref="[^"]*"')
    same(read(edited(path, SHEET, lambda t: claim.sub(b'<dimension ref="A1:XFD1048576"', t))), X, y)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.replace(b'r="K3"', b'r="XFD3"'), "XFD3 of .* holds"),
        (lambda t: t.replace(b'r="K3"', b'r="ZZZZZZ3"'), "is not a sound Excel workbook"),
        (
            lambda t: t.replace(b'<row r="41"', b'<row r="9999999999"').replace(
                b'41"', b'9999999999"'
            ),
            "has rows beyond 1,048,576",
        ),
        (lambda t: t.replace(b"<v>", b"<v>" + b"9" * 5000), "is not a sound Excel workbook"),
    ],
)
def test_forged_sheets(change, words, data):
    _, _, _, path = data
    with pytest.raises(DataError, match=words):
        read(edited(path, SHEET, change))


def test_a_part_that_claims_more_than_it_holds(data):
    _, _, _, path = data
    content = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = archive.getinfo(SHEET).file_size.to_bytes(4, "little")
    path.write_bytes(content.replace(size, (1 << 31).to_bytes(4, "little")))
    with pytest.raises(DataError, match="claims more bytes than can be packed in it"):
        read(path)


@pytest.mark.parametrize(
    ("part", "factor"), [(SHEET, 1), ("xl/sharedStrings.xml", 24), ("xl/junk.bin", 1)]
)
def test_packed_parts_are_counted_before_they_are_unpacked(part, factor, data):
    """Parts that become objects as a whole count for what these take."""
    _, _, _, path = data
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "xl/worksheets/sheet9.xml" if part == SHEET else f"x/{part}", bytes(9 << 20)
        )
    limit = factor * (9 << 20)
    with pytest.raises(DataError, match=r"its parts would take .* are allowed"):
        read(path, form=Form(max_memory=str(limit)))


def test_the_commands(folder, call):
    """From a workbook to predictions, which are those of the CSV."""
    X, y = diabetes(60)
    rows = [[*NAMES, "y"], *([*row, v] for row, v in zip(X.tolist(), y.tolist(), strict=True))]
    write(folder / "d.xlsx", [["nothing"]], title="About", Data=rows)
    write_csv(folder / "d.csv", X, {"y": y.tolist()}, names=NAMES)
    words = ("-t", "y", "--k", "2", "--a", "0", "--c", "0.1,1", "-q")
    asked = ("--sheet", "Data")
    assert call("fit", "d.xlsx", *asked, *words, "-o", "x.stretchy").code == 0
    assert call("fit", "d.csv", *words, "-o", "c.stretchy").code == 0
    found = read_csv(call("predict", "x.stretchy", "d.xlsx", *asked).out)
    wanted = read_csv(call("predict", "c.stretchy", "d.csv").out)
    np.testing.assert_array_equal(floats(found["prediction"]), floats(wanted["prediction"]))
    assert call("predict", "x.stretchy", "d.xlsx").code == 2


def test_without_openpyxl(folder, call, monkeypatch):
    write(folder / "d.xlsx", [["a", "y"], [1, 2]])
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    done = call("fit", "d.xlsx", "-t", "y", "-o", "m.stretchy")
    assert done.code == 2
    assert done.err == (
        "error: Excel workbooks need openpyxl: pip install 'skstretch[excel]', or save the sheet "
        "as CSV.\n"
    )

"""The gate of the house: what is counted, and what a count that is off its budget says."""

import ast

import pytest

from tools import house
from tools.house import Limit


def code_lines(tmp_path, text: str) -> int:
    path = tmp_path / "module.py"
    path.write_text(text)
    return house.code_lines(path)


def test_code_lines_are_neither_docstrings_nor_comments_nor_blank(tmp_path):
    text = (
        '"""One.\n\nTwo.\n"""\n\n# three\nx = """a\nb"""  # four\n\n\n'
        'def f():\n    "five"\n    return (\n        1\n    )\n'
    )
    assert code_lines(tmp_path, text) == 6  # x = (2), def, return ( 1 )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("A = 3", ["A"]),
        ("A: float = -1e-3", ["A"]),
        ("A, B = 1, 2", ["A", "B"]),
        ("A = tuple(10.0**e for e in range(3))", ["A"]),
        ("A = 4 * B", ["A"]),
        ("A = {'fine': 1e-3}", ["A"]),
        ("A = Tolerance(gap=1e-3)", ["A"]),
        ("class A:\n    b: float = 0.5\n    n = 0\n    s: float = 1.0", ["A.b"]),
        ("A = 'word'", []),
        ("A = True", []),
        ("A = B", []),
        ("A = Dataset('x', 3)", []),
        ("A = lambda x: x + 3", []),
        ("def f(n=3):\n    m = 4", []),
    ],
)
def test_numbers_with_a_name_are_constants(text, names):
    assert [*house.numeric_names(ast.parse(text).body)] == names


def test_marks_are_rooms_files_or_names():
    marks = {"speed": {"core/a.py:TILE": "cache"}, "surface": {"report": "page", "io/b.py": "file"}}
    constants = [
        "core/a.py:TILE", "core/a.py:TILES", "report/c.py:TOP", "reports.py:TOP", "io/b.py:MOST",
        f"{house.PLAN}:RATE", f"{house.THREADS}:ROWS",
    ]  # fmt: skip
    assert house.kinds_of(constants, marks) == {
        "plan": [f"{house.PLAN}:RATE"],
        "threads": [f"{house.THREADS}:ROWS"],
        "speed": ["core/a.py:TILE"],
        "surface": ["report/c.py:TOP", "io/b.py:MOST"],
        "stray": ["core/a.py:TILES", "reports.py:TOP"],
    }
    assert house.unused(marks, constants[1:]) == ["core/a.py:TILE"]


def faults(static: int, seen: int) -> tuple[list[str], list[str]]:
    limits = {"files": Limit(100, "a reason"), "calls of a search": Limit(1000, "a reason")}
    return house.faults({"files": static}, {"calls of a search": seen}, limits)


def test_counts_within_the_budget_are_silent():
    assert faults(100, 1000) == ([], [])
    assert faults(95, 1100) == ([], [])


def test_a_count_above_the_budget_says_how_to_go_on():
    wrong, _ = faults(101, 1000)
    assert len(wrong) == 1
    for words in ("101", "100", "Take something away", "house_budget.toml", "`why`"):
        assert words in wrong[0]
    assert len(faults(100, 1101)[0]) == 1


def test_a_budget_follows_down():
    wrong, hints = faults(94, 800)
    assert [text.split(":")[0] for text in (*wrong, *hints)] == ["files", "calls of a search"]
    assert "make house" in wrong[0]


def test_what_is_counted_and_what_is_budgeted_are_the_same():
    wrong, _ = house.faults({"files": 1}, {}, {"rooms": Limit(1, "a reason")})
    assert sorted(wrong) == [
        "files: counted, but not in the budget",
        "rooms: in the budget, but not counted",
    ]


def test_make_house_lowers_and_never_raises():
    text = (
        '"files" = { most = 20, why = "x" }\n'
        '"lines of core" = { most = 500, why = "x" }\n'
        '"lines of io" = { most = 100, why = "x" }\n'
        '"core/a.py:GONE" = "x"\n"core/a.py:HERE" = "x"\n'
    )
    found = house.lowered(
        text, {"files": 30, "lines of core": 300, "lines of io": 99}, ["core/a.py:GONE"]
    )
    assert found == (
        '"files" = { most = 20, why = "x" }\n"lines of core" = { most = 306, why = "x" }\n'
        '"lines of io" = { most = 100, why = "x" }\n"core/a.py:HERE" = "x"\n'
    )


def test_every_line_of_the_budget_has_a_reason():
    limits, marks = house.read_budget(house.BUDGET.read_text("utf-8"))
    assert limits
    assert marks.keys() == {"mathematics", "speed", "surface"}
    for text in ('[budget]\nfiles = { most = 1, why = " " }\n[constants]\n',
                 '[budget]\n[constants.speed]\n"core" = ""\n'):  # fmt: skip
        with pytest.raises(ValueError, match="every line has a reason"):
            house.read_budget(text)


def test_a_trace_is_drawn_as_a_tree_of_files():
    first = [
        (("estimators/a.py", "A.fit"), ("", "")),
        (("estimators/a.py", "A.check"), ("estimators/a.py", "A.fit")),
        (("solve/b.py", "solve"), ("estimators/a.py", "A.check")),
        (("core/c.py", "factor"), ("solve/b.py", "solve")),
        (("core/c.py", "scale"), ("core/c.py", "factor")),
        (("core/d.py", "tiny"), ("core/c.py", "scale")),
    ]
    trace = house.Trace(calls=6, first=first)
    assert trace.files == ["core/c.py", "core/d.py", "estimators/a.py", "solve/b.py"]
    assert house.drawing(trace, 2).splitlines() == [
        "estimators/a  A.fit",
        "  solve/b     solve",
        "    core/c    factor",
    ]


def test_a_watched_call_notes_functions_of_the_package_alone():
    from skstretch.core import k_measure

    trace = house.watch(lambda: (k_measure([1.0, 2.0], 1.5), sorted([2, 1])))
    assert trace.calls >= 1
    assert trace.first[0][0][1] == "k_measure"
    assert all((house.SOURCE / file).exists() for file in trace.files)


def test_modules_that_import_each_other_are_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}
    assert house.cycles(graph) == ["b", "c"]
    assert house.cycles({"a": {"b"}, "b": set()}) == []

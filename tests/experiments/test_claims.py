"""Verdicts of the rules on made-up tables, in both directions."""

import pytest

from stretchy.experiments.claims import CLAIMS, judge_all
from stretchy.experiments.series import series
from stretchy.experiments.verdicts import Verdict, by_share
from tests.experiments.made_up import KS, evidence, method, rows

YES, PARTLY, NO, NONE = (
    Verdict.REPRODUCED, Verdict.PARTLY, Verdict.NOT, Verdict.UNTESTABLE,
)  # fmt: skip
BY_NAME = {claim.name: claim for claim in CLAIMS}


def verdict(name, lines=(), curves=()):
    return BY_NAME[name].judge(evidence(lines, curves)).verdict


def methods(dataset, **levels):
    """Lines of methods by name; an underscore stands for the point of a density."""
    return [
        line
        for name, error in levels.items()
        for line in method(dataset, name.replace("_", "."), error)
    ]


def test_nothing_measured_is_not_testable():
    assert {finding.verdict for _, finding in judge_all(evidence())} == {NONE}


def test_names_are_unique():
    assert len(BY_NAME) == len(CLAIMS)


@pytest.mark.parametrize(
    ("held", "expected"),
    [([], NONE), ([True], YES), ([True, False], PARTLY), ([True, False, False], NO)],
)
def test_by_share(held, expected):
    assert by_share(held) is expected


@pytest.mark.parametrize(
    ("sr", "others", "one", "expected"),
    [
        (1.0, 1.05, 2.0, YES),
        (1.0, 1.05, 1.0, PARTLY),
        (1.0, 0.5, 1.0, NO),
        (1.0, 2.0, 2.0, NO),
    ],
)
def test_comparable_with_lasso_but_one(sr, others, one, expected):
    lines = methods(
        "prostate", SR1_0=sr, LASSO1=one, LASSO2=others, LASSO100=others, LASSOCV=others
    )
    assert verdict("Prostate: comparable MSE", lines) is expected
    assert verdict("Diabetes: comparable MSE", lines) is NONE


def test_methods_are_compared_on_the_same_trials():
    """SR errs less in the first trial, the only one that LASSOCV has."""
    lines = methods("prostate", LASSO1=9.0, LASSO2=1.5, LASSO100=1.5)
    for line in methods("prostate", SR1_0=0.0):
        lines.append({**line, "error": 1.0 if line["trial"] == 0 else 2.0})
    lines += [line for line in methods("prostate", LASSOCV=1.0) if line["trial"] == 0]
    assert verdict("Prostate: comparable MSE", lines) is YES


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([9.0, 1.05, 1.0, 1.0, 1.0], YES),
        ([1.0, 1.2, 1.0, 1.0, 1.0], PARTLY),
        ([1.0, 1.2, 1.2, 1.0, 1.0], NO),
    ],
)
def test_good_from_k_on(errors, expected):
    assert verdict("Regression: good for k ≥ 1.25", methods("corn", SR1_0=errors)) is expected


@pytest.mark.parametrize(("last", "expected"), [(0.21, YES), (0.25, PARTLY)])
def test_classification_counts_points(last, expected):
    lines = methods("arcene", SR1_0=[last, 0.2, 0.2, 0.2, 0.2])
    assert verdict("Classification: good for k ≥ 1.1", lines) is expected


@pytest.mark.parametrize(
    ("dense", "sparse", "lasso", "expected"),
    [(0.1, 0.4, 0.2, YES), (0.1, 0.1, 0.2, PARTLY), (0.3, 0.4, 0.2, NO)],
)
def test_better_than_lasso_but_the_sparsest(dense, sparse, lasso, expected):
    levels = dict.fromkeys(("SR1_0", "SR0_5", "SR0_1"), dense)
    lassos = dict.fromkeys(("LASSO1", "LASSO2", "LASSO100", "LASSOCV"), lasso)
    lines = methods("arcene", **levels, SR0_01=sparse, **lassos)
    assert verdict("Arcene: better than LASSO", lines) is expected


def test_a_mean_does_not_hide_a_better_setting():
    levels = dict.fromkeys(("SR1_0", "SR0_5", "SR0_1", "SR0_01", "LASSO1", "LASSO2"), 0.2)
    one_good = [0.5, 0.5, 0.5, 0.5, 0.1]
    lines = methods("dorothea", **{**levels, "SR0_01": 0.15}, LASSO100=one_good)
    assert verdict("Dorothea: SR0.01 best", lines) is PARTLY
    lines = methods("arcene", **{**levels, "SR0_01": 0.6}, LASSO100=one_good)
    assert verdict("Arcene: better than LASSO", lines) is NO


def test_the_other_reading_of_lasso_is_told():
    levels = dict.fromkeys(
        ("SR1_0", "SR0_5", "SR0_1", "SR0_01", "LASSO1", "LASSO2", "LASSO100"), 0.2
    )
    lines = methods("dexter", **levels) + rows(
        "dexter", "LASSO100", 0.123, mixing=1.0, piece="oracle"
    )
    assert "12.3 %" in BY_NAME["Dexter: better than LASSO"].judge(evidence(lines)).why


@pytest.mark.parametrize(("sparsest", "expected"), [(0.1, YES), (0.3, NO)])
def test_sparsest_wins(sparsest, expected):
    levels = dict.fromkeys(("SR1_0", "SR0_5", "SR0_1", "LASSO1", "LASSO2", "LASSO100"), 0.2)
    lines = methods("dorothea", **levels, SR0_01=sparsest)
    assert verdict("Dorothea: SR0.01 best", lines) is expected


@pytest.mark.parametrize(("network", "expected"), [(0.15, YES), (0.4, NO)])
def test_projection(network, expected):
    lines = methods("madelon", SR1_0=0.45, SR0_5=0.45)
    for size in (500, 1000):
        lines += rows(
            "madelon", "RPN", network, k=2.0, c=1e2, density=1.0, size=size, piece="projection"
        )
    assert verdict("Madelon: projection network", lines) is expected
    assert verdict("Madelon: about 45 % BER", lines) is YES


@pytest.mark.parametrize(("worst", "expected"), [(1.05, YES), (1.5, NO)])
def test_insensitive_to_c(worst, expected):
    lines = []
    for c, error in ((10.0, worst), (1e2, 1.0), (1e4, 1.0), (1e100, 50.0)):
        lines += rows("corn", "SR", error, k=1.25, c=c, density=1.0)
    assert verdict("Insensitive to c", lines) is expected


@pytest.mark.parametrize(("seconds", "expected"), [(2000.0, YES), (20.0, PARTLY), (2.0, NO)])
def test_thousands_of_times_faster(seconds, expected):
    lines = method("prostate", "SR1.0", 1.0, cpu=1.0) + method(
        "prostate", "LASSOCV", 1.0, cpu=seconds
    )
    assert verdict("Prostate: thousands of times faster", lines) is expected


@pytest.mark.parametrize(
    ("one", "search", "expected"), [(1.0, 9.0, YES), (9.0, 9.0, PARTLY), (9.0, 1.0, NO)]
)
def test_search_costs(one, search, expected):
    lines = method("corn", "SR1.0", 1.0) + method("corn", "LASSO1", 1.0, cpu=one)
    for name in ("LASSO2", "LASSO100", "LASSOCV"):
        lines += method("corn", name, 1.0, cpu=search)
    assert verdict("Corn: a penalty search costs", lines) is expected


@pytest.mark.parametrize(
    ("low", "name", "expected"),
    [
        (0.1, "Sparse when under-determined", YES),
        (0.4, "Sparse when under-determined", NO),
        (0.4, "Not sparse when over-determined", YES),
        (0.1, "Not sparse when over-determined", NO),
    ],
)
def test_compression(low, name, expected):
    kind = "under-determined" if "under" in name else "over-determined"
    panel = f"corn: {kind}"
    curves = [
        series("compression", panel, "strong share", KS, [low, 0.4, 0.4, 0.4, 0.5]),
        series("compression", panel, "participation", KS, [0.5] * 5),
    ]
    assert verdict(name, curves=curves) is expected


def ranked(slow):
    """Three sets on which LASSO1 errs most and the searching LASSO take `slow` seconds."""
    lines = []
    names = ("SR1.0", "SR0.5", "SR0.1", "SR0.01", "SR1.0 (c=1e100)")
    for i, dataset in enumerate(("arcene", "dexter", "dorothea", "gisette", "madelon")):
        for j, name in enumerate(names):
            lines += method(
                dataset, name, 0.1 + 0.001 * ((i + j) % 5), cpu=1 + 0.01 * ((i * j) % 5)
            )
        for j, name in enumerate(("LASSO2", "LASSO100", "LASSOCV")):
            lines += method(dataset, name, 0.1 + 0.001 * ((2 * i + j) % 5), cpu=slow + j)
        lines += method(dataset, "LASSO1", 0.5, cpu=1.0)
    return lines


def test_friedman_and_nemenyi():
    slow, alike = ranked(50.0), ranked(0.98)
    assert verdict("Friedman's test", slow) in (YES, PARTLY)
    assert verdict("Nemenyi: time", slow) in (YES, PARTLY)
    assert verdict("Nemenyi: time", alike) is NO
    assert "LASSOCV differs" in BY_NAME["Nemenyi: time"].judge(evidence(slow)).ours
    assert verdict("Nemenyi: error", slow) in (YES, PARTLY)


def table_one(shift):
    index = range(11)
    curves = [series("table1", "noise", "implied sigma", 0.0, 0.01)]
    for panel in ("k=1.8, c=1e4", "k=1.2, c=1e4", "k=1.8, c=1e15", "k=1.2, c=1e15"):
        truth = [1, 0.6, 0, -1.5, 0.8, 0, 0, 0, 0, 0, 0]
        loud = 1.0 if "1e15" in panel else 0.1
        for name, values in {
            "noiseless": [value + shift for value in truth],
            "paper noiseless": truth,
            "noisy std": [loud] * 11,
            "expected std": [loud] * 11,
            "paper noisy std": [loud * (1 + 3 * shift)] * 11,
        }.items():
            curves.append(series("table1", panel, name, index, values))
    return curves


@pytest.mark.parametrize(("shift", "expected"), [(0.0, YES), (0.5, NO)])
def test_table_one(shift, expected):
    curves = table_one(shift)
    for name in ("Table 1, noiseless", "Recovery at k = 1.2", "Table 1, noisy"):
        assert verdict(name, curves=curves) is expected
    assert verdict("Regularisation steadies", curves=curves) is YES


@pytest.mark.parametrize(
    ("accurate", "rounded", "expected"), [(4, 4, YES), (0, 3, PARTLY), (0, 0, NO)]
)
def test_errors_of_order_28(accurate, rounded, expected):
    counts = {"errors k=1.1": accurate, "errors k=2": 0, "errors k=1.1, LU": rounded}
    curves = [series("fig6", "counts", name, 435, value) for name, value in counts.items()]
    assert verdict("Order 28: errors", curves=curves) is expected


def test_stand_ins_are_no_evidence():
    lines = methods("gisette-standin", SR1_0=[0.1, 0.1, 0.1, 0.1, 0.1])
    assert verdict("Classification: good for k ≥ 1.1", lines) is NONE
    assert verdict("Gisette: SR0.1 best, SR1.0 worst", lines) is NONE

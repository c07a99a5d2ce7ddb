"""Claims on training time, and on ranks."""

from __future__ import annotations

import math
from collections.abc import Callable

from reproduction.claims.verdicts import Claim, Finding, Verdict, by_share, untestable
from reproduction.evidence import LASSOS, METHODS, SEARCHING, SR, Evidence
from reproduction.ranks import RankTest
from reproduction.sets import SETS

ALIKE = 3.0  # times within a factor of three are comparable
DENSITIES = ("SR1.0", "SR0.5", "SR0.1", "SR0.01")
LEVEL = 0.05
TOO_FEW = "fewer than two classification sets have all methods that this compares."
GLMNET = (
    "LASSO is glmnet here, compiled Fortran; the paper's is MATLAB's interpreted coordinate "
    "descent. On sets this small our milliseconds are mostly the overhead of Python."
)


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value >= 1 else f"{1000 * value:.3g} ms"


def _times(evidence: Evidence, dataset: str) -> dict[str, float]:
    names = (*DENSITIES, *LASSOS)
    times = {name: evidence.level(dataset, name, "cpu") for name in names}
    return {name: value for name, value in times.items() if not math.isnan(value)}


def _listed(times: dict[str, float]) -> str:
    return ", ".join(f"{name} {_seconds(value)}" for name, value in times.items())


def _times_faster(dataset: str) -> Callable[[Evidence], Finding]:
    """The slowest LASSO over SR1.0."""

    def judge(evidence: Evidence) -> Finding:
        times = _times(evidence, dataset)
        if SR not in times or not set(SEARCHING) & times.keys():
            return untestable(f"no results on {SETS[dataset].title} here.")
        slowest = max(set(LASSOS) & times.keys(), key=lambda name: times[name])
        ratio = times[slowest] / times[SR]
        verdict = Verdict.NOT
        if ratio >= 10:
            verdict = Verdict.REPRODUCED if ratio >= 1000 else Verdict.PARTLY
        words = f"{_listed(times)}: {slowest} takes {ratio:.3g} times as long as SR1.0"
        return Finding(words, verdict, "" if ratio >= 1000 else GLMNET)

    return judge


def _search_costs(
    dataset: str, alike: tuple[str, ...], slower: tuple[str, ...]
) -> Callable[[Evidence], Finding]:
    """SR1.0 within a factor of three of `alike`, and `slower` beyond that factor."""

    def judge(evidence: Evidence) -> Finding:
        times = _times(evidence, dataset)
        if SR not in times or not set(alike + slower) <= times.keys():
            return untestable(f"not all of {', '.join(alike + slower)} on {SETS[dataset].title}.")
        held = [1 / ALIKE <= times[name] / times[SR] <= ALIKE for name in alike]
        held += [times[name] > ALIKE * times[SR] for name in slower]
        odd = [name for name, well in zip(alike + slower, held, strict=True) if not well]
        return Finding(_listed(times), by_share(held), f"Not so: {', '.join(odd)}." if odd else "")

    return judge


def _friedman(evidence: Evidence) -> Finding:
    ber, cpu = evidence.ranks("error"), evidence.ranks("cpu")
    if ber is None or cpu is None:
        return untestable(TOO_FEW)
    words = (
        f"BER p = {ber.chi2_pvalue:.2g}, CPU p = {cpu.chi2_pvalue:.2g} on {ber.n_sets} sets and "
        f"{len(ber.names)} methods"
    )
    held = [ber.chi2_pvalue > LEVEL, cpu.chi2_pvalue < LEVEL]
    return Finding(words, by_share(held), _reservations(ber))


def _reservations(test: RankTest) -> str:
    """Methods without ranks, and what fewer sets than the paper's five can tell."""
    absent = [name for name in METHODS if name not in test.names]
    said = [f"Without ranks, for want of results: {', '.join(absent)}."] if absent else []
    if test.n_sets != 5:
        said.append(
            f"The paper has five sets, this is {test.n_sets}: ranks can differ by "
            f"{len(test.names) - 1} at most and must by {test.cd:.1f}, so little can be told apart."
        )
    return " ".join(said)


def _behind(test: RankTest, name: str) -> float:
    """How far the mean rank of a method lies behind that of SR1.0, in critical differences."""
    rank = dict(zip(test.names, test.mean_ranks, strict=True))
    return (rank[name] - rank[SR]) / test.cd


def _compared(evidence: Evidence, value: str, differ: tuple[str, ...]) -> Finding:
    """Which LASSO lie behind SR1.0 by more than the critical difference, against `differ`.

    Those in `differ` have to, the other searching ones have to be within it on either side. A
    method without ranks decides nothing, and the verdict is then *partly* at best.
    """
    test = evidence.ranks(value)
    if test is None or SR not in test.names:
        return untestable(TOO_FEW)
    names = [name for name in LASSOS if name in (*SEARCHING, *differ)]
    behind = {name: _behind(test, name) for name in names if name in test.names}
    if not behind:
        return untestable(TOO_FEW)
    held = [gap > 1 if name in differ else abs(gap) <= 1 for name, gap in behind.items()]
    verdict = by_share(held)
    if len(behind) < len(names) and verdict is Verdict.REPRODUCED:
        verdict = Verdict.PARTLY
    said = ", ".join(f"{name} {_in_words(gap)}" for name, gap in behind.items())
    ranks = ", ".join(
        f"{name} {rank:.2f}" for name, rank in zip(test.names, test.mean_ranks, strict=True)
    )
    words = f"from SR1.0: {said} (CD {test.cd:.2f}; mean ranks {ranks})"
    return Finding(words, verdict, _reservations(test))


def _in_words(gap: float) -> str:
    if abs(gap) <= 1:
        return "does not differ"
    return "differs" if gap > 0 else "differs to the other side"


def _nemenyi_cpu(evidence: Evidence) -> Finding:
    return _compared(evidence, "cpu", SEARCHING)


def _nemenyi_ber(evidence: Evidence) -> Finding:
    return _compared(evidence, "error", ("LASSO1",))


_RULE = "mean CPU of SR1.0 within a factor of three of {}, and {} beyond that factor"
SPEED_CLAIMS = (
    Claim("Prostate: thousands of times faster", "Fig. 9 (b)", "up to three thousand times faster",
          "slowest LASSO at least 1000 times as long as SR1.0 (partly: 10 times)",
          _times_faster("prostate")),
    Claim("Diabetes: thousands of times faster", "Fig. 9 (d)", "up to nine thousand times faster",
          "slowest LASSO at least 1000 times as long as SR1.0 (partly: 10 times)",
          _times_faster("diabetes")),
    Claim("Corn: a penalty search costs", "Fig. 9 (f)",
          "SR1.0 and LASSO1 alike; LASSO2, LASSO100, LASSOCV much slower",
          _RULE.format("LASSO1", "LASSO2, LASSO100, LASSOCV"),
          _search_costs("corn", ("LASSO1",), SEARCHING)),
    Claim("Arcene: a penalty search costs", "Fig. 10 (b)",
          "SR comparable with LASSO1; more penalties slow LASSO down",
          _RULE.format("LASSO1", "LASSO2, LASSO100, LASSOCV"),
          _search_costs("arcene", ("LASSO1",), SEARCHING)),
    Claim("Dexter: a penalty search costs", "Fig. 10 (d)", "the trend of Arcene",
          _RULE.format("LASSO1", "LASSO2, LASSO100, LASSOCV"),
          _search_costs("dexter", ("LASSO1",), SEARCHING)),
    Claim("Dorothea: comparable time", "Fig. 10 (f)",
          "SR comparable with LASSO except LASSO100 and LASSOCV",
          _RULE.format("LASSO1 and LASSO2", "LASSO100, LASSOCV"),
          _search_costs("dorothea", ("LASSO1", "LASSO2"), ("LASSO100", "LASSOCV"))),
)  # fmt: skip
RANK_CLAIMS = (
    Claim("Friedman's test", "Summary", "BER p = 0.0595, CPU p = 4.2e-6",
          "BER p above 0.05 and CPU p below", _friedman),
    Claim("Nemenyi: time", "Fig. 12 (b)",
          "LASSO2, LASSO100 and LASSOCV significantly slower than SR",
          "mean rank of each behind that of SR1.0 by more than the critical difference at 5 %",
          _nemenyi_cpu),
    Claim("Nemenyi: error", "Fig. 12 (a)",
          "searching LASSO no different from SR; LASSO1 significantly worse",
          "mean ranks of LASSO2, LASSO100 and LASSOCV within the critical difference of SR1.0, "
          "that of LASSO1 behind it by more", _nemenyi_ber),
)  # fmt: skip

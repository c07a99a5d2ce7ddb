"""Concordance, censoring and baselines against literal loops over all pairs and times."""

import numpy as np
import pytest

from skstretch.core.survival import (
    Baseline,
    concordance,
    concordance_losses,
    event_and_time,
    kaplan_meier,
    kaplan_meier_at,
    log_rank,
    rank_groups,
    signed_times,
    uncensored,
    uno_concordance,
)

rng = np.random.default_rng(0)
N = 25
TIME = rng.integers(0, 12, N) / 2.0  # ties, and times of zero
EVENT = rng.random(N) < 0.6
RISK = rng.integers(0, 8, N) * 1.0  # ties
WEIGHTS = rng.integers(0, 4, N) * 1.0


def pairs(each=lambda t: 1.0):
    """Sums over all comparable pairs: in order, and all."""
    order = total = 0.0
    for i in range(N):
        for j in range(N):
            if EVENT[i] and (TIME[j] > TIME[i] or (TIME[j] == TIME[i] and not EVENT[j])):
                weight = WEIGHTS[i] * WEIGHTS[j] * each(TIME[i])
                order += weight * (1.0 * (RISK[i] > RISK[j]) + 0.5 * (RISK[i] == RISK[j]))
                total += weight
    return order / total


def seen(t):
    """Kaplan and Meier's curve of the censoring just before t, events first."""
    left = 1.0
    for s in sorted(set(TIME)):
        if s < t:
            censored = WEIGHTS[(s == TIME) & ~EVENT].sum()
            at_risk = WEIGHTS[(s < TIME) | ((s == TIME) & ~EVENT)].sum()
            left *= 1.0 - censored / at_risk
    return left


def test_signed_times_hold_both_parts():
    event, time = event_and_time(signed_times(EVENT, TIME))
    np.testing.assert_array_equal(event, EVENT)  # a censored time of zero too
    np.testing.assert_array_equal(time, TIME)


def test_harrell():
    assert concordance(EVENT, TIME, RISK, WEIGHTS) == pytest.approx(pairs(), abs=1e-14)
    repeated = [np.repeat(each, WEIGHTS.astype(int)) for each in (EVENT, TIME, RISK)]
    assert concordance(*repeated) == pytest.approx(pairs(), abs=1e-14)
    assert concordance(EVENT, TIME, 0.1 * EVENT - TIME) == 1.0
    assert concordance(EVENT, TIME, np.zeros(N)) == 0.5
    with pytest.raises(ValueError, match="no two samples can be compared"):
        concordance(EVENT & False, TIME, RISK)


def test_uno():
    np.testing.assert_allclose(uncensored(EVENT, TIME, WEIGHTS), [seen(t) for t in TIME])
    want = pairs(lambda t: seen(t) ** -2.0)
    assert uno_concordance(EVENT, TIME, RISK, WEIGHTS) == pytest.approx(want, abs=1e-14)
    want = pairs(lambda t: (t < 3.0) * seen(t) ** -2.0)
    assert uno_concordance(EVENT, TIME, RISK, WEIGHTS, 3.0) == pytest.approx(want, abs=1e-14)
    whole = np.ones(N, dtype=bool)  # without censoring it is Harrell's
    assert uno_concordance(whole, TIME, RISK) == concordance(whole, TIME, RISK)


def test_what_samples_add_is_the_derivative_by_their_weight():
    losses = concordance_losses(EVENT, TIME, RISK, WEIGHTS)
    assert WEIGHTS @ losses / WEIGHTS.sum() == pytest.approx(1.0 - pairs(), abs=1e-14)
    weights = WEIGHTS + 1.0
    losses = concordance_losses(EVENT, TIME, RISK, weights)
    mean = weights @ losses / weights.sum()
    for i in range(N):
        up, down = (weights + h * (np.arange(N) == i) for h in (1e-5, -1e-5))
        slope = (concordance(EVENT, TIME, RISK, up) - concordance(EVENT, TIME, RISK, down)) / 2e-5
        assert (mean - losses[i]) / weights.sum() == pytest.approx(slope, abs=1e-9)


def test_baseline():
    eta = rng.standard_normal(N) + 400.0  # e^η alone would be too large to add up
    found = Baseline.of(EVENT, TIME, eta, WEIGHTS)
    shifted = Baseline.of(EVENT, TIME, eta - 400.0, WEIGHTS)
    np.testing.assert_allclose(found.hazard * np.exp(400.0), shifted.hazard, rtol=1e-12)
    eta, found, total, want = eta - 400.0, shifted, 0.0, []
    happens = EVENT & (WEIGHTS > 0)
    for t in sorted(set(TIME[happens])):
        at_risk = (WEIGHTS * np.exp(eta))[t <= TIME].sum()
        total += WEIGHTS[happens & (t == TIME)].sum() / at_risk
        want.append(total)
    np.testing.assert_allclose(found.hazard, want, rtol=1e-13)
    assert found.last == TIME[WEIGHTS > 0].max()


def test_curves():
    found = Baseline(np.array([1.0, 2.0, 4.0]), np.array([0.2, 0.9, 1.5]), 5.0)
    eta, times = np.array([-1.0, 0.0, 1.0]), np.array([0.0, 0.999, 1.0, 3.0, 5.0])
    curve = found.survival(eta, times)
    want = np.exp(-np.outer(np.exp(eta), [0.0, 0.0, 0.2, 0.9, 1.5]))
    np.testing.assert_allclose(curve, want, rtol=1e-14)
    np.testing.assert_array_equal(found.median(eta), [np.inf, 2.0, 2.0])
    fine = (np.arange(350_000) + 0.5) * 1e-5  # the area under the curve up to 3.5
    area = found.survival(eta, fine).sum(axis=1) * 1e-5
    np.testing.assert_allclose(found.restricted_mean(eta, 3.5), area, rtol=1e-9)
    with pytest.raises(ValueError, match=r"times has 6, and the last of the training data is 5"):
        found.survival(eta, np.array([1.0, 6.0]))


# Freireich and others (1963): weeks of remission of leukaemia, 6-MP and placebo, as in many
# textbooks (Collett; Kalbfleisch and Prentice), with chi2 = 16.79 and the curve of 6-MP
WEEKS = {
    "6-MP": ([6, 6, 6, 7, 10, 13, 16, 22, 23], [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]),
    "placebo": ([1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23], []),
}


def leukaemia():
    event = np.concatenate([np.repeat([True, False], [len(a), len(b)]) for a, b in WEEKS.values()])
    time = np.concatenate([np.array(a + b, dtype=float) for a, b in WEEKS.values()])
    return event, time, np.repeat([0, 1], 21)


def test_kaplan_meier_of_a_textbook():
    event, time, groups = leukaemia()
    own = groups == 0
    times, left, variance = kaplan_meier(event[own], time[own], np.ones(21))
    assert times.tolist() == [6, 7, 10, 13, 16, 22, 23]
    assert np.allclose(left, [0.8571, 0.8067, 0.7529, 0.6902, 0.6275, 0.5378, 0.4482], atol=6e-5)
    errors = left * np.sqrt(variance)
    assert np.allclose(errors, [0.0764, 0.0869, 0.0963, 0.1068, 0.1141, 0.1282, 0.1346], atol=6e-5)
    share, low, high = kaplan_meier_at(event[own], time[own], np.ones(21), 10.5, 1.96)
    # R: survfit(conf.type = "log-log")
    assert np.allclose([share, low, high], [0.753, 0.503, 0.889], atol=6e-4)
    assert kaplan_meier_at(event[own], time[own], np.ones(21), 5.0, 1.96) == (1.0, 0.0, 1.0)


def test_log_rank_of_a_textbook():
    event, time, groups = leukaemia()
    chi2, degrees, p = log_rank(event, time, groups, np.ones(42))
    assert np.isclose(chi2, 16.79, atol=6e-3)
    assert degrees == 1
    assert np.isclose(p, 4.17e-5, rtol=6e-3)


def literal_log_rank(event, time, groups):
    """The sums over the times of events, one sample at a time; the last group is left out."""
    G = groups.max() + 1
    u, V = np.zeros(G), np.zeros((G, G))
    for t in sorted(set(time[event])):
        n = [sum(time[i] >= t and groups[i] == g for i in range(len(time))) for g in range(G)]
        d = [sum(event & (time == t) & (groups == g)) for g in range(G)]
        N, D = sum(n), sum(d)
        for g in range(G):
            u[g] += d[g] - D * n[g] / N
            for h in range(G):
                if N > 1:
                    V[g, h] += D * (N - D) / (N - 1) * n[g] / N * ((g == h) - n[h] / N)
    return u[:-1] @ np.linalg.solve(V[:-1, :-1], u[:-1])


def test_log_rank_of_three_groups_with_ties_and_weights():
    groups = np.arange(N) % 3
    whole = np.repeat(np.arange(N), WEIGHTS.astype(int))
    literal = literal_log_rank(EVENT[whole], TIME[whole], groups[whole])
    chi2, degrees, p = log_rank(EVENT, TIME, groups, WEIGHTS)
    assert np.isclose(chi2, literal, rtol=1e-12)
    assert degrees == 2
    assert np.isclose(p, np.exp(-chi2 / 2))
    order = rng.permutation(N)
    mixed = log_rank(EVENT[order], TIME[order] ** 3, groups[order], WEIGHTS[order])
    assert np.allclose(mixed, (chi2, degrees, p))


def test_groups_of_ranks_keep_equal_values_together_and_count_weights():
    assert rank_groups(np.arange(9.0)[::-1], np.ones(9), 3).tolist() == [2] * 3 + [1] * 3 + [0] * 3
    assert rank_groups(np.zeros(5), np.ones(5), 3).tolist() == [0] * 5
    found = rank_groups(RISK, WEIGHTS, 3)
    whole = np.repeat(np.arange(N), WEIGHTS.astype(int))
    assert np.array_equal(rank_groups(RISK[whole], np.ones(len(whole)), 3), found[whole])

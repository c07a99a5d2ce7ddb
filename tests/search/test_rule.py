"""Which candidate wins, on outcomes made by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score

from skstretch.core.crossfit import paired_error
from skstretch.core.stretch import Intercept
from skstretch.search import Candidate, Outcome, Problem, leave_one_out
from skstretch.search.choice import CandidateTable, judge
from skstretch.search.scoring import BalancedAccuracy, Scored, SquaredError

PLAIN = Candidate(a=-0.2, k=1.5, c=1.0, strength=0.1, density=1.0)
GOOD = Outcome(np.zeros((4, 1)), rcond=0.1, dof=5.0, n_features=10.0)
BROKEN = replace(GOOD, rcond=0.0, reasons=("singular",))


def test_standard_error_by_hand():
    mean, error = paired_error(np.array([1.0, 2.0, 6.0]), np.ones(3), None)
    assert mean == 3.0
    # deviations -2, -1, 3: variance 14/3, of the mean of three 14/9
    assert error == pytest.approx(np.sqrt(14) / 3, rel=1e-15)


@given(
    weights=st.lists(st.integers(0, 4), min_size=2, max_size=9).filter(any),
    seed=st.integers(0, 10**6),
)
def test_a_weight_repeats(weights, seed):
    difference = np.random.default_rng(seed).standard_normal(len(weights))
    repeated = np.repeat(difference, weights)
    mean, error = paired_error(difference, np.array(weights, dtype=float), None)
    assert mean == pytest.approx(repeated.mean(), rel=1e-12, abs=1e-15)
    assert error == pytest.approx(repeated.std() / np.sqrt(repeated.size), rel=1e-12, abs=1e-15)


@given(
    n_groups=st.integers(1, 4),
    weights=st.lists(st.integers(0, 4), min_size=3, max_size=9).filter(any),
    seed=st.integers(0, 10**6),
)
def test_groups_are_the_units(n_groups, weights, seed):
    rng = np.random.default_rng(seed)
    difference = rng.standard_normal(len(weights))
    groups = np.array(list("abcd"))[rng.integers(0, n_groups, len(weights))]
    repeated, labels = np.repeat(difference, weights), np.repeat(groups, weights)
    sums = [(repeated - repeated.mean())[labels == label].sum() for label in set(labels.tolist())]
    mean, error = paired_error(difference, np.array(weights, dtype=float), groups)
    assert mean == pytest.approx(repeated.mean(), rel=1e-12, abs=1e-15)
    expected = np.sqrt(np.sum(np.square(sums))) / repeated.size
    assert error == pytest.approx(expected, rel=1e-11, abs=1e-14)


def test_groups_of_one_are_no_groups():
    difference = np.array([0.3, -1.0, 2.0, 0.1])
    alone = paired_error(difference, np.ones(4), np.arange(4))
    assert alone == pytest.approx(paired_error(difference, np.ones(4), None), rel=1e-14)


def scored(losses, score=None, tie=0.0):
    losses = np.asarray(losses, dtype=float)
    return Scored(-losses.mean() if score is None else score, losses, tie)


def chosen(candidates, outcomes, scores, rule, weights=None, groups=None):
    n = scores[0].losses.size
    weights = np.ones(n) if weights is None else weights
    return judge(candidates, outcomes, scores, weights, groups, rule)


def test_best_has_the_greatest_score():
    scores = [scored([3, 3]), scored([1, 1]), scored([2, 2])]
    verdict = chosen([PLAIN] * 3, [GOOD] * 3, scores, "best")
    assert (verdict.chosen, verdict.best) == (1, 1)
    assert verdict.within.tolist() == [False, True, False]


@pytest.mark.parametrize("rule", ["best", "1se"])
def test_unusable_never_wins(rule):
    candidates = [replace(PLAIN, a=0.0), PLAIN, PLAIN]
    outcomes = [replace(BROKEN, n_features=1.0, dof=1.0), GOOD, GOOD]
    scores = [scored([0, 0]), scored([2, 2]), scored([1, 1])]
    verdict = chosen(candidates, outcomes, scores, rule)
    assert (verdict.chosen, verdict.best) == (2, 2)
    assert not verdict.within[0]


@pytest.mark.parametrize("rule", ["best", "1se"])
@pytest.mark.parametrize("score", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_finite_never_wins(rule, score):
    candidates = [replace(PLAIN, a=0.0), PLAIN]
    outcomes = [replace(GOOD, n_features=1.0), GOOD]
    verdict = chosen(candidates, outcomes, [scored([0, 0], score=score), scored([1, 1])], rule)
    assert (verdict.chosen, verdict.within.tolist()) == (1, [False, True])


def test_no_usable_candidate():
    with pytest.raises(ValueError, match=r"no candidate.*singular.*smaller values of c"):
        chosen([PLAIN] * 2, [BROKEN] * 2, [scored([0, 0])] * 2, "best")


def test_no_finite_score():
    scores = [scored([0, 0], score=1.0), scored([0, 0], score=np.nan)]
    with pytest.raises(ValueError, match="no finite score"):
        chosen([PLAIN] * 2, [BROKEN, GOOD], scores, "best")


def test_ties_of_the_score_are_broken():
    scores = [scored([1, 1], tie=-3.0), scored([1, 1], tie=-1.0), scored([1, 1], tie=-2.0)]
    assert chosen([PLAIN] * 3, [GOOD] * 3, scores, "best").chosen == 1


def test_ties_of_the_error_rate_are_broken_by_squared_error():
    codes, Y = np.array([0, 0, 1, 1]), np.array([[-1.0], [-1.0], [1.0], [1.0]])
    score = BalancedAccuracy(codes, 2, Y, np.ones(4))
    outputs = [[-0.1, 0.2, 0.3, 0.4], [-1.0, 0.2, 1.0, 0.9], [-0.1, 0.1, 0.3, 0.1]]
    scores = [score(np.array(o)[:, None]) for o in outputs]
    assert [s.score for s in scores] == [0.75] * 3
    assert chosen([PLAIN] * 3, [GOOD] * 3, scores, "best").chosen == 1


# Losses against those of the best candidate: differences 0, 0, 2, 2 have mean 1 and standard error
# 1/2; differences -1, 0, 0, 2 have mean 1/4 and a standard error above 1/2.
BEST = [1.0, 1.0, 1.0, 1.0]
NEAR = [0.0, 1.0, 1.0, 3.0]
FAR = [1.0, 1.0, 3.0, 3.0]


def one_se(*pairs):
    """The candidate that wins: pairs of candidate and outcome, with losses near the best's."""
    candidates, outcomes = zip((PLAIN, GOOD), *pairs, strict=True)
    scores = [scored(BEST)] + [scored(NEAR) for _ in pairs]
    return chosen(candidates, outcomes, scores, "1se")


def test_one_se_prefers_the_linear_limit_to_few_features():
    verdict = one_se(
        (PLAIN, replace(GOOD, n_features=1.0, dof=1.0)),
        (replace(PLAIN, a=0.0, k=2.0), replace(GOOD, n_features=10.0, dof=9.0)),
    )
    assert (verdict.chosen, verdict.best) == (2, 0)


def test_one_se_prefers_few_features_to_few_degrees():
    verdict = one_se(
        (PLAIN, replace(GOOD, n_features=9.0, dof=1.0)),
        (PLAIN, replace(GOOD, n_features=2.0, dof=4.0)),
    )
    assert verdict.chosen == 2


def test_one_se_prefers_few_degrees_to_the_score():
    verdict = one_se((PLAIN, replace(GOOD, dof=4.0)), (PLAIN, replace(GOOD, dof=3.0)))
    assert verdict.chosen == 2
    assert one_se((PLAIN, GOOD), (PLAIN, GOOD)).chosen == 0


def test_one_se_leaves_the_best_for_none_that_is_further():
    simple = replace(GOOD, n_features=1.0, dof=1.0)
    candidates = [PLAIN, replace(PLAIN, a=0.0)]
    verdict = chosen(candidates, [GOOD, simple], [scored(BEST), scored(FAR)], "1se")
    assert (verdict.chosen, verdict.within.tolist()) == (0, [True, False])


def test_one_se_in_units_of_groups():
    candidates, outcomes = [PLAIN] * 2, [GOOD, replace(GOOD, dof=1.0)]
    alike, mixed = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    # differences -0.9, -0.9, 3, 3: mean 1.05, error 0.98, of groups alike 1.38
    further = [scored(BEST), scored([0.1, 0.1, 4.0, 4.0])]
    assert chosen(candidates, outcomes, further, "1se").chosen == 0
    assert chosen(candidates, outcomes, further, "1se", groups=alike).chosen == 1
    # differences -1.1, -1.1, 3, 3: mean 0.95, error 1.03, of mixed groups 0
    nearer = [scored(BEST), scored([-0.1, -0.1, 4.0, 4.0])]
    assert chosen(candidates, outcomes, nearer, "1se").chosen == 1
    assert chosen(candidates, outcomes, nearer, "1se", groups=mixed).chosen == 0


def test_one_se_in_units_of_weights():
    candidates, simple = [PLAIN] * 2, replace(GOOD, dof=1.0)
    scores = [scored(BEST), scored([0.5, 1.0, 1.0, 2.0])]  # differences -0.5, 0, 0, 1
    assert chosen(candidates, [GOOD, simple], scores, "1se").chosen == 1
    heavy = np.array([1.0, 1.0, 1.0, 9.0])  # now like nine samples of 1 in twelve
    assert chosen(candidates, [GOOD, simple], scores, "1se", weights=heavy).chosen == 0


def test_squared_error_by_hand():
    Y, outputs = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[2.0, 2.0], [3.0, 1.0]])
    found = SquaredError(Y, np.array([3.0, 1.0]))(outputs)
    np.testing.assert_array_equal(found.losses, [0.5, 4.5])
    assert found.score == found.tie == -(3 * 0.5 + 4.5) / 4


@pytest.mark.parametrize("n_classes", [2, 3])
def test_balanced_accuracy_is_sklearns(n_classes):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_classes, 60)
    weights = rng.uniform(0.1, 2.0, 60)
    outputs = rng.standard_normal((60, 1 if n_classes == 2 else n_classes))
    labels = outputs[:, 0] > 0 if n_classes == 2 else outputs.argmax(axis=1)
    found = BalancedAccuracy(codes, n_classes, outputs, weights)(outputs)
    expected = balanced_accuracy_score(codes, labels, sample_weight=weights)
    assert found.score == pytest.approx(expected, rel=1e-12)
    assert 1.0 - weights @ found.losses / weights.sum() == pytest.approx(expected, rel=1e-12)


def test_balanced_error_counts_the_classes_present():
    """A class that no test set holds does not dilute the error: as scikit-learn has it."""
    codes, rng = np.array([0, 0, 0, 1, 1]), np.random.default_rng(0)
    Y = np.where(codes[:, None] == np.arange(3), 1.0, -1.0)
    for _ in range(5):
        outputs, weights = rng.standard_normal((5, 3)), rng.uniform(0.5, 2.0, 5)
        found = BalancedAccuracy(codes, 3, Y, weights)(outputs)
        # by hand what balanced_accuracy_score says, which warns of predictions of class 2
        right = outputs.argmax(axis=1) == codes
        recalls = [
            weights[codes == c] @ right[codes == c] / weights[codes == c].sum() for c in (0, 1)
        ]
        assert found.score == pytest.approx(np.mean(recalls), abs=1e-12)
    wrong = BalancedAccuracy(codes, 3, Y, np.ones(5))(-Y)
    assert wrong.score == 0.0


def penalties(*strengths):
    return [Candidate(1.0, 1.5, 1.0 / s, s, 1.0) for s in strengths]


def test_ties_go_to_the_stronger_penalty():
    candidates = penalties(1e-3, 1e-2, 1e-1, 1.0)
    scores = [scored([1, 1]), scored([1, 1]), scored([1, 1]), scored([2, 2])]
    verdict = chosen(candidates, [GOOD] * 4, scores, "best")
    assert verdict.chosen == 2
    np.testing.assert_array_equal(verdict.tied, [True, True, True, False])


def test_no_candidate_wins_by_less_than_its_error():
    candidates = penalties(1e-9, 1e-2)
    better, plain = scored([1.0, 1.0]), scored([1.001, 1.001])
    for error, winner in ((0.0, 0), (0.0009, 0), (0.0011, 1), (0.1, 1)):
        scores = [replace(better, error=error, tie_error=error), plain]
        assert chosen(candidates, [GOOD] * 2, scores, "best").chosen == winner


def test_standard_error_of_means_alone():
    losses, weights = np.array([0.0, 1.0, 1.0, 0.0]), np.array([1.0, 2.0, 1.0, 1.0])
    mean = weights @ losses / weights.sum()
    expected = np.sqrt(weights @ (losses - mean) ** 2) / weights.sum()
    Y = np.zeros((4, 1))
    own, problem = SquaredError(Y, weights), Problem(Y, weights, Intercept.FREE, leave_one_out(4))

    def error_of(score):
        one = Scored(score, losses, 0.0)
        return CandidateTable(problem, own, own, weights, None, scores=[one]).error(one)

    for score in (-mean, 1.0 - mean):
        assert error_of(score) == pytest.approx(expected)
    assert np.isnan(error_of(0.3))

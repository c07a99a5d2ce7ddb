"""Cuts and probabilities, from out-of-fold scores by literal refits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import KFold, StratifiedKFold

from skstretch import StretchyClassifier, StretchyClassifierCV
from skstretch.core.classes import (
    balanced_cut,
    balanced_cuts,
    calibrated,
    favoured_cuts,
    probabilities,
)
from tests import literal
from tests.estimators.samples import new_rows, problem


def error_rate(scores, positive, weights, cut):
    """The balanced error rate of calling positive what lies above the cut."""
    missed = weights[positive & (scores <= cut)].sum() / weights[positive].sum()
    false = weights[~positive & (scores > cut)].sum() / weights[~positive].sum()
    return (missed + false) / 2


def best_cuts(scores, positive, weights):
    """All cuts of least error: one between each two scores, and zero.

    None beyond all scores, which would give up a class.
    """
    values = np.unique(scores)
    cuts = np.append((values[1:] + values[:-1]) / 2, 0.0)
    errors = np.array([error_rate(scores, positive, weights, cut) for cut in cuts])
    return cuts[errors <= errors.min() + 1e-12], errors.min()


def nearest_cuts(outputs, codes, weights):
    """For every column of scores, of all cuts of least error the one nearest to zero."""
    nearest = []
    for j, scores in enumerate(outputs.T):
        positive = codes == (1 if outputs.shape[1] == 1 else j)
        cuts, _ = best_cuts(scores, positive, weights)
        nearest.append(cuts[np.abs(cuts).argmin()])
    return np.array(nearest)


samples = st.lists(
    st.tuples(st.integers(-6, 6), st.booleans(), st.integers(1, 5)), min_size=2, max_size=25
).filter(lambda rows: len({positive for _, positive, _ in rows}) == 2)


@given(rows=samples, scale=st.sampled_from([1.0, 0.3]))
def test_cut_by_trying_all(rows, scale):
    scores, positive, weights = (np.array(column) for column in zip(*rows, strict=True))
    scores, weights = scores * scale, weights.astype(float)
    found = balanced_cut(scores, positive, weights)
    cuts, least = best_cuts(scores, positive, weights)
    assert error_rate(scores, positive, weights, found) == pytest.approx(least, abs=1e-12)
    assert abs(found) <= np.abs(cuts).min() + 1e-12


def test_cut_by_hand():
    scores = np.array([-2.0, -1.0, -0.9, 0.5])
    positive = np.array([False, False, True, True])
    assert balanced_cut(scores, positive, np.ones(4)) == pytest.approx(-0.95)
    # one heavy negative above the first positive moves the cut beyond it
    scores = np.array([-1.0, -0.5, 0.5, 1.0])
    positive = np.array([False, True, False, True])
    assert balanced_cut(scores, positive, np.array([1.0, 1.0, 9.0, 1.0])) == pytest.approx(0.75)
    assert balanced_cut(scores, positive, np.array([9.0, 1.0, 1.0, 1.0])) == pytest.approx(-0.75)


def test_a_cut_for_every_class():
    rng = np.random.default_rng(0)
    codes, weights = rng.integers(0, 3, 50), rng.uniform(0.5, 2.0, 50)
    outputs = rng.standard_normal((50, 3)) + 1.5 * np.eye(3)[codes]
    expected = nearest_cuts(outputs, codes, weights)
    assert (expected != 0).any()
    np.testing.assert_allclose(balanced_cuts(outputs, codes, weights), expected, rtol=1e-14)


def scores_of(n_positive, n_negative, shift, seed=0):
    """Scores of two classes that are well apart, about a point `shift` away from zero."""
    rng = np.random.default_rng(seed)
    codes = np.repeat([1, 0], [n_positive, n_negative])
    return (0.4 * rng.standard_normal(codes.size) + codes - 0.5 + shift)[:, None], codes


def test_auto_keeps_zero_where_it_is_good():
    tuned = []
    for seed in range(5):
        outputs, codes = scores_of(100, 100, 0.0, seed)
        found = favoured_cuts(outputs, codes, 2, np.ones(200), 10)
        np.testing.assert_array_equal(found, 0.0)
        tuned.append(balanced_cuts(outputs, codes, np.ones(200)))
    assert np.any(tuned)


def test_auto_moves_where_positives_are_rare():
    for seed in range(5):
        outputs, codes = scores_of(30, 570, -0.6, seed)
        weights = np.ones(600)
        found = favoured_cuts(outputs, codes, 2, weights, 10)
        np.testing.assert_allclose(found, nearest_cuts(outputs, codes, weights), rtol=1e-14)
        assert found < -0.3


def test_auto_with_too_few_of_a_class():
    outputs, codes = scores_of(1, 30, -0.6)
    np.testing.assert_array_equal(favoured_cuts(outputs, codes, 2, np.ones(31), 10), 0.0)


def likelihood(x, outputs, codes, weights):
    """Of ``softmax(A margins + b)``, x = (A, b), if a label is wrong half a time more than once.

    Written out sample by sample and class by class.
    """
    margins = np.hstack([np.zeros_like(outputs), outputs]) if outputs.shape[1] == 1 else outputs
    n_classes, total = margins.shape[1], 0.0
    logs, wrong = log_softmax(x[0] * margins + x[1:], axis=1), 0.5 / (weights.sum() + 1)
    for i, code in enumerate(codes):
        for c in range(n_classes):
            share = 1 - wrong if c == code else wrong / (n_classes - 1)
            total += weights[i] * share * logs[i, c]
    return total


def greatest(outputs, codes, weights):
    """The factor and the biases of greatest likelihood by a general minimiser."""
    n_classes, unit = max(2, outputs.shape[1]), np.abs(outputs).max()
    shares = np.log([weights[codes == c].sum() / weights.sum() for c in range(n_classes)])
    shares -= shares.mean()
    found = minimize(
        lambda x: -likelihood(np.r_[x[0], x[1] * shares], outputs / unit, codes, weights),
        [1.0, 0.5],
        bounds=[(1e-9, None), (0.0, 1.0)],
        options={"ftol": 1e-15, "gtol": 1e-9},
    ).x
    return np.concatenate([[found[0] / unit], found[1] * shares])


def expected_of(outputs, codes, weights):
    """Those of greatest likelihood, the factor less what two fitted numbers gain by themselves."""
    x = greatest(outputs, codes, weights)
    shares = np.log([weights[codes == c].sum() for c in range(len(x) - 1)])
    alone = likelihood(np.r_[0.0, shares], outputs, codes, weights)
    x[0] *= max(0.0, 1.0 - 1.0 / (likelihood(x, outputs, codes, weights) - alone))
    return x


def scored(n_classes, size=1.0, n=80, uneven=False):
    """Scores that tell classes apart somewhat, with weights."""
    rng = np.random.default_rng(n_classes)
    shares = np.arange(1.0, n_classes + 1) ** (2 if uneven else 0)
    codes = rng.choice(n_classes, n, p=shares / shares.sum())
    outputs = rng.standard_normal((n, n_classes)) + np.eye(n_classes)[codes]
    if n_classes == 2:
        outputs = outputs[:, 1:] - outputs[:, :1]
    return size * outputs, codes, rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_greatest_likelihood_less_what_fitting_gains(n_classes, uneven, size):
    outputs, codes, weights = scored(n_classes, size, uneven=uneven)
    factor, biases = calibrated(outputs, codes, weights)
    assert biases.sum() == pytest.approx(0.0, abs=1e-12)
    x = np.concatenate([[factor], biases])
    expected = expected_of(outputs, codes, weights)
    best = likelihood(expected, outputs, codes, weights)
    assert likelihood(x, outputs, codes, weights) == pytest.approx(best, abs=1e-5)
    x[0], expected[0] = x[0] * size, expected[0] * size
    np.testing.assert_allclose(x, expected, atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_what_must_not_change_probabilities(n_classes):
    outputs, codes, _ = scored(n_classes)
    times = np.random.default_rng(0).integers(1, 4, codes.size)
    found = probabilities(outputs, *calibrated(outputs, codes, times.astype(float)))
    # repetition
    again, known = np.repeat(outputs, times, axis=0), np.repeat(codes, times)
    repeated = calibrated(again, known, np.ones(known.size))
    np.testing.assert_allclose(probabilities(outputs, *repeated), found, atol=1e-9)
    # order of the samples, and unit of the scores
    order = np.random.default_rng(1).permutation(codes.size)
    moved = 1e3 * outputs
    shuffled = calibrated(moved[order], codes[order], times[order].astype(float))
    np.testing.assert_allclose(probabilities(moved, *shuffled), found, atol=1e-7)
    # names of the classes
    new = np.random.default_rng(2).permutation(n_classes)
    renamed = -outputs if n_classes == 2 else outputs[:, np.argsort(new)]
    if n_classes == 2:
        new = np.array([1, 0])
    other = calibrated(renamed, new[codes], times.astype(float))
    np.testing.assert_allclose(probabilities(renamed, *other)[:, new], found, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3, 8])
def test_separable_scores_have_finite_probabilities(n_classes):
    """As sure as so many labels allow: not less with more classes."""
    codes = np.repeat(np.arange(n_classes), 20)
    outputs = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    outputs = outputs[:, 1:] if n_classes == 2 else outputs
    found = probabilities(outputs, *calibrated(outputs, codes, np.ones(codes.size)))
    own = found[np.arange(codes.size), codes]
    most = (codes.size + 0.5) / (codes.size + 1)
    assert (own < most).all()
    # the gain over the shares is the logarithm of the number of classes, sample by sample
    least = 1.0 - 1.0 / (0.9 * codes.size * np.log(n_classes))
    odds = np.log(most / (1 - most) * (n_classes - 1))
    assert (np.log(own / (1 - own) * (n_classes - 1)) > least * odds).all()


@pytest.mark.parametrize("sign", [-1.0, 0.0])
def test_useless_scores_have_the_shares_of_the_classes(sign):
    outputs, codes = scores_of(15, 45, 0.0)
    found = probabilities(sign * outputs, *calibrated(sign * outputs, codes, np.ones(60)))
    np.testing.assert_allclose(found[:, 1], 0.25, atol=0.005)


def test_scores_that_do_not_vary():
    codes = np.repeat([0, 1, 2], [10, 20, 30])
    outputs = np.tile([1.0, -2.0, 0.5], (60, 1))
    found = probabilities(outputs, *calibrated(outputs, codes, np.ones(60)))
    np.testing.assert_allclose(found[0], [1 / 6, 1 / 3, 1 / 2], atol=0.01)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_equal_shares_leave_the_order_of_the_scores(n_classes):
    rng = np.random.default_rng(n_classes)
    codes = np.repeat(np.arange(n_classes), 15)
    outputs = rng.standard_normal((codes.size, n_classes)) + np.eye(n_classes)[codes]
    outputs[:, 1] *= 0.1  # a class between the others
    _, biases = calibrated(outputs, codes, np.ones(codes.size))
    np.testing.assert_array_equal(biases, 0.0)


def test_scores_without_a_meaning_are_hardly_believed():
    """By greatest likelihood alone, noise is better than nothing in every second draw."""
    loss, rng = [], np.random.default_rng(0)
    for _ in range(200):
        outputs, new = rng.standard_normal((2, 40, 1))
        codes = np.arange(40) % 2
        found = probabilities(new, *calibrated(outputs, codes, np.ones(40)))
        loss.append(-np.log(found[np.arange(40), codes]).mean())
    assert np.mean(loss) < np.log(2.0) + 0.005


def test_rare_class_is_not_overrated():
    """The mean probability of a class of one in 21 is its share, though the cut is balanced."""
    outputs, codes = scores_of(20, 400, -0.3)
    cut = balanced_cuts(outputs, codes, np.ones(codes.size))
    found = probabilities(outputs - cut, *calibrated(outputs - cut, codes, np.ones(codes.size)))
    assert found[:, 1].mean() == pytest.approx(20 / 420, abs=0.002)


def test_probabilities_of_extreme_scores():
    scores = np.array([[-800.0], [-1.0], [0.0], [1.0], [800.0]])
    found = probabilities(scores, 2.0, np.array([0.5, -0.5]))
    np.testing.assert_allclose(found[1:4, 1], 1 / (1 + np.exp([3.0, 1.0, -1.0])), rtol=1e-14)
    np.testing.assert_array_equal(found[[0, 4]], [[1.0, 0.0], [0.0, 1.0]])


def labelled(shape=(70, 7), n_classes=2, share=0.4, seed=0):
    """Classes by the size of a noisy signal."""
    X, y = problem(shape, seed=seed)
    y = y + np.random.default_rng(seed).standard_normal(len(y)) * y.std()
    cuts = [1 - share] if n_classes == 2 else [0.3, 0.8]
    return X, np.digitize(y, np.quantile(y, cuts))


def signed(codes, n_classes):
    targets = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    return targets[:, 1:] if n_classes == 2 else targets


def splits_of(cv, X, codes):
    if cv is None:
        return literal.leave_one_out(len(codes))
    if isinstance(cv, int):
        cv = StratifiedKFold(cv)
    return list(cv.split(X, codes)) if hasattr(cv, "split") else cv


HALVES = [(np.arange(35), np.arange(35, 70)), (np.arange(35, 70), np.arange(35))]
CVS = {"loo": None, "int": 4, "splitter": KFold(3, shuffle=True, random_state=0), "list": HALVES}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CVS)
@pytest.mark.parametrize("density", [1.0, 0.5])
def test_from_literal_scores(n_classes, name, density):
    """Cut and probabilities of the classifier are those of literal out-of-fold scores."""
    X, codes = labelled(n_classes=n_classes)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(codes))
    cv = CVS[name]
    if (name, density) == ("loo", 0.5):
        cv = StratifiedKFold(10, shuffle=True, random_state=0)
    shared = {"density": density, "cv": None if name == "loo" else cv, "threshold": "balanced"}
    model = StretchyClassifier(1.25, 10.0, **shared).fit(X, codes, sample_weight=weights)
    splits = splits_of(cv, X, codes)
    tested = np.concatenate([test for _, test in splits])
    P, targets = literal.features(X, -0.2, weights), signed(codes, n_classes)
    count = literal.count_of(density, X.shape[1])
    fitted = {"weights": weights, "count": count}
    scores = literal.out_of_fold(P, targets, splits, 1.25, 10.0, **fitted)
    true, w = codes[tested], weights[tested]
    cuts = nearest_cuts(scores, true, w)
    np.testing.assert_allclose(np.atleast_1d(model.threshold_), cuts, rtol=0, atol=1e-8)
    learned = expected_of(scores - cuts, true, w)
    everyone = [(np.arange(len(codes)), np.arange(len(codes)))]
    outputs = literal.out_of_fold(P, targets, everyone, 1.25, 10.0, **fitted) - cuts
    margins = np.hstack([np.zeros_like(outputs), outputs]) if n_classes == 2 else outputs
    expected = softmax(learned[0] * margins + learned[1:], axis=1)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-5)


@pytest.mark.parametrize("estimator", [StretchyClassifier, StretchyClassifierCV])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("threshold", ["zero", "balanced", "auto"])
@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
def test_probabilities_rise_with_the_score(estimator, n_classes, threshold):
    X, codes = labelled(n_classes=n_classes)
    names = np.array(["low", "mid", "up"])
    model = estimator(threshold=threshold).fit(X, names[codes])
    new = np.vstack([X, new_rows(X, 200)])
    found = model.predict_proba(new)
    assert found.shape == (len(new), n_classes)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)
    assert found.min() >= 0
    scores = model.decision_function(new)
    if n_classes == 2:
        order = np.argsort(scores)
        assert (np.diff(found[order, 1]) >= 0).all()
        # one probability parts the labels, wherever the cut is
        labels = model.predict(new) == model.classes_[1]
        assert found[labels, 1].min() > found[~labels, 1].max()
    else:
        odds = np.log(found) - model._decision.factor * scores
        odds -= odds[:, :1]
        np.testing.assert_allclose(odds, np.broadcast_to(odds[0], odds.shape), atol=1e-9)
    assert np.shape(model.threshold_) == (() if n_classes == 2 else (3,))


@pytest.mark.parametrize("estimator", [StretchyClassifier, StretchyClassifierCV])
@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
def test_thresholds(estimator):
    X, codes = labelled(share=0.1, shape=(150, 5))
    models = {
        t: estimator(threshold=t, class_weight=None).fit(X, codes)
        for t in ("zero", "balanced", "auto")
    }
    assert models["zero"].threshold_ == 0.0
    assert models["balanced"].threshold_ < -0.3
    assert models["auto"].threshold_ in (0.0, models["balanced"].threshold_)
    raw = models["zero"].decision_function(X)
    for model in models.values():
        np.testing.assert_allclose(
            model.decision_function(X), raw - model.threshold_, rtol=0, atol=1e-13
        )
        np.testing.assert_array_equal(model.predict(X), raw > model.threshold_)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("class_weight", ["balanced", "dict"])
def test_class_weight_fits_with_weights(n_classes, class_weight):
    X, codes = labelled(n_classes=n_classes)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(codes))
    if class_weight == "dict":
        given_weight = {0: 3.0, 1: 0.5}  # the third class keeps one
        of_class = np.array([3.0, 0.5, 1.0])[:n_classes]
    else:
        given_weight = "balanced"
        totals = np.array([weights[codes == j].sum() for j in range(n_classes)])
        of_class = weights.sum() / (n_classes * totals)
    model = StretchyClassifier(1.25, 10.0, class_weight=given_weight)
    model.fit(X, codes, sample_weight=weights)
    combined = weights * of_class[codes]
    P = literal.features(X, -0.2, combined)
    coef, _ = literal.fit(P, signed(codes, n_classes), 1.25, 10.0, weights=combined)
    np.testing.assert_allclose(np.atleast_2d(model.alpha_), coef.T.astype(float), rtol=1e-9)


def rare_positives(seed):
    """Few positives, told by some of many rarely set bits."""
    rng = np.random.default_rng(seed)
    codes = (rng.random(600) < 0.08).astype(int)
    rates = np.full((2, 1000), 0.05)
    rates[1, :30] = 0.25
    return (rng.random((600, 1000)) < rates[codes]).astype(float), codes


@pytest.mark.parametrize("estimator", [StretchyClassifier, StretchyClassifierCV])
@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
def test_rare_positives_are_found(estimator):
    search = {"a_grid": (-0.2,), "k_grid": (1.25,)}
    params = {"c": 0.1} if estimator is StretchyClassifier else search
    for seed in range(3):
        X, codes = rare_positives(seed)
        train, test = np.arange(300), np.arange(300, 600)
        rates = {}
        for threshold in ("zero", "auto"):
            model = estimator(threshold=threshold, class_weight=None, **params)
            model.fit(X[train], codes[train])
            rates[threshold] = 1 - balanced_accuracy_score(codes[test], model.predict(X[test]))
        assert rates["auto"] < rates["zero"] - 0.1


def test_no_scores_to_calibrate_on():
    X, codes = labelled()
    tested = np.flatnonzero(codes == 0)[:10]
    cv = [(np.setdiff1d(np.arange(len(codes)), tested), tested)]
    model = StretchyClassifier(cv=cv).fit(X, codes)
    assert model.threshold_ == 0.0
    with pytest.raises(ValueError, match="no finite out-of-fold scores of every class"):
        model.predict_proba(X)
    with pytest.raises(ValueError, match=r'threshold="balanced" needs finite out-of-fold scores'):
        StretchyClassifier(cv=cv, threshold="balanced").fit(X, codes)

"""The arena: its sets and folds, the arithmetic of its summary, its own competitors."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.preprocessing import StandardScaler

from benchmarks.arena import ledger, standings, summary
from benchmarks.arena.__main__ import main
from benchmarks.arena.data import FAMILIES, KINDS, Task, available_tasks, family_of, load_task
from benchmarks.arena.methods import METHODS, OURS, PEERS
from benchmarks.arena.outsiders import PLSDiscriminant, whole_path
from benchmarks.arena.run import splits
from skstretch.cli.methods import glmnet_classification, glmnet_regression

needs_glmnet = pytest.mark.skipif(
    find_spec("glmnet") is None, reason="needs python-glmnet: pip install python-glmnet"
)


def test_every_member_of_a_family_is_a_set():
    assert all(name in KINDS for sets in FAMILIES.values() for name in sets)
    assert {family_of(name) for name in ("corn_m5", "corn_mp5", "corn_mp6")} == {"corn"}
    assert family_of("prostate") == "prostate"


def test_peers_are_methods_of_their_kind():
    for kind, peers in PEERS.items():
        assert set(peers) < set(METHODS[kind])
        assert OURS not in peers


def test_real_sets_are_found_and_families_share_what_they_claim(data_dir, monkeypatch):
    monkeypatch.setenv("SKSTRETCH_DATA", str(data_dir))
    assert set(available_tasks()) == set(KINDS)
    corn = [load_task(name).targets for name in FAMILIES["corn"]]
    for others in corn[1:]:
        assert all(np.array_equal(corn[0][name], others[name]) for name in corn[0])
    emulsions = [load_task(name).targets for name in FAMILIES["emulsions"]]
    assert all(np.array_equal(emulsions[0][name], emulsions[1][name]) for name in emulsions[0])


def test_rows_and_targets_are_cut_by_the_rules(data_dir, monkeypatch):
    monkeypatch.setenv("SKSTRETCH_DATA", str(data_dir))
    assert load_task("madelon").X.shape == (2_000, 500)
    assert load_task("pcmac").X.shape[0] == 600
    assert list(load_task("corn_m5").targets) == ["moisture", "oil", "protein"]
    assert list(load_task("forages2_dm_ndf").targets) == ["DM"]


def test_samples_of_one_patient_are_one_group(data_dir, monkeypatch):
    monkeypatch.setenv("SKSTRETCH_DATA", str(data_dir))
    counts = np.unique(load_task("breast_tumors").groups, return_counts=True)[1]
    assert counts.max() == 2
    assert counts.sum() == 47


def _task(kind="regression", n=40, grouped=False, n_targets=1):
    rng = np.random.default_rng(0)
    y = rng.normal(size=n) if kind == "regression" else np.arange(n) % 2
    groups = np.arange(n) // 4 if grouped else None
    targets = {f"y{i}": y for i in range(n_targets)}
    return Task("made up", kind, rng.normal(size=(n, 3)), targets, groups)


def _tests(task, seed, repeats=None):
    return [tuple(split.test) for split in splits(task, seed, repeats)]


def test_folds_repeat_and_differ_between_seeds_and_repeats():
    task = _task()
    assert _tests(task, "test") == _tests(task, "test")
    assert not set(_tests(task, "test")) & set(_tests(task, "dev"))
    assert len(set(_tests(task, "test"))) == 10


def test_fewer_repeats_are_the_first_ones_of_more():
    task = _task("classification")
    assert _tests(task, "dev", 2) == _tests(task, "dev")[:4]


@pytest.mark.parametrize(
    ("n", "n_targets", "n_folds"), [(99, 1, 10), (100, 1, 6), (99, 2, 12), (250, 1, 4)]
)
def test_repeats_follow_the_number_of_rows(n, n_targets, n_folds):
    assert len(_tests(_task(n=n, n_targets=n_targets), "test")) == n_folds


@pytest.mark.parametrize("kind", ["regression", "classification"])
def test_groups_are_never_divided(kind):
    task = _task(kind, grouped=True)
    for split in splits(task, "test"):
        assert not set(task.groups[split.train]) & set(task.groups[split.test])


def test_groups_follow_the_rows_whose_target_is_known():
    task = _task(grouped=True)
    task.targets["y0"][:4] = np.nan
    assert len(task.groups_of("y0")) == len(task.rows("y0")[1]) == 36


TABLE = pd.DataFrame(
    {
        "ridge": [0.4, 0.1, 0.3, 0.2],
        "enet": [0.2, 0.4, 0.3, 0.4],
        OURS: [0.1, 0.2, 0.6, np.nan],
    },
    index=["corn_m5", "corn_mp5", "prostate", "pac"],
)


def test_a_family_is_the_mean_of_its_sets():
    families = standings.by_family(TABLE)
    assert list(families.index) == ["corn", "prostate", "pac"]
    np.testing.assert_allclose(families.loc["corn"], [0.25, 0.3, 0.15])


def test_ranks_are_over_families_where_all_have_a_result():
    test = standings.ranking(TABLE, ["ridge", "enet", OURS])
    assert test.n_sets == 2
    # corn: ours, ridge, enet; prostate: ridge and enet tie before ours
    ranks = dict(zip(test.names, test.mean_ranks, strict=True))
    assert ranks == {"ridge": 1.75, "enet": 2.25, OURS: 2.0}


def test_ratios_to_the_best_peer_of_each_set():
    of_sets = standings.ratios(TABLE, OURS, ["ridge", "enet"], 0.0)
    np.testing.assert_allclose(of_sets, [0.5, 2.0, 2.0])
    families = standings.family_ratios(of_sets)
    np.testing.assert_allclose(families, [1.0, 2.0])
    assert standings.geometric_mean(families) == pytest.approx(np.sqrt(2.0))


def test_no_method_is_its_own_peer_and_small_rates_count_as_the_floor():
    np.testing.assert_allclose(
        standings.ratios(TABLE, "ridge", ["ridge", "enet"], 0.0), [2.0, 0.25, 1.0, 0.5]
    )
    np.testing.assert_allclose(standings.ratios(TABLE / 100, OURS, ["ridge"], 0.01), [1, 1, 1])


def test_standings_count_losses_beyond_the_margin():
    ours = standings.standings("regression", TABLE)[-1]
    assert (ours.method, list(ours.lost.index)) == (OURS, ["prostate"])
    assert ours.mean_error == pytest.approx((0.15 + 0.6) / 2)


def _row(method, error, **changes):
    values = {
        **{"seed": "test", "kind": "regression", "task": "pac", "target": "y", "repeat": 0},
        **{"fold": 0, "method": method, "error": error, "baseline": 1.0, "seconds": 1.0},
        **{"cpu_seconds": 1.0, "n_train": 10, "n_features": 3, "status": "ok"},
        **{"commit": "abc", "date": "2026-01-31"},
    }
    return ledger.Row(**values | changes)


def test_a_method_without_all_folds_is_not_compared(tmp_path):
    rows = [_row("ridge", 0.2, fold=fold) for fold in (0, 1)] + [_row("enet", 0.1)]
    ledger.append(tmp_path / "r.csv", rows)
    table = standings.comparable(ledger.read(tmp_path / "r.csv"))
    assert table.loc["pac", "ridge"] == pytest.approx(0.2)
    assert np.isnan(table.loc["pac", "enet"])


def test_the_two_seeds_do_not_meet(tmp_path):
    path = tmp_path / "r.csv"
    ledger.append(path, [_row("ridge", 0.25), _row("ridge", 0.75, seed="dev")])
    assert len(ledger.done_rows(path)) == 2
    assert "0.2500" in summary.summarise(path, "test")
    assert "0.7500" not in summary.summarise(path, "test")


def test_the_page_says_which_commit_made_our_rows(tmp_path):
    ledger.append(tmp_path / "r.csv", [_row(OURS, 0.25), _row("ridge", 0.5, commit="older")])
    text = summary.summarise(tmp_path / "r.csv")
    assert "commit abc, 2026-01-31 (1 fits)" in text
    assert "on 0 of 1 sets; worst set: pac (0.50)" in text
    assert "older" not in text


def test_a_file_of_an_older_arena_is_refused(tmp_path, capsys):
    (tmp_path / "old.csv").write_text("kind,task,target,repeat,fold,method,status\n")
    assert main(["--summary", "--out", str(tmp_path / "old.csv")]) == 2
    assert "older arena" in capsys.readouterr().err


def _three_classes(n, p):
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], [n // 2, n // 4, n - n // 2 - n // 4])
    X = rng.normal(size=(n, p))
    X[:, 0] += 2 * y
    X[:, 1] -= y == 1
    return X, y * 10


@pytest.mark.parametrize("p", [6, 90])
def test_discriminant_is_pls_on_coded_classes(p):
    X, y = _three_classes(48, p)
    model = PLSDiscriminant().fit(X, y)
    Z = StandardScaler().fit_transform(X)
    pls = PLSRegression(model.n_components_, scale=False).fit(Z, (y[:, None] == [0, 10, 20]) * 1.0)
    codes = pls.predict(Z)
    means = [codes[y == label].mean(axis=0) for label in (0, 10, 20)]
    nearest = np.argmin([np.sum((codes - mean) ** 2, axis=1) for mean in means], axis=0)
    np.testing.assert_array_equal(model.predict(X), 10 * nearest)
    assert np.mean(model.predict(X) == y) > 0.7


@needs_glmnet
def test_whole_path_goes_on_where_glmnet_stops():
    X, _ = _three_classes(60, 5)
    y = X @ np.ones(5)
    own = glmnet_regression(X, y, alpha=0.5).lambda_path_
    full = whole_path(glmnet_regression, X, y, alpha=0.5).lambda_path_
    assert len(own) < len(full) == 100
    np.testing.assert_allclose(full[: len(own)], own, rtol=1e-6)


@needs_glmnet
def test_whole_path_of_classes_has_the_penalties_of_glmnet():
    X, y = _three_classes(60, 5)
    own = glmnet_classification(X, y, alpha=0.5).lambda_path_
    full = whole_path(glmnet_classification, X, y, alpha=0.5).lambda_path_
    np.testing.assert_allclose(full, own, rtol=1e-6)
    assert len(full) == 100


@needs_glmnet
def test_glmnet_folds_are_fewer_where_no_class_has_ten():
    X, y = _three_classes(16, 5)
    with pytest.warns(UserWarning, match="least populated class in y has only 4"):
        assert glmnet_classification(X, y, alpha=0.5).n_splits == 8

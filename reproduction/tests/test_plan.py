"""What a piece needs, and in which order."""

from dataclasses import replace

import pytest

from reproduction.plan import PIECES, PROBES, SLOW, CurveTask, make_plan
from reproduction.run import GUESSES, Progress
from reproduction.sets import DEFAULT, SETS, STANDINS, choose_sets
from reproduction.settings import FULL, QUICK

ALL = choose_sets(DEFAULT)


def families(plan):
    return {(unit.dataset, unit.family) for unit in plan.units}


def test_all_has_every_figure_and_set():
    plan = make_plan(["all"], ALL, FULL)
    assert plan.figures == (*(f"fig{i}" for i in range(1, 13)), "projection")
    assert {name for name, _ in families(plan)} == set(DEFAULT)
    assert ("madelon", "RPN") in families(plan)
    assert sum(family == "RPN" for _, family in families(plan)) == 1
    assert len(plan.units) == len({unit.key for unit in plan.units})


def test_figures_ask_for_their_own_sets():
    assert families(make_plan(["fig11"], ALL, QUICK)) == {(name, "SR") for name in DEFAULT}
    regression = families(make_plan(["fig9"], ALL, QUICK))
    assert {name for name, _ in regression} == {"prostate", "diabetes", "corn"}
    assert make_plan(["fig4"], ALL, QUICK).units == ()
    assert make_plan(["fig4"], ALL, QUICK).curves == (CurveTask("fig4"),)
    assert families(make_plan(["madelon"], ALL, QUICK)) == {("madelon", "SR"), ("madelon", "RPN")}


def test_slow_families_come_last_trial_by_trial():
    units = make_plan(["all"], ALL, FULL).units
    first = next(i for i, unit in enumerate(units) if unit.family in SLOW)
    assert all(unit.family in SLOW for unit in units[first:])
    trials = [unit.trial for unit in units[first:]]
    assert trials == sorted(trials)
    assert {unit.dataset for unit in units[first:] if unit.trial == 0} == set(DEFAULT)


def test_stand_ins_are_a_small_piece_of_their_own():
    sets = choose_sets((*DEFAULT, *STANDINS))
    plan = make_plan(["standins"], sets, FULL)
    assert {unit.dataset for unit in plan.units} == set(STANDINS) == set(PROBES)
    assert {unit.trial for unit in plan.units} == {0}
    assert {cell.piece for unit in plan.units for cell in unit.cells} == {"standin"}
    assert {task.dataset for task in plan.curves} == set(STANDINS)
    assert ("gaze-standin", "LASSO") not in families(plan)
    assert ("tfidf-standin", "LASSOCV") in families(plan)
    assert plan.figures == ()
    whole = make_plan(["all"], sets, FULL)
    assert [unit.dataset in STANDINS for unit in whole.units] == sorted(
        unit.dataset in STANDINS for unit in whole.units
    )
    for piece in set(PIECES) - {"all", "standins"}:
        assert not set(STANDINS) & make_plan([piece], sets, FULL).datasets


def test_lasso_waits_for_memory(monkeypatch):
    gaze = choose_sets(["gaze"])
    for size, there in ((20e9, False), (64e9, True)):
        monkeypatch.setattr("reproduction.sets.memory_bytes", lambda size=size: size)
        assert (("gaze", "LASSO") in families(make_plan(["fig9"], gaze, FULL))) is there
    assert ("gaze", "LASSOCV") not in families(make_plan(["fig9"], gaze, FULL))


def test_tables_two_and_three_ask_for_the_sizes_of_their_sets():
    plan = make_plan(["table3"], ALL, QUICK)
    assert plan.units == ()
    assert plan.curves == tuple(
        CurveTask("datasets", name) for name in ("arcene", "dexter", "madelon", "dorothea")
    )


def test_every_piece_has_a_plan():
    for piece in PIECES:
        make_plan([piece], ALL, QUICK)


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(ValueError, match=r"unknown piece 'fig21'.* Did you mean 'fig2'"):
        make_plan(["fig21"], ALL, QUICK)
    with pytest.raises(ValueError, match=r"unknown data set 'dorotea'.* Did you mean 'dorothea'"):
        choose_sets(["dorotea"])


def test_stand_ins_say_so():
    for name, entry in SETS.items():
        assert entry.standin == name.endswith("-standin") == ("stand-in" in entry.title)
    assert SETS["gaze-standin"].quadrant == SETS["gaze"].quadrant == "identity"
    assert SETS["corn"].measure == "rmse"


def test_first_estimate_counts_cells():
    """Half of the cells of a large set are half of the time."""
    seconds = []
    for settings in (FULL, replace(FULL, powers=FULL.powers[:3])):
        units = make_plan(["fig11"], choose_sets(["dorothea"]), settings).units
        seconds.append(Progress(len(units), units, 1, lambda _: None).seconds_left())
    assert seconds[1] == pytest.approx(0.6 * seconds[0])


def test_every_slow_unit_has_a_guess():
    """A unit of a large or generated set is never taken for a second."""
    sets = [entry for entry in SETS.values() if entry.large or entry.standin]
    units = make_plan(["all"], sets, FULL).units
    assert {(unit.dataset, unit.family) for unit in units} <= GUESSES.keys()


def test_progress_learns_the_pace():
    units = make_plan(["fig11"], choose_sets(["diabetes"]), FULL).units
    said = []
    progress = Progress(len(units), units, 2, said.append)
    progress.finished(units[0], "the first", 10.0)
    assert progress.seconds_left() == pytest.approx(10.0 * (len(units) - 1) / 2)
    assert said[-1] == "[1/20] the first: 10.0 s; about 95 s left".replace("95 s", "2 min")

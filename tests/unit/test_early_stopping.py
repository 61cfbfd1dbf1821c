"""Early stopping: after a trial without the held-out rows, all rows are learned."""

from contextlib import suppress

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import linsep
from linsep import KernelPerceptron, MarginPerceptron, PassiveAggressive, Perceptron
from linsep.sources.arrays import ArraySource
from storages import weights
from trials import Press

pytestmark = pytest.mark.compiled

STOPPING = {"early_stopping": True, "validation_fraction": 0.3, "n_iter_no_change": 2}


def noisy(classes=3, n=150):
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, n)
    return rng.normal(size=(n, 5)) + 1.5 * np.eye(5)[y % 5], y


def as_given(X, y, form):
    """Rows in memory, or a source of them that keeps its rows in memory or in a row cache."""
    if form == "dense":
        return X, y
    if form == "sparse":
        return sp.csr_matrix(X), y
    source = ArraySource(X, y)
    source.memory_bytes = 0 if form == "row cache" else 1 << 28
    return (source,)


def learned(model):
    """All that a fit has learned, and how."""
    arrays, facts = model.get_state()
    training = facts["training"] | {"trial": None, "stop_reason": None}
    training["passes"] = [report[:-1] for report in training["passes"]]
    return {name: array.tobytes() for name, array in arrays.items()}, training


@pytest.mark.parametrize("form", ["dense", "sparse", "memory", "row cache"])
@pytest.mark.parametrize(
    "model",
    [
        Perceptron(keep="average"),
        Perceptron(keep="vote", multiclass="ovo"),
        Perceptron(keep="best", multiclass="ovr", shuffle=False),
        MarginPerceptron(keep="average", class_weight={1: 2.0}),
        PassiveAggressive(keep="average", normalize=True),
        KernelPerceptron(keep="average"),
        KernelPerceptron(keep="vote", cache_mb=0.0),
        KernelPerceptron(keep="average", budget=20),
    ],
    ids=str,
)
def test_all_rows_are_learned_in_the_passes_of_the_trial(model, form):
    X, y = noisy()
    found = clone(model).set_params(max_iter=12, **STOPPING).fit(*as_given(X, y, form))
    trial = found.fitted_run().trial
    expected = clone(model).set_params(max_iter=len(trial)).fit(*as_given(X, y, form))
    assert learned(found) == learned(expected)
    assert found.n_iter_ == len(trial) == len(found.validation_scores_)
    assert found.fitted_run().reports[0].rows == 150 > trial[0].rows
    assert found.stop_reason_ == ("early_stop" if len(trial) < 12 else "max_iter")


@pytest.mark.parametrize("keep", ["average", "vote", "best"])
def test_initial_weights_count_in_both_runs(keep):
    X, y = noisy()
    first = Perceptron(keep=keep, warm_start=True, max_iter=2).fit(X[:100], y[:100])
    stopped = copied(first).set_params(max_iter=9, **STOPPING).fit(X, y)
    plain = copied(first).set_params(max_iter=stopped.n_iter_).fit(X, y)
    assert learned(stopped) == learned(plain)


def copied(model):
    """Another model that has learned the same."""
    other = clone(model)
    arrays, facts = model.get_state()
    other.set_state(arrays, facts)
    return other


def test_rows_of_weight_zero_are_skipped_in_both_runs():
    X, y = noisy()
    counted = np.arange(150) % 4 / 2.0
    found = Perceptron(keep="average", max_iter=9, **STOPPING).fit(X, y, sample_weight=counted)
    plain = Perceptron(keep="average", max_iter=found.n_iter_).fit(X, y, sample_weight=counted)
    assert learned(found) == learned(plain)


@pytest.mark.parametrize("stop", [False, True], ids=["Ctrl-C", "callback"])
def test_a_trial_that_is_stopped_leaves_its_best_weights(stop):
    X, y = noisy()
    model = Perceptron(keep="average", max_iter=9, **STOPPING)
    whole = clone(model).fit(X, y)
    best = int(whole.validation_scores_.argmax())
    found = []
    for after in range(best, len(whole.validation_scores_)):
        one = clone(model).set_callbacks(Press(after, stop))
        with suppress(KeyboardInterrupt):
            one.fit(X, y)
        assert one.n_iter_ == after + 1 == len(one.validation_scores_)
        assert one.stop_reason_ == ("early_stop" if stop else "interrupted")
        assert "restored" in one.report_.left_out["||w||/M"]
        found.append(weights(one))
    assert len(set(found)) == 1
    why = one.bounds(X, y).left_out["mistake bounds"]
    assert ("rows were held out" if stop else "interrupted") in why


def test_a_run_over_all_rows_that_is_stopped_keeps_what_it_has_learned():
    X, y = noisy()
    model = Perceptron(keep="average", max_iter=9, **STOPPING)
    tried = len(clone(model).fit(X, y).validation_scores_)
    assert tried > 2
    model.set_callbacks(Press(tried + 1))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert weights(model) == weights(Perceptron(keep="average", max_iter=2).fit(X, y))
    assert (model.n_iter_, model.stop_reason_) == (2, "interrupted")
    assert len(model.validation_scores_) == tried


def test_callbacks_see_the_passes_of_both_runs():
    X, y = noisy()
    press = Press(after=None)
    model = Perceptron(keep="average", max_iter=4, **STOPPING | {"n_iter_no_change": 9})
    model.set_callbacks(press).fit(X, y)
    assert len(press.seen) == 8
    for passes, seen in enumerate(press.seen[4:], start=1):
        assert weights(seen) == weights(Perceptron(keep="average", max_iter=passes).fit(X, y))
    assert model.stop_reason_ == "max_iter"


def test_a_trial_is_saved_with_the_model(tmp_path):
    X, y = noisy()
    model = Perceptron(keep="average", **STOPPING).fit(X, y)
    loaded = linsep.load(linsep.save(model, tmp_path / "m"))
    assert loaded.validation_curve_.tolist() == model.validation_curve_.tolist()
    assert loaded.stop_sentence_ == model.stop_sentence_
    assert "as many passes as without the held-out rows" in model.stop_sentence_
    assert loaded.bounds(X, y).kept == model.bounds(X, y).kept
    assert learned(loaded.set_params(early_stopping=False).partial_fit(X, y)) == learned(
        model.set_params(early_stopping=False).partial_fit(X, y)
    )


def test_models_saved_before_there_were_trials_are_read():
    X, y = noisy()
    model = Perceptron(keep="average", max_iter=9, **STOPPING).set_callbacks(Press(1, stop=True))
    arrays, facts = model.fit(X, y).get_state()
    assert "trial" not in facts["training"]
    loaded = Perceptron(keep="average", max_iter=9, **STOPPING)
    loaded.set_state(arrays, facts)
    assert loaded.validation_scores_.tolist() == model.validation_scores_.tolist()
    arrays, facts = model.get_state()
    facts["training"]["trial"] = [[0, 1, 2]]
    with pytest.raises(TypeError, match="missing"):
        loaded.set_state(arrays, facts)


def test_a_margin_is_proved_of_all_rows():
    X, y = noisy(2)
    X[:, 0] += 80.0 * y - 40.0
    model = MarginPerceptron(keep="average", max_iter=400, **STOPPING | {"n_iter_no_change": 400})
    model.fit(X, y)
    plain = MarginPerceptron(keep="average", max_iter=model.n_iter_).fit(X, y)
    assert model.stop_reason_ == plain.stop_reason_
    assert model.margin_interval_ == plain.margin_interval_
    assert str(model.bounds(X, y)) == str(plain.bounds(X, y))

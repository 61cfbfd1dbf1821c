"""Early stopping: held-out rows by their weights, and after a trial without them all rows."""

import re
from contextlib import suppress

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import linsep
from interrupting import Press
from linsep import KernelPerceptron, Perceptron
from linsep.rows.arrays import HoldOut
from linsep.sources.arrays import ArraySource
from storages import weights


def of_the_trial(model, X, y, **how):
    """The same model, stopped at the end of its trial, with the best weights of that."""
    passes = len(clone(model).fit(X, y, **how).validation_scores_)
    return clone(model).set_callbacks(Press(passes, stop=True)).fit(X, y, **how)


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


@pytest.mark.parametrize(
    ("model", "form"),
    [
        (Perceptron(keep="average"), "row cache"),
        (Perceptron(keep="vote", multiclass="ovo", class_weight={1: 2.0}), "sparse"),
        (Perceptron(keep="best", multiclass="ovr", shuffle=False), "memory"),
        (KernelPerceptron(keep="average", budget=20), "dense"),
    ],
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
    if found.stop_reason_ == "early_stop":
        best = found.validation_scores_.argmax() + 1
        assert re.findall(r"\d+", found.stop_sentence_) == [str(best), str(len(trial))]


@pytest.mark.parametrize("stop", [False, True], ids=["Ctrl-C", "callback"])
def test_a_trial_that_is_stopped_leaves_its_best_weights(stop):
    X, y = noisy()
    model = Perceptron(keep="average", max_iter=9, **STOPPING)
    whole = clone(model).fit(X, y)
    best = int(whole.validation_scores_.argmax())
    found = []
    for after in range(best, len(whole.validation_scores_)):
        one = clone(model).set_callbacks(Press(after + 1, stop))
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
    model.set_callbacks(Press(tried + 2))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert weights(model) == weights(Perceptron(keep="average", max_iter=2).fit(X, y))
    assert (model.n_iter_, model.stop_reason_) == (2, "interrupted")
    assert len(model.validation_scores_) == tried


def test_a_trial_is_saved_with_the_model(tmp_path):
    X, y = noisy()
    model = Perceptron(keep="average", **STOPPING).fit(X, y)
    loaded = linsep.load(linsep.save(model, tmp_path / "m"))
    assert loaded.validation_curve_.tolist() == model.validation_curve_.tolist()
    assert loaded.stop_sentence_ == model.stop_sentence_
    assert loaded.bounds(X, y).kept == model.bounds(X, y).kept
    assert learned(loaded.set_params(early_stopping=False).partial_fit(X, y)) == learned(
        model.set_params(early_stopping=False).partial_fit(X, y)
    )


OPTIONS = {"early_stopping": True, "validation_fraction": 0.5, "max_iter": 1, "random_state": 0}


def held_out(model, y, fraction):
    codes = np.unique(y, return_inverse=True)[1].astype(np.int32)
    return HoldOut(fraction, codes.max() + 1, model.draw_seed()).draw(codes)


@pytest.mark.parametrize(
    "model", [Perceptron(**OPTIONS), KernelPerceptron(kernel="linear", **OPTIONS)]
)
def test_a_score_by_hand(model):
    """One side is learned: of the rows held out, those at -9 are wrong."""
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    held = held_out(model, y, 0.5)
    X = np.where(y == 1, 1.0, -1.0)[:, None]
    first, second = np.flatnonzero(held & (y == 1))
    X[second] = -9.0
    weights = np.ones(8)
    weights[[first, second]] = 2.0, 5.0
    # Right are two rows of weight 1 and one of weight 2; wrong is one of weight 5.
    assert model.fit(X, y, sample_weight=weights).validation_scores_.tolist() == [4 / 9]
    assert model.fit(X, y).validation_scores_.tolist() == [3 / 4]
    weights[second] = 0.0
    assert model.fit(X, y, sample_weight=weights).validation_scores_.tolist() == [1.0]


def weighed(classes):
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, 120)
    X = rng.normal(size=(120, 5)) + np.eye(5)[y % 5]
    return X, y, rng.exponential(size=120) * rng.integers(0, 3, 120)


@pytest.mark.parametrize(
    ("multiclass", "keep", "tie"),
    [
        (None, "average", "negative"),
        ("ovo", "best", "positive"),
    ],
)
def test_the_best_pass_is_that_of_the_best_weighted_score(multiclass, keep, tie):
    X, y, weights = weighed(4 if multiclass else 2)
    model = Perceptron(
        multiclass=multiclass or "native", keep=keep, tie=tie, early_stopping=True,
        validation_fraction=0.3, n_iter_no_change=3, max_iter=20, random_state=1,
    )  # fmt: skip
    model.fit(X, y, sample_weight=weights)
    held = held_out(model, y, 0.3)
    tried = of_the_trial(model, X, y, sample_weight=weights)
    expected = tried.score(X[held], y[held], sample_weight=weights[held])
    scores = model.validation_scores_
    assert scores.max() == pytest.approx(expected, abs=1e-12)
    assert len(scores) == model.n_iter_
    assert len(scores) in (20, int(scores.argmax()) + 4)

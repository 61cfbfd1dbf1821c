"""Runs that are cut short, gone on with, or changed in between; parameters set after a fit."""

import copy
import pickle
import signal
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import linsep
from family import KEEPS
from linsep import (
    KernelPerceptron,
    KernelSoftMargin,
    LinearRegression,
    LogisticRegression,
    MarginPerceptron,
    PassiveAggressive,
    Perceptron,
    Winnow,
)
from linsep.catalog import ESTIMATORS
from linsep.learners import passes as loop
from linsep.sources import ArraySource
from refusals import refused
from storages import SCHEMES, blobs, classes_of, weights


@pytest.mark.parametrize(("scheme", "keep"), list(zip(SCHEMES, KEEPS, strict=True)))
def test_ctrl_c_in_a_walk_leaves_what_is_kept_true(scheme, keep, monkeypatch):
    k, multiclass = classes_of(scheme)
    X, y = blobs(40, k=k, spread=9.0)
    walk, walks = loop.pass_loop, []

    def pressed(*args):
        done = walk(*args)
        walks.append(done)
        if len(walks) == 1:
            signal.raise_signal(signal.SIGINT)
        return done

    monkeypatch.setattr(loop, "pass_loop", pressed)
    model = Perceptron(multiclass=multiclass, keep=keep, shuffle=False)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    # All rows were walked, so the pass was closed before Ctrl-C took effect.
    same = Perceptron(multiclass=multiclass, keep=keep, shuffle=False, max_iter=1).fit(X, y)
    assert model.mistakes_.tolist() == same.mistakes_.tolist()
    for _ in range(2):
        assert model.fitted_run().state.rounds == same.fitted_run().state.rounds
        assert model.n_updates_ == same.n_updates_
        assert weights(model) == weights(same)
        assert np.array_equal(model.decision_function(X), same.decision_function(X))
        for one in (model, same):
            one.partial_fit(X, y)


def test_what_shapes_a_model_cannot_change_under_it(tmp_path):
    X, y = blobs(30)
    positive = np.abs(X)
    for model, changed in (
        (Perceptron(), {"multiclass": "ovo"}),
        (Perceptron(), {"fit_intercept": False}),
        (Perceptron(keep="vote"), {"keep": "last"}),
        (Winnow(multiclass="ovr", threshold=3.0), {"threshold": 5.0}),
    ):
        model.set_params(max_iter=2).fit(positive, y)
        name = next(iter(changed))
        before = model.decision_function(positive)
        with refused(ValueError, "conflict", option=name):
            model.set_params(**changed).partial_fit(positive, y)
        with refused(ValueError, "conflict", option=name):
            linsep.save(model, tmp_path / "m")
        assert not (tmp_path / "m").exists()
        assert np.array_equal(model.decision_function(positive), before)
        model.fit(positive, y)


def test_a_row_that_winnow_refuses_is_seen_before_any_is_learned():
    X, y = np.abs(blobs(20, 3, 2)[0]), np.arange(20) % 2
    X[4, 1] = -0.5
    model = Winnow()
    with refused(ValueError, "out-of-range", row=5, column=1):
        model.partial_fit(X, y, classes=[0, 1])
    assert not hasattr(model, "coef_")
    model.partial_fit(X[:4], y[:4], classes=[0, 1])
    before = weights(model)
    with refused(ValueError, "out-of-range", row=5, column=1):
        model.partial_fit(X, y)
    assert weights(model) == before


def test_a_row_without_a_margin_is_no_round_of_its_machines():
    X, y = blobs(12, 3, 3)
    X[7] = 0.0
    model, same = (
        MarginPerceptron(gamma=0.1, multiclass="ovo", fit_intercept=False, keep="average")
        for _ in range(2)
    )
    with refused(ValueError, "bad-value", row=8):
        model.partial_fit(X, y, classes=range(3))
    same.partial_fit(X[:7], y[:7], classes=range(3))
    assert weights(model) == weights(same)


def test_the_pocket_is_given_up_only_for_what_lives_longer():
    X, y = blobs(60, 4, 2, spread=9.0, seed=2)
    model = Perceptron(keep="best", max_iter=10).fit(X, y)
    pocket = weights(model)
    last = model.fitted_run().state.W
    assert pocket != weights(Perceptron(max_iter=10).fit(X, y))
    right = np.flatnonzero((X @ last[:-1] + last[-1]) * (2 * y - 1) > 0)[:1]
    model.partial_fit(X[right], y[right])
    assert weights(model) == pocket
    for _ in range(60):
        model.partial_fit(X[right], y[right])
    assert weights(model) == last.tobytes()


def test_only_rates_that_are_used_must_be_sound():
    X, y = np.array([[1.0, 0.0], [-1.0, 0.0]]), [1, 0]
    assert Perceptron(learning_rate=lambda k: 1 - k / 9).fit(X, y).stop_reason_ == "converged"
    hard, labels = blobs(30, 3, 2, spread=5.0)
    with refused(ValueError, "bad-option", option="learning_rate"):
        Perceptron(learning_rate=lambda k: 1 - k / 9).fit(hard, labels)
    online = Perceptron(learning_rate=lambda k: 1 - k / 9)
    with refused(ValueError, "bad-option", option="learning_rate"):
        online.partial_fit(hard, labels, classes=[0, 1])
    assert np.isfinite(online.coef_).all()


class Widening(ArraySource):
    """Sparse batches that are as wide as what was seen so far."""

    def batches(self):
        width = 1
        for batch in super().batches():
            width = max(width, int(batch.X.indices.max(initial=0)) + 1)
            yield batch._replace(X=batch.X[:, :width])


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("learner", [partial(Winnow, threshold=1.5), Perceptron])
def test_features_that_come_late_had_their_first_weight_all_along(learner, keep):
    rng = np.random.default_rng(61)  # the weights that live longest are from before they came
    X = np.zeros((40, 6))
    X[:30, 0], X[:30, 1] = 1.0, rng.integers(0, 2, 30)
    y = X[:, 1].astype(int)
    X[30:, 1:], y[30:] = rng.integers(0, 2, (10, 5)), rng.integers(0, 2, 10)
    X = sp.csr_array(X)
    options = {"keep": keep, "max_iter": 1, "shuffle": False}
    whole = learner(**options).fit(X, y)
    source = Widening(X, y, batch_rows=5)
    source.memory_bytes = 0
    streamed = learner(**options).fit(source)
    assert weights(streamed) == weights(whole)
    assert np.array_equal(streamed.decision_function(X), whole.decision_function(X))


def test_a_vote_of_rows_that_come_one_by_one_stays_small():
    X, y = blobs(300, 1, 2, spread=9.0)
    parts, whole = Perceptron(keep="vote"), Perceptron(keep="vote")
    for row in range(300):
        parts.partial_fit(X[row : row + 1], y[row : row + 1], classes=[0, 1])
    whole.partial_fit(X, y, classes=[0, 1])
    assert parts.n_updates_ > 100
    assert len(pickle.dumps(parts)) < len(pickle.dumps(whole)) + 10_000
    assert np.array_equal(parts.decision_function(X), whole.decision_function(X))
    changes, versions = parts.fitted_run().state.votes.used.tolist()
    assert [changes, versions] == whole.fitted_run().state.votes.used.tolist()
    most = (16 * changes + 20 * versions) / 1e6
    with refused(ValueError, "too-large", option="vote_mb"):
        Perceptron(keep="vote", vote_mb=0.99 * most).partial_fit(X, y, classes=[0, 1])
    assert most == pytest.approx(parts.n_updates_ * (2 * 16 + 20) / 1e6)


def test_lengths_are_those_of_whole_rows():
    twice = sp.csr_array((np.array([1.0, 2.0, 4.0]), [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    once = sp.csr_array(np.array([[3.0, 0.0], [0.0, 4.0]]))
    model = Perceptron(normalize=True).fit(once, [0, 1])
    assert np.array_equal(model.decision_function(twice), model.decision_function(once))
    assert twice.nnz == 3
    for learner in (PassiveAggressive(max_iter=3), Perceptron(normalize=True, max_iter=3)):
        read, held = (learner.fit(*given).coef_.tolist() for given in (
            (ArraySource(twice, [0, 1]),), (twice, [0, 1])))  # fmt: skip
        assert read == held


@pytest.mark.filterwarnings("ignore:.*not seen in training")
def test_features_that_a_model_does_not_know_count_in_the_length_of_a_row():
    X, y = blobs(20, 3, 2)
    model = Perceptron(normalize=True).fit(X, y)
    wide = np.hstack([X, np.full((20, 1), 5.0)])
    length = np.linalg.norm(wide, axis=1, keepdims=True)
    expected = X / length @ model.coef_[0] + model.intercept_
    scores = model.decision_function(ArraySource(sp.csr_array(wide), y))
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


X = np.array([[1.0, 0.5], [2.0, -1.0], [-1.0, 0.0], [3.0, 1.5], [4.0, -2.0], [0.5, 2.5]])
Y = np.array([2.0, 4.0, 0.0, 4.5, 6.0, 1.0])
TWO, THREE = np.array([0, 1, 1, 0, 1, 0]), np.array([0, 1, 2, 2, 1, 0])


def told(model):
    """All that a regression says of its fit."""
    found = [str(model.summary()), str(model.equation_)]
    if isinstance(model, LinearRegression):
        return [*found, model.predict(X, "confidence"), str(model.assumptions(X, Y))]
    ends = model.confidence_intervals()
    names = ("params_", "p_values_", "aic_", "bic_", "likelihood_ratio_", "limits_")
    return [*found, ends, model.param_names_, *(getattr(model, name) for name in names)]


REGRESSIONS = [
    (LinearRegression(), Y, {"fit_intercept": False, "weight_type": "frequency"}),
    (LogisticRegression(), TWO, {"fit_intercept": False, "l2": 3.0, "level": 0.5}),
    (LogisticRegression(penalty="firth"), TWO, {"penalty": None, "class_weight": "balanced"}),
    (LogisticRegression(fit_intercept=False), THREE, {"fit_intercept": True}),
]


def ways(model, folder):
    """The model itself, pickled, and saved."""
    saved = linsep.save(model, folder / f"{id(model)}.linsep")
    return model, pickle.loads(pickle.dumps(model)), linsep.load(saved)


@pytest.mark.parametrize(("model", "y", "changed"), REGRESSIONS)
@pytest.mark.filterwarnings("ignore::linsep.errors.SeparationWarning")
def test_a_regression_tells_what_it_learned(model, y, changed, tmp_path):
    model = copy.deepcopy(model).fit(X, y)
    expected = told(model)
    for one in ways(model, tmp_path):
        np.testing.assert_equal(told(one.set_params(**changed)), expected)
    again = linsep.load(linsep.save(model, tmp_path / "again"))
    np.testing.assert_equal(told(again), expected)


CHANGES = [
    (Perceptron(normalize=True, max_iter=5), TWO, {"normalize": False}),
    (Perceptron(max_iter=5, keep="vote"), THREE, {"keep": "last", "tie": "positive"}),
    (Perceptron(max_iter=5, multiclass="ovo"), THREE, {"multiclass": "ovr", "tie": "random"}),
    (KernelPerceptron(max_iter=5), TWO, {"kernel": "poly", "gamma": 9.0, "tie": "positive"}),
    (KernelSoftMargin(), THREE, {"multiclass": "ovr", "penalize_intercept": True}),
]


@pytest.mark.parametrize(("model", "y", "changed"), CHANGES)
def test_a_learner_predicts_as_it_learned(model, y, changed, tmp_path):
    rows = np.vstack([X, 1e-3 * X, [[0.0, 0.0]]])
    model = copy.deepcopy(model).fit(X, y)
    linear = hasattr(model, "coef_")

    def found(model):
        return model.decision_function(rows), model.predict(rows), linear and told_by(model, y)

    expected = found(model)
    for one in ways(model, tmp_path):
        np.testing.assert_equal(found(one.set_params(**changed)), expected)


def told_by(model, y):
    """The equation and the margin of a linear learner; a vote has no equation."""
    margin = linsep.geometric_margin(model, X, y)
    return margin, str(getattr(model, "equation_", None))


def test_what_a_run_proves_is_about_its_own_parameters(tmp_path):
    model = Perceptron(max_iter=5, learning_rate=0.5).fit(X, TWO)
    widest, bounds = str(model.report_), str(model.bounds(X, TWO))
    model.set_params(learning_rate=2.0, update="batch", early_stopping=True)
    assert (str(model.report_), str(model.bounds(X, TWO))) == (widest, bounds)
    loaded = linsep.load(linsep.save(model, tmp_path / "m"))
    assert "parameters that changed" in str(loaded.report_.left_out)
    margin = MarginPerceptron(epsilon=0.9).fit(X, TWO)
    interval = margin.margin_interval_
    assert margin.set_params(epsilon=0.1).margin_interval_ == interval


def test_a_run_whose_rate_changes_proves_nothing_of_the_margin():
    model = Perceptron().partial_fit(X, TWO, classes=[0, 1]).set_params(learning_rate=0.01)
    assert "||w||/M" in model.partial_fit(X, TWO).report_.left_out


KINDS = list(ESTIMATORS.values())
#: methods that take no rows
ASKED = ("confidence_intervals", "summary", "tidy", "odds_ratios", "to_logistic")


@pytest.mark.parametrize("estimator", KINDS)
def test_models_that_are_not_fitted_yet_have_nothing_to_tell(estimator):
    results = [name for name in dir(estimator) if name.endswith("_") and name[0] != "_"]
    assert results
    for name in results:
        assert not hasattr(estimator(), name), name
        with pytest.raises(NotFittedError):
            getattr(estimator(), name)
    for method in (name for name in ASKED if hasattr(estimator, name)):
        with pytest.raises(NotFittedError):
            getattr(estimator(), method)(*[0.9] * (method == "confidence_intervals"))


def test_unknown_parameters_lead_to_ours():
    for estimator, given, ours in (
        (Perceptron, "eta0", "learning_rate"), (LogisticRegression, "C", "l2"),
        (KernelPerceptron, "max_itr", "max_iter"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=ours):
            estimator(**{given: 1})

"""Fits of the soft margin: sources, blocks, files of models, callbacks, Ctrl-C and bad input."""

import pickle

import numpy as np
import pytest

import linsep
from interrupting import Press
from linsep import SoftMargin
from linsep.errors import LinsepError, ParameterError
from linsep.sources.arrays import ArraySource
from refusals import refused

RANDOM = np.random.default_rng(8)
X = RANDOM.normal(size=(120, 4)) + np.array([0, 3, 0, 0])
Y = np.where(X @ [1, -2, 0.5, 0] + 5.5 + RANDOM.normal(size=120) > 0, "yes", "no")
THREE = np.digitize(X[:, 0] + 0.4 * RANDOM.normal(size=120), [-0.4, 0.6])


def source(labels=Y, weights=None):
    return ArraySource(X, labels, weights, batch_rows=25)


@pytest.mark.parametrize("how", [{}, {"class_weight": "balanced"}, {"multiclass": "ovo"}])
def test_a_source_has_the_margin_of_its_rows(how):
    labels = THREE if "multiclass" in how else Y
    weights = RANDOM.uniform(0, 2, 120) * (RANDOM.uniform(size=120) < 0.9)
    streamed = SoftMargin(**how).fit(source(labels, weights))
    arrays = SoftMargin(**how).fit(X, labels, weights)
    assert streamed.coef_ == pytest.approx(arrays.coef_, abs=1e-9)
    assert streamed.training_accuracy_ == arrays.score(X, labels, weights)


@pytest.mark.parametrize("calibrated", [False, True])
def test_a_model_file_keeps_the_certificate(calibrated, tmp_path):
    model = SoftMargin(C=2, class_weight={"yes": 2.0, "no": 1.0}).fit(source())
    if calibrated:
        linsep.calibrate(model, X, Y)
    linsep.save(model, tmp_path / "m.linsep")
    loaded = linsep.load(tmp_path / "m.linsep")
    for name in ("coef_", "intercept_", "n_support_", "n_bounded_", "trace_", "classes_"):
        assert np.array_equal(getattr(loaded, name), getattr(model, name)), name
    for name in ("objective_", "lower_bound_", "duality_gap_", "stop_sentence_", "n_rows_"):
        assert getattr(loaded, name) == getattr(model, name), name
    assert loaded.get_params() == model.get_params()
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    if calibrated:
        assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.dual_coef_, model.dual_coef_)


FORGERIES = [
    ("coef", lambda a: np.repeat(a, 2, axis=0)),
    ("support", lambda a: -a - 1),
    ("trace", lambda a: a[:, :1]),
    ("objectives", lambda a: np.repeat(a, 2)),
    ("bounds", lambda a: a.astype("S1")),
    ("coef", lambda a: a * np.nan),
]


def test_a_reference_turns_the_signs():
    one, other = SoftMargin().fit(X, Y), SoftMargin(reference="yes").fit(X, Y)
    assert other.coef_ == pytest.approx(-one.coef_)
    assert other.reference_ == "yes"
    assert other.decision_function(X) == pytest.approx(one.decision_function(X))
    assert np.array_equal(one.predict(X), other.predict(X))


def test_callbacks_see_every_step_and_may_stop():
    press = Press()
    model = SoftMargin().set_callbacks(press).fit(X, Y)
    assert len(press.seen) == model.n_iter_
    assert press.seen[-1].objective_ == pytest.approx(model.objective_)
    model = SoftMargin().set_callbacks(Press(6, stop=True)).fit(X, THREE)
    assert model.stop_reason_ == "early_stop"
    assert model.predict(X).shape == (120,)
    assert model.duality_gap_ > 1e-6


def test_ctrl_c_keeps_the_best_so_far():
    model = SoftMargin(multiclass="ovo").set_callbacks(Press(2))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, THREE)
    assert model.stop_reason_ == "interrupted"
    assert model.coef_.shape == (3, 4)
    assert model.duality_gap_ == 1.0  # a machine that was not begun


def test_the_hard_margin_is_elsewhere():
    with refused(ParameterError, "bad-option", option="C"):
        SoftMargin(C=np.inf).fit(X, Y)
    for C in (0.0, -1.0, "much"):
        with refused(ParameterError, "bad-option", option="C"):
            SoftMargin(C=C).fit(X, Y)


def test_bad_rows_are_named():
    with refused(LinsepError, "class-count"):
        SoftMargin().fit(X, np.ones(120))
    huge = X.copy()
    huge[17, 2] = 1e200
    with refused(LinsepError, "overflow", row=18):
        SoftMargin().fit(huge, Y)
    huge[17, 2] = np.nan
    with refused(ValueError, "missing-value", row=18, column=2):
        SoftMargin().fit(huge, Y)


def test_rows_that_contradict_each_other_have_weights_of_zero():
    found = SoftMargin().fit([[1.0, 2.0]] * 5, [0, 0, 1, 1, 1])
    assert found.coef_.tolist() == [[0.0, 0.0]]
    assert found.objective_ == pytest.approx(4.0)
    assert found.predict([[1.0, 2.0]]).tolist() == [1]


def test_a_class_without_weight_is_not_predicted():
    with pytest.warns(UserWarning, match="weight 0"):
        model = SoftMargin(class_weight={0: 1.0, 1: 0.0, 2: 1.0}).fit(X, THREE)
    assert model.duality_gap_ <= 1e-4
    assert not (model.predict(X) == 1).any()


def test_forged_states_are_refused():
    arrays, facts = SoftMargin().fit(X, Y).get_state()
    for name, forged in FORGERIES:
        with pytest.raises((LookupError, TypeError, ValueError)):
            SoftMargin().set_state(arrays | {name: forged(arrays[name])}, facts)
    for fact in ("n_rows", "stop_reason", "accuracy", "classes"):
        with pytest.raises((LookupError, TypeError, ValueError)):
            SoftMargin().set_state(arrays, facts | {fact: "forged"})

"""Parameters that are set after a fit: what was learned stays as it was learned."""

import copy
import pickle

import numpy as np
import pytest

import linsep
from linsep import (
    GaussianNaiveBayes,
    KernelPerceptron,
    KernelSoftMargin,
    LinearRegression,
    LogisticRegression,
    MarginPerceptron,
    Perceptron,
)
from linsep.exports.exporting import export

pytestmark = pytest.mark.uncompiled

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
    (LinearRegression(fit_intercept=False), Y, {"fit_intercept": True}),
    (LogisticRegression(), TWO, {"fit_intercept": False, "l2": 3.0, "level": 0.5}),
    (LogisticRegression(l2=1.0), THREE, {"fit_intercept": False, "l2": 0.0}),
    (LogisticRegression(penalty="firth"), TWO, {"penalty": None, "class_weight": "balanced"}),
    (LogisticRegression(fit_intercept=False), THREE, {"fit_intercept": True}),
]


@pytest.mark.parametrize(("model", "y", "changed"), REGRESSIONS)
@pytest.mark.parametrize("way", ["kept", "pickled", "saved"])
@pytest.mark.filterwarnings("ignore::linsep.errors.SeparationWarning")
def test_a_regression_tells_what_it_learned(model, y, changed, way, tmp_path):
    model = copy.deepcopy(model).fit(X, y)
    expected = told(model)
    if way == "pickled":
        model = pickle.loads(pickle.dumps(model))
    if way == "saved":
        model = linsep.load(linsep.save(model, tmp_path / "m"))
    np.testing.assert_equal(told(model.set_params(**changed)), expected)
    again = linsep.load(linsep.save(model, tmp_path / "again"))
    np.testing.assert_equal(told(again), expected)


def test_the_regression_of_a_naive_bayes_tells_what_it_learned():
    model = GaussianNaiveBayes().fit(X, TWO).to_logistic()
    expected = told(model)
    np.testing.assert_equal(told(model.set_params(fit_intercept=False, l2=1.0)), expected)


def test_a_regression_climbed_at_a_rate_of_ones_own_is_saved_with_another(tmp_path):
    model = LogisticRegression(solver="gradient_ascent", learning_rate=lambda k: 0.1, l2=1.0)
    model.fit(X, TWO).set_params(learning_rate=0.1, l2=2.0)
    loaded = linsep.load(linsep.save(model, tmp_path / "m"))
    assert (loaded.learning_rate, loaded.l2) == (0.1, 1.0)


def test_a_fit_warns_of_the_weights_that_it_learns():
    angles = np.array([0.0, 2.0, 4.0, 4.1, 2.1, 0.1])
    rows, model = np.column_stack([np.cos(angles), np.sin(angles)]), LogisticRegression()
    for intercept, first in ((True, "0: intercept"), (False, "0: x0"), (True, "0: intercept")):
        with pytest.warns(linsep.errors.SeparationWarning) as warned:
            model.set_params(fit_intercept=intercept).fit(rows, THREE)
        assert next(iter(warned[0].message.limits)) == first


CHANGES = [
    (Perceptron(normalize=True, max_iter=5), TWO, {"normalize": False}),
    (Perceptron(max_iter=5), TWO, {"normalize": True, "fit_intercept": False}),
    (Perceptron(max_iter=5, keep="vote"), THREE, {"keep": "last", "tie": "positive"}),
    (Perceptron(max_iter=5), THREE, {"keep": "vote", "multiclass": "ovo"}),
    (Perceptron(max_iter=5, multiclass="ovo"), THREE, {"multiclass": "ovr", "tie": "random"}),
    (KernelPerceptron(max_iter=5), TWO, {"kernel": "poly", "gamma": 9.0, "tie": "positive"}),
    (KernelSoftMargin(), TWO, {"kernel": "poly", "gamma": 9.0, "fit_intercept": False}),
    (KernelSoftMargin(), THREE, {"multiclass": "ovr", "penalize_intercept": True}),
]


@pytest.mark.parametrize(("model", "y", "changed"), CHANGES)
@pytest.mark.parametrize("way", ["kept", "pickled", "saved"])
def test_a_learner_predicts_as_it_learned(model, y, changed, way, tmp_path):
    rows = np.vstack([X, 1e-3 * X, [[0.0, 0.0]]])
    model = copy.deepcopy(model).fit(X, y)
    linear = model if hasattr(model, "coef_") else None
    expected = model.decision_function(rows), model.predict(rows), linear and told_by(model, y)
    if way == "pickled":
        model = pickle.loads(pickle.dumps(model))
    if way == "saved":
        model = linsep.load(linsep.save(model, tmp_path / "m"))
    model.set_params(**changed)
    found = model.decision_function(rows), model.predict(rows), linear and told_by(model, y)
    np.testing.assert_equal(found, expected)


def told_by(model, y):
    """The equation and the margin of a linear learner; a vote has no equation."""
    margin = linsep.geometric_margin(model, X, y)
    return margin, str(getattr(model, "equation_", None))


@pytest.mark.parametrize("changed", [{"normalize": True}, {"tie": "positive"}])
def test_what_decides_predictions_cannot_change_under_a_model(changed, tmp_path):
    model = Perceptron(max_iter=5).fit(X, TWO).set_params(**changed)
    (name,) = changed
    for what, call in (
        ("partial_fit", lambda: model.partial_fit(X, TWO)),
        ("save", lambda: linsep.save(model, tmp_path / "m")),
        ("export", lambda: export(model, tmp_path / "m.json")),
    ):
        with pytest.raises(ValueError, match=f"{what} needs the {name} of the last fit"):
            call()
    model.set_params(warm_start=True).fit(X, TWO)


def test_what_a_run_proves_is_about_its_own_parameters(tmp_path):
    model = Perceptron(max_iter=5, learning_rate=0.5).fit(X, TWO)
    widest, bounds = str(model.report_), str(model.bounds(X, TWO))
    model.set_params(learning_rate=2.0, update="batch", early_stopping=True)
    assert (str(model.report_), str(model.bounds(X, TWO))) == (widest, bounds)
    loaded = linsep.load(linsep.save(model, tmp_path / "m"))
    assert "changed its parameters" in str(loaded.report_.left_out)
    margin = MarginPerceptron(epsilon=0.9).fit(X, TWO)
    interval = margin.margin_interval_
    assert margin.set_params(epsilon=0.1).margin_interval_ == interval


def test_a_run_whose_rate_changes_proves_nothing_of_the_margin():
    model = Perceptron().partial_fit(X, TWO, classes=[0, 1]).set_params(learning_rate=0.01)
    assert "||w||/M" in model.partial_fit(X, TWO).report_.left_out

"""What a fitted estimator proves of its run, which runs no theorem is about, what is refused."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

import linsep
from linsep import (
    MarginPerceptron,
    PassiveAggressive,
    Perceptron,
    bounds,
    load,
    save,
)
from linsep.errors import DataError
from refusals import refused

pytestmark = pytest.mark.compiled


def test_what_a_run_alone_proves(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = Perceptron(fit_intercept=False, learning_rate=0.25).fit(X, y == 0)
    (bound,) = model.report_
    expected = np.linalg.norm(model.coef_) / (0.25 * model.n_updates_)
    assert bound.value == pytest.approx(expected)
    assert (model.report_.mistakes, model.report_.passes) == (model.n_updates_, model.n_iter_)
    back = load(save(model, tmp_path / "m"))
    assert back.report_ == model.report_
    assert str(back.bounds(X, y == 0)) == str(model.bounds(X, y == 0))
    halving = MarginPerceptron().fit(X, y == 0)
    assert halving.report_.margin == halving.margin_interval_


@pytest.mark.parametrize(("options", "fit", "why"), [
    ({}, {"coef_init": [[1.0, 1.0]]}, "own initial weights"),
    ({}, {"sample_weight": [1.0, 2.0, 1.0, 1.0]}, "have weights"),
    ({"class_weight": {0: 2.0}}, {}, "have weights"),
    ({"schedule": "inverse"}, {}, "not constant"),
    ({"update": "batch"}, {}, "every mistake"),
    ({"C": 2.0}, {}, "no theorem about PassiveAggressive"),
])  # fmt: skip
def test_runs_that_no_theorem_is_about(options, fit, why):
    X, y = np.array([[4, 0], [1, 1], [0, 1], [-2, -2]]), [1, 0, 0, 1]
    learner = PassiveAggressive if "C" in options else Perceptron
    found = learner(**options).fit(X, y, **fit).bounds(X, y)
    assert why in found.left_out["mistake bounds"]
    assert not found.bounds


def test_early_stopping_and_partial_fit():
    X, y = load_breast_cancer(return_X_y=True)
    model = Perceptron(early_stopping=True).fit(X, y)
    assert "were restored" in model.report_.left_out["||w||/M"]
    assert model.bounds(X, y).kept
    parts = Perceptron(fit_intercept=False).partial_fit(X[:300], y[:300], classes=[0, 1])
    parts.partial_fit(X[300:], y[300:])
    found = parts.bounds(X, y)
    assert found.kept
    assert found["hinge"].counted == parts.mistakes_.sum()
    warm = Perceptron(warm_start=True, max_iter=2).fit(X, y)
    assert warm.report_.bounds
    assert "initial weights" in warm.fit(X, y).report_.left_out["||w||/M"]


@pytest.mark.parametrize(("X", "y", "options", "said"), [
    ([[1.0], [2.0]], [1, 1], {}, "All rows have the label 1"),
    ([[1.0], [np.nan]], [0, 1], {}, "NaN"),
    ([[1.0], [2.0]], [0, 1, 1], {}, "inconsistent"),
    ([[1.0], [2.0]], [0, 1], {"weights": [1, 2, 3]}, "2 finite numbers"),
    ([[1.0], [2.0], [3.0]], [0, 1, 2], {"weights": [1, 2]}, "two classes"),
    ([[1.0], [2.0]], [0, 1], {"multiclass": "all"}, "native, ovr or ovo"),
    ([[1.0], [2.0]], [0, 1], {"passes": 0}, "at least 1"),
    ([[1e200], [1e-200]], [0, 1], {"fit_intercept": False}, "overflows float64"),
    ([[1.0], [2.0]], [0, 1], {"literals": 0}, "literals is 0: it must be a whole number of"),
    ([[1.0], [2.0]], [0, 1], {"literals": 1.0}, "literals is 1.0: it must be a whole number of"),
    ([[1.0], [2.0]], [0, 1], {"literals": True}, "literals is True: it must be a whole number"),
])  # fmt: skip
def test_bad_input(X, y, options, said):
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=said):
        bounds(X, y, **options)


def test_bad_input_of_estimators():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(AttributeError, match="not fitted"):
        Perceptron().bounds(X, y)
    assert not hasattr(Perceptron(), "report_")
    model = Perceptron().fit(X, y)
    for rows_given, labels, code in [
        (X[:, :2], y, "shape"), (X, y[:-1], "shape"),
        (X, y + 1, "unknown-label"),
        (linsep.sources.ArraySource(X, y), None, "unsupported"),
    ]:  # fmt: skip
        with refused(DataError, code):
            model.bounds(rows_given, labels)


def test_separation_of_an_estimator():
    X, y = load_iris(return_X_y=True)
    assert Perceptron().separation(X, y == 0).kind == "separable"
    X1, y1 = [[1.0], [2.0]], [0, 1]
    assert Perceptron().separation(X1, y1).kind == "separable"
    assert Perceptron(fit_intercept=False).separation(X1, y1).kind != "separable"
    assert Perceptron(normalize=True).separation(X1, y1).kind != "separable"
    found = Perceptron().separation(X[50:], y[50:], margin="max")
    assert found.kind == "overlapping"


def test_the_updates_of_a_margin_perceptron_are_counted_however_often_it_is_asked():
    X, y = load_iris(return_X_y=True)
    model = MarginPerceptron(gamma=0.1).fit(X, y == 0)
    widest = model.report_["||w||/M"]
    found = model.bounds(X, y == 0)
    assert found["8/gamma^2"].counted == model.n_updates_ > 0
    assert found.margin[0] <= widest.value


def test_other_rows_than_those_of_the_fit_are_refused(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    for learner, options in ((Perceptron, {}), (Perceptron, {"early_stopping": True}),
                             (MarginPerceptron, {}), (Perceptron, {"random_state": None}),
                             (Perceptron, {"random_state": np.random.RandomState(0)})):  # fmt: skip
        model = learner(max_iter=10, **options).fit(X, y)
        model.bounds(X, y)
        load(save(model.set_params(random_state=0), tmp_path / "m", force=True)).bounds(X, y)
        changed = X.copy()
        changed[:, 3] += 1.0
        for rows_given, labels in ((changed, y), (X[::-1], y[::-1]), (X[1:], y[1:]), (X, 1 - y)):
            with refused(DataError, "other-rows"):
                model.bounds(rows_given, labels)
    parts = Perceptron().partial_fit(X[:9], y[:9], classes=[0, 1]).partial_fit(X[9:], y[9:])
    parts.bounds(X, y)
    with refused(DataError, "other-rows"):
        parts.bounds(X[9:], y[9:])
    both = Perceptron(max_iter=2).fit(X, y).partial_fit(X, y)
    assert "more by partial_fit" in both.bounds(X, y).left_out["mistake bounds"]


def test_margin_intervals_speak_of_all_rows_or_not_at_all(tmp_path):
    X, y = load_iris(return_X_y=True)
    y = y == 0
    low, high = MarginPerceptron().fit(X, y).margin_interval_
    assert 0 < low < high
    assert load(save(MarginPerceptron().fit(X, y), tmp_path / "m")).margin_interval_ == (low, high)
    for options, weight in (
        ({"early_stopping": True, "n_iter_no_change": 99}, None), ({}, np.arange(150) != 7),
        ({"class_weight": {0: 1, 1: 0}}, None),
    ):  # fmt: skip
        model = MarginPerceptron(**options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model.fit(X, y, sample_weight=weight)
        assert model.stop_reason_ == "converged"
        assert model.margin_interval_[0] is None
        assert load(save(model, tmp_path / "other", force=True)).margin_interval_[0] is None
    rng = np.random.default_rng(0)
    for seed in range(20):
        w = rng.standard_normal(3)
        rows = rng.standard_normal((30, 3)) + w * rng.choice([-1, 1], (30, 1))
        model = MarginPerceptron(random_state=seed, fit_intercept=False).fit(rows, rows @ w > 0)
        assert model.stop_reason_ == "converged"
        low, _ = model.margin_interval_
        exact = [Fraction(float(v)) for v in model.coef_[0]]
        norm = sum(v * v for v in exact)
        for row, side in zip(rows, rows @ w > 0, strict=True):
            values = [Fraction(float(v)) * (1 if side else -1) for v in row]
            score = sum(p * q for p, q in zip(exact, values, strict=True))
            assert score**2 >= Fraction(low) ** 2 * norm * sum(v * v for v in values)
            assert score > 0

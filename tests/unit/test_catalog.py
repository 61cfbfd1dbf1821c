"""What learners say of themselves; and warnings, which point at the line of the user."""

import inspect
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import linsep
from linsep import (
    GaussianNaiveBayes,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    catalog,
    textbook,
)
from linsep.catalog import ESTIMATORS, LEARNERS, LINEAR, REGRESSIONS, is_scaled
from linsep.learners.online import LinearClassifier
from linsep.learners.perceptron import PerceptronLearner
from linsep.mistake_bounds.theorems import THEORIES
from linsep.parameters import parameters_of
from linsep.teaching.tracing import rule_of


def test_learners_are_public_and_have_names_of_their_own():
    assert all(getattr(linsep, kind.__name__) is kind for kind in LEARNERS.values())
    assert not LEARNERS.keys() & REGRESSIONS.keys()


def test_what_takes_no_negative_values_is_not_centered():
    assert {name for name in ESTIMATORS if not is_scaled(name)} == {
        n for n, kind in LEARNERS.items() if kind.positive_only
    } | set(REGRESSIONS)


@pytest.mark.parametrize("name", LINEAR)
def test_a_twin_is_a_public_rule_with_the_same_parameters(name):
    kind, twin = LINEAR[name], rule_of(LINEAR[name]())
    assert isinstance(twin, textbook.Rule)
    assert getattr(textbook, type(twin).__name__) is type(twin)
    shared = inspect.signature(type(twin)).parameters.keys() & parameters_of(kind).keys()
    assert shared
    for one in shared:  # None is a value that depends on others
        assert getattr(kind(), one) in (None, getattr(twin, one))


class Small(LinearClassifier):
    def learner(self):
        return PerceptronLearner()


def test_a_learner_of_three_lines_does_all_that_others_do(tmp_path, monkeypatch):
    """With the lines that ARCHITECTURE.md names: in the catalog and where names are public."""
    for names in (LINEAR, LEARNERS, ESTIMATORS):
        monkeypatch.setitem(names.classes, "small", "Small")
    monkeypatch.setattr(catalog, "CLASSES", (*catalog.CLASSES, "Small"))
    monkeypatch.setattr(linsep, "Small", Small, raising=False)
    twin = dataclass(frozen=True)(type("Small", (textbook.Perceptron,), {}))
    monkeypatch.setattr(textbook, "Small", twin, raising=False)
    monkeypatch.setitem(THEORIES, "Small", THEORIES["Perceptron"])
    FRAME.assign(y=HALVES).to_csv(tmp_path / "rows.csv", index=False)
    model, twins = Small().fit(X, HALVES), Perceptron().fit(X, HALVES)
    assert model.coef_.tolist() == twins.coef_.tolist()
    assert len([*linsep.trace(model, X, HALVES).cells()]) > 2
    bounds = [each.bounds(X, HALVES).longest for each in (model, twins)]
    assert bounds[0] == bounds[1] > 0
    files = {"data": tmp_path / "rows.csv", "target": "y"}
    linsep.save(linsep.fit(learner="small", **files), tmp_path / "m")
    loaded = linsep.load(tmp_path / "m")
    assert type(loaded[-1]) is Small
    same = linsep.fit(learner="perceptron", **files)
    assert loaded.coef_.tolist() == same.coef_.tolist()
    assert loaded.predict(files["data"]).tolist() == same.predict(files["data"]).tolist()


X = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0], [3.0, 4.0], [4.0, 5.0], [5.0, 6.0]])
FRAME = pd.DataFrame(X, columns=["a", "b"])
HALVES = [0, 0, 0, 1, 1, 1]
NAMES = pd.Series(["u", "v"] * 3)
CALLS = {
    "dependent": lambda: LinearRegression().fit(X, [1.0, 2, 2, 3, 5, 8]),
    "separable": lambda: LogisticRegression().fit(X[:, :1], HALVES),
    "weightless": lambda: Perceptron().fit(X, [0, 1, 2] * 2, sample_weight=[1, 1, 0] * 2),
    "without width": lambda: GaussianNaiveBayes().fit(np.array([HALVES, X[:, 0]]).T, HALVES),
    "other order": lambda: Perceptron(max_iter=2).fit(FRAME, NAMES[::-1]),
    "function": lambda: linsep.fit(FRAME.assign(y=HALVES), target="y", learner="logistic"),
}


def test_warnings_point_at_the_line_of_the_user():
    for call in CALLS.values():
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            call()
        assert found
        assert {one.filename for one in found} == {__file__}

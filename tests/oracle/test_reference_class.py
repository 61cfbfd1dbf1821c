"""``reference`` names the class of two that is -1: weights, scores, bounds, files, streams."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import linsep
from linsep import (
    KernelPerceptron,
    LogisticRegression,
    Perceptron,
    Winnow,
    datasets,
)
from linsep.errors import DataError
from refusals import refused

RNG = np.random.default_rng(3)
X = RNG.integers(0, 2, (40, 5)).astype(float)
SIGNS = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
#: the positive class is the smaller label
NAMED = np.where(SIGNS > 0, "apple", "pear")
FRAME = pd.DataFrame(X, columns=list("abcde"))
LEARNERS = [
    Perceptron(),
    Perceptron(keep="vote", max_iter=3),
    Perceptron(update="batch", normalize=True, class_weight={"apple": 2.0}),
    Winnow(tie="positive", max_iter=9),
    KernelPerceptron(kernel="linear"),
]


def weights(model):
    """The weights, of features or rows, and the intercept."""
    coef = model.dual_coef_ if hasattr(model, "dual_coef_") else model.coef_
    return coef.tolist(), getattr(model, "intercept_", np.zeros(1)).tolist()


def signed(model):
    """The same learner for the labels -1 and 1."""
    return clone(model).set_params(class_weight={1: 2.0} if model.class_weight else None)


@pytest.mark.parametrize("model", LEARNERS, ids=repr)
def test_the_fit_is_that_of_labels_of_the_other_order(model, tmp_path):
    plain = signed(model).fit(X, SIGNS)
    named = clone(model).set_params(reference="pear").fit(X, NAMED)
    assert weights(named) == weights(plain)
    assert named.reference_ == "pear"
    assert named.classes_.tolist() == ["apple", "pear"]
    assert named.mistakes_.tolist() == plain.mistakes_.tolist()
    assert (named.decision_function(X) == 0.0 - plain.decision_function(X)).all()
    assert ((named.predict(X) == "apple") == (plain.predict(X) == 1)).all()
    assert named.score(X, NAMED) == plain.score(X, SIGNS)
    path = linsep.save(named, tmp_path / "named.linsep")
    assert (linsep.load(path).predict(X) == named.predict(X)).all()


@pytest.fixture
def table(tmp_path):
    lines = [",".join([*map(str, row), label]) for row, label in zip(X, NAMED, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,c,d,e,kind", *lines]) + "\n")
    return tmp_path / "rows.csv"


def test_a_file_gives_the_model_of_arrays(table, tmp_path):
    model, reference = LogisticRegression(l2=1.0), "pear"
    known = clone(model).set_params(reference=reference).fit(X, NAMED)
    rows = linsep.open_source(table, target="kind", scale="none")
    found = clone(model).set_params(reference=reference).fit(rows)
    path = linsep.save(found, tmp_path / "found.linsep")
    for one in (found, linsep.load(path)):
        assert one.classes_.tolist() == ["apple", "pear"]
        assert one.reference_ == reference
        scores = one.decision_function(FRAME)
        assert np.allclose(scores, known.decision_function(X), rtol=1e-6, atol=1e-9)
        assert one.predict(FRAME).tolist() == known.predict(X).tolist()
        assert one.score(rows) == known.score(X, NAMED)


def test_one_row_after_another_gives_the_same_weights():
    whole = Perceptron(shuffle=False, max_iter=1, reference="pear").fit(X, NAMED)
    model = Perceptron(reference="pear")
    for row, label in zip(X, NAMED, strict=True):
        model.partial_fit([row], [label], classes=["apple", "pear"])
    assert weights(model) == weights(whole)


def test_bounds_and_margins_have_the_signs_of_the_reference():
    plain, named = Winnow().fit(X, SIGNS), Winnow(reference="pear").fit(X, NAMED)
    assert str(named.bounds(X, NAMED)) == str(plain.bounds(X, SIGNS))
    assert linsep.geometric_margin(named, X, NAMED) == linsep.geometric_margin(plain, X, SIGNS)


def test_the_cycle_of_a_run_has_its_sides():
    rows, labels = datasets.load_inseparable_points(return_X_y=True)
    begin = {"coef_init": [1, 1], "intercept_init": 1}
    model = Perceptron(shuffle=False, reference=2).fit(rows, labels, **begin)
    signs = Perceptron(shuffle=False).fit(rows, labels == 1, **begin)
    assert model.cycle_.verify(rows, labels)
    assert model.cycle_.weights == signs.cycle_.weights


@pytest.mark.parametrize("model", [Perceptron(), KernelPerceptron()], ids=repr)
def test_other_references_are_refused(model):
    with refused(DataError, "unknown-label", option="reference"):
        clone(model).set_params(reference="plum").fit(X, NAMED)
    several = clone(model).set_params(reference=1)
    with refused(DataError, "class-count", option="reference"):
        several.fit([[1.0], [2.0], [3.0]], [1, 2, 3])
    with refused(DataError, "class-count", option="reference"):
        several.partial_fit([[1.0]], [1], classes=[1, 2, 3])

"""Early stopping counts a held-out row by its sample weight, as scikit-learn's SGD does."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from linsep import KernelPerceptron, PassiveAggressive, Perceptron
from linsep.rows.arrays import HoldOut
from linsep.sources.arrays import ArraySource
from refusals import refused
from thoroughness import met
from trials import of_the_trial

pytestmark = pytest.mark.compiled

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


def noisy(classes):
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, 300)
    X = rng.normal(size=(300, 5)) + np.eye(5)[y % 5]
    return X, y, rng.exponential(size=300) * rng.integers(0, 3, 300)


@pytest.mark.parametrize(
    ("multiclass", "keep", "tie"),
    met(
        [None, "native", "ovr", "ovo"],
        ["last", "average", "vote", "best"],
        ["negative", "positive"],
    ),
)
def test_the_best_pass_is_that_of_the_best_weighted_score(multiclass, keep, tie):
    X, y, weights = noisy(4 if multiclass else 2)
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


@pytest.mark.parametrize(
    "model",
    [
        Perceptron(tie="random", multiclass="ovo"),
        Perceptron(keep="vote", tie="random", multiclass="ovo"),
        PassiveAggressive(keep="average", normalize=True),
        KernelPerceptron(keep="average"),
        KernelPerceptron(keep="vote", multiclass="ovr"),
    ],
    ids=str,
)
def test_weights_of_one_are_none(model):
    X, y, _ = noisy(3)
    model = clone(model).set_params(early_stopping=True, max_iter=8, random_state=0)
    alike = clone(model).fit(X, y)
    weighed = model.fit(X, y, sample_weight=np.ones(300))
    assert weighed.validation_curve_.tolist() == alike.validation_curve_.tolist()
    assert weighed.predict(X).tolist() == alike.predict(X).tolist()


def test_weights_of_classes_do_not_count_in_a_score():
    X, y, weights = noisy(3)
    model = Perceptron(
        class_weight={0: 9.0}, early_stopping=True, validation_fraction=0.3, max_iter=1,
        random_state=0,
    )  # fmt: skip
    for given in (None, weights):
        model.fit(X, y, sample_weight=given)
        held = held_out(model, y, 0.3)
        counted = None if given is None else given[held]
        expected = model.score(X[held], y[held], sample_weight=counted)
        assert model.validation_scores_[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("memory", [1 << 20, 0])
def test_a_source_counts_held_out_rows_as_an_array_without_weights(memory):
    X, y, _ = noisy(3)
    model = Perceptron(class_weight={0: 9.0}, early_stopping=True, max_iter=8, random_state=0)
    expected = clone(model).fit(X, y)
    source = ArraySource(X, y)
    source.memory_bytes = memory
    assert model.fit(source).validation_curve_.tolist() == expected.validation_curve_.tolist()


@pytest.mark.parametrize("normalize", [False, True])
def test_sparse_rows_are_counted_as_dense_ones(normalize):
    X, y, weights = noisy(3)
    X = X * (np.abs(X) > 0.5)
    model = Perceptron(early_stopping=True, max_iter=8, random_state=0, normalize=normalize)
    dense = clone(model).fit(X, y, sample_weight=weights)
    sparse = clone(model).fit(sp.csr_matrix(X), y, sample_weight=weights)
    assert sparse.validation_scores_ == pytest.approx(dense.validation_scores_, abs=1e-12)


@pytest.mark.parametrize("model", [Perceptron(), KernelPerceptron()])
def test_no_weighed_row_is_held_out(model):
    X, y, weights = noisy(2)
    model = clone(model).set_params(early_stopping=True, random_state=0)
    held = held_out(model, y, 0.1)
    with refused(ValueError, "too-few-rows", option="validation_fraction"):
        model.fit(X, y, sample_weight=np.where(held, 0.0, 1.0 + weights))

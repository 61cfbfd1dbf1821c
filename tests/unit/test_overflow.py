"""Values beyond floating point: one sentence that names the feature, and nothing saved of them."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import linsep
from linsep import (
    BalancedWinnow,
    GaussianNaiveBayes,
    LinearRegression,
    LogisticRegression,
    MarginPerceptron,
    PassiveAggressive,
    Perceptron,
)
from linsep.errors import DataError
from linsep.sources.arrays import ArraySource
from refusals import refused

pytestmark = pytest.mark.compiled

MODELS = [
    GaussianNaiveBayes(),
    LogisticRegression(),
    LogisticRegression(solver="gradient_ascent"),
    LogisticRegression(penalty="firth"),
    Perceptron(max_iter=3),
    Perceptron(max_iter=3, keep="average"),
    PassiveAggressive(max_iter=3),
    MarginPerceptron(gamma=0.1, max_iter=3),
    BalancedWinnow(max_iter=3),
]
rng = np.random.default_rng(0)
ROWS, LABELS = np.clip(rng.standard_normal((40, 3)), -1, 1), np.arange(40) % 2


def spread(size):
    return ROWS * [1.0, size, 1.0]


@pytest.mark.parametrize("size", [1e155, 1e200, 1e300])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_feature_beyond_floating_point_is_named(model, size):
    model, X = clone(model), spread(size)
    if size < 1e200 and isinstance(model, Perceptron | BalancedWinnow):
        size, X = 1e200, spread(1e200)  # their scores are right a little longer
    with refused(DataError, "overflow") as caught:
        model.fit(pd.DataFrame(X, columns=["a", "huge", "c"]), LABELS)
    assert "eature 'huge'" in str(caught.value)
    for rows in (sp.csr_matrix(X), X):
        with refused(DataError, "overflow", column=1) as caught:
            clone(model).fit(rows, LABELS)
        assert "eature 1 " in str(caught.value)
    with refused(DataError, "overflow"):
        clone(model).fit(ArraySource(X, LABELS))


@pytest.mark.parametrize("model", [*MODELS[:4], LinearRegression()], ids=str)
def test_rows_of_weight_zero_may_hold_any_numbers(model):
    more, labels = np.vstack([ROWS[:7], [[1e200, -1e160, 1.0]], ROWS[7:]]), np.insert(LABELS, 7, 1)
    weights = np.insert(np.ones(40), 7, 0)
    found, plain = clone(model).fit(more, labels, weights), clone(model).fit(ROWS, LABELS)
    if not isinstance(model, LinearRegression):
        sparse = clone(model).fit(sp.csr_matrix(more), labels, weights)
        np.testing.assert_allclose(sparse.predict_proba(ROWS), plain.predict_proba(ROWS), rtol=1e-9)
        found, plain = found.predict_proba(ROWS), plain.predict_proba(ROWS)
    else:
        found, plain = found.predict(ROWS), plain.predict(ROWS)
    np.testing.assert_allclose(found, plain, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # scikit-learn sums columns
def test_least_squares_go_as_far_as_numbers_do():
    y = ROWS @ [1.0, 2.0, 3.0]
    found = LinearRegression().fit(spread(1e300), y)
    assert found.coef_ == pytest.approx([1.0, 2e-300, 3.0], rel=1e-9)
    with refused(DataError, "overflow", column=1):
        LinearRegression().fit(pd.DataFrame(spread(1.7e308), columns=["a", "huge", "c"]), y)


@pytest.mark.parametrize("size", [1e99, 1e-99])
@pytest.mark.parametrize("model", [*MODELS[:4], LinearRegression()], ids=str)
def test_what_is_learned_of_large_values_can_be_saved_and_loaded(model, size, tmp_path):
    X = spread(size)
    found = clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found.fit(X, LABELS)
    copy = linsep.load(linsep.save(found, tmp_path / "m"))
    assert copy.predict(X).tolist() == found.predict(X).tolist()


@pytest.mark.parametrize("interval", [None, "confidence", "prediction"])
def test_predictions_beyond_floating_point_are_refused(interval):
    model = LinearRegression().fit(ROWS, ROWS @ [1.0, 2.0, 3.0] + LABELS)
    rows = [[0.0, 0.0, 0.0], [1e308, 1e308, 1e308]]
    with refused(DataError, "overflow"):
        model.predict(rows, interval=interval)
    with refused(DataError, "overflow"):
        model.predict(ArraySource(rows), interval=interval)
    if interval:
        with refused(DataError, "overflow"):
            model.predict([[1e200, 0.0, 0.0]], interval=interval)
    else:
        assert np.isfinite(model.predict([[1e200, 0.0, 0.0]])).all()


def test_scores_beyond_floating_point_are_refused_without_a_warning():
    model = LogisticRegression(l2=1e-3).fit(ROWS, ROWS[:, 0] > 0)
    with refused(DataError, "overflow", row=1):
        model.predict(1e308 * np.sign(model.coef_))

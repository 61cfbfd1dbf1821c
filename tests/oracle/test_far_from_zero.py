"""Naive Bayes of columns of values that are large against their spread."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from linsep import GaussianNaiveBayes
from linsep.errors import SeparationWarning

pytestmark = pytest.mark.compiled

BASES = (0.0, 1e6, 1e10)


def rows(classes=2, seed=0, n=300):
    """Whole numbers, to which a base is added without rounding, in classes that overlap."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = np.round(rng.normal(size=(n, 3)) * 4 + y[:, None] * [3, -2, 1]) * 2
    return X, y


def moments(X, y, weights):
    """Class means and pooled variances in exact fractions."""
    classes, total = np.unique(y), Fraction(0)
    means, squares = [], [Fraction(0)] * X.shape[1]
    for k in classes:
        own = [(Fraction(float(w)), [Fraction(float(x)) for x in row])
               for row, w in zip(X[y == k], weights[y == k], strict=True)]  # fmt: skip
        weight = sum(w for w, _ in own)
        mean = [sum(w * row[j] for w, row in own) / weight for j in range(X.shape[1])]
        for j in range(X.shape[1]):
            squares[j] += sum(w * (row[j] - mean[j]) ** 2 for w, row in own)
        means.append(mean)
        total += weight
    return means, [float(square / total) for square in squares]


@pytest.mark.parametrize(
    ("base", "weighted", "storage"), [(1e6, True, np.asarray), (1e10, False, sp.csr_matrix)]
)
def test_naive_bayes_has_the_moments_of_fractions(base, weighted, storage):
    X, y = rows(3)
    X = X + base
    weights = np.random.default_rng(1).uniform(0.1, 3, len(y)) if weighted else np.ones(len(y))
    model = GaussianNaiveBayes().fit(storage(X), y, weights if weighted else None)
    means, variances = moments(X, y, weights)
    assert model.variances_ == pytest.approx(variances, rel=1e-13)
    assert model.means_.tolist() == [[float(m) for m in row] for row in means] or np.allclose(
        model.means_, np.array(means, dtype=float), rtol=1e-14, atol=1e-14
    )


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("base", [1e3, 1e6])
def test_naive_bayes_does_not_depend_on_the_base(base, classes):
    X, y = rows(classes)
    near, far = GaussianNaiveBayes().fit(X, y), GaussianNaiveBayes().fit(X + base, y)
    for storage in (np.asarray, sp.csr_matrix):
        Z = storage(X + base)
        assert far.predict_proba(Z) == pytest.approx(near.predict_proba(X), abs=1e-12 * base)
        assert far.decision_function(Z) == pytest.approx(
            near.decision_function(X), abs=1e-11 * base
        )
        assert far.predict(Z).tolist() == near.predict(X).tolist()
    assert far.score(X + base, y) == near.score(X, y)
    implied = far.to_logistic()
    assert implied.predict_proba(X + base) == pytest.approx(near.predict_proba(X), abs=1e-12 * base)


def test_constant_means_equal():
    rng = np.random.default_rng(0)
    spread = 1e6 + 1e-8 * np.round(rng.normal(size=(100, 1)))
    assert len(np.unique(spread)) > 2
    y = np.arange(100) % 2
    model = GaussianNaiveBayes().fit(spread, y)  # no warning: it varies within the classes
    assert model.variances_[0] > 0
    tenths = np.full((100, 1), 0.1)
    for X in (tenths, sp.csr_matrix(tenths)):
        model = GaussianNaiveBayes().fit(X, y, np.full(100, 0.3))
        assert model.variances_.tolist() == [0.0]
        assert model.to_logistic().coef_.tolist() == [[0.0]]
    with pytest.warns(SeparationWarning):
        GaussianNaiveBayes().fit(np.where(y[:, None], np.nextafter(0.1, 1), 0.1), y)


@pytest.mark.parametrize(("names", "away"), [("abc", 1e8), ("bca", 1e6)])
def test_a_class_far_away_does_not_spoil_the_others(away, names):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 200)
    X = rng.normal(size=(600, 2)) + np.array([[0, 0], [4, 2], [away, 0]])[y]
    labels = np.array(list(names))[y]
    model = GaussianNaiveBayes().fit(X, labels)
    two = X[:400], labels[:400]
    pair = GaussianNaiveBayes().fit(*two)
    assert model.score(*two) == pytest.approx(pair.score(*two), abs=0.01)
    assert model.score(X, labels) > 0.98
    # the definition, with the variances of the model, around the origin, where both classes are
    m, s2 = model.means_, model.variances_
    near = [list(model.classes_).index(name) for name in names[:2]]
    logs = np.array([-0.5 * ((X[:400] - m[k]) ** 2 / s2).sum(axis=1) for k in near]).T
    expected = np.exp(logs - logs.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    assert model.predict_proba(X[:400])[:, near] == pytest.approx(expected, abs=1e-7)

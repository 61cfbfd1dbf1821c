"""The signs of coefficients that have no finite estimate."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer

from linsep import LogisticRegression, separation
from linsep.errors import SeparationWarning
from linsep.logistic.limits import limits_of
from linsep.separability import recession
from linsep.separability.data import data_of
from linsep.separability.time_limit import TooLarge
from parameters_in_order import last


def separable(seed, classes):
    """Few rows of small whole numbers, many of them on a boundary."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (16, 3)).astype(float)
    scores = np.column_stack([X @ rng.normal(size=(3, classes - 1)), np.zeros(16)])
    return X, scores.argmax(axis=1)


def limits(X, y):
    data = data_of(X, y)
    verdict = separation(data, formulations=("multinomial",))
    verdict = getattr(verdict, "multinomial", verdict)
    classes = len(data.classes)
    return limits_of(verdict, data, [1, 0] if classes == 2 else list(range(classes)), 4)


@pytest.mark.parametrize(("classes", "seed"), [(2, 0), (2, 2), (3, 4)])
def test_signs_do_not_depend_on_the_order_of_rows(seed, classes):
    X, y = separable(seed, classes)
    said = limits(X, y)
    for _ in range(2):
        order = np.random.default_rng(seed).permutation(16)
        assert (limits(X[order], y[order]) == said).all()


def test_a_verdict_tells_the_signs_of_its_regression():
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, (40, 4)).astype(float)
    y = np.where(X[:, 0] != 0, X[:, 0] > 0, rng.random(40) < 0.5)
    with pytest.warns(SeparationWarning):
        models = [LogisticRegression(reference=side).fit(X, y) for side in (False, True)]
    words = [last(model, "limits_")[0].tolist() for model in models]
    assert words[0] == list(models[0].separation_.limits().values())
    assert (words[0][0], words[1][0]) == ("+inf", "-inf")


@pytest.mark.parametrize(("scale", "intercept"), [(2.0**-900, True), (1e200, False)])
def test_signs_beside_a_boundary_of_any_size(scale, intercept):
    rng = np.random.default_rng(7)
    for _ in range(10):
        X = rng.integers(-2, 3, (12, 3)).astype(float)
        y = np.where(X[:, 0] != 0, X[:, 0] > 0, rng.random(12) < 0.5)
        y[:2], X[:2] = [0, 1], 0.0
        expected = separation(X, y, fit_intercept=intercept)
        found = separation(X * [scale, 1 / scale, scale], y, fit_intercept=intercept)
        assert expected.kind == found.kind != "separable"
        assert found.limits() == expected.limits()
        assert found.verify(X * [scale, 1 / scale, scale], y)


def rare_columns(seed, n_rows, common, rare, scale=1.0, pairs=False):
    """Sparse rows of which rare columns are in one class only, alone or in sums and differences."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    left = sp.random(
        n_rows, common, 0.1, random_state=rng, data_rvs=lambda k: rng.choice([1.0, 2.0, -3.0], k)
    )
    right, negative = np.zeros((n_rows, rare)), rng.permutation(np.flatnonzero(y == 0))
    for j in range(rare):
        some = np.append(negative[j], rng.choice(negative[rare:], 3))  # the first has no other
        right[some, j] = 1.0
        if pairs:
            right[some[:2], j ^ 1] = 1.0
            right[some[2:], j ^ 1] = -0.5
    return sp.csr_matrix(sp.hstack([left, sp.csr_matrix(right * scale)])), y


@pytest.mark.parametrize("scale", [1.0, 2.0**-500])
def test_signs_that_one_row_decides_do_not_depend_on_a_budget(scale):
    X, y = rare_columns(0, 4000, 30, 150, scale)
    verdicts = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(4000)
        verdicts.append((order, separation(X[order], y[order])))
    for order, verdict in verdicts:
        assert verdict.unchecked == ()
        assert list(verdict.limits().values()) == ["finite"] * 30 + ["-inf"] * 150 + ["finite"]
        assert verdict.verify(X[order], y[order])
        assert {len(part.rows) for part in verdict.signs.values()} == {1}


def test_without_work_the_other_signs_are_said_to_be_unchecked(monkeypatch):
    monkeypatch.setattr(recession, "MOST_WORK", 0.0)
    alone, y = rare_columns(0, 600, 10, 10)
    paired, z = rare_columns(1, 600, 10, 10, pairs=True)
    assert separation(alone, y).unchecked == ()
    said = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(600)
        said.append(separation(paired[order], z[order]))
    assert {tuple(verdict.limits().items()) for verdict in said} == {
        tuple(said[0].limits().items())
    }
    assert "infinite" not in said[0].limits().values()


def test_a_time_limit_that_ends_while_rows_are_read_leaves_a_verdict(monkeypatch):
    def late(*_):
        raise TooLarge("the time limit was over")

    monkeypatch.setattr(recession.Cone, "_rows_alone", late)
    X, y = rare_columns(0, 600, 10, 10)
    verdict = separation(X, y)
    assert verdict.kind == "quasi-separable"
    assert verdict.limits()["x10"] == "sign not checked"
    assert len(verdict.unchecked) == 10


def test_several_classes_have_signs_by_single_rows():
    X, y = rare_columns(2, 500, 8, 12)
    y = y + (np.arange(500) % 3 == 0) * y
    whole = separation(X.toarray(), y)
    sparse = separation(X, y)
    assert whole.multinomial.limits() == sparse.multinomial.limits()
    for found in (whole, sparse):
        assert found.multinomial.unchecked == ()
        assert found.multinomial.verify(X, y)


def test_the_signs_of_a_real_set_are_told(monkeypatch):
    monkeypatch.setattr("linsep.logistic.limits.TIME_LIMIT", 600.0)  # under load, too
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(SeparationWarning):
        model = LogisticRegression().fit(X, y)
    words, counts = np.unique(last(model, "limits_"), return_counts=True)
    assert dict(zip(words.tolist(), counts.tolist(), strict=True)) == {
        "+inf": 5,
        "-inf": 5,
        "infinite": 21,
    }

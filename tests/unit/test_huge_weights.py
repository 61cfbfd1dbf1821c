"""Refused everywhere: weights whose sum overflows, parameters too large, columns for rows."""

import numpy as np
import pandas as pd
import pytest

import linsep
from linsep import (
    Adversary,
    GaussianNaiveBayes,
    KernelPerceptron,
    LinearRegression,
    LogisticRegression,
    MarginPerceptron,
    Perceptron,
)
from refusals import refused

X = np.array([[1.0, 0.5], [2.0, -1.0], [-1.0, 0.2], [3.0, 1.5], [-2.0, -2.0], [0.5, 2.5]])
Y, HUGE = np.array([1, 1, 0, 1, 0, 0]), np.full(6, 1e308)


def test_tiny_weights_beside_others_are_those_of_rows_left_out():
    tiny = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 5e-324])
    Z = np.vstack([X, [[1.5, 0.0]]])
    y, tiny = np.append(Y, 0), np.append(tiny, 1.0)
    kept = tiny == 1.0
    found = LogisticRegression().fit(Z, y, sample_weight=tiny)
    expected = LogisticRegression().fit(Z[kept], y[kept])
    assert np.allclose(found.coef_, expected.coef_, rtol=1e-9)


def test_a_margin_that_is_too_small_to_be_squared_is_aimed_at():
    model = MarginPerceptron(gamma=1e-308, max_iter=3).fit(X, Y)
    assert model.report_.passes == model.n_iter_


class Series:
    """As in polars: no ``ndim``, no ``iloc``, and ``to_frame``."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)

    def to_frame(self):
        return pd.DataFrame({"x": self.values})


def test_a_series_of_strings_is_for_kernels_of_strings():
    words = pd.Series(["ab", "ba", "abab", "bb", "aa", "b"])
    assert (
        KernelPerceptron(kernel=linsep.kernels.Spectrum(2)).fit(words, Y).predict(words).shape
        == Y.shape
    )


ESTIMATORS = [
    Perceptron(max_iter=3), Perceptron(max_iter=3, class_weight="balanced"),
    KernelPerceptron(max_iter=3), LinearRegression(weight_type="frequency"),
    LogisticRegression(l2=1.0), GaussianNaiveBayes(),
]  # fmt: skip


@pytest.mark.parametrize("model", ESTIMATORS)
def test_weights_whose_sum_overflows_are_refused(model, tmp_path):
    for weights in (HUGE, [1, 1, 1e306, 1, 1, 1]):
        with refused(ValueError, "overflow"):
            model.fit(X, Y, sample_weight=weights)
    with refused(ValueError, "overflow"):
        model.fit(X, Y).score(X, Y, HUGE)
    with refused(ValueError, "no-rows", option="sample_weight"):
        model.score(X, Y, np.zeros(6))
    lines = [f"{a},{b},1e308,{label}" for (a, b), label in zip(X, Y, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,w,y", *lines]))
    rows = linsep.open_source(tmp_path / "rows.csv", target="y", weight="w", cache=tmp_path)
    with refused(ValueError, "overflow"):
        model.fit(rows)


def test_weights_that_are_too_small_or_of_classes_are_refused():
    for penalty in (None, "firth"):
        with refused(ValueError, "overflow"):
            LogisticRegression(penalty=penalty).fit(X, Y, sample_weight=np.full(6, 5e-324))
    for model in (Perceptron(max_iter=3), LogisticRegression(l2=1.0)):
        with refused(ValueError, "overflow"):
            model.set_params(class_weight={0: 1e308, 1: 1e308}).fit(X, Y)
    with refused(ValueError, "overflow"):
        linsep.calibrate(Perceptron(max_iter=3).fit(X, Y), X, Y, sample_weight=HUGE)


def test_parameters_that_are_too_large_are_refused():
    for ask in (
        lambda: KernelPerceptron(gamma=10**400).fit(X, Y),
        lambda: Perceptron(max_iter=10**400).fit(X, Y),
        lambda: linsep.bounds(X, Y, gamma=10**400),
        lambda: Adversary(1e-308),
    ):
        with refused(ValueError, "bad-option"):
            ask()
    with refused(ValueError, "overflow"):
        KernelPerceptron(kernel="poly").fit(1e150 * X, Y)


FITTED = Perceptron(max_iter=3)
ASKED = {
    "separation": lambda x: linsep.separation(x, Y),
    "bounds": lambda x: linsep.bounds(x, Y),
    "bounds of a run": lambda x: FITTED.fit(X[:, :1], Y).bounds(x, Y),
    "margin": lambda x: linsep.geometric_margin(FITTED.fit(X[:, :1], Y), x, Y),
    "trace": lambda x: linsep.trace(Perceptron(), x, Y),
    "verify": lambda x: linsep.separation(X[:, :1], Y).verify(x, Y),
    "fit": lambda x: LogisticRegression().fit(x, Y),
    "predict": lambda x: FITTED.fit(X[:, :1], Y).predict(x),
}


@pytest.mark.parametrize("what", ASKED)
def test_a_series_is_no_table(what):
    for column in (pd.Series(X[:, 0], name="width"), Series(X[:, 0])):
        with refused(ValueError, "shape"):
            ASKED[what](column)

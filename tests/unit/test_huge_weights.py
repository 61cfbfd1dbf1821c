"""Row weights whose sum is too large or too small, and parameters that are: both are named."""

import numpy as np
import pytest

import linsep
from linsep import (
    Adversary,
    BalancedWinnow,
    GaussianNaiveBayes,
    KernelPerceptron,
    LinearRegression,
    LogisticRegression,
    MarginPerceptron,
    PassiveAggressive,
    Perceptron,
)
from refusals import refused

pytestmark = pytest.mark.uncompiled

X = np.array([[1.0, 0.5], [2.0, -1.0], [-1.0, 0.2], [3.0, 1.5], [-2.0, -2.0], [0.5, 2.5]])
Y, HUGE = np.array([1, 1, 0, 1, 0, 0]), np.full(6, 1e308)
ESTIMATORS = [
    Perceptron(max_iter=3), Perceptron(max_iter=3, class_weight="balanced"), BalancedWinnow(),
    MarginPerceptron(max_iter=3), PassiveAggressive(max_iter=3), KernelPerceptron(max_iter=3),
    LinearRegression(), LinearRegression(weight_type="frequency"), LogisticRegression(l2=1.0),
    GaussianNaiveBayes(),
]  # fmt: skip


@pytest.mark.parametrize("model", ESTIMATORS)
def test_weights_whose_sum_overflows_are_refused(model):
    with refused(ValueError, "overflow"):
        model.fit(X, Y, sample_weight=HUGE)
    with refused(ValueError, "overflow"):
        model.fit(X, Y).score(X, Y, HUGE)
    with refused(ValueError, "no-rows", option="sample_weight"):
        model.score(X, Y, np.zeros(6))


@pytest.mark.parametrize("model", ESTIMATORS)
def test_one_weight_is_enough(model):
    with refused(ValueError, "overflow"):
        model.fit(X, Y, sample_weight=[1, 1, 1e306, 1, 1, 1])


@pytest.mark.parametrize("penalty", [None, "firth"])
@pytest.mark.parametrize("tiny", [5e-324, 1e-308, 1e-300])
def test_weights_that_are_too_small_for_curvatures_are_refused(tiny, penalty, tmp_path):
    model = LogisticRegression(penalty=penalty)
    with refused(ValueError, "overflow"):
        model.fit(X, Y, sample_weight=np.full(6, tiny))
    lines = [f"{a},{b},{tiny!r},{label}" for (a, b), label in zip(X, Y, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,w,y", *lines]))
    rows = linsep.open_source(tmp_path / "rows.csv", target="y", weight="w")
    with refused(ValueError, "overflow"):
        model.fit(rows)


def test_tiny_weights_beside_others_are_those_of_rows_left_out():
    tiny = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 5e-324])
    Z = np.vstack([X, [[1.5, 0.0]]])
    y, tiny = np.append(Y, 0), np.append(tiny, 1.0)
    kept = tiny == 1.0
    found = LogisticRegression().fit(Z, y, sample_weight=tiny)
    expected = LogisticRegression().fit(Z[kept], y[kept])
    assert np.allclose(found.coef_, expected.coef_, rtol=1e-9)


@pytest.mark.parametrize("model", [Perceptron(max_iter=3), LogisticRegression(l2=1.0)])
def test_so_are_class_weights(model):
    model = type(model)(**model.get_params()).set_params(class_weight={0: 1e308, 1: 1e308})
    with refused(ValueError, "overflow"):
        model.fit(X, Y)


def test_calibration_refuses_them():
    with refused(ValueError, "overflow"):
        linsep.calibrate(Perceptron(max_iter=3).fit(X, Y), X, Y, sample_weight=HUGE)


@pytest.mark.parametrize(("ask", "said"), [
    (lambda: KernelPerceptron(gamma=10**400).fit(X, Y), "gamma of KernelPerceptron must be a num"),
    (lambda: Perceptron(learning_rate=10**400).fit(X, Y), "learning_rate of Perceptron must be a"),
    (lambda: Perceptron(max_iter=10**400).fit(X, Y), "max_iter of Perceptron must be a whole num"),
    (lambda: linsep.bounds(X, Y, gamma=10**400), "it must be a finite number above 0"),
    (lambda: Adversary(1e-308), "gamma is 1e-308: its 1 / gamma.2 rows do not fit in memory"),
    (lambda: KernelPerceptron(kernel="poly", gamma=1e200).fit(X, Y), "choose a smaller gamma"),
    (lambda: KernelPerceptron(kernel="poly").fit(1e150 * X, Y), "scale the features"),
])  # fmt: skip
def test_the_parameter_that_is_too_large_is_named(ask, said):
    with pytest.raises(ValueError, match=said):
        ask()


def test_a_margin_that_is_too_small_to_be_squared_is_aimed_at():
    model = MarginPerceptron(gamma=1e-308, max_iter=3).fit(X, Y)
    assert model.report_.passes == model.n_iter_


@pytest.mark.parametrize("model", ESTIMATORS)
def test_weights_of_a_file_are_summed_too(model, tmp_path):
    lines = [f"{a},{b},1e308,{label}" for (a, b), label in zip(X, Y, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,w,y", *lines]))
    rows = linsep.open_source(tmp_path / "rows.csv", target="y", weight="w", cache=tmp_path)
    with refused(ValueError, "overflow"):
        model.fit(rows)
    with refused(ValueError, "overflow"):
        model.fit(X, Y).score(linsep.open_source(tmp_path / "rows.csv", target="y", weight="w"))

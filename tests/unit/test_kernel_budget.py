"""The kernel perceptron within a budget, and in a model file."""

import numpy as np
import pytest

import linsep
from kernel_twin import KEEPS, rows
from linsep import KernelPerceptron, kernels
from linsep.errors import ParameterError
from refusals import refused
from storages import store


def test_a_budget_is_kept_and_costs_little():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    free = KernelPerceptron(kernel="rbf", gamma=1.0, max_iter=1).fit(X, y)
    tight = KernelPerceptron(kernel="rbf", gamma=1.0, max_iter=1, budget=60).fit(X, y)
    assert free.support_.size > 150
    assert tight.support_.size <= 60
    assert tight.progressive_accuracy_ > free.progressive_accuracy_ - 0.02


@pytest.mark.parametrize("storage", ["dense32", "csr64"])
@pytest.mark.parametrize("keep", KEEPS)
def test_a_model_file_predicts_and_learns_on(keep, storage, tmp_path):
    X, y = rows(20, 3)
    X = store(X, storage)
    given = kernels.RBF("scale") + kernels.Polynomial(2)
    model = KernelPerceptron(kernel=given, keep=keep, max_iter=2).fit(X, y)
    back = linsep.load(linsep.save(model, tmp_path / "m"))
    assert back.kernel == given
    assert back.kernel_ == model.kernel_
    assert np.array_equal(back.support_, model.support_)
    assert np.array_equal(back.dual_coef_, model.dual_coef_)
    assert np.array_equal(back.decision_function(X), model.decision_function(X))
    back.partial_fit(X, y)
    model.partial_fit(X, y)
    assert np.array_equal(back.decision_function(X), model.decision_function(X))


def test_models_of_functions_and_gram_matrices_on_disk(tmp_path):
    X, y = rows(21, 2)
    with refused(ParameterError, "unsupported"):
        linsep.save(KernelPerceptron(kernel=lambda x, z: float(x @ z)).fit(X, y), tmp_path / "m")
    assert not (tmp_path / "m").exists()
    model = KernelPerceptron(kernel="precomputed", max_iter=5).fit(X @ X.T, y)
    back = linsep.load(linsep.save(model, tmp_path / "m"))
    assert np.array_equal(back.decision_function(X @ X.T), model.decision_function(X @ X.T))


@pytest.mark.parametrize("keep", ["last", "average"])
def test_what_is_given_up_without_loss_changes_nothing(keep):
    """In a space of three dimensions three support vectors are enough for any weights."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 3))
    y = (X @ [1, 2, 3] + 0.3 * rng.standard_normal(400) > 0).astype(int)
    free = KernelPerceptron(kernel="linear", keep=keep, max_iter=3, cache_mb=0).fit(X, y)
    tight = KernelPerceptron(kernel="linear", keep=keep, max_iter=3, budget=3).fit(X, y)
    assert tight.support_.size == 3
    assert tight.mistakes_.tolist() == free.mistakes_.tolist()
    np.testing.assert_allclose(
        tight.decision_function(X), free.decision_function(X), rtol=1e-6, atol=1e-6
    )


def test_a_stream_is_learned_within_its_budget():
    rng = np.random.default_rng(2)
    model = KernelPerceptron(kernel="rbf", gamma=1.0, budget=50, keep="average")
    for _ in range(8):
        X = rng.standard_normal((700, 2))
        y = X[:, 0] * X[:, 1] > 0
        model.partial_fit(X, y, classes=[False, True])
        assert model.support_.size <= 50
        assert model.fitted_run().state.W.size < 20_000
    assert model.score(X, y) > 0.9

"""The kernel perceptron: what it refuses and how, and what Ctrl-C leaves."""

import pickle
import warnings

import numpy as np
import pytest

import linsep
from kernel_twin import rows
from linsep import KernelPerceptron, kernels
from linsep.errors import DataError, ParameterError
from linsep.learners import kernel_rows as grams, kernel_rows as kernel_feed, passes as loop
from refusals import refused


def test_a_matrix_that_no_kernel_has_is_learned_with_a_warning():
    X, y = rows(13, 2)
    gram = X @ X.T
    gram[0, 0] = -5.0
    with pytest.warns(kernels.NotPositiveSemidefiniteWarning, match="positive semidefinite"):
        model = KernelPerceptron(kernel="precomputed", max_iter=5).fit(gram, y)
    assert model.support_.size


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget": 0}, "budget of KernelPerceptron must be a whole number of at least 1"),
        ({"budget": 5, "keep": "vote"}, "A vote needs every support vector"),
        ({"kernel": "polly"}, "kernel of KernelPerceptron must be|did you mean"),
        ({"kernel": 3}, "kernel"),
        ({"degree": 0}, "degree"),
        ({"gamma": -1.0}, "gamma"),
        ({"gamma": "large"}, "gamma"),
        ({"cache_mb": -1.0}, "cache_mb"),
        ({"keep": "best"}, "keep"),
        ({"coef0": -1.0}, "coef0"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused(given, message):
    X, y = rows(14, 2)
    with pytest.raises(ValueError, match=message):
        KernelPerceptron(**given).fit(X, y)


def test_a_function_that_fails_is_told_with_its_rows():
    X, y = rows(15, 2)
    for function, code in (
        (lambda x, z: 1 / 0, "bad-kernel"),
        (lambda x, z: float("nan"), "bad-kernel"),
        (lambda x, z: "a", "bad-kernel"),
    ):
        with refused(DataError, code):
            KernelPerceptron(kernel=function).fit(X, y)


def test_a_gram_matrix_of_the_wrong_shape_is_refused():
    X, y = rows(16, 2)
    gram = X @ X.T
    with refused(ValueError, "shape"):
        KernelPerceptron(kernel="precomputed").fit(gram[:, :5], y)
    with warnings.catch_warnings():
        model = KernelPerceptron(kernel="precomputed").fit(gram, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(gram[:, :5])
    with refused(ParameterError, "unsupported", option="kernel"):
        KernelPerceptron(kernel="precomputed").partial_fit(gram, y, classes=[0, 1])


@pytest.mark.parametrize(
    ("strings", "code"),
    [
        (["abc", 3, "abd"], "bad-value"),
        ([], "no-rows"),
        ("abc", "bad-value"),
        (["abc", b"abc", "x"], "bad-value"),
        (["abc", None, "x"], "bad-value"),
    ],
)
def test_strings_mixed_with_something_else_are_refused(strings, code):
    with refused(ValueError, code):
        KernelPerceptron(kernel=kernels.Spectrum(2)).fit(strings, [0, 1, 1][: len(strings)])


def test_rows_of_numbers_for_a_string_kernel_and_strings_for_another():
    with refused(ValueError, "bad-value", row=1):
        KernelPerceptron(kernel=kernels.Spectrum(2)).fit([[1.0, 2.0], [3.0, 4.0]], [0, 1])
    with refused(ValueError, "not-a-number"):
        KernelPerceptron(kernel="rbf").fit(["ab", "cd"], [0, 1])


def test_values_beyond_floating_point_are_told():
    X = np.array([[1e200, 1.0], [-1e200, 2.0]])
    with refused(ValueError, "overflow"):
        KernelPerceptron(kernel="poly", degree=3).fit(X, [0, 1])


def test_a_cache_larger_than_memory_is_refused(monkeypatch):
    monkeypatch.setattr(grams, "memory_bytes", lambda: 1000)
    X, y = rows(17, 2)
    with refused(DataError, "too-large", option="cache_mb"):
        KernelPerceptron(cache_mb=1e6).fit(X, y)


def test_kernel_and_shape_stay_the_same_between_calls():
    X, y = rows(18, 2)
    model = KernelPerceptron(kernel="rbf").partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="kernel"):
        model.set_params(kernel="linear").partial_fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.set_params(kernel="rbf").partial_fit(X[:, :2], y)


def test_ctrl_c_leaves_a_model_that_predicts(monkeypatch):
    X, y = rows(19, 2)
    caught_up, calls = kernel_feed.KernelStream._caught_up, []

    def interrupted(self, some):
        calls.append(0)
        if len(calls) > 9:
            raise KeyboardInterrupt
        return caught_up(self, some)

    monkeypatch.setattr(kernel_feed.KernelStream, "_caught_up", interrupted)
    monkeypatch.setattr(kernels.Kernel, "rows_at_once", 5)
    model = KernelPerceptron(kernel="linear", cache_mb=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.stop_reason_ == "interrupted"
    assert model.support_.size == model.dual_coef_.shape[1] < len(y)
    assert model.predict(X).shape == y.shape


@pytest.mark.parametrize("kernel", ["linear", "rbf", "strings"])
def test_ctrl_c_before_the_first_mistake_leaves_a_model_that_is_saved(
    kernel, tmp_path, monkeypatch
):
    X, y = rows(20, 2)
    if kernel == "strings":
        kernel, X = (
            kernels.Spectrum(1),
            np.array(["ab", "ba", "c"], dtype=object)[np.arange(40) % 3],
        )
        y = np.arange(40) % 2

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "interruption_point", interrupted)
    model = KernelPerceptron(kernel=kernel)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    assert model.support_.size == 0
    loaded = linsep.load(linsep.save(model, tmp_path / "m"))
    for same in (model, pickle.loads(pickle.dumps(model)), loaded):
        assert (same.predict(X) == same.classes_[0]).all()
        assert same.partial_fit(X[:4], y[:4]).support_.size

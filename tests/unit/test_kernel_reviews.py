"""What a reader with fresh eyes found in the kernel perceptron, each once wrong."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import linsep
from linsep import KernelPerceptron, kernels
from linsep.errors import DataError
from refusals import refused

WORDS = ["banana", "bandana", "cabana", "ananas", "kimono", "kirin", "mimik", "nikki"]
HAVE_A = [1, 1, 1, 1, 0, 0, 0, 0]


def rows(n=80):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, (np.linalg.norm(X, axis=1) > 1.5).astype(int)


def common_letters(x, z):
    return float(len(set(x) & set(z)))


@pytest.mark.parametrize("table", [pd.DataFrame({"w": WORDS}), np.array(WORDS, object)[:, None]])
def test_a_table_of_strings_is_not_taken_for_a_list(table):
    """A DataFrame as a list is the names of its columns, for which there was a prediction."""
    model = KernelPerceptron(kernel=kernels.Spectrum(2)).fit(WORDS, HAVE_A)
    for ask in (lambda: model.predict(table), lambda: model.fit(table, HAVE_A)):
        with refused(DataError, "bad-kernel"):
            ask()


@pytest.mark.parametrize("given", [list, np.array, lambda X: np.array(X, object), pd.Series])
def test_a_function_of_strings_takes_every_list_of_them(given):
    model = KernelPerceptron(kernel=common_letters, max_iter=20).fit(given(WORDS), HAVE_A)
    assert model.score(given(WORDS), HAVE_A) == 1


def test_strings_for_a_kernel_of_numbers_are_told():
    with refused(DataError, "not-a-number"):
        KernelPerceptron().fit(WORDS, HAVE_A)


def test_a_function_is_asked_no_more_often_within_a_sum():
    X, y = rows(60)
    asked = []

    def product(x, z):
        asked.append(1)
        return float(x @ z) ** 2

    KernelPerceptron(kernel=product, max_iter=1).fit(X, y)
    alone = len(asked)
    asked.clear()
    KernelPerceptron(kernel=kernels.Callable(product) * 1.0 + 0.0001, max_iter=1).fit(X, y)
    assert len(asked) < 1.5 * alone


def test_a_function_is_asked_no_more_often_because_of_a_budget():
    X, y = rows(150)
    y = np.random.default_rng(1).permutation(y)
    asked = []

    def near(x, z):
        asked.append(1)
        return float(np.exp(-((x - z) ** 2).sum()))

    model = KernelPerceptron(kernel=near, max_iter=1, budget=30).fit(X, y)
    assert model.support_.size == 30
    assert len(asked) < len(y) ** 2


def test_a_model_of_a_gram_matrix_does_not_hold_it():
    X, y = rows()
    model = KernelPerceptron(kernel="precomputed", max_iter=5).fit(X @ X.T, y)
    assert len(pickle.dumps(model)) < X.shape[0] * model.support_.size * 4
    back = pickle.loads(pickle.dumps(model))
    assert np.array_equal(back.predict(X @ X.T), model.predict(X @ X.T))
    assert model.support_vectors_.size == 0


def test_gamma_from_the_data_is_a_plain_number():
    X, y = rows()
    assert "np." not in repr(KernelPerceptron().fit(sp.csr_matrix(X), y).kernel_)


def test_rows_are_counted_on_after_loading(tmp_path):
    X, y = rows()
    model = KernelPerceptron().partial_fit(X[:50], np.zeros(50, int), classes=[0, 1])
    back = linsep.load(linsep.save(model, tmp_path / "m"))
    assert back.partial_fit(X[50:], y[50:]).support_.tolist() == (
        model.partial_fit(X[50:], y[50:]).support_.tolist()
    )


def test_a_table_is_learned_without_a_warning_about_names(tmp_path):
    X, y = rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    frame.to_csv(tmp_path / "t.csv", index=False)
    source = linsep.open_source(tmp_path / "t.csv", target="y")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelPerceptron(kernel="poly", max_iter=2).fit(source)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert 0 < model.training_accuracy_ <= 1
    with pytest.raises(ValueError, match="batches"):
        KernelPerceptron().partial_fit(source, None, classes=[0, 1])


def test_a_kernel_that_is_no_name_is_told_what_it_may_be():
    X, y = rows()
    with refused(ValueError, "bad-option", option="kernel"):
        KernelPerceptron(kernel="polly").fit(X, y)

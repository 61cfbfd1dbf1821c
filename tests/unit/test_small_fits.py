"""Few rows are fitted without threads, searches or conversions of their own."""

import threading
import warnings

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from linsep import GaussianNaiveBayes, LinearRegression, LogisticRegression, Perceptron, SoftMargin
from linsep._system import threads
from linsep._system.threads import map_in_order, one_blas_thread

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
FITS = {
    "linear": LinearRegression,
    "logistic": LogisticRegression,
    "Firth": lambda: LogisticRegression(penalty="firth", intervals="wald"),
    "bayes": GaussianNaiveBayes,
    "perceptron": Perceptron,
    "soft margin": SoftMargin,
}


def blas_threads():
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


@pytest.mark.parametrize("name", FITS)
def test_few_rows_start_no_thread_and_look_for_no_library(name, monkeypatch):
    with one_blas_thread:
        pass  # the only search

    def refused(*args, **kwargs):
        raise AssertionError("not for few rows")

    monkeypatch.setattr(threads, "ThreadpoolController", refused)
    monkeypatch.setattr(threading.Thread, "start", refused)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FITS[name]().fit(X, Y)
    assert model.n_features_in_ == 3


def test_one_item_is_worked_on_in_this_thread_with_the_error_state_of_others():
    def work(_):
        return threading.current_thread(), np.geterr()["over"], blas_threads()

    with np.errstate(over="raise"):
        ((thread, over, limited),) = map_in_order(work, iter([1]))
        found = list(map_in_order(work, iter([1, 2])))
    assert thread is threading.current_thread()
    assert {over} == {state for _, state, _ in found}
    assert {thread for thread, *_ in found}.isdisjoint({threading.current_thread()})
    assert limited == [1] * len(limited)


def test_threads_of_blas_are_restored_by_errors_and_by_the_outermost_limit():
    with threadpool_limits(2, "blas"):
        before = blas_threads()
        with pytest.raises(ZeroDivisionError):
            list(map_in_order(lambda one: 1 // one, iter([0])))
        assert blas_threads() == before
        with one_blas_thread:
            with one_blas_thread:
                pass
            assert blas_threads() == [1] * len(before)  # until the outermost ends
        assert blas_threads() == before

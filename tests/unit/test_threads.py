"""Fits have the same bits for any number of BLAS threads, and in threads of their own."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from linsep import GaussianNaiveBayes, LinearRegression, LogisticRegression
from linsep._system.threads import one_blas_thread

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.thorough,
    pytest.mark.filterwarnings("ignore::linsep.errors.SeparationWarning"),
]
rng = np.random.default_rng(0)
WIDE, LONG = rng.normal(size=(400, 300)), rng.normal(size=(3000, 60))
LONG[:, 2] = np.arange(3000) % 9 == 0
Y = (LONG[:, 0] + LONG[:, 1] + 2 * rng.logistic(size=3000) > 0).astype(int)
Y[LONG[:, 2] > 0] = 1  # quasi-separable
FITS = {
    "linear": lambda: LinearRegression().fit(WIDE, WIDE[:, 0] + WIDE[:, 1] ** 2),
    "logistic": lambda: LogisticRegression().fit(LONG[:, 3:], Y),
    "quasi-separable": lambda: LogisticRegression().fit(LONG, Y),
    "bayes": lambda: GaussianNaiveBayes().fit(LONG, Y),
}


def bits(name):
    model = FITS[name]()
    if name == "bayes":
        return [model.means_, model.variances_]
    if name == "linear":
        return [model.coef_, model._fitted.root]
    return [model.coef_, model.intercept_, model.covariance_]


@pytest.mark.parametrize("name", FITS)
def test_the_bits_do_not_depend_on_the_threads_of_blas(name):
    alone = bits(name)
    with threadpool_limits(1, "blas"):
        one = bits(name)
    for a, b in zip(alone, one, strict=True):
        assert np.array_equal(a, b, equal_nan=True)


def test_fits_in_a_thread_pool_have_the_bits_of_one_alone():
    alone = {name: bits(name) for name in FITS}
    names = list(FITS) * 4
    with ThreadPoolExecutor(4) as pool:
        for name, found in zip(names, pool.map(bits, names), strict=True):
            for a, b in zip(alone[name], found, strict=True):
                assert np.array_equal(a, b, equal_nan=True), name


def blas_threads():
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


def test_the_last_fit_to_end_need_not_be_in_the_thread_of_the_first():
    entered, leave, seen = threading.Event(), threading.Event(), []

    def first():
        with one_blas_thread:
            entered.set()
            leave.wait(60)

    with threadpool_limits(2, "blas"):  # held by the main thread, which controls the number
        before = blas_threads()
        thread = threading.Thread(target=first)
        thread.start()
        entered.wait(60)
        seen.append(blas_threads())
        with one_blas_thread:
            leave.set()
            thread.join()
            seen.append(blas_threads())
        assert seen == [[1] * len(before)] * 2
        assert blas_threads() == before

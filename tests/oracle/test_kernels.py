"""Kernels of numbers and of strings: as defined, in any storage, sliced, stored, refused."""

import copy
import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.metrics.pairwise import pairwise_kernels

import linsep
from linsep.errors import DataError, ParameterError
from linsep.kernels import (
    RBF,
    AllSubsets,
    BlendedSpectrum,
    Callable,
    Linear,
    Normalized,
    Polynomial,
    Precomputed,
    Product,
    Spectrum,
    Sum,
    as_kernel,
    check_gram,
    kernel_from_dict,
    strings as counting_room,
)
from linsep.teaching.textbook import kernels as twin
from refusals import refused
from storages import STORAGES, store
from thoroughness import examples

pytestmark = pytest.mark.filterwarnings("ignore:.* matches nothing")


def dot(x, y):
    return float(np.dot(x, y))


#: a kernel, and the same of two rows by its definition
DEFINED = [
    (Linear(), twin.linear),
    (Polynomial(), twin.polynomial),
    (Polynomial(6, 0.3, 2.0), lambda x, y: twin.polynomial(x, y, 6, 0.3, 2.0)),
    (AllSubsets(), twin.all_subsets),
    (RBF(0.1), lambda x, y: twin.rbf(x, y, 0.1)),
    (Callable(dot), twin.linear),
    (AllSubsets() * RBF(0.1), lambda x, y: twin.all_subsets(x, y) * twin.rbf(x, y, 0.1)),
    (Normalized(AllSubsets()), lambda x, y: twin.normalized(twin.all_subsets, x, y)),
    (Normalized(2 * Linear() * Linear()), lambda x, y: twin.normalized(twin.linear, x, y) ** 2),
]
OF_STRINGS = [
    (Spectrum(1), lambda x, y: twin.spectrum(x, y, 1)),
    (BlendedSpectrum(2, (0.5, 2)), lambda x, y: twin.blended_spectrum(x, y, (0.5, 2))),
]
KERNELS = [kernel for kernel, _ in DEFINED]
X = np.random.default_rng(0).integers(-2, 3, (12, 5)) / 2
# Letters beyond ASCII, beyond 16 bits, and NUL, which arrays of strings drop at their end.
words = st.lists(st.text("abcé\0\U0001f600", max_size=9), min_size=1, max_size=6)
values = st.integers(-4, 4).map(lambda v: v / 4)


def by_name(kernel):
    return repr(kernel) if isinstance(kernel, linsep.kernels.Kernel) else ""


def random_strings(n, length, letters="acgt"):
    rng = np.random.default_rng(0)
    return ["".join(rng.choice(list(letters), length)) for _ in range(n)]


@pytest.mark.parametrize(("kernel", "define"), DEFINED, ids=by_name)
@examples(25, 5)
@given(st.integers(1, 9).flatmap(lambda d: st.tuples(*[
    st.lists(st.lists(values, min_size=d, max_size=d), min_size=1, max_size=6)] * 2)),
    st.sampled_from(STORAGES), st.sampled_from(STORAGES))  # fmt: skip
def test_as_the_textbook_defines_it(kernel, define, rows, storage, other):
    A, B = rows
    found = kernel(store(A, storage), store(B, other))
    assert found.dtype == np.float64
    single = "dense32" in (storage, other)
    close = {"rtol": 1e-4, "atol": 1e-6} if single else {"rtol": 1e-11, "atol": 1e-12}
    np.testing.assert_allclose(found, twin.gram(define, A, B), **close)
    prepared = kernel.prepare(store(A, storage))
    np.testing.assert_allclose(kernel.diagonal(prepared), [define(x, x) for x in A], **close)


@pytest.mark.parametrize(("kernel", "define"), OF_STRINGS, ids=by_name)
@examples(30, 5)
@given(words, words)
def test_strings_as_the_textbook_defines_it(kernel, define, A, B):
    for rows, others in ((A, B), (A, A), (B, A)):
        expected = np.array(twin.gram(define, rows, others), float)
        np.testing.assert_allclose(kernel(rows, others), expected, rtol=1e-12)
    expected = twin.gram(lambda x, y: twin.normalized(define, x, y), A, B)
    np.testing.assert_allclose(Normalized(kernel)(A, B), expected, rtol=1e-11)


def test_a_kernel_is_plain_data():
    public = {name: getattr(linsep.kernels, name) for name in linsep.kernels.__all__}
    for kernel in (k for k in [*KERNELS, *(k for k, _ in OF_STRINGS)] if k != Callable(dot)):
        assert kernel_from_dict(json.loads(json.dumps(kernel.to_dict()))) == kernel
        assert hash(kernel) == hash(copy.deepcopy(kernel))
        assert eval(repr(kernel), public) == kernel


def test_what_a_kernel_may_be_given_as():
    rows, given = np.abs(X), {"gamma": 0.3, "degree": 2, "coef0": 0.5}
    for name in ("linear", "poly", "polynomial", "rbf"):
        mine = as_kernel(name, **given)
        theirs = pairwise_kernels(rows, rows[:3], metric=name, filter_params=True, **given)
        np.testing.assert_allclose(mine(rows, rows[:3]), theirs, rtol=1e-10)
    assert as_kernel("poly", degree=4) == Polynomial(4)
    assert (as_kernel("rbf"), as_kernel("rbf", gamma=2)) == (RBF("scale"), RBF(2))
    assert as_kernel("precomputed") == Precomputed()


def test_gamma_from_the_data():
    rows = 3 * X + 1
    assert RBF().fitted(rows).gamma == pytest.approx(1 / (5 * rows.var()))
    assert RBF().fitted(sp.csr_array(X)).gamma == pytest.approx(1 / (5 * X.var()))
    far = 1e9 + rows
    assert RBF().fitted(sp.csr_array(far)).gamma == pytest.approx(1 / (5 * far.var()))
    assert Normalized(Linear() + RBF("auto")).fitted(rows).kernel.right.gamma == 1 / 5


@pytest.mark.compiled
def test_large_blocks_in_threads():
    rows = np.random.default_rng(1).standard_normal((1100, 40))
    for kernel, define in (DEFINED[1], DEFINED[3]):
        whole = kernel(rows)
        np.testing.assert_allclose(whole[3:6], kernel(rows[3:6], rows), rtol=1e-9)
        np.testing.assert_allclose(whole[:9, :9], twin.gram(define, rows[:9], rows[:9]), rtol=1e-9)
        np.testing.assert_allclose(
            whole[:9, :9], kernel(sp.csr_array(rows[:9])), rtol=1e-9, atol=1e-12
        )


def test_precomputed():
    K = Linear()(X)
    kernel = Precomputed()
    rows, new = kernel.prepare(K), kernel.prepare(K[:5] + 1)
    np.testing.assert_array_equal(kernel.gram(rows[3:], rows[np.array([1, 9])]), K[3:, [1, 9]])
    np.testing.assert_array_equal(kernel.gram(new, rows[np.array([1, 9])]), K[:5, [1, 9]] + 1)
    np.testing.assert_array_equal(kernel.diagonal(rows[4:6]), np.diag(K)[4:6])


def test_matrices_that_no_kernel_has():
    large = np.eye(2300)
    assert check_gram(large) is None
    large[2200, 7] = large[7, 2200] = 1.5
    for K in ([[1, 2], [2, 1]], [[1, 0.5], [0.25, 1]], 1.9 * np.eye(3) - 0.9, large):
        assert check_gram(K) is not None
    assert check_gram(np.zeros((3, 3))) is None
    with refused(DataError, "not-finite"):
        check_gram(np.full((2, 2), np.nan))


def test_bad_parameters():
    for use, code, option in (
        (lambda: as_kernel("polly"), "bad-kernel", "kernel"),
        (lambda: Polynomial(0), "bad-option", "degree"),
        (lambda: Polynomial(coef0=-1), "bad-option", "coef0"),
        (lambda: RBF(0), "bad-option", "gamma"),
        (lambda: RBF("wide"), "bad-option", "gamma"),
        (lambda: RBF().gram(RBF().prepare(X), RBF().prepare(X)), "needs-option", "gamma"),
        (lambda: Sum(Linear(), dot), "bad-kernel", None),
        (lambda: Product(Linear(), Spectrum(2)), "bad-kernel", None),
        (lambda: Callable(dot).to_dict(), "unsupported", None),
        (lambda: Spectrum(0), "bad-option", "p"),
        (lambda: BlendedSpectrum(2, (1,)), "bad-option", "weights"),
    ):
        with refused(ParameterError, code, option=option):
            use()


def test_bad_rows():
    for use, code in (
        (lambda: Linear()(["ab", 1]), "not-a-number"),
        (lambda: Linear()(X, X[:, 1:]), "shape"),
        (lambda: Linear()(X * np.nan), "missing-value"),
        (lambda: Linear()(1e200 * X), "overflow"),
        (lambda: Polynomial(300)(10 * X), "overflow"),
        (lambda: (Polynomial(90) * Polynomial(90))(50 * X), "overflow"),
        (lambda: RBF(1)(1e200 * X), "overflow"),
        (lambda: Callable(lambda x, y: x[0] + y[0])([[1.0], [np.nan]]), "bad-kernel"),
        (lambda: kernel_from_dict({"kernel": "os", "parameters": {}}), "bad-kernel"),
        (lambda: Spectrum(1)([]), "no-rows"),
        (lambda: Spectrum(1)(np.eye(2)), "bad-value"),
    ):
        with refused(ValueError, code):
            use()
    with refused(DataError, "bad-value", row=2):
        BlendedSpectrum(2)(["a", None])


def test_a_function_gets_rows_of_any_kind():
    sets = [{1, 2}, {2, 3}, set(), {1, 2, 3}]
    kernel = Callable(lambda a, b: len(a & b))
    rows = kernel.prepare(sets)
    assert kernel.gram(rows[1:], rows[np.array([3])]).tolist() == [[2], [0], [3]]


def test_many_kernels_inside_each_other():
    """What rows they take was asked twice at every level, 2^40 times."""
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    many = sum([Linear()] * 100, Linear())
    assert many(rows) == pytest.approx(101 * (rows @ rows.T))
    assert kernel_from_dict(json.loads(json.dumps(many.to_dict()))) == many


def test_bytes_are_strings_as_well():
    texts = random_strings(6, 15)
    as_bytes = [x.encode() for x in texts]
    for kernel in (Spectrum(2), BlendedSpectrum(3)):
        np.testing.assert_array_equal(kernel(as_bytes), kernel(texts))
    assert Spectrum(1)(["éa"]).tolist() == Spectrum(1)(["é".encode()]).tolist() == [[2]]


@pytest.mark.parametrize("speed", [0, 1e9])
def test_dense_and_sparse_products_are_the_same(speed, monkeypatch):
    texts = random_strings(30, 30, "aaaabcdef")
    monkeypatch.setattr(counting_room, "DENSE_SPEED", speed)
    K = Spectrum(2)(texts)
    np.testing.assert_array_equal(K, K.T)
    for i, j in ((0, 0), (3, 17), (25, 4), (29, 8), (29, 28)):
        assert K[i, j] == twin.spectrum(texts[i], texts[j], 2)
    np.testing.assert_array_equal(Spectrum(2)(texts[5:9], texts), K[5:9])


def test_long_strings_and_substrings():
    n = 9001  # beyond single precision
    assert Spectrum(1)(["a" * n, "a"]).tolist() == [[n**2, n], [n, 1]]
    texts = random_strings(3, 60, "abcdefghijklmnopqrstuvwxyz")
    texts += [texts[0][7:] + texts[1], texts[2][:30] + texts[0]]
    for p in (9, 40, 100):
        expected = twin.gram(lambda x, y, p=p: twin.spectrum(x, y, p), texts, texts)
        assert Spectrum(p)(texts).tolist() == expected


def test_what_is_longer_than_all_strings_matches_nothing_and_costs_nothing():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert not Spectrum(5)(["abc", "", "c"]).any()
    assert [one.category for one in told] == [UserWarning]
    assert BlendedSpectrum(5)(["abc", ""]).tolist() == [[6, 0], [0, 0]]

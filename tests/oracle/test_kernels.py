"""Kernels of numbers and of strings: as defined, in any storage, sliced, stored, refused."""

import copy
import json
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.base import BaseEstimator, clone
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

import linsep
from linsep.errors import DataError, ParameterError
from linsep.kernels import (
    RBF,
    AllSubsets,
    BlendedSpectrum,
    Callable,
    Constant,
    Linear,
    Normalized,
    Polynomial,
    Precomputed,
    Product,
    Scaled,
    Spectrum,
    Sum,
    as_kernel,
    check_gram,
    kernel_from_dict,
    strings as counting_room,
)
from linsep.kernels.base import rows_of
from linsep.kernels.gram_cache import GramCache
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
    (2 * Linear() + Constant(2), lambda x, y: 2 * twin.linear(x, y) + 2),
    (AllSubsets() * RBF(0.1), lambda x, y: twin.all_subsets(x, y) * twin.rbf(x, y, 0.1)),
    (Normalized(AllSubsets()), lambda x, y: twin.normalized(twin.all_subsets, x, y)),
    (Normalized(2 * Linear() * Linear()), lambda x, y: twin.normalized(twin.linear, x, y) ** 2),
]
OF_STRINGS = [
    (Spectrum(1), lambda x, y: twin.spectrum(x, y, 1)),
    (Spectrum(3), lambda x, y: twin.spectrum(x, y, 3)),
    (BlendedSpectrum(2, (0.5, 2)), lambda x, y: twin.blended_spectrum(x, y, (0.5, 2))),
]
CLOSE = {"rtol": 1e-12, "atol": 1e-14}
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
    assert rows_of(prepared) == len(A)
    np.testing.assert_allclose(kernel.diagonal(prepared), [define(x, x) for x in A], **close)


@pytest.mark.parametrize(("kernel", "define"), OF_STRINGS, ids=by_name)
@examples(30, 5)
@given(words, words)
def test_strings_as_the_textbook_defines_it(kernel, define, A, B):
    for rows, others in ((A, B), (A, A), (B, A)):
        expected = np.array(twin.gram(define, rows, others), float)
        np.testing.assert_allclose(kernel(rows, others), expected, rtol=1e-12)
    rows = kernel.prepare(A)
    np.testing.assert_allclose(kernel.diagonal(rows), [define(x, x) for x in A], rtol=1e-12)
    expected = twin.gram(lambda x, y: twin.normalized(define, x, y), A, B)
    np.testing.assert_allclose(Normalized(kernel)(A, B), expected, rtol=1e-11)


def test_rows_are_kept_and_can_be_stored():
    rows = RBF(0.3).prepare(X)
    whole, random = RBF(0.3).gram(rows, rows), np.random.default_rng(0)
    kept = GramCache(RBF(0.3), rows)
    for _ in range(3):
        some = random.permutation(12)[: random.integers(1, 6)]
        kept.keep(some)
        assert kept.known[some].all()
        np.testing.assert_allclose(kept.values[kept.known], whole[kept.known], **CLOSE)
        np.testing.assert_allclose(
            kept.between(some[:2], some), whole[np.ix_(some[:2], some)], **CLOSE
        )
    assert not kept.known.all()
    assert np.array_equal(kept.values[kept.known], kept.arrays()["gram.rows"])
    given = GramCache(Precomputed(), Precomputed().prepare(X @ X.T))
    given.keep(np.arange(12))
    assert not given.arrays()


@pytest.mark.parametrize(
    "kernel", [*KERNELS, Spectrum(2), Normalized(Spectrum(1)) + 1], ids=by_name
)
def test_prepared_rows_can_be_sliced(kernel):
    for storage in ("dense64", "csr32"):
        given = store(X, storage)
        if kernel.takes == "strings":
            given = [*random_strings(10, 20, "abc"), "", "a"]
        rows = kernel.prepare(given)
        whole, some, none = kernel.gram(rows, rows), np.array([7, 0, 3, 3]), rows[:0]
        assert check_gram(whole) is None
        np.testing.assert_allclose(whole, whole.T, **CLOSE)
        found = kernel.gram(rows[2:9], copy.deepcopy(rows)[some])
        np.testing.assert_allclose(found, whole[2:9][:, some], **CLOSE)
        np.testing.assert_allclose(kernel.gram(rows[some], rows), whole[some], **CLOSE)
        np.testing.assert_allclose(kernel.diagonal(rows[some]), np.diag(whole)[some], **CLOSE)
        assert rows_of(rows[some]) == 4
        # A kernel perceptron without support vectors asks for these.
        assert kernel.gram(none, rows).shape == (0, 12)
        assert kernel.gram(rows, none).shape == (12, 0)
        assert kernel.diagonal(none).shape == (0,)


def test_a_kernel_is_plain_data():
    public = {name: getattr(linsep.kernels, name) for name in linsep.kernels.__all__}
    for kernel in (k for k in [*KERNELS, *(k for k, _ in OF_STRINGS)] if k != Callable(dot)):
        assert kernel_from_dict(json.loads(json.dumps(kernel.to_dict()))) == kernel
        assert hash(kernel) == hash(copy.deepcopy(kernel))
        assert eval(repr(kernel), public) == kernel
        with pytest.raises(AttributeError):
            kernel.takes = "strings"
    assert Polynomial(4) != Polynomial(3)


class Holder(BaseEstimator):
    def __init__(self, kernel=None):
        self.kernel = kernel


def test_an_estimator_that_holds_a_kernel_can_be_cloned():
    holder = Holder(Polynomial(4) + RBF(0.5))
    assert clone(holder).kernel == holder.kernel
    assert "Polynomial(degree=4, gamma=1.0, coef0=1.0)" in repr(holder)


def test_what_a_kernel_may_be_given_as():
    rows, given = np.abs(X), {"gamma": 0.3, "degree": 2, "coef0": 0.5}
    for name in ("linear", "poly", "polynomial", "rbf"):
        mine = as_kernel(name, **given)
        theirs = pairwise_kernels(rows, rows[:3], metric=name, filter_params=True, **given)
        np.testing.assert_allclose(mine(rows, rows[:3]), theirs, rtol=1e-10)
    assert as_kernel("poly", degree=4) == Polynomial(4)
    assert (as_kernel("rbf"), as_kernel("rbf", gamma=2)) == (RBF("scale"), RBF(2))
    assert as_kernel("all-subsets") == AllSubsets()
    assert as_kernel("precomputed") == Precomputed()
    assert as_kernel(RBF(3), gamma=2) == RBF(3)
    assert as_kernel(dot) == Callable(dot)


def test_gamma_from_the_data():
    rows = 3 * X + 1
    assert RBF().fitted(rows).gamma == pytest.approx(1 / (5 * rows.var()))
    far = 1e9 + rows
    assert RBF().fitted(sp.csr_array(far)).gamma == pytest.approx(1 / (5 * far.var()))
    for size in (1e200, 1e-160):
        with refused(DataError, "overflow", option="gamma"):
            RBF().fitted(size * rows)
    assert Normalized(Linear() + RBF("auto")).fitted(rows).kernel.right.gamma == 1 / 5
    assert RBF().fitted(np.ones((2, 3))).gamma == 1
    y = np.arange(12) % 2
    theirs, mine = SVC(kernel="rbf").fit(rows, y), SVC(kernel=RBF()).fit(rows, y)
    np.testing.assert_allclose(
        mine.decision_function(rows[:5]), theirs.decision_function(rows[:5]), rtol=1e-6
    )


@pytest.mark.parametrize(("storage", "size"), [("dense64", 2.0), ("csr64", 3e10)])
def test_all_subsets_of_many_features(storage, size):
    rng = np.random.default_rng(0)
    rows = size * rng.standard_normal((4, 40 if size > 9 else 3000))
    rows[2, ::3] = 0
    for kernel in (AllSubsets(), Normalized(AllSubsets())):
        with refused(DataError, "overflow"):
            kernel(store(rows, storage))


@pytest.mark.compiled
def test_large_blocks_in_threads():
    rows = np.random.default_rng(1).standard_normal((1100, 40))
    for kernel, define in (DEFINED[1], DEFINED[3], DEFINED[4]):
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
    narrow = kernel.prepare(K[:, :7])
    for ask in (lambda: kernel.gram(kernel.prepare(K[:5, :7]), rows),
                lambda: kernel.gram(narrow, narrow), lambda: kernel.diagonal(narrow)):  # fmt: skip
        with refused(DataError, "shape"):
            ask()
    with refused(DataError, "bad-value"):
        kernel.prepare(sp.csr_array(K))


def test_signs_of_a_matrix_that_no_kernel_has():
    large = np.eye(2300)
    assert check_gram(large) is None
    large[2200, 7] = large[7, 2200] = 1.5
    for K, said in (
        ([[1, 2], [2, 1]], "K[0, 1] is 2"),
        (np.diag([1, 2, -3]), "K[2, 2] is -3"),
        ([[1, 0.5], [0.25, 1]], "not symmetric: K[0, 1] is 0.5 and K[1, 0] is 0.25;"),
        (1.9 * np.eye(3) - 0.9, "its smallest eigenvalue is -0.8, its largest 1.9;"),
        (large, "K[7, 2200] is 1.5"),
    ):
        assert said in check_gram(K)
    assert check_gram(np.zeros((0, 0))) is None
    assert check_gram(np.zeros((3, 3))) is None
    for K, code in ((np.eye(3)[:2], "shape"), (np.arange(3), "shape"),
                    (np.full((2, 2), np.nan), "not-finite")):  # fmt: skip
        with refused(DataError, code):
            check_gram(K)


def test_bad_parameters():
    for use, code, option in (
        (lambda: as_kernel("polly"), "bad-kernel", "kernel"),
        (lambda: as_kernel(3), "bad-kernel", "kernel"),
        (lambda: as_kernel(RBF), "bad-kernel", "kernel"),
        (lambda: Polynomial(0), "bad-option", "degree"),
        (lambda: Polynomial(2.5), "bad-option", "degree"),
        (lambda: Polynomial(2**63), "bad-option", "degree"),
        (lambda: Polynomial(coef0=-1), "bad-option", "coef0"),
        (lambda: RBF(0), "bad-option", "gamma"),
        (lambda: RBF(10**400), "bad-option", "gamma"),
        (lambda: RBF("wide"), "bad-option", "gamma"),
        (lambda: RBF().gram(RBF().prepare(X), RBF().prepare(X)), "needs-option", "gamma"),
        (lambda: -1 * Linear(), "bad-option", "factor"),
        (lambda: Sum(Linear(), dot), "bad-kernel", None),
        (lambda: Scaled("rbf", 2), "bad-kernel", None),
        (lambda: Product(Linear(), Spectrum(2)), "bad-kernel", None),
        (lambda: Callable(3), "bad-option", "function"),
        (lambda: Callable(dot).to_dict(), "unsupported", None),
        (lambda: Spectrum(0), "bad-option", "p"),
        (lambda: Spectrum("3"), "bad-option", "p"),
        (lambda: BlendedSpectrum(2, (1,)), "bad-option", "weights"),
        (lambda: BlendedSpectrum(2, 0.5), "bad-option", "weights"),
        (lambda: BlendedSpectrum(1, (-1,)), "bad-option", "weights"),
    ):
        with refused(ParameterError, code, option=option):
            use()


def raises(x, y):
    return 1 / (x[0] - 1)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bad_rows():
    for use, code in (
        (lambda: Linear()(["ab", 1]), "not-a-number"),
        (lambda: Linear()(X, X[:, 1:]), "shape"),
        (lambda: AllSubsets()(X, X[:, 1:]), "shape"),
        (lambda: Linear()(X * np.nan), "missing-value"),
        (lambda: Linear()(1e200 * X), "overflow"),
        (lambda: Polynomial(300)(10 * X), "overflow"),
        (lambda: Polynomial(2, coef0=1e200)(X), "overflow"),
        (lambda: (1e308 * Linear())(9 * X), "overflow"),
        (lambda: (Polynomial(90) * Polynomial(90))(50 * X), "overflow"),
        (lambda: RBF(1)(1e200 * X), "overflow"),
        (lambda: Callable(raises)([[2.0], [1.0]]), "bad-kernel"),
        (lambda: Callable(lambda x, y: x[0] + y[0])([[1.0], [np.nan]]), "bad-kernel"),
        (lambda: Callable(lambda x, y: "a")([[1.0]]), "bad-kernel"),
        (lambda: Callable(np.multiply)(X), "bad-kernel"),
        (lambda: Callable(dot)(None), "bad-value"),
        (lambda: Callable(len)("abc"), "bad-value"),
        (lambda: Callable(str.__eq__)(pd.DataFrame({"a": [1.0]})), "bad-value"),
        (lambda: kernel_from_dict({"kernel": "os", "parameters": {}}), "bad-kernel"),
        (lambda: kernel_from_dict({"kernel": "RBF", "parameters": {"gamma": -1}}), "bad-kernel"),
        (lambda: kernel_from_dict([]), "bad-kernel"),
        (lambda: Spectrum(1)([]), "no-rows"),
        (lambda: Spectrum(1)("abc"), "bad-value"),
        (lambda: Spectrum(1)(np.eye(2)), "bad-value"),
        (lambda: Spectrum(1)(None), "bad-value"),
        (lambda: Spectrum(1)(["ab"], [b"ab"]), "bad-value"),
    ):
        with refused(ValueError, code):
            use()
    for rows, row in ((["a", 1], 2), ([1, "a"], 1), (["a", None], 2), (["a", b"a"], 2),
                      (np.array(["a", 1.5], object), 2)):  # fmt: skip
        with refused(DataError, "bad-value", row=row):
            BlendedSpectrum(2)(rows)


def test_a_function_gets_rows_of_any_kind():
    sets = [{1, 2}, {2, 3}, set(), {1, 2, 3}]
    kernel = Callable(lambda a, b: len(a & b))
    rows = kernel.prepare(sets)
    assert kernel.gram(rows[1:], rows[np.array([3])]).tolist() == [[2], [0], [3]]
    with refused(DataError, "bad-kernel"):
        Callable(lambda a, b: 1 / len(b)).gram(rows[3:], rows[2:])
    by_hand = Callable(lambda x, y: twin.spectrum(x, y, 2))
    texts = random_strings(5, 9)
    np.testing.assert_array_equal((by_hand + Spectrum(2))(texts), 2 * Spectrum(2)(texts))


def test_many_kernels_inside_each_other():
    """What rows they take was asked twice at every level, 2^40 times."""
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    many = Linear()
    for _ in range(100):
        many = many + Linear()
    assert many.takes == "vectors"
    assert many(rows) == pytest.approx(101 * (rows @ rows.T))
    assert kernel_from_dict(json.loads(json.dumps(many.to_dict()))) == many


def test_bytes_are_strings_as_well():
    texts = random_strings(6, 15)
    as_bytes = [x.encode() for x in texts]
    for kernel in (Spectrum(2), BlendedSpectrum(3)):
        np.testing.assert_array_equal(kernel(as_bytes), kernel(texts))
        np.testing.assert_array_equal(kernel(np.array(as_bytes)), kernel(np.array(texts)))
        found = kernel(np.array(texts, object)[2:])
        np.testing.assert_array_equal(found, kernel(tuple(texts))[2:, 2:])
    assert Spectrum(1)(["éa"]).tolist() == Spectrum(1)(["é".encode()]).tolist() == [[2]]


@pytest.mark.parametrize("speed", [0, 80, 1e9])
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
    short, long = ["a", "b", ""], ["ab", "abab"]
    for kernel in (BlendedSpectrum(3), Normalized(BlendedSpectrum(3))):
        assert kernel(short, long).tolist() == kernel(short + long)[:3, 3:].tolist()
        assert kernel(long, short).tolist() == kernel(short + long)[3:, :3].tolist()


def test_what_is_longer_than_all_strings_matches_nothing_and_costs_nothing():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert not Spectrum(5)(["abc", "", "c"]).any()
    assert [one.category for one in told] == [UserWarning]
    assert BlendedSpectrum(5)(["abc", ""]).tolist() == [[6, 0], [0, 0]]
    texts = ["abc", "abcd", "", "d"]
    for kernel, expected in ((Spectrum(10**9), np.zeros((4, 4))),
                             (BlendedSpectrum(10**9), BlendedSpectrum(4)(texts))):  # fmt: skip
        assert kernel(texts).tolist() == expected.tolist()
        prepared = kernel.prepare(texts)
        assert kernel.gram(prepared[:1], prepared[1:]).tolist() == expected[:1, 1:].tolist()
        assert kernel.diagonal(prepared).tolist() == np.diagonal(expected).tolist()

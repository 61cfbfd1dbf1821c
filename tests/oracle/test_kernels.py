"""Kernels on rows of numbers: as defined, in any storage, sliced, stored, with clear errors."""

import copy
import decimal
import json
import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.base import BaseEstimator, clone
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

import linsep
from linsep.compiled.jit import COMPILING
from linsep.compiled.kernels import radial
from linsep.errors import DataError, ParameterError
from linsep.kernels import (
    RBF,
    AllSubsets,
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
)
from linsep.kernels.base import rows_of
from linsep.kernels.gram_cache import GramCache
from linsep.teaching.textbook import kernels as twin
from refusals import refused
from storages import STORAGES, store
from thoroughness import examples

pytestmark = pytest.mark.both


def dot(x, y):
    return float(np.dot(x, y))


#: a kernel, and the same of two rows by its definition
DEFINED = [
    (Linear(), twin.linear),
    (Polynomial(), twin.polynomial),
    (Polynomial(1, 0.5, 0), lambda x, y: twin.polynomial(x, y, 1, 0.5, 0)),
    (Polynomial(6, 0.3, 2.0), lambda x, y: twin.polynomial(x, y, 6, 0.3, 2.0)),
    (AllSubsets(), twin.all_subsets),
    (RBF(0.1), lambda x, y: twin.rbf(x, y, 0.1)),
    (Callable(dot), twin.linear),
    (Constant(2), lambda x, y: 2),
    (Linear() + 1, lambda x, y: twin.linear(x, y) + 1),
    (2 * Linear(), lambda x, y: 2 * twin.linear(x, y)),
    (Linear() + RBF(0.1), lambda x, y: twin.linear(x, y) + twin.rbf(x, y, 0.1)),
    (AllSubsets() * RBF(0.1), lambda x, y: twin.all_subsets(x, y) * twin.rbf(x, y, 0.1)),
    (Normalized(Linear()), lambda x, y: twin.normalized(twin.linear, x, y)),
    (Normalized(AllSubsets()), lambda x, y: twin.normalized(twin.all_subsets, x, y)),
    (Normalized(2 * Linear() * Linear()), lambda x, y: twin.normalized(twin.linear, x, y) ** 2),
]
CLOSE = {"rtol": 1e-12, "atol": 1e-14}
KERNELS = [kernel for kernel, _ in DEFINED]
X = np.random.default_rng(0).integers(-2, 3, (12, 5)) / 2


def by_name(kernel):
    return repr(kernel) if isinstance(kernel, linsep.kernels.Kernel) else ""


values = st.integers(-4, 4).map(lambda v: v / 4)


@pytest.mark.parametrize(("kernel", "define"), DEFINED, ids=by_name)
@examples(25, 5)
@given(st.integers(1, 9).flatmap(lambda d: st.tuples(*[
    st.lists(st.lists(values, min_size=d, max_size=d), min_size=1, max_size=6)] * 2)),
    st.sampled_from(STORAGES), st.sampled_from(STORAGES))  # fmt: skip
def test_as_the_textbook_defines_it(kernel, define, rows, storage, other):
    A, B = rows
    found = kernel(store(A, storage), store(B, other))
    assert found.dtype == np.float64
    single = "32" if "dense32" in (storage, other) else "64"
    close = {"rtol": 1e-4, "atol": 1e-6} if single == "32" else {"rtol": 1e-11, "atol": 1e-12}
    np.testing.assert_allclose(found, twin.gram(define, A, B), **close)
    prepared = kernel.prepare(store(A, storage))
    assert rows_of(prepared) == len(A)
    np.testing.assert_allclose(kernel.diagonal(prepared), [define(x, x) for x in A], **close)


def test_radial_values_are_within_one_unit_in_the_last_place():
    random = np.random.default_rng(0)
    squared = np.concatenate([
        [0.0, 1e-300, 2.0**-60, np.log(2) / 2, np.log(2), 708.3, 708.4, 744.4, 745.2, 1e6, 1e308],
        random.uniform(0, 1, 600), random.uniform(0, 50, 600), random.uniform(700, 746, 600),
    ])  # fmt: skip
    found = np.zeros((1, squared.size))
    radial(found, np.zeros(1), squared, 1.0)
    with decimal.localcontext(prec=60):
        for value, at in zip(found[0], squared, strict=True):
            exact = decimal.Decimal(-at).exp()
            assert abs(decimal.Decimal(float(value)) - exact) <= np.spacing(value), at


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
    again = GramCache(RBF(0.3), rows)
    again.restore(kept.arrays())
    assert np.array_equal(kept.known, again.known)
    assert np.array_equal(kept.values[kept.known], again.values[kept.known])


def test_a_gram_matrix_is_kept_as_it_is():
    K = X @ X.T
    kept = GramCache(Precomputed(), Precomputed().prepare(K))
    kept.keep(np.arange(12))
    assert kept.values is K
    assert not kept.arrays()["gram.examples"].size


@pytest.mark.parametrize("kernel", KERNELS, ids=by_name)
@pytest.mark.parametrize("storage", ["dense64", "csr32"])
def test_prepared_rows_can_be_sliced(kernel, storage):
    rows = kernel.prepare(store(X, storage))
    whole = kernel.gram(rows, rows)
    np.testing.assert_allclose(whole, whole.T, **CLOSE)
    some = np.array([7, 0, 3, 3])
    np.testing.assert_allclose(kernel.gram(rows[2:9], rows[some]), whole[2:9][:, some], **CLOSE)
    np.testing.assert_allclose(kernel.gram(rows[some], rows), whole[some], **CLOSE)
    np.testing.assert_allclose(kernel.diagonal(rows[some]), np.diag(whole)[some], **CLOSE)
    assert rows_of(rows[some]) == 4


@pytest.mark.parametrize("kernel", KERNELS, ids=by_name)
@pytest.mark.parametrize("storage", ["dense64", "csr32"])
def test_no_rows_have_no_values(kernel, storage):
    """A kernel perceptron without support vectors asks for these."""
    rows = kernel.prepare(store(X, storage))
    none = rows[:0]
    assert kernel.gram(none, rows).shape == (0, 12)
    assert kernel.gram(rows, none).shape == (12, 0)
    assert kernel.gram(none, none).shape == (0, 0)
    assert kernel.diagonal(none).shape == (0,)


@pytest.mark.parametrize("kernel", KERNELS, ids=by_name)
def test_a_gram_matrix_is_positive_semidefinite(kernel):
    assert check_gram(kernel(X)) is None


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k != Callable(dot)], ids=by_name)
def test_a_kernel_is_plain_data(kernel):
    assert kernel_from_dict(json.loads(json.dumps(kernel.to_dict()))) == kernel
    assert copy.deepcopy(kernel) == kernel
    assert hash(kernel) == hash(copy.deepcopy(kernel))
    public = {name: getattr(linsep.kernels, name) for name in linsep.kernels.__all__}
    assert eval(repr(kernel), public) == kernel
    with pytest.raises(AttributeError):
        kernel.takes = "strings"


class Holder(BaseEstimator):
    def __init__(self, kernel=None):
        self.kernel = kernel


def test_an_estimator_that_holds_a_kernel_can_be_cloned():
    holder = Holder(Polynomial(4) + RBF(0.5))
    assert clone(holder).kernel == holder.kernel
    assert "Polynomial(degree=4, gamma=1.0, coef0=1.0)" in repr(holder)
    assert Polynomial(4) != Polynomial(3)


@pytest.mark.parametrize("name", ["linear", "poly", "polynomial", "rbf"])
def test_names_of_scikit_learn(name):
    rows, mine = np.abs(X), as_kernel(name, gamma=0.3, degree=2, coef0=0.5)
    given = {"gamma": 0.3, "degree": 2, "coef0": 0.5}
    theirs = pairwise_kernels(rows, rows[:3], metric=name, filter_params=True, **given)
    np.testing.assert_allclose(mine(rows, rows[:3]), theirs, rtol=1e-10)
    assert kernel_from_dict(mine.to_dict()) == mine


def test_what_a_kernel_may_be_given_as():
    assert as_kernel("poly", degree=4) == Polynomial(4)
    assert as_kernel("rbf") == RBF("scale")
    assert as_kernel("rbf", gamma=2) == RBF(2)
    assert as_kernel("all-subsets") == AllSubsets()
    assert as_kernel("precomputed") == Precomputed()
    assert as_kernel(RBF(3), gamma=2) == RBF(3)
    assert as_kernel(dot) == Callable(dot)


def test_gamma_from_the_data():
    rows = 3 * X + 1
    assert RBF().fitted(rows).gamma == pytest.approx(1 / (5 * rows.var()))
    assert RBF().fitted(sp.csr_array(rows)).gamma == pytest.approx(1 / (5 * rows.var()))
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


@pytest.mark.parametrize("storage", ["dense64", "csr64"])
@pytest.mark.parametrize("size", [2.0, 3e10])
def test_all_subsets_of_many_features(storage, size):
    rng = np.random.default_rng(0)
    rows = size * rng.standard_normal((4, 40 if size > 9 else 3000))
    rows[2, ::3] = 0
    exact = [[sum(np.log2(np.abs(1 + x * y))) for y in rows] for x in rows]
    sign = [[np.prod(np.sign(1 + x * y)) for y in rows] for x in rows]
    log = np.array(exact) - np.add.outer(np.diag(exact), np.diag(exact)) / 2
    found = Normalized(AllSubsets())(store(rows, storage))
    np.testing.assert_allclose(found, np.array(sign) * 2.0**log, rtol=1e-9, atol=1e-300)
    with refused(DataError, "overflow"):
        AllSubsets()(store(rows, storage))


def test_large_blocks_in_threads():
    rows = np.random.default_rng(1).standard_normal((1100, 40))
    for kernel in (Polynomial(3), AllSubsets(), RBF(0.1)):
        part = slice(None) if COMPILING else slice(0, 20)
        whole = kernel(rows[part])
        np.testing.assert_allclose(whole[3:6], kernel(rows[3:6], rows[part]), rtol=1e-9)
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
    with refused(DataError, "shape"):
        kernel.gram(kernel.prepare(K[:5, :7]), rows)
    with refused(DataError, "shape"):
        kernel.gram(kernel.prepare(K[:, :7]), kernel.prepare(K[:, :7]))
    with refused(DataError, "shape"):
        kernel.diagonal(kernel.prepare(K[:, :7]))
    with refused(DataError, "bad-value"):
        kernel.prepare(sp.csr_array(K))


@pytest.mark.parametrize(("K", "said"), [
    ([[1, 2], [2, 1]], "K[0, 1] is 2, more than sqrt(K[0, 0] K[1, 1]) = 1;"),
    (np.diag([1, 2, -3]), "K[2, 2] is -3;"),
    ([[1, 0.5], [0.25, 1]], "not symmetric: K[0, 1] is 0.5 and K[1, 0] is 0.25;"),
    (1.9 * np.eye(3) - 0.9, "its smallest eigenvalue is -0.8, its largest 1.9;"),
])  # fmt: skip
def test_signs_of_a_matrix_that_no_kernel_has(K, said):
    assert said in check_gram(K)
    assert check_gram(K).endswith("training continues, without the guarantees of a kernel.")


def test_signs_in_large_matrices():
    K = np.eye(2300)
    assert check_gram(K) is None
    K[2200, 7] = K[7, 2200] = 1.5
    assert "K[7, 2200] is 1.5" in check_gram(K)
    assert check_gram(np.zeros((0, 0))) is None
    assert check_gram(np.zeros((3, 3))) is None


@pytest.mark.parametrize("K", [np.eye(3)[:2], np.arange(3), np.full((2, 2), np.nan)])
def test_no_gram_matrix_at_all(K):
    with pytest.raises(DataError, match=r"must be square|NaN or infinity"):
        check_gram(K)


def raises(x, y):
    return 1 / (x[0] - 1)


@pytest.mark.parametrize(("use", "said"), [
    (lambda: as_kernel("polly"), "no kernel 'polly': did you mean 'poly'? There are all"),
    (lambda: as_kernel(3), "must be a name, a kernel of linsep.kernels or a function"),
    (lambda: as_kernel(RBF), "must be a name, a kernel of linsep.kernels or a function"),
    (lambda: Polynomial(0), "degree of Polynomial must be a whole number of at least 1, not 0"),
    (lambda: Polynomial(2.5), "degree of Polynomial must be a whole number"),
    (lambda: Polynomial(coef0=-1), "coef0 of Polynomial must be a number above 0, not -1"),
    (lambda: RBF(0), "gamma of RBF must be a number above 0, not 0"),
    (lambda: RBF("wide"), "gamma of RBF must be a number above 0, 'scale' or 'auto', not 'wide'"),
    (lambda: RBF().gram(RBF().prepare(X), RBF().prepare(X)), "use the kernel that fitted(X)"),
    (lambda: -1 * Linear(), "factor of Scaled must be a number above 0, not -1"),
    (lambda: Sum(Linear(), dot), "wrap a function as Callable(function)"),
    (lambda: Scaled("rbf", 2), "takes kernels of linsep.kernels, not 'rbf'"),
    (lambda: Product(Linear(), Spectrum(2)), "takes vectors and Spectrum(p=2) takes strings"),
    (lambda: Callable(3), "3 cannot be called"),
    (lambda: Callable(dot).to_dict(), "cannot be stored"),
    (lambda: as_kernel("chi2"), "no kernel 'chi2': there are all-subsets, linear, poly"),
])  # fmt: skip
def test_bad_parameters(use, said):
    with pytest.raises(ParameterError, match=re.escape(said)):
        use()


@pytest.mark.parametrize(("use", "said"), [
    (lambda: Linear()(["ab", "cd"]), "X has strings, but Linear() takes rows of numbers"),
    (lambda: Linear()(["ab", 1]), "X has strings"),
    (lambda: Linear()(X, X[:, 1:]), "Rows have 5 features on one side and 4 on the other"),
    (lambda: AllSubsets()(X, X[:, 1:]), "Rows have 5 features on one side and 4 on the other"),
    (lambda: Linear()(X * np.nan), "NaN"),
    (lambda: Linear()(1e200 * X), "Linear() overflows float64 on these rows: scale the"),
    (lambda: Polynomial(300)(10 * X), "overflows float64 on these rows: scale the features"),
    (lambda: Polynomial(2, gamma=1e200)(X), "rows: choose a smaller gamma, coef0 or degree"),
    (lambda: Polynomial(2, coef0=1e200)(X), "rows: choose a smaller gamma, coef0 or degree"),
    (lambda: Polynomial(9999)(X), "rows: choose a smaller gamma, coef0 or degree"),
    (lambda: (1e308 * Linear())(9 * X), "on these rows: choose a smaller factor"),
    (lambda: (2 * Polynomial(9))(1e17 * X), "on these rows: scale the features"),
    (lambda: (Polynomial(90) * Polynomial(90))(50 * X), "overflows float64"),
    (lambda: RBF(1)(1e200 * X), "overflows float64"),
    (lambda: Callable(raises)([[2.0], [1.0]]), "failed on the rows of index 1 and 1 with"),
    (lambda: Callable(lambda x, y: x[0] + y[0])([[1.0], [np.nan]]), "returned nan for the rows of"),
    (lambda: Callable(lambda x, y: "a")([[1.0]]), "returned 'a' for the rows of index 0 and 0"),
    (lambda: Callable(dot)(None), "X is None, not a list of rows"),
    (lambda: Callable(len)("abc"), "X is 'abc', not a list of rows"),
    (lambda: Callable(np.multiply)(X), "rows of index 0 and 0: it must return a finite number"),
    (lambda: kernel_from_dict({"kernel": "os", "parameters": {}}), "is not a stored kernel"),
    (lambda: kernel_from_dict({"kernel": "RBF", "parameters": {"gamma": -1}}), "not a stored"),
    (lambda: kernel_from_dict([]), "is not a stored kernel"),
])  # fmt: skip
def test_bad_rows(use, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        use()


def test_a_function_gets_rows_of_any_kind():
    sets = [{1, 2}, {2, 3}, set(), {1, 2, 3}]
    kernel = Callable(lambda a, b: len(a & b))
    rows = kernel.prepare(sets)
    assert kernel.gram(rows[1:], rows[np.array([3])]).tolist() == [[2], [0], [3]]
    with refused(DataError, "bad-kernel"):
        Callable(lambda a, b: 1 / len(b)).gram(rows[3:], rows[2:])
    assert Callable(lambda a, b: len(a + b))(["ab", "c"]).tolist() == [[4, 3], [3, 2]]


def test_many_kernels_inside_each_other():
    """What rows they take was asked twice at every level, 2^40 times."""
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    many = Linear()
    for _ in range(60):
        many = many + Linear()
    assert many.takes == "vectors"
    assert many(rows) == pytest.approx(61 * (rows @ rows.T))
    assert kernel_from_dict(json.loads(json.dumps(many.to_dict()))) == many
    for _ in range(40):
        many = many + Linear()
    for one_more in (lambda: many + Linear(), lambda: 2 * many, lambda: Normalized(many)):
        with refused(ParameterError, "bad-kernel"):
            one_more()


@pytest.mark.parametrize("size", [2**63, 10**30, 10**400])
def test_whole_numbers_fit_in_64_bits(size):
    with refused(ParameterError, "bad-option", option="degree"):
        Polynomial(size)
    with refused(ParameterError, "bad-option", option="p"):
        Spectrum(size)
    with refused(ParameterError, "bad-option", option="gamma"):
        RBF(float("inf") if size == 2**63 else 10**400)

"""Verdicts in the space of a kernel are about exact kernel values, or say that floats are rounded.

Oracles: the features written out in fractions (products of features; the factors of the binomial
theorem change no verdict, as they are positive), eliminations in fractions, and the definitions of
the kernels in fractions.
"""

from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import prod

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_circles

import linsep
from fourier_motzkin import kind_of
from linsep import KernelPerceptron, kernels
from linsep.errors import DataError
from linsep.kernels import RBF, AllSubsets, Constant, Linear, Normalized, Polynomial, Spectrum
from refusals import refused
from thoroughness import THOROUGH

pytestmark = pytest.mark.compiled

IRIS, KINDS = load_iris(return_X_y=True)


def fractions(X):
    return [[Fraction(x) for x in row] for row in np.asarray(X).tolist()]


def products_up_to(X, degree, low=0):
    """The products of ``low`` to ``degree`` features, repeated ones among them, in fractions."""
    chosen = [
        which
        for k in range(low, degree + 1)
        for which in combinations_with_replacement(range(len(X[0])), k)
    ]
    found = [[prod((row[j] for j in which), start=Fraction(1)) for which in chosen] for row in X]
    return np.array(found, dtype=object)


def subsets(X):
    """The products of all subsets of the features, in fractions."""
    d = len(X[0])
    chosen = [which for k in range(d + 1) for which in combinations(range(d), k)]
    found = [[prod((row[j] for j in which), start=Fraction(1)) for which in chosen] for row in X]
    return np.array(found, dtype=object)


def plainly(features, y):
    """The kind of verdict on features that are written out."""
    return linsep.separation(features, y, fit_intercept=False).kind


def test_iris_is_to_the_linear_kernel_what_it_is_without_a_kernel():
    X, y = IRIS[50:], KINDS[50:]
    verdict = KernelPerceptron(kernel="linear").separation(X, y)
    assert plainly(X, y) == verdict.kind == "overlapping"
    assert len(verdict.subject.columns) == 4
    assert verdict.verify(Linear().exact(X), y)
    assert "floats" not in str(verdict)
    verdict = KernelPerceptron(kernel=Linear() + 1).separation(X, y)
    assert verdict.kind == linsep.separation(X, y).kind


def test_rings_that_overlap_are_not_separable_by_degree_two():
    rings, inside = make_circles(150, noise=0.2, factor=0.5, random_state=0)
    kernel = KernelPerceptron(kernel="poly", degree=2)
    verdict = kernel.separation(rings, inside)
    assert plainly(products_up_to(fractions(rings), 2), inside) == verdict.kind == "overlapping"
    assert verdict.verify(Polynomial(2).exact(rings), inside)


def test_whole_numbers_whose_products_exceed_floats():
    X = np.array([[2**40 + k, 1, k % 2] for k in range(9)])
    for y in ([int(k > 3) for k in range(9)], [0, 1, 1, 0, 0, 1, 0, 1, 0]):
        for stored in (X, X.astype(float), X.astype(object), sp.csr_matrix(X)):
            verdict = KernelPerceptron(kernel="linear").separation(stored, y)
            assert verdict.kind == plainly(X, y)
            assert verdict.verify(X.astype(object) @ X.astype(object).T, y)
    large = X + 2**60 - 2**40  # not doubles
    assert KernelPerceptron(kernel="linear").separation(large, y).kind == plainly(large, y)


def _dot(x, y):
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


#: a kernel, its value of two rows of fractions, and its features written out
EXACT = [
    (Linear(), _dot, lambda X: products_up_to(X, 1, 1)),
    (Polynomial(2), lambda x, y: (_dot(x, y) + 1) ** 2, lambda X: products_up_to(X, 2)),
    (
        Polynomial(3, 0.1, 0.7),
        lambda x, y: (Fraction(0.1) * _dot(x, y) + Fraction(0.7)) ** 3,
        lambda X: products_up_to(X, 3),
    ),
    (Polynomial(2, 0.5, 0), lambda x, y: (_dot(x, y) / 2) ** 2, lambda X: products_up_to(X, 2, 2)),
    (AllSubsets(), lambda x, y: prod(1 + a * b for a, b in zip(x, y, strict=True)), subsets),
    (Linear() + 1, lambda x, y: _dot(x, y) + 1, lambda X: products_up_to(X, 1)),
    (
        0.3 * Linear() * (Linear() + 0.1),
        lambda x, y: Fraction(0.3) * _dot(x, y) * (_dot(x, y) + Fraction(0.1)),
        lambda X: np.hstack([products_up_to(X, 2, 2), products_up_to(X, 1, 1)]),
    ),
]


@pytest.mark.parametrize("seed", range(12) if THOROUGH else (0, 5, 7, 10))
@pytest.mark.parametrize("which", range(len(EXACT)))
def test_values_and_verdicts_are_those_of_fractions(which, seed):
    kernel, value, features = EXACT[which]
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (rng.integers(5, 16), 2))
    scale = [1, 10, 3, 1e-7][seed % 4]
    stored = X if scale == 1 else X / scale
    given = [stored, sp.csr_matrix(stored), stored.astype(np.float32)][seed % 3]
    exact = fractions(given.toarray() if sp.issparse(given) else given)
    y = rng.permutation(np.arange(len(X)) % 2)
    if rng.random() < 0.6:
        y = (X[:, 0] ** 2 + 2 * X[:, 1] > 3).astype(int)
        y[:2] = 0, 1
    K = kernel.exact(given)
    assert K.tolist() == [[value(a, b) for b in exact] for a in exact]
    verdict = KernelPerceptron(kernel=kernel).separation(given, y)
    assert verdict.kind == plainly(features(exact), y)
    assert verdict.verify(K, y)
    assert verdict.subject.rounded is False


@pytest.mark.parametrize("seed", range(20))
def test_verdicts_are_those_of_elimination(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (7, 1 + seed % 2)) / 10
    y = rng.permutation([0, 0, 0, 1, 1, 1, 0])
    if seed % 2:
        y[0] = 1 - y[0]
    rows = [
        [(1 if side else -1) * x for x in row]
        for row, side in zip(products_up_to(fractions(X), 1).tolist(), y, strict=True)
    ]
    kind, _ = kind_of(rows)
    assert KernelPerceptron(kernel=Linear() + 1).separation(X, y).kind == kind


def test_lists_fractions_and_frames_are_read_as_separation_reads_them():
    pd = pytest.importorskip("pandas")
    thirds = [[Fraction(k, 3), Fraction(k * k, 7)] for k in range(6)]
    y = [0, 1, 1, 0, 1, 1]
    for X in (thirds, pd.DataFrame(thirds), np.array(thirds)):
        verdict = KernelPerceptron(kernel="linear").separation(X, y)
        assert verdict.kind == plainly(np.array(thirds, dtype=object), y)
        assert verdict.verify([[_dot(a, b) for b in thirds] for a in thirds], y)


def test_gamma_and_coef0_are_the_numbers_they_are_stored_as():
    X, y = IRIS[50:80, :2], KINDS[45:75] % 2
    model = KernelPerceptron(kernel="poly", degree=2, gamma="scale", coef0=0.1)
    verdict = model.separation(X, y)
    kernel = Polynomial(2, "scale", 0.1)
    assert verdict.verify(kernel.exact(X), y)
    gamma = Fraction(kernel.fitted(X).gamma)
    a, b = fractions(X[:2])
    assert kernel.exact(X)[0, 1] == (gamma * _dot(a, b) + Fraction(0.1)) ** 2


def test_counts_of_substrings_are_exact_also_beyond_floats():
    words = ["a" * (3 + 2**k) for k in range(9)] + ["b"]
    kernel = kernels.BlendedSpectrum(2, (0.1, 1e15))
    K = kernel.exact(words)
    count = [[2**k + 3, 2**k + 2] for k in range(9)]
    wanted = Fraction(0.1) * count[8][0] ** 2 + 10**15 * count[8][1] ** 2
    assert K[8, 8] == wanted != kernel(words)[8, 8]
    assert Spectrum(2).exact(words)[0, 1] == count[0][1] * count[1][1]


@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (RBF(0.5), IRIS[:9]),
        (RBF(0.5) + Linear(), IRIS[:9]),
        (2 * RBF(0.5) * Constant(3), IRIS[:9]),
        (Normalized(Linear()), IRIS[:9]),
        (lambda a, b: float(a @ b), IRIS[:9]),
        ("precomputed", IRIS[:9] @ IRIS[:9].T),
        (Normalized(Spectrum(2)), ["ab", "abab", "cd", "cdcd", "ef", "efef", "abc", "bcd", "xy"]),
        (Polynomial(200, 1e-3), IRIS[:9] / 100),  # as fractions too long
    ],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_where_only_floats_exist_the_first_line_says_so(kernel, X, classes):
    y = np.arange(9) % classes
    found = KernelPerceptron(kernel=kernel).separation(X, y)
    first = str(found).splitlines()[0]
    assert "kernel values in floats, which may be rounded" in first
    assert "floats" in found._repr_html_().split("</tr>")[0]
    for verdict in found.verdicts() if classes > 2 else [found]:
        assert "kernel values in floats, which may be rounded" in str(verdict).splitlines()[0]
        assert "in floats" in repr(verdict)
    back = linsep.from_json(found.to_json())
    assert back == found  # a proof is about the matrix as it is stored
    assert "the values of the Gram matrix as stored" in str(back).splitlines()[0]


def test_a_matrix_that_is_given_is_in_floats_or_exact():
    y = [0, 1, 1]
    for K, rounded in (
        (np.eye(3), True),
        (np.eye(3, dtype=int), False),
        ([[Fraction(1, 2), 0, 0], [0, 1, 0], [0, 0, 1]], False),
        ([[0.5, 0, 0], [0, 1, 0], [0, 0, 1]], True),
        (np.array([[0.5, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=object), True),
    ):
        found = linsep.separation(K=K, y=y)
        assert found.subject.rounded is rounded
        assert ("in floats" in str(found).splitlines()[0]) is rounded
    assert linsep.separation([[1.0], [2]], [0, 1]).subject.rounded is None


def test_values_beyond_floats_are_refused_in_a_sentence():
    for kernel, X in (
        (Polynomial(3), [[1e150], [1.0]]),
        (AllSubsets(), np.full((2, 8), 1e150)),
        (Linear(), [[1e-170], [1.0]]),
    ):
        with refused(DataError, "overflow"):
            KernelPerceptron(kernel=kernel).separation(X, [0, 1])
    with pytest.raises(ValueError, match=r"NaN|no value"):
        KernelPerceptron(kernel="linear").separation([[np.nan], [1.0]], [0, 1])
    with refused(DataError, "not-a-number"):
        KernelPerceptron(kernel="linear").separation(["a", "b"], [0, 1])


def test_sparse_rows_of_many_columns_need_no_dense_copy():
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 200_000), density=1e-4, random_state=rng, format="csr")
    K = Linear().exact(X)
    dense = X[:, np.unique(X.indices)].toarray()
    assert K[3, 5] == _dot(*fractions(dense[[3, 5]]))
    assert K[3, 3] == _dot(*fractions(dense[[3, 3]]))
    ones = sp.csr_array((np.ones(X.nnz), X.indices, X.indptr), shape=X.shape)
    assert (AllSubsets().exact(ones)[:5, :5] == 2 ** (ones @ ones.T).toarray()[:5, :5]).all()

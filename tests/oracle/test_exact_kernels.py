"""Verdicts in the space of a kernel are about exact kernel values.

Oracles: the features written out in fractions (products of features; the factors of the binomial
theorem change no verdict, as they are positive), and the definitions of the kernels in fractions.
"""

from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import prod

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

import linsep
from linsep import KernelPerceptron, kernels
from linsep.errors import DataError
from linsep.kernels import AllSubsets, Linear, Polynomial, Spectrum
from refusals import refused

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


def _dot(x, y):
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


#: a kernel, its value of two rows of fractions, and its features written out
EXACT = {
    "linear": (Linear(), _dot, lambda X: products_up_to(X, 1, 1)),
    "cubes": (
        Polynomial(3, 0.1, 0.7),
        lambda x, y: (Fraction(0.1) * _dot(x, y) + Fraction(0.7)) ** 3,
        lambda X: products_up_to(X, 3),
    ),
    "subsets": (
        AllSubsets(),
        lambda x, y: prod(1 + a * b for a, b in zip(x, y, strict=True)),
        subsets,
    ),
    "composed": (
        0.3 * Linear() * (Linear() + 0.1),
        lambda x, y: Fraction(0.3) * _dot(x, y) * (_dot(x, y) + Fraction(0.1)),
        lambda X: np.hstack([products_up_to(X, 2, 2), products_up_to(X, 1, 1)]),
    ),
}


@pytest.mark.parametrize("which", EXACT)
def test_values_and_verdicts_are_those_of_fractions(which):
    kernel, value, features = EXACT[which]
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.integers(-4, 5, (rng.integers(5, 16), 2))
        stored = [X, X / 10, X / 3, X * 1e-7][seed % 4]
        given = [stored, sp.csr_matrix(stored), stored.astype(np.float32)][seed % 3]
        exact = fractions(given.toarray() if sp.issparse(given) else given)
        y = rng.permutation(np.arange(len(X)) % 2)
        if seed % 2:
            y = (X[:, 0] ** 2 + 2 * X[:, 1] > 3).astype(int)
            y[:2] = 0, 1
        K = kernel.exact(given)
        assert K.tolist() == [[value(a, b) for b in exact] for a in exact]
        verdict = KernelPerceptron(kernel=kernel).separation(given, y)
        assert verdict.kind == plainly(features(exact), y)
        assert verdict.verify(K, y)


def test_xor_is_separable_by_a_polynomial_of_degree_two_only():
    X, y = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]), [1, 0, 0, 1]
    for degree, kind in ((1, "overlapping"), (2, "separable")):
        K = (X @ X.T + 1) ** degree
        verdict = linsep.separation(K=K, y=y)
        assert verdict.kind == kind
        assert verdict.verify(K, y)
        assert linsep.from_json(verdict.to_json()) == verdict
        assert not verdict.verify(K + 1, y)
        assert verdict.verify(K[:, :2], y).holds is False


def test_whole_numbers_whose_products_exceed_floats():
    X = np.array([[2**40 + k, 1, k % 2] for k in range(7)])
    K, y = X.astype(object) @ X.T.astype(object), [0, 1, 1, 0, 0, 1, 0]
    for stored in (X, sp.csr_matrix(X)):
        verdict = KernelPerceptron(kernel="linear").separation(stored, y)
        assert verdict.kind == plainly(X, y) == "overlapping"
        assert len(verdict.subject.columns) == 3
        assert verdict.verify(K, y)


def test_several_classes_and_strings():
    words = ["ab", "abab", "cd", "cdcd", "ef", "efef"]
    report = KernelPerceptron(kernel=kernels.Spectrum(2)).separation(words, [0, 0, 1, 1, 2, 2])
    assert report.verify(kernels.Spectrum(2).exact(words), [0, 0, 1, 1, 2, 2])
    assert all(verdict.kind == "separable" for verdict in report.against_rest.values())
    same = KernelPerceptron(kernel=kernels.Spectrum(1)).separation(["ab", "ba", "c"], [0, 1, 1])
    assert (same.kind, same.boundary) == ("quasi-separable", (0, 1))


def test_a_regular_matrix_separates_any_labels():
    K = np.array([[Fraction(1, i + j + 1) for i in range(12)] for j in range(12)])  # Hilbert's
    for labels in ([0, 1] * 6, [0, 1, 2] * 4):
        found = linsep.separation(K=K, y=labels)
        assert {one.kind for one in found.verdicts()} == {"separable"}
        assert found.verify(K, labels)


def test_counts_of_substrings_are_exact_also_beyond_floats():
    words = ["a" * (3 + 2**k) for k in range(9)] + ["b"]
    kernel = kernels.BlendedSpectrum(2, (0.1, 1e15))
    K = kernel.exact(words)
    count = [[2**k + 3, 2**k + 2] for k in range(9)]
    wanted = Fraction(0.1) * count[8][0] ** 2 + 10**15 * count[8][1] ** 2
    assert K[8, 8] == wanted != kernel(words)[8, 8]
    assert Spectrum(2).exact(words)[0, 1] == count[0][1] * count[1][1]


def test_kernels_of_floats_are_refused():
    for kernel in (kernels.RBF(0.5), Polynomial(200, 1e-3)):
        with refused(DataError, "not-exact", option="kernel"):
            KernelPerceptron(kernel=kernel).separation(IRIS[:9] / 100, KINDS[45:54])
    with refused(DataError, "not-exact", option="K"):
        linsep.separation(K=np.eye(2), y=[0, 1])


@pytest.mark.parametrize(
    ("given", "kind", "code"),
    [
        ({"K": np.ones((2, 3), int)}, DataError, "shape"),
        ({"K": np.array([[1, 2], [2, 1]])}, DataError, "bad-kernel"),
    ],
)
def test_what_is_no_gram_matrix_is_refused(given, kind, code):
    with refused(kind, code, option="K"):
        linsep.separation(y=[0, 1], **given)

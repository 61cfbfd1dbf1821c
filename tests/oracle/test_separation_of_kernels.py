"""Verdicts in the space of a kernel, from its Gram matrix."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

import linsep
from linsep import KernelPerceptron, kernels
from stopwatch import Stopwatch

pytestmark = pytest.mark.compiled

XOR = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])


def test_xor_is_separable_by_a_polynomial_of_degree_two_only():
    for degree, kind in ((1, "overlapping"), (2, "separable"), (3, "separable")):
        K = kernels.Polynomial(degree)(XOR)
        verdict = linsep.separation(K=K, y=[1, 0, 0, 1])
        assert verdict.kind == kind
        assert verdict.verify(K, [1, 0, 0, 1], exact=True)
        back = linsep.from_json(verdict.to_json())
        assert back == verdict
        assert "4 rows, in the space of a kernel, spanned by" in str(verdict)
        assert not verdict.verify(K + 1.0, [1, 0, 0, 1])
        assert "it is about a Gram matrix" in verdict.verify(K[:, :2], [1, 0, 0, 1]).reason


def test_a_kernel_says_what_its_features_written_out_say():
    """(1 + <x, z>)^2 in two dimensions is a product of six features."""
    rng = np.random.default_rng(0)
    for _ in range(25):
        X = rng.integers(-3, 4, (12, 2)).astype(float)
        y = rng.permutation([0] * 6 + [1] * 6)
        if rng.random() < 0.5:
            y = (X[:, 0] ** 2 + X[:, 1] > 2).astype(int)
        if len(set(y)) < 2:
            continue
        # Without the factors of sqrt(2), which change no verdict but are no floats.
        out = np.array([[a**2, b**2, a * b, a, b, 1.0] for a, b in X])
        K = kernels.Polynomial(2)(X)
        if rng.random() < 0.5:  # thirds, which floats would round
            thirds = np.array([[Fraction(int(x), 3) for x in row] for row in X])
            K = (1 + thirds @ thirds.T) ** 2
        verdict = linsep.separation(K=K, y=y)
        assert verdict.kind == linsep.separation(out, y, fit_intercept=False).kind
        assert verdict.verify(K, y, exact=True)


def test_every_labeling_is_separable_by_a_radial_kernel_on_rows_that_differ():
    X = np.arange(5.0)[:, None]
    for y in product([0, 1], repeat=5):
        if len(set(y)) == 2:
            assert KernelPerceptron(kernel="rbf", gamma=1.0).separation(X, y).kind == "separable"


def test_several_classes_and_strings():
    words = ["ab", "abab", "cd", "cdcd", "ef", "efef"]
    report = KernelPerceptron(kernel=kernels.Spectrum(2)).separation(words, [0, 0, 1, 1, 2, 2])
    assert report.verify(kernels.Spectrum(2)(words), [0, 0, 1, 1, 2, 2], exact=True)
    assert all(verdict.kind == "separable" for verdict in report.against_rest.values())
    same = KernelPerceptron(kernel=kernels.Spectrum(1)).separation(["ab", "ba", "c"], [0, 1, 1])
    assert same.kind == "quasi-separable"
    assert same.boundary == (0, 1)


def test_the_rank_is_that_of_the_numbers_and_of_no_tolerance():
    """Rows that differ have images in the space of a radial kernel that are independent."""
    X = np.arange(6.0)[:, None]
    for gamma in (1e-2, 1e-4, 1e-6):
        K = kernels.RBF(gamma)(X)
        verdict = linsep.separation(K=K, y=[0, 1] * 3)
        assert verdict.kind == "separable"
        assert verdict.verify(K, [0, 1] * 3)
        report = linsep.separation(K=K, y=[0, 1, 2] * 2)
        assert report.verify(K, [0, 1, 2] * 2)
        assert {one.kind for one in report.verdicts()} == {"separable"}
    # What rounding makes of a kernel of rank one is regular, in the end.
    thirds = np.arange(1, 7) / 3
    K = np.outer(thirds, thirds)
    exact = np.outer(np.arange(1, 7), np.arange(1, 7))
    assert linsep.separation(K=exact, y=[0, 1] * 3).kind == "overlapping"
    assert linsep.separation(K=K, y=[0, 1] * 3).verify(K, [0, 1] * 3)


def test_whole_numbers_beyond_floats_are_read_exactly():
    X = np.array([[2**40 + k, 1, k % 2] for k in range(7)], dtype=object)
    K = X @ X.T
    y = [int(k > 3) for k in range(7)]
    verdict = linsep.separation(K=K, y=y)
    assert verdict.kind == linsep.separation(X, y, fit_intercept=False).kind == "separable"
    verdict = linsep.separation(K=K, y=[0, 1, 1, 0, 0, 1, 0])
    assert verdict.kind == "overlapping"
    assert len(verdict.subject.columns) == 3
    assert verdict.verify(K, [0, 1, 1, 0, 0, 1, 0])
    K[0, 6] += 1
    K[6, 0] += 1
    assert not verdict.verify(K, [0, 1, 1, 0, 0, 1, 0])


def test_time_is_bounded():
    X = np.random.default_rng(0).normal(size=(150, 2))
    watch = Stopwatch()
    verdict = linsep.separation(K=kernels.Polynomial(2)(X), y=np.arange(150) % 2, time_limit=0.05)
    assert verdict.kind == "undecided"
    assert watch.seconds() < 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"K": np.ones((2, 3))}, "shape"),
        ({"K": np.array([[1.0, 2.0], [3.0, 4.0]])}, "not symmetric"),
        ({"K": np.array([[1.0, 2.0], [2.0, 1.0]])}, "not positive semidefinite"),
        ({"K": np.array([[0.0, 1e-3], [1e-3, 1.0]])}, "not positive semidefinite"),
        ({"K": np.diag([1.0, -1e-3])}, "not positive semidefinite"),
        ({"K": sp.identity(2)}, "sparse"),
        ({"K": np.array([[1.0, np.nan], [np.nan, 4.0]])}, "NaN"),
        ({"K": np.eye(2), "X": np.eye(2)}, "K replaces X"),
        ({"K": np.eye(2), "margin": "max"}, "K replaces X"),
    ],
)
def test_what_is_no_gram_matrix_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        linsep.separation(y=[0, 1], **given)

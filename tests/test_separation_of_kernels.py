"""Verdicts in the space of a kernel, from its Gram matrix."""

from itertools import product

import numpy as np
import pytest

import linsep
from linsep import KernelPerceptron, kernels

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
        X = X + (rng.random() < 0.5) * rng.random(X.shape)  # half of the time K is rounded
        # Without the factors of sqrt(2), which change no verdict but are no floats.
        out = np.array([[a**2, b**2, a * b, a, b, 1.0] for a, b in X])
        K = kernels.Polynomial(2)(X)
        verdict = linsep.separation(K=K, y=y)
        assert verdict.kind == linsep.separation(out, y, fit_intercept=False).kind
        assert verdict.verify(K, y, exact=True)


def test_every_labelling_is_separable_by_a_radial_kernel_on_rows_that_differ():
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


def test_a_matrix_that_no_kernel_has_is_taken_as_it_is():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    verdict = linsep.separation(K=K, y=[0, 1])
    assert verdict.subject.columns == (0, 1)
    assert verdict.verify(K, [0, 1], exact=True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"K": np.ones((2, 3))}, "shape"),
        ({"K": np.array([[1.0, 2.0], [3.0, 4.0]])}, "not symmetric"),
        ({"K": np.array([[1.0, np.nan], [np.nan, 4.0]])}, "NaN"),
        ({"K": np.eye(2), "X": np.eye(2)}, "K stands for X"),
        ({"K": np.eye(2), "margin": "max"}, "K stands for X"),
    ],
)
def test_what_is_no_gram_matrix_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        linsep.separation(y=[0, 1], **given)

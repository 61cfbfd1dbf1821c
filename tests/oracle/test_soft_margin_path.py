"""The path of soft margins over C: beside libsvm, linear programs and the widest margin."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from linsep import SoftMargin, separation, soft_margin_path
from refusals import refused

NOTES = np.array([(2, 1), (4, 3), (3, 5), (1, 3), (5, 6)], float), np.array([1, 1, 1, -1, -1])
IRIS, SPECIES = load_iris(return_X_y=True)


def least_hinge(X, y, weights, fit_intercept=True):
    """The least total hinge of any weights, by a linear program."""
    n = len(X)
    Z = np.hstack([X, np.ones((n, 1))]) if fit_intercept else X
    k = Z.shape[1]
    found = linprog(
        np.append(np.zeros(k), weights), A_ub=-np.hstack([y[:, None] * Z, np.eye(n)]),
        b_ub=-np.ones(n), bounds=[(None, None)] * k + [(0, None)] * n,
    )  # fmt: skip
    assert found.status == 0
    return found.fun


def test_the_worked_numbers():
    """Mission 14.6: from C = 8/9 on [b, w] are (9, 6, -8)/9, and the total hinge is 22/9."""
    path = soft_margin_path(*NOTES)
    assert path.Cs.tolist() == [0.3, 1.0]
    assert path.coef[-1] == pytest.approx([6 / 9, -8 / 9])
    assert path.losses[-1] == pytest.approx(22 / 9)
    assert (path.final, path.separable, path.verdict) == (1, False, None)
    fine = soft_margin_path(*NOTES, Cs=[1e3, 0.88, 0.89])
    assert fine.Cs.tolist() == [0.88, 0.89, 1e3]
    assert fine.final == 1


@pytest.mark.parametrize(
    ("bias", "first"), [("free", 50), ("penalized", 0)], ids=["overlapping", "separable"]
)
def test_the_ends_of_the_grid(bias, first):
    """Up to the first C all is in proportion to C; at the next one it is not. From the last on
    nothing changes, but before it does: the loss is the least, or the margin the widest.
    """
    X, y = IRIS[first : first + 80], (SPECIES[first : first + 80] == 1).astype(int)
    how = {"fit_intercept": bias is not None, "penalize_intercept": bias == "penalized"}
    path = soft_margin_path(X, y, **how)
    C = path.Cs[0]
    first_row, half, beyond = (SoftMargin(C=c, **how).fit(X, y) for c in (C, C / 2, 3.4 * C))
    assert first_row.coef_ == pytest.approx(2 * half.coef_, rel=1e-5)
    assert beyond.coef_ != pytest.approx(3.4 * first_row.coef_, rel=1e-3)
    last, before = path.models[-1], path.models[-2]
    assert path.final == len(path.Cs) - 1
    far = SoftMargin(C=1000 * path.Cs[-1], **how).fit(X, y)
    assert far.coef_ == pytest.approx(last.coef_, rel=1e-4)
    assert before.coef_ != pytest.approx(last.coef_, rel=1e-3)
    Z = np.hstack([X, np.ones((80, 1))]) if bias == "penalized" else X
    if path.separable:
        low, high = separation(Z, y, fit_intercept=bias == "free", margin="max").margin
        assert path.verdict.margin == (low, high)
        assert path.margins[-1] == pytest.approx(low, rel=1e-5)
    else:
        least = least_hinge(Z, 2.0 * y - 1, np.ones(80), fit_intercept=bias == "free")
        assert path.losses[-1] == pytest.approx(least, rel=1e-6)
        assert path.losses[-2] > least * (1 + 1e-8)


def test_support_vectors_are_those_of_libsvm():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = scale(X)[:200], y[:200]
    path = soft_margin_path(X, y, Cs=[0.01, 1.0])
    for k, C in enumerate(path.Cs):
        theirs = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y)
        bounded = int((np.abs(theirs.dual_coef_) >= C * (1 - 1e-6)).sum())
        assert (path.free[k], path.bounded[k]) == (theirs.n_support_.sum() - bounded, bounded)
        assert path.coef[k] == pytest.approx(theirs.coef_[0], abs=1e-3)
        assert path.errors[k] == (theirs.predict(X) != y).sum()


def test_squares_tend_to_the_hard_margin_and_are_never_there():
    path = soft_margin_path(IRIS[:100], SPECIES[:100], loss="squared_hinge")
    assert path.final is None
    assert path.margins[-1] == pytest.approx(path.verdict.margin[0], rel=3e-3)
    assert (path.losses[:-1] > path.losses[1:]).all()


def test_rows_of_any_kind_are_the_same_rows():
    frame = pd.DataFrame(IRIS, columns=["a", "b", "c", "d"])
    y = np.where(SPECIES == 1, "yes", "no")
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    how = {"Cs": [0.01, 0.1, 1], "sample_weight": weights, "class_weight": "balanced"}
    path = soft_margin_path(frame, y, **how)
    sparse = soft_margin_path(sp.csr_matrix(IRIS), y, **how)
    assert sparse.coef == pytest.approx(path.coef, abs=1e-7)
    assert path.feature_names == ["a", "b", "c", "d"]
    alone = SoftMargin(C=0.1, class_weight="balanced").fit(IRIS, y, weights)
    assert path.coef[1] == pytest.approx(alone.coef_[0], abs=1e-7)
    turned = soft_margin_path(frame, y, reference="yes", **how)
    assert turned.losses == pytest.approx(path.losses)


def test_rows_that_no_line_tells_apart():
    """XOR: weights of zero are the best at any C."""
    path = soft_margin_path([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
    assert (path.norms == 0).all()
    assert path.losses[-1] == pytest.approx(4)
    assert path.final == 0
    assert separation([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]).kind == "overlapping"


@pytest.mark.parametrize(
    ("how", "code"), [({"Cs": [0, 1]}, "bad-option"), ({"y": SPECIES}, "class-count")]
)
def test_bad_input(how, code):
    given = {"X": IRIS, "y": SPECIES == 1} | how
    with refused(ValueError, code):
        soft_margin_path(given.pop("X"), given.pop("y"), **given)

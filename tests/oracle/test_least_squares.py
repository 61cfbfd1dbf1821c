"""Least squares against exact rational arithmetic, and its three ways against each other."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from flint import fmpq, fmpq_mat
from hypothesis import given, strategies as st

from linsep import LinearRegression
from linsep.batches import Batch
from linsep.errors import DataError
from linsep.linear import solving as room
from linsep.linear.extended_precision import Pair, slices, two_product
from linsep.linear.solving import least_squares
from refusals import refused
from thoroughness import examples

pytestmark = pytest.mark.compiled


def exactly(X, y, weights, fit_intercept):
    """Weights and residual sum of squares in rational arithmetic; None where not determined."""
    rows = [[fmpq(1)] * fit_intercept + [fmpq(*float(v).as_integer_ratio()) for v in x] for x in X]
    n, d = len(rows), len(rows[0])
    A = fmpq_mat(n, d, [v for row in rows for v in row])
    b = fmpq_mat(n, 1, [fmpq(*float(v).as_integer_ratio()) for v in y])
    w = [fmpq(*float(v).as_integer_ratio()) for v in weights]
    W = fmpq_mat(n, n, [w[i] if i == j else 0 for i in range(n) for j in range(n)])
    G = A.transpose() * W * A
    if G.det() == 0:
        return None
    found = G.solve(A.transpose() * W * b)
    left = b - A * found
    rss = (left.transpose() * W * left)[0, 0]
    numbers = [Fraction(int(found[j, 0].p), int(found[j, 0].q)) for j in range(d)]
    return [float(v) for v in numbers], float(Fraction(int(rss.p), int(rss.q)))


@st.composite
def small_integers(draw):
    n, d = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    whole = st.integers(-9, 9)
    X = draw(st.lists(st.lists(whole, min_size=d, max_size=d), min_size=n, max_size=n))
    y = draw(st.lists(whole, min_size=n, max_size=n))
    weights = draw(st.lists(st.sampled_from([0.1, 1.0, 3.0]), min_size=n, max_size=n))
    return np.array(X, float), np.array(y, float), np.array(weights)


def walk(X, y, weights=None, rows=None):
    block = Batch(X, y, weights=weights)
    return lambda: iter([block]) if rows is None else block.cut(rows)


@pytest.mark.parametrize("hint", ["exact", "doubled"])
@given(data=small_integers(), fit_intercept=st.booleans(), sparse=st.booleans())
@examples(60)
def test_small_integers_are_solved_as_fractions_are(hint, data, fit_intercept, sparse):
    X, y, weights = data
    truth = exactly(X, y, weights, fit_intercept)
    blocks = walk(sp.csr_array(X) if sparse else X, y, weights)
    with pytest.MonkeyPatch.context() as patch:
        if hint == "doubled":
            patch.setattr(room, "EXACT_VALUES", 0)
            patch.setattr(room, "solve", lambda *_: None)
        found = least_squares(blocks, fit_intercept=fit_intercept)
    assert found.method == hint
    rank = np.linalg.matrix_rank(np.column_stack([np.ones(len(X))] * fit_intercept + [X]))
    assert found.rank == rank
    if truth is not None:
        assert found.kept.all()
        beta, rss = truth
        estimates = [found.intercept, *found.coef][not fit_intercept :]
        np.testing.assert_allclose(estimates, beta, rtol=1e-15, atol=1e-25)
        np.testing.assert_allclose(found.rss, rss, rtol=1e-14, atol=1e-25)
    for feature, row in found.combinations.items():
        others = np.column_stack([np.ones(len(X)), X]) @ row
        np.testing.assert_allclose(others, X[:, feature], atol=1e-12)
        assert not found.kept[feature]


def collinear(n, d, noise, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 100 * rng.random(d)
    X[:, -1] = X[:, :-1].sum(axis=1) + noise * rng.standard_normal(n)
    return X, X @ rng.standard_normal(d) + rng.standard_normal(n)


@pytest.mark.parametrize("noise", [1.0, 1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_three_ways_agree_and_none_is_silently_wrong(
    noise, weighted, fit_intercept, monkeypatch
):
    X, y = collinear(3000, 6, noise)
    weights = np.random.default_rng(1).random(y.size) if weighted else None
    exact = least_squares(walk(X, y, weights), fit_intercept=fit_intercept)
    assert exact.method == "exact"
    monkeypatch.setattr(room, "EXACT_VALUES", 0)
    for rows, kind in ((None, X), (700, X), (700, sp.csr_array(X))):
        other = least_squares(walk(kind, y, weights, rows), fit_intercept=fit_intercept)
        assert other.method == ("floats" if noise > 1e-3 and fit_intercept else "doubled")
        bar = 1e-10 if noise == 1e-8 else 1e-11
        np.testing.assert_allclose(other.coef, exact.coef, rtol=bar, atol=1e-12)
        np.testing.assert_allclose(other.intercept, exact.intercept, rtol=bar)
        np.testing.assert_allclose(other.rss, exact.rss, rtol=1e-12)
        np.testing.assert_allclose(other.tss, exact.tss, rtol=1e-13)
        lengths = [np.linalg.norm(found.root, axis=0) for found in (other, exact)]
        np.testing.assert_allclose(*lengths, rtol=1e-9)
        np.testing.assert_allclose(other.inflation, exact.inflation, rtol=1e-9)


@pytest.mark.parametrize("noise", [0.0, 1e-16, 1e-15])
def test_columns_that_rounding_keeps_apart_are_dependent(noise, monkeypatch):
    X, y = collinear(2000, 5, noise)
    X[:, 4] += 0.1 - X[:, 1]
    X[:, 1] = 0.1
    for values in (room.EXACT_VALUES, 0):
        monkeypatch.setattr(room, "EXACT_VALUES", values)
        found = least_squares(walk(X, y))
        assert found.kept.tolist() == [True, False, True, True, False]
        np.testing.assert_allclose(found.combinations[4], [0.1, 1, 0, 1, 1, 0], atol=1e-6)


@pytest.mark.parametrize("reread", [True, False])
def test_blocks_of_any_size_and_width_give_the_same(reread, monkeypatch):
    monkeypatch.setattr(room, "EXACT_VALUES", 0)
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.standard_normal((4000, 30)) * (rng.random((4000, 30)) < 0.04))
    y = X @ rng.standard_normal(30) + rng.standard_normal(4000)
    whole = least_squares(walk(X.toarray(), y), reread=reread)
    parts = [Batch(X[:1500, :20], y[:1500]), Batch(X[1500:], y[1500:])]
    narrow = X.tolil()
    narrow[:1500, 20:] = 0
    whole = least_squares(walk(narrow.toarray(), y), reread=reread)
    grown = least_squares(lambda: iter(parts), reread=reread)
    assert whole.method == grown.method == "floats"
    np.testing.assert_allclose(grown.coef, whole.coef, rtol=1e-12)
    np.testing.assert_allclose(grown.root, whole.root, rtol=1e-10, atol=1e-15)


def test_few_sure_digits_are_said(monkeypatch):
    X, y = collinear(2000, 5, 0.0)
    X -= X.mean(axis=0)
    X[:, 4] += 1e-12 * np.random.default_rng(1).standard_normal(2000)
    exact = least_squares(walk(X, y))
    monkeypatch.setattr(room, "EXACT_VALUES", 0)
    with pytest.warns(room.IllConditionedWarning, match="about [67] digits of their weights"):
        found = least_squares(walk(X, y))
    np.testing.assert_allclose(found.coef, exact.coef, rtol=1e-6)


def test_values_of_any_size(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((500, 3)), rng.standard_normal(500)
    plain = least_squares(walk(X, y))
    sizes = np.array([1e-150, 1.0, 1e150])
    for values in (room.EXACT_VALUES, 0):
        monkeypatch.setattr(room, "EXACT_VALUES", values)
        found = least_squares(walk(X * sizes, y * 1e90))
        np.testing.assert_allclose(found.coef * sizes / 1e90, plain.coef, rtol=1e-12)


def test_weights_beyond_floating_point_are_refused(monkeypatch):
    X, y = collinear(50, 2, 1.0)
    for values in (room.EXACT_VALUES, 0):
        monkeypatch.setattr(room, "EXACT_VALUES", values)
        with refused(DataError, "overflow"):
            least_squares(walk(X * 1e-250, y * 1e200))


def test_single_precision_is_told_from_dependence_by_its_own_rounding():
    X, y = collinear(500, 4, 0.0)
    found = least_squares(walk(X.astype(np.float32), y))
    assert found.kept.tolist() == [True, True, True, False]


finite = st.floats(-1e100, 1e100, allow_subnormal=False).filter(lambda v: v == 0 or abs(v) > 1e-100)


@given(st.lists(finite, min_size=1, max_size=40))
def test_slices_add_up_and_products_have_no_error(values):
    Z = np.array(values)[:, None]
    if np.ptp(np.frexp(np.where(Z == 0, np.abs(Z).max(), Z))[1]) < 200:
        assert sum(map(Fraction, np.concatenate(list(slices(Z))).ravel())) == sum(
            map(Fraction, values)
        )
    for v in values:
        hi, lo = two_product(np.array(v), np.array(1.1))
        assert Fraction(float(hi)) + Fraction(float(lo)) == Fraction(v) * Fraction(1.1)


@given(st.lists(st.tuples(finite, finite), min_size=2, max_size=9))
def test_pairs_keep_a_hundred_bits(numbers):
    hi, lo = (np.array([float(v) for v in side]) for side in zip(*numbers, strict=True))
    lo = lo * 1e-120
    a = Pair(hi, np.zeros_like(hi)) + Pair(lo, np.zeros_like(lo))
    truth = [Fraction(x) + Fraction(y) for x, y in zip(a.hi, a.lo, strict=True)]

    def close(found, wanted, size):
        got = Fraction(float(found.hi)) + Fraction(float(found.lo))
        assert abs(got - wanted) <= Fraction(1, 2**98) * size

    close(a.sum(), sum(truth), sum(map(abs, truth)))
    if abs(truth[0]) > 1e-50 and abs(truth[1]) > 1e-50:
        close((a * a[1])[0], truth[0] * truth[1], abs(truth[0] * truth[1]))
        close((a / a[1])[0], truth[0] / truth[1], abs(truth[0] / truth[1]))


def test_what_is_proved_to_be_nothing_is_zero():
    """The middle of a ball around zero was taken for a weight: 3e-192."""
    model = LinearRegression().fit([[1.0], [2.0], [4.0]], [7.0, 7.0, 7.0])
    assert (model.coef_[0], model.intercept_) == (0.0, 7.0)
    slope = LinearRegression().fit([[1.0], [2.0], [3.0]], [2.0, 4.0, 6.0])
    assert "intercept         0  " in str(slope.summary())

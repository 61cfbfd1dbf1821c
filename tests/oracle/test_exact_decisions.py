"""Rows that floats cannot decide: the simplex method at growing precision, and what bounds it."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

import checkers_agree
from fourier_motzkin import kind_of
from linsep import separation
from linsep.certificate.integers import combination, dot
from linsep.separability.splitting import alternative, exact_split
from linsep.separability.time_limit import TooLarge, Work
from thoroughness import examples

pytestmark = pytest.mark.compiled

EXTREMES = [0, 1e300, -1e300, 1e-300, 5e-324, -5e-324, 1.0, -1.0, 1e16, 1e-16, 2.0**53, 1.7e308]
rows = st.integers(1, 3).flatmap(
    lambda d: st.lists(
        st.dictionaries(
            st.integers(0, d), st.integers(-3, 3).filter(bool) | st.integers(-(2**80), 2**80)
        ).map(lambda row: {j: m for j, m in row.items() if m}),
        min_size=1,
        max_size=7,
    )
)


def assert_decided(X, y, **how):
    verdict = separation(X, y, **how)
    for one in verdict.verdicts() if hasattr(verdict, "verdicts") else [verdict]:
        assert one.kind != "undecided", one.reason
        assert one.verify(X, y, exact=True), one.verify(X, y, exact=True).reason
    return verdict


@examples(150)
@given(rows.filter(all))
def test_one_of_the_alternatives_holds_exactly(given_rows):
    w, multipliers = alternative(given_rows, Work())
    if w is not None:
        assert all(dot(row, w) > 0 for row in given_rows)
    else:
        assert multipliers
        assert min(multipliers.values()) > 0
        scaled = [(x, given_rows[i]) for i, x in multipliers.items()]
        assert not combination(scaled)


@examples(100)
@given(rows)
def test_splits_are_those_of_the_oracle(given_rows):
    w, multipliers, span = exact_split(given_rows, Work())
    inside = [i for i, row in enumerate(given_rows) if not span.remainder(row)]
    assert all(Fraction(x) > 0 for x in multipliers.values())
    assert not combination((x, given_rows[i]) for i, x in multipliers.items())
    for i, row in enumerate(given_rows):
        assert dot(row, w) == 0 if i in inside else dot(row, w) > 0
    size = max((max(row, default=0) for row in given_rows), default=0) + 1
    dense = [[row.get(j, 0) for j in range(size)] for row in given_rows]
    kind, bound = kind_of(dense)
    expected = "separable" if not inside else "quasi-separable" if w else "overlapping"
    assert kind == expected
    assert kind != "quasi-separable" or bound == inside


def mixed(n, d, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * 10.0 ** rng.integers(-300, 300, (n, d)), rng


@pytest.mark.parametrize(
    ("n", "d"), [(60, 20), (150, 5), pytest.param(300, 12, marks=pytest.mark.thorough)]
)
def test_numbers_of_all_sizes_within_columns(n, d):
    X, rng = mixed(n, d, 0)
    assert_decided(X, rng.integers(0, 2, n))
    assert_decided(rng.choice(EXTREMES, (n, d)), rng.integers(0, 2, n))


def test_a_column_that_nearly_depends_on_the_others():
    rng = np.random.default_rng(7)
    X = rng.integers(-2, 3, (150, 20)).astype(float)
    X[:, 3] = X[:, 5] / 3
    y = rng.integers(0, 2, 150)
    X[:, -1] = -(X[:, :-1] @ rng.integers(-3, 4, 19))
    X[:, -1] = np.nextafter(X[:, -1], np.where(y, np.inf, -np.inf))
    assert_decided(X, y)


def test_long_integers_of_several_classes():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, (60, 8)).astype(np.uint64) + np.uint64(2**63)
    assert_decided(X, np.arange(60) % 4)


def test_too_much_work_is_undecided_and_says_what_may_decide():
    X, rng = mixed(60, 20, 0)
    verdict = separation(X, rng.integers(0, 2, 60), time_limit=1e-3)
    assert verdict.kind == "undecided"
    assert "the time limit of 0.001 s" in verdict.reason
    assert "a longer time limit" in verdict.reason
    check = verdict.verify(X, rng.integers(0, 2, 60))
    assert check.holds is None
    assert "undecided" in check.reason


def test_work_is_paid_before_it_is_done():
    with pytest.raises(TooLarge, match="3 rows with 2 weights"):
        alternative([{0: 1, 1: 2}, {0: -1}, {1: 5}], Work(0.0))


# The widest margin, where floats do not find it.


def assert_width(X, y, **how):
    verdict = assert_decided(X, y, margin="max", **how)
    assert verdict.kind == "separable"
    assert verdict.verify(X, y), verdict.verify(X, y).reason
    low, high = verdict.margin
    assert high * (1 - 1e-6) <= low <= high
    return low


def test_margins_of_long_integers_and_their_small_differences():
    X = np.array([[2**62 + 3, 5], [2**62 + 4, 7], [2**62 + 9, 6], [2**62 + 8, 5]])
    y = np.array([0, 0, 1, 1])
    assert assert_width(X, y) == pytest.approx(assert_width(X - np.array([2**62, 0]), y), rel=1e-6)


def test_margins_of_one_column_of_timestamps():
    stamps = np.arange(1_000)[:, None] * 2 + 1_700_000_000_000_000_000
    y = np.arange(1_000) >= 400
    assert assert_width(stamps, y) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_margins_of_rows_that_nearly_touch(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, (30, 6)) / 10
    X[:, -1] = X[:, :-1] @ rng.integers(-3, 4, 5)
    y = rng.integers(0, 2, 30)
    X[:, -1] = np.nextafter(X[:, -1], np.where(y, np.inf, -np.inf))
    verdict = assert_decided(X, y, margin="max")
    if verdict.kind == "separable":
        assert_width(X, y)


def test_margins_of_columns_of_all_sizes():
    X = np.array([[1e-160, 1.0], [2e-160, 1.0], [-1e-160, 1.0], [3e-160, -1e150]])
    assert_width(X, np.array([1, 1, 0, 0]))


def test_scores_of_infinity_less_infinity_are_in_doubt():
    X = np.array([
        [-1e206, 0, 0, -1e206], [3e-194, -1e158, 0, 3e-194], [3e-300, -1e-73, 1e-218, 3e-300],
        [0, 1e-66, 1e178, 0],
    ])  # fmt: skip
    y = np.array([0, 3, 1, 2])
    claim = separation(X, y)
    assert claim.verify(X, y).holds
    assert claim.multinomial.kind == "separable"


def test_weights_that_underflow_beside_others_meet_rows_as_large():
    """A weight of 1e-330 times the largest is zero in floats, and counts where a row has 1e242."""
    X = np.array([
        [3e125, -2e-281, 2e30, -1e7], [3e125, -2e-281, 2e30, -1e7], [0, 2e-159, -3e-231, -3e40],
        [1e242, -2e-270, 0, 3e-192], [-2e49, 2e28, -1e-276, -2e-132],
    ])  # fmt: skip
    X[0, 0] = X[1, 0] = 2.9999999999999998e125
    X[4, 2] = -9.999999999999999e-277
    y = np.array(["c", "0", "b", "c", "0"])
    for storage in (np.array, sp.csr_matrix):
        every = separation(storage(X), y)
        assert every.verify(X, y), every.verify(X, y).reason
        assert every.multinomial.boundary == (0, 1)


def test_a_point_whose_scores_cancel_is_no_warning():
    """The sum of the levels is zero in floats, and was divided by."""
    X, y, claim = checkers_agree.rows_and_claim(9616646164548089052)
    assert claim.verify(X, y)

"""The checker: whole numbers decide, the hash tells all data apart, and time is bounded."""

from collections import deque
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

import linsep.certificate.canonical as blocks_module
from linsep import open_source, separation
from linsep.certificate.canonical import Reading, sequences, sha256_of, words_of_number
from linsep.certificate.constraints import (
    Combination,
    Membership,
    Space,
    Subject,
    Weights,
    constraints_of,
    in_lowest_terms,
    whole_numbers,
)
from linsep.certificate.verdicts import Separable
from linsep.errors import DataError
from linsep.sources import ArraySource
from refusals import refused

NONE = Combination((), (), ())


def separable(X, y, coef, intercept=0.0, margin=(0.0, np.inf)):
    """The claim that these weights separate rows, whatever is true."""
    subject = separation(np.arange(len(y))[:, None], y).subject
    subject = replace(subject, n_features=len(coef), sha256=sha256_of(X, y))
    return Separable(subject, (tuple(coef),), (intercept,), margin, NONE)


# Whole numbers decide.


def test_an_overflow_of_float32_separates_nothing():
    a = np.r_[[3e38] * 128, [-3e38] * 128, [-1.0]].astype(np.float32)
    X, y = np.vstack([a, a]), np.array([0, 1])
    for store in (np.asarray, sp.csr_matrix, lambda X: X.astype(float)):
        claim = separable(store(X), y, [1.0] * 257)
        assert claim.verify(store(X), y).holds is False
        assert claim.verify(store(X), y, exact=False).holds is not True


def test_the_margin_that_is_claimed_is_checked_to_the_last_digit():
    X, y = np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([1, 0])
    w, b = [3.0, 4.0], -12.5  # both rows have 12.5 / 5 = 2.5
    assert separable(X, y, w, b, (2.5, np.inf)).verify(X, y)
    above = float(np.nextafter(2.5, 3))
    assert not separable(X, y, w, b, (above, np.inf)).verify(X, y)
    bound = replace(separable(X, y, w, b, (2.5, 2.5)), support=Combination((0, 1), (0, 0), (1, 1)))
    assert bound.verify(X, y)
    below = float(np.nextafter(2.5, 0))
    assert not replace(bound, margin=(below, below)).verify(X, y)
    unused = replace(bound, margin=(2.5, np.inf))
    assert not unused.verify(X, y)


@given(st.integers(0, 10**6))
def test_the_bound_on_rounding_holds(seed):
    rng = np.random.default_rng(seed)
    n, d = 4, int(rng.integers(1, 30))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-320, 308, (n, d) if seed % 2 else 1)
    X = X.astype(np.float32) if seed % 3 == 0 and np.abs(X).max() < 3e38 else X
    question = Subject((0, 1), (1,), (0,), True, n, d, None, "")
    exact = {j: int(m) for j, m in enumerate(rng.integers(-9, 10, d + 1).tolist()) if m}
    exact = {j: m << int(rng.integers(0, 1200)) for j, m in exact.items()} or {0: 1}
    X = sp.csr_matrix(X) if seed % 5 == 0 else X
    (block,) = Reading(X, np.array([0, 1, 0, 1])).blocks()
    given_rows = constraints_of(question, block, np.array([0, 1, 0, 1]))
    weights = Weights(question, exact)
    top = max(abs(m).bit_length() for m in exact.values())
    for k, (value, bound) in enumerate(zip(*weights.products(given_rows), strict=True)):
        row, scale = given_rows.exact(k)
        true = sum(m * exact.get(j, 0) for j, m in row.items()) * scale / Fraction(2) ** top
        assert np.isinf(bound) or abs(true - Fraction(value)) <= Fraction(bound)
    low, high = weights.length
    square = Fraction(sum(m * m for j, m in exact.items() if j < d), 4**top)
    assert Fraction(low) ** 2 <= square <= Fraction(high) ** 2


@pytest.mark.parametrize("numbers", ["whole", "decimals", "long"])
def test_rows_outside_a_space_are_told_exactly(numbers):
    rng = np.random.default_rng(0)
    space = Space({0: {0: 2, 2: 3}, 1: {1: 1}, 3: {3: 3, 4: -1}})
    line = np.array([2.0, 0, 3, 0, 0]), np.array([0, 1.0, 0, 0, 0]), np.array([0, 0, 0, 3.0, -1])
    X = rng.integers(-4, 5, (60, 3)) @ np.array(line)
    X = X / 8 if numbers == "decimals" else X
    X = X.astype(np.int64) * 2**56 if numbers == "long" else X
    off = rng.random(60) < 0.5
    at = rng.integers(0, 5, 60)
    X[off, at[off]] += 1 if numbers == "long" else np.spacing(X[off, at[off]]) * 1024
    truly = np.array(
        [bool(space.remainder(in_lowest_terms(dict(enumerate(row))))) for row in X.tolist()]
    )
    question = Subject((0, 1), (1,), (0,), False, 60, 5, None, "")
    for given_X in (X, sp.csr_matrix(X)):
        (block,) = Reading(given_X, np.arange(60) % 2).blocks()
        given_rows = constraints_of(question, block, np.arange(60) % 2)
        found = given_rows.outside(Membership(space, 5), np.arange(60))
        assert found.tolist() == truly.tolist()
    assert truly.any()
    assert not truly.all()


@pytest.mark.parametrize("seed", range(2))
def test_integers_of_floats_are_as_short_as_they_can_be(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 6))
    powers = 2.0 ** rng.integers(-1074, 900, size)
    values = rng.integers(-5, 6, size) * (powers if seed % 2 else powers[0])
    whole, scale = whole_numbers(values)
    assert [m * scale for m in whole] == [Fraction(x) for x in values.tolist()]
    assert scale > 0
    assert any(m % 2 for m in whole) or not values.any()


# A look in floats proves nothing.


def test_a_quick_check_never_says_that_a_claim_holds():
    X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]]), np.array([0, 1, 1, 0, 1])
    numbers = np.array([[100000000.0], [100000001.0]])
    honest = separation(numbers, np.array([0, 1]))
    for claim, rows, labels in (
        (separable(X, y, [0.0, 0.0], 0.0), X, y),
        (separable(numbers, [0, 1], [0.0], 1.0), numbers, [0, 1]),
        (honest, numbers, [0, 1]),
        (separation(X, y), X, y),
    ):
        check = claim.verify(rows, labels, exact=False)
        assert not check
        assert check.holds is not True
    assert honest.verify(numbers, [0, 1], exact=False).holds is None
    assert honest.verify(numbers, [0, 1])  # exact unless told
    wrong = separable(numbers, [0, 1], [-1.0], 1.5e8)
    assert wrong.verify(numbers, [0, 1], exact=False).holds is False


def test_time_is_bounded():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(400, 8)), 2, axis=0) / 3
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    verdict = separation(X, np.arange(800) % 2)
    assert verdict.kind == "overlapping"
    late = verdict.verify(X, np.arange(800) % 2, time_limit=0.0)
    assert late.holds is None
    assert not late
    assert verdict.verify(X, np.arange(800) % 2, time_limit=None)


# The hash.


def untidy(X):
    """CSR with columns backwards, every entry in two parts, and zeros."""
    n, d = X.shape
    columns = np.tile(np.r_[np.arange(d)[::-1], np.arange(d)], n)
    values = np.hstack([X[:, ::-1] / 2, X / 2]).ravel()
    return sp.csr_matrix((values, columns, np.arange(n + 1) * 2 * d), shape=(n, d))


def stored(X, y, folder):
    """The same rows and labels in every way they can be stored."""
    yield X, y
    yield np.asfortranarray(X), y.astype(float)
    yield X.astype(np.float32), y.astype(np.int8)
    yield -np.where(X == 0, 0.0, -X), y  # zeros are negative
    yield sp.csr_matrix(X), y
    yield sp.csr_matrix(X.astype(np.float32)), y
    yield untidy(X), y
    yield ArraySource(X, y), None
    last = X.shape[1] - 1
    lines = [
        f"{label} " + " ".join(f"{j + 1}:{x!r}" for j, x in enumerate(row) if x or j == last)
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    (folder / "rows.svm").write_text("\n".join(lines) + "\n")
    yield open_source(str(folder / "rows.svm")), None
    lines = [",".join(map(repr, [*row, k])) for row, k in zip(X.tolist(), y.tolist(), strict=True)]
    (folder / "rows.csv").write_text("\n".join(["a,b,c,d,e,y", *lines]) + "\n")
    yield open_source(str(folder / "rows.csv"), target="y"), None


@pytest.mark.parametrize("share", [0.0, 0.95])
def test_storage_and_chunks_do_not_matter(tmp_path, monkeypatch, share):
    rng = np.random.default_rng(0)
    X = rng.integers(-50, 50, (200, 5)) / 8 * (rng.random((200, 5)) >= share)
    y = rng.integers(-3, 3, 200)
    marks = {sha256_of(*given) for given in stored(X, y, tmp_path)}
    monkeypatch.setattr(blocks_module, "BLOCK_VALUES", 17)
    marks |= {sha256_of(*given) for given in stored(X, y, tmp_path)}
    assert len(marks) == 1
    whole = rng.integers(0, 2, (50, 70))
    types = (np.int8, np.uint64, np.float32, np.float64, bool, object)
    assert len({sha256_of(whole.astype(kind), np.arange(50) % 3) for kind in types}) == 1


def test_every_change_is_another_hash():
    rng = np.random.default_rng(1)
    X, y = rng.integers(-1, 2, (6, 4)).astype(float), np.array([0, 1, 0, 1, 1, 0])
    data = [(X, y)]
    for i, j in np.ndindex(*X.shape):
        for value in (-1.0, 0.0, 1.0, 2.0):
            data.append((X.copy(), y))
            data[-1][0][i, j] = value
        for k in range(j):  # two flipped signs, which a sum would not see
            data.append((X.copy(), y))
            data[-1][0][i, [j, k]] *= -1
    data += [(X, np.where(np.arange(6) == i, 1 - y, y)) for i in range(6)]
    data += [(X, y + 1), (X, y.astype(str)), (X, y == 1), (X[:-1], y[:-1]), (X * 0.5, y)]
    data += [(np.hstack([X, np.zeros((6, 1))]), y), (X.reshape(8, 3), np.resize(y, 8))]
    data += [(X[::-1].copy(), y[::-1])]
    different = {(rows.shape, (rows + 0.0).tobytes(), y.tobytes()) for rows, y in data}
    assert len({sha256_of(*given_data) for given_data in data}) == len(different) > 100


def test_long_numbers_are_told_apart():
    top = np.array([[2**62 + k] for k in range(600)])
    y = np.arange(600) % 2
    marks = {sha256_of(np.roll(top, k, axis=0), y) for k in range(0, 60, 2)}
    assert len(marks) == 30
    assert (
        sha256_of(top.astype(np.uint64), y) == sha256_of(top, y) == sha256_of(sp.csr_matrix(top), y)
    )
    assert sha256_of(top.astype(float), y) != sha256_of(top, y)
    assert sha256_of(top * 0 + 2**62, y) == sha256_of(top * 0 + 2.0**62, y)


NUMBERS = st.sampled_from([0, 1, -1, 0.5, 2**53, 2**53 + 1, -(2**70) - 1, Fraction(1, 3), 5e-324])


@given(st.lists(st.lists(NUMBERS, min_size=4, max_size=4), min_size=1, max_size=6))
def test_sequences_are_those_that_are_described(rows):
    X = np.array(rows, dtype=object)
    heads, runs, values = sequences(X, np.arange(len(rows)) * 2)
    left, words = deque(runs.tolist()), deque(values.tolist())
    for (number, count), (i, row) in zip(heads.tolist(), enumerate(rows), strict=True):
        assert number == 2 * i
        places = []
        for first, length in (left.popleft() for _ in range(count)):
            places += range(first, first + length)
            assert first - 1 not in places[:-length]
        assert places == [j for j, x in enumerate(row) if x]
        for j in places:
            expected = words_of_number(row[j])
            assert [words.popleft() for _ in expected] == list(expected)
    assert not left
    assert not words


def test_numbers_that_equal_no_double():
    assert words_of_number(1) == [0x3FF0000000000000]
    assert words_of_number(2**53 + 1) == [0x7FF8000001000000, 2**53 + 1]
    assert words_of_number(-(2**64) - 1) == [0xFFF8000002000000, 1, 1]
    assert words_of_number(Fraction(-1, 3)) == [0xFFF8000001000001, 1, 3]
    assert words_of_number(Fraction(1, 4)) == [0x3FD0000000000000]
    assert words_of_number(2**2000)[0] == 0x7FF8000000000000 | 32 << 24


def test_labels_that_json_does_not_know_are_refused():
    with refused(DataError, "label-type"):
        sha256_of(np.ones((2, 1)), np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"))


@pytest.mark.parametrize(("dtype", "scale"), [("f8", 5e-324), ("f4", 3e38)])
def test_weights_through_a_row_do_not_separate(dtype, scale):
    """The exact value of the last row is zero, whatever floats make of it on the way."""
    X = np.array([[1, 1, 1], [-1, -1, 1], [1, -1, 0]], dtype) * np.array(scale, dtype)
    y = np.array([1, 0, 1])
    for factor in (1.0, 1e-300, 1e300):
        w = [factor, factor, factor / 3]
        assert separable(X, y, w).verify(X, y).holds is False
        better = [factor, np.nextafter(factor, 0), factor / 3]
        assert separable(X, y, better).verify(X, y)

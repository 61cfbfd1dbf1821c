"""Overlap that a few rows prove, and exact solutions digit by digit, against fractions."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from flint import fmpz_mat
from hypothesis import example, given, strategies as st

import checkers_agree
from fourier_motzkin import kind_of
from linsep import open_source, separation
from linsep.certificate.constraints import Question
from linsep.separability import lifting, overlap, search
from linsep.separability.data import data_of
from linsep.separability.evidence import contradictory_pair
from thoroughness import examples

pytestmark = pytest.mark.compiled


def noisy(n_rows, d, noise, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, d))
    return X, X @ rng.standard_normal(d) / np.sqrt(d) + noise * rng.standard_normal(n_rows) > 0


def solved(rows):
    """The solution of a system by Gauss and Jordan's elimination in fractions; None if singular."""
    rows = [list(map(Fraction, row)) for row in rows]
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i, row in enumerate(rows):
            if i != k:
                rows[i] = [x - row[k] * y for x, y in zip(row, rows[k], strict=True)]
    return [row[-1] for row in rows]


@examples(200)
@given(st.data())
def test_lifted_solutions_are_those_of_fractions(data):
    n = data.draw(st.integers(1, 6))
    most = 2 ** data.draw(st.sampled_from([1, 3, 20, 54, 62, 63, 64, 200]))
    number = st.one_of(st.integers(-3, 3), st.integers(-most, most))
    table = data.draw(
        st.lists(st.lists(number, min_size=n + 1, max_size=n + 1), min_size=n, max_size=n)
    )
    square = fmpz_mat([row[:-1] for row in table])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lifting, "LEAST_ROWS", 1)
        found = lifting.lifted(square, fmpz_mat([row[-1:] for row in table]))
    expected = solved(table)
    if expected is None:
        assert found is None
    else:
        assert found[1] > 0
        assert [Fraction(x, found[1]) for x in found[0]] == expected


@pytest.mark.parametrize("bits", [2, 30, 64])
def test_hundreds_of_lifted_numbers_solve_the_system(bits):
    rng = np.random.default_rng(bits)
    n = lifting.LEAST_ROWS
    table = [[int(x) for x in row] for row in rng.integers(-(2**16), 2**16, (n, n + 1))]
    table = [[x << bits if k % 3 else x for k, x in enumerate(row)] for row in table]
    x, below = lifting.lifted(
        fmpz_mat([row[:-1] for row in table]), fmpz_mat([row[-1:] for row in table])
    )
    assert below > 0
    for row in table:
        assert sum(a * b for a, b in zip(row, x, strict=False)) == below * row[-1]


small = st.lists(
    st.tuples(*[st.integers(-2, 2)] * 2, st.booleans()), min_size=5, max_size=12
).filter(lambda rows: len({row[-1] for row in rows}) == 2)


@examples(300)
@example([(1, 1, False), (1, 1, True), (-1, 0, False), (0, 1, False), (-1, 1, False)], False)
@given(small, st.booleans())
def test_few_rows_agree_with_the_oracle(rows, fit_intercept):
    table = np.array(rows)
    X, y = table[:, :-1], table[:, -1].astype(bool)
    Z = np.hstack([X, np.ones((len(X), 1), int)])[:, : 2 + fit_intercept]
    expected, _ = kind_of((Z * np.where(y, 1, -1)[:, None]).tolist())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlap, "LEAST_NUMBERS", 0)
        verdict = separation(X, y, fit_intercept=fit_intercept)
    assert verdict.kind == expected
    assert verdict.verify(X, y, exact=True)


@pytest.mark.parametrize("seed", range(6))
def test_adversarial_rows_get_proofs_that_both_checkers_accept(seed, monkeypatch):
    monkeypatch.setattr(overlap, "LEAST_NUMBERS", 0)
    monkeypatch.setattr(lifting, "LEAST_ROWS", 1)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        X, y = checkers_agree.drawn(rng)
        found = separation(X, y)
        for verdict in found.verdicts():
            if verdict.kind != "undecided":
                assert verdict.verify(X, y, exact=True)


@pytest.mark.parametrize("noise", [0.1, 10.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_witness_and_span_are_one_row_more_than_weights(noise, fit_intercept, monkeypatch):
    X, y = noisy(20_000, 20, noise)
    monkeypatch.setattr(search, "WorkingSet", None)  # nothing else is needed
    verdict = separation(X, y, fit_intercept=fit_intercept)
    assert verdict.kind == "overlapping"
    assert verdict.witness == verdict.spanning
    assert len(verdict.witness.rows) == 20 + fit_intercept + 1
    signs, total = np.where(y, 1, -1), [Fraction(0)] * (20 + fit_intercept)
    for i, m in zip(verdict.witness.rows, verdict.witness.multipliers, strict=True):
        row = [*X[i].tolist(), 1.0][: len(total)]
        total = [t + m * int(signs[i]) * Fraction(x) for t, x in zip(total, row, strict=True)]
        assert m > 0
    assert not any(total)
    assert verdict.verify(X, y, exact=True)
    assert not verdict.verify(X, ~y, exact=True)


def shifted(X):
    return X + 1e6


def huge_and_tiny(X):
    return X * 10.0 ** np.linspace(-150, 150, X.shape[1])


def outlying(X):
    X = X.copy()
    X[::1000] *= 1e30
    return X


@pytest.mark.parametrize("change", [shifted, huge_and_tiny, outlying, np.float32, np.rint])
def test_columns_of_any_scale(change):
    X, y = noisy(15_000, 19, 0.2)
    X = change(X)
    verdict = separation(X, y)
    assert verdict.kind == "overlapping"
    assert verdict.verify(X, y, exact=True)


def test_dependent_columns_and_columns_of_one_value():
    X, y = noisy(15_000, 18, 0.2)
    for column in (X[:, 0] * 2, np.ones(len(X)), np.zeros(len(X))):
        Z = np.column_stack([X, column])
        verdict = separation(Z, y)
        assert verdict.kind == "overlapping"
        assert len(verdict.space.rows) == 19
        assert verdict.verify(Z, y, exact=True)


def test_many_rows_that_are_separable_or_nearly():
    X, v = noisy(15_000, 20, 0.0)
    assert separation(X, v).kind == "separable"
    half = X.copy()
    half[:, 0] = np.where(v, 1.0, -1.0)
    half[::2, 0] = 0.0
    y = np.where(half[:, 0] == 0, np.random.default_rng(1).random(len(X)) > 0.5, v)
    verdict = separation(half, y)
    assert verdict.kind == "quasi-separable"
    assert verdict.boundary == tuple(np.flatnonzero(half[:, 0] == 0).tolist())
    one = v.copy()
    one[7] = not one[7]
    assert separation(X, one).verify(X, one, exact=True)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_search_of_separable_rows_begins_with_those_that_decide(fit_intercept, monkeypatch):
    X, y = noisy(15_000, 20, 0.0)
    monkeypatch.setattr(search, "MOST_ROUNDS", 2)
    verdict = separation(X, y, fit_intercept=fit_intercept, margin="max")
    assert verdict.kind == "separable"
    assert verdict.verify(X, y, exact=True)
    low, high = verdict.margin
    assert 0 < low <= high <= low * (1 + 1e-6)


@pytest.mark.parametrize("change", [np.asarray, shifted, huge_and_tiny, outlying, np.rint])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_where_a_search_begins_changes_no_margin(change, fit_intercept, monkeypatch):
    for seed in range(4):
        X, v = noisy(120, 3, 0.0, seed)
        X[:, 0] += np.where(v, 3.0, -3.0) * (seed % 2)
        X = change(np.vstack([X, X[:9]]))  # some are repeated
        y = np.append(v, v[:9])
        found = []
        for least in (0, 1 << 18):
            monkeypatch.setattr(overlap, "LEAST_NUMBERS", least)
            found.append(separation(X, y, fit_intercept=fit_intercept, margin="max"))
            assert found[-1].verify(X, y, exact=True)
        assert found[0].kind == found[1].kind
        if found[0].kind == "separable":
            assert max(found[0].margin[0], found[1].margin[0]) <= min(
                found[0].margin[1], found[1].margin[1]
            )


def test_three_classes_frames_and_files_give_the_same_rows(tmp_path, monkeypatch):
    X, y = noisy(15_000, 20, 0.3)
    plain = separation(X, y)
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(20)])
    assert separation(table, y).witness == plain.witness
    table.assign(y=y.astype(int)).to_parquet(tmp_path / "rows.parquet")
    assert separation(open_source(tmp_path / "rows.parquet", target="y")).witness == plain.witness
    labels = y + (np.arange(len(y)) % 3 == 0).astype(int)
    for verdict in separation(X, labels, formulations=("ovr", "ovo")).verdicts():
        assert verdict.kind == "overlapping"
        assert verdict.verify(X, labels, exact=True)


def test_equal_values_are_taken_in_the_order_of_rows_wherever_they_are():
    rng = np.random.default_rng(0)
    value, number = rng.integers(0, 5, 300).astype(float), np.arange(300)
    parts = [(value[at], number[at]) for at in np.split(rng.permutation(300), [20, 90, 91])]
    expected = overlap._first(40, [(value, number)])
    halves = [overlap._first(40, parts[:2]), overlap._first(40, parts[2:])]
    assert np.array_equal(overlap._first(40, halves), expected)
    assert expected[1].tolist() == sorted(range(300), key=lambda i: (value[i], i))[:40]


def test_rows_equal_in_their_first_columns_are_not_equal():
    X, y = noisy(50, 6, 1.0)
    X[:, :3] = 0.0
    question = Question([np.array([[-1]], np.int8), np.array([[1]], np.int8)], 7, True)
    assert contradictory_pair(data_of(X, y), question) is None
    k = int(np.flatnonzero(y != y[4])[-1])
    X[k] = X[4]
    assert contradictory_pair(data_of(X, y), question) == tuple(sorted((4, k)))

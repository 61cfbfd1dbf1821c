"""How many labelings of rows are separable: Cover's counts, and the line of verdicts."""

import math
import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from scipy.optimize import linprog

import linsep
from linsep import dichotomies, separation
from linsep.chance.counting import Chance, approximately
from linsep.errors import ParameterError
from linsep.separability.position import is_certainly_full, modulo, rank
from refusals import refused
from thoroughness import examples


def separable_labelings(X, intercept=True):
    """The number of labelings of rows for which a linear program finds a hyperplane."""
    Z = np.column_stack([X, np.ones(len(X))]) if intercept else np.asarray(X, float)
    found = 0
    for signs in product((-1.0, 1.0), repeat=len(Z)):
        A = -np.array(signs)[:, None] * Z
        free = [(None, None)] * Z.shape[1]
        found += linprog(np.zeros(Z.shape[1]), A, -np.ones(len(Z)), bounds=free).status == 0
    return found


# Numbers that were computed elsewhere, in fractions.


@pytest.mark.parametrize(
    ("n", "d", "count"),
    [
        (5, 2, 22),
        (100, 60, 1250838316419486845500138760384),
        (200, 50, 1014747011005894210441794629331249854241470621128),
    ],
)
def test_counts_of_labelings(n, d, count):
    found = dichotomies(n, d)
    assert (found.separable, found.total) == (count, 2**n)
    assert found.probability == Fraction(count, 2**n)
    assert float(found) == count / 2**n
    assert math.isclose(found.log_probability, math.log(Fraction(count, 2**n)), rel_tol=1e-13)


def test_probabilities_of_labelings():
    assert dichotomies(5, 2).probability == Fraction(11, 16)
    assert round(float(dichotomies(100, 60)), 12) == 0.986737446576
    assert f"{float(dichotomies(200, 50)):.12e}" == "6.314786152654e-13"
    assert float(dichotomies(2 * 41, 40)) == 0.5  # Cover's capacity: two rows a weight


def test_a_logarithm_does_not_underflow():
    found = dichotomies(100_000, 50)
    assert float(found) == 0.0
    terms = [
        math.lgamma(100_000) - math.lgamma(k + 1) - math.lgamma(100_000 - k) for k in range(51)
    ]
    top = max(terms)
    expected = top + math.log(sum(math.exp(t - top) for t in terms)) - 99_999 * math.log(2)
    assert math.isclose(found.log_probability, expected, rel_tol=1e-9)
    assert 1.0 > -dichotomies(300, 290).log_probability > 0.0  # of a probability next to 1


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (4, 1), (6, 2), (7, 3), (5, 4), (6, 5)])
def test_counts_are_those_of_all_labelings(n, d, intercept):
    X = np.random.default_rng(n * d).normal(size=(n, d))
    found = dichotomies(n, d, fit_intercept=intercept)
    assert found.separable == separable_labelings(X, intercept)


def test_rows_that_are_not_in_general_position_have_fewer():
    X = np.array([[0, 0], [1, 0], [2, 0], [0.5, 1], [3, 2]])  # three of them on a line
    assert separable_labelings(X) == 20 < dichotomies(5, 2).separable


@pytest.mark.parametrize("value", [-1, 2.0, "3", None, True])
def test_counts_of_what_is_no_whole_number_are_refused(value):
    with refused(ParameterError, "bad-option", option="n_rows"):
        dichotomies(value, 2)
    with refused(ParameterError, "bad-option", option="n_dimensions"):
        dichotomies(2, value)


def test_nothing_is_separable_in_any_way():
    assert dichotomies(0, 3).probability == 1
    assert dichotomies(3, 0, fit_intercept=False).separable == 0
    assert dichotomies(3, 0, fit_intercept=False).log_probability == -math.inf
    assert dichotomies(3, 0).separable == 2  # all rows on one side


@pytest.mark.parametrize("n", [0, 1, 2, 5, 40, 300, 20_000])
def test_floats_are_near_the_exact_probability(n):
    for n_weights in {0, 1, 2, n // 3, n // 2, max(0, n - 1), n, n + 1}:
        exact = float(dichotomies(n, n_weights, fit_intercept=False))
        assert approximately(n, n_weights) == pytest.approx(exact, rel=1e-10, abs=1e-300)


@pytest.mark.parametrize("shape", [(9, 30), (30, 9), (10, 10), (1, 1)])
@pytest.mark.parametrize("scale", [1.0, 2.0**-1040, 2.0**1000])
def test_floats_prove_the_rank_of_independent_rows_only(shape, scale):
    rng = np.random.default_rng(5)
    X = rng.normal(size=shape) * scale
    assert is_certainly_full(X, False)
    assert rank(X, False) == min(shape)
    assert rank(X, True) == min(shape[0], shape[1] + 1) - 1
    assert is_certainly_full(X, True) or scale != 1.0  # beside ones, other numbers nearly vanish
    if min(shape) > 1:
        for nearly in (0.0, 1e-17, 1e-14):
            X[-1] = X[0] * (1 + nearly)
            X[:, -1] = X[:, 0] * (1 + nearly)
            assert not is_certainly_full(X, False)
    assert not is_certainly_full(np.zeros(shape), False)
    assert not is_certainly_full(np.empty((0, 3)), True)


# The rows of a verdict.


def chance(X, y=None, **how):
    y = np.arange(X.shape[0]) % 2 if y is None else y
    return separation(X, y, **how).chance


def test_a_verdict_says_how_likely_it_is_by_chance():
    X = np.random.default_rng(0).normal(size=(100, 60))
    found = separation(X, np.arange(100) % 2)
    line = (
        "random labels would be separable with probability 0.987 (100 distinct rows, 60 dimensions)"
    )
    assert ("chance", line) in found.described()
    assert found.chance.dichotomies == dichotomies(100, 60)
    assert "chance" not in found.to_json()
    assert linsep.from_json(found.to_json()) == found
    assert pickle.loads(pickle.dumps(found)).chance == found.chance


@pytest.mark.parametrize("scale", [1.0, 2.0**-1000, 2.0**900, 3.0])
@pytest.mark.parametrize("shift", [0.0, 1e9])
def test_columns_that_depend_on_others_and_repeated_rows_do_not_count(scale, shift):
    rng = np.random.default_rng(1)
    X = rng.integers(-(2**20), 2**20, (30, 4)) * 1.0
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.full(30, 7.0), shift + X[:, 2]]) * scale
    X = np.vstack([X, X[:9]])
    for rows in (X, sp.csr_matrix(X), pd.DataFrame(X), X.tolist()):
        y = np.r_[np.arange(30) % 2, np.arange(9) % 2]
        found = separation(rows, y).chance
        assert (found.n_distinct, found.n_dimensions, found.known) == (30, 4, True)


def test_the_line_gives_a_bound_where_values_are_tied():
    rng = np.random.default_rng(2)
    X = rng.integers(2, size=(60, 40))
    assert "at most 0.998 (60 " in str(chance(X))
    assert "at most" not in str(chance(X + rng.normal(size=X.shape)))
    constant = np.column_stack([rng.normal(size=(60, 40)), np.ones(60)])
    assert "at most" not in str(chance(constant))


@pytest.mark.parametrize(
    ("n", "d", "tied", "shown"),
    [(8, 3, True, "at most 0.500 "), (8, 3, False, "0.500 "), (100, 70, False, "above 0.999 "),
     (100, 70, True, "at most 1.000 ")],
)  # fmt: skip
def test_a_probability_is_a_number_or_a_bound(n, d, tied, shown):
    line = str(Chance(n, False, d, True, tied, True))
    assert line.partition("probability ")[2].startswith(f"{shown}({n} ")


def test_a_quasi_separable_verdict_says_nothing_of_chance():
    """One row of its own column makes any labels of both kinds quasi-separable."""
    X = np.column_stack([np.repeat(np.arange(20) % 5, 2), np.zeros(40)])
    X[-1, 1] = 1.0
    for seed in range(20):
        y = np.random.default_rng(seed).integers(2, size=40)
        found = separation(X, y)
        assert found.kind == "quasi-separable"
        assert found.chance is None
        assert found.chance_line() == []
        assert "chance" not in dict(found.described())
        three = separation(X, y + (np.arange(40) % 7 == 0))
        assert three.chance_line() == [] or all(one.chance for one in three.verdicts())
    assert separation(X[:-1], y[:-1]).chance.n_distinct == 5


def test_independent_rows_may_have_any_labels():
    X = np.random.default_rng(3).integers(2, size=(12, 40))
    text = "any labels of 12 distinct rows would be separable (11 dimensions)"
    assert str(chance(X)) == text
    assert chance(X).probability == 1.0
    assert separable_labelings(X[:6]) == 64


def test_many_rows_are_not_counted():
    X = np.random.default_rng(4).normal(size=(500, 3))
    found = chance(X)
    assert found.enough
    assert found.probability < 1e-15
    assert str(found) == "random labels would not be separable (probability below 1e-15)"
    few = np.repeat(X[:70], 10, axis=0)  # which are counted to the last
    assert chance(few, np.repeat(np.arange(70) % 2, 10)).n_distinct == 70
    assert chance(few[np.random.default_rng(0).permutation(700)]).n_distinct == 70


def test_without_an_intercept():
    X = np.random.default_rng(5).normal(size=(40, 20))
    found = chance(X, fit_intercept=False)
    assert found.dichotomies == dichotomies(40, 20, fit_intercept=False)
    assert found.probability == pytest.approx(0.5, rel=1e-12)


def test_a_regular_gram_matrix_has_any_labels():
    X = np.random.default_rng(6).normal(size=(10, 2))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    found = separation(K=K, y=np.arange(10) % 2)
    assert str(found.chance).startswith("any labels of ")


def test_several_classes():
    X = np.random.default_rng(7).normal(size=(30, 12))
    found = separation(X, np.arange(30) % 3)
    text = f"two classes: {found.against_rest[0].chance}"
    assert found.chance_line() == [("chance", text)]
    assert str(found).endswith(f"\n\nchance  {text}")
    assert found.pairs[0, 1].chance.dichotomies == dichotomies(20, 12)
    assert found.multinomial.chance.dichotomies == dichotomies(30, 12)
    assert separation(X, np.arange(30) % 3, formulations=("ovo",)).chance_line() == []


@examples(100)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 6), st.booleans())
def test_ranks_are_those_of_fractions(seed, n, d, intercept):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, 2)) @ rng.integers(-2, 3, (2, d))
    X = X * 2.0 ** rng.integers(-1000, 1000)
    assert rank(X, intercept) == rank_in_fractions(X, intercept)
    exact = np.array([[Fraction(x) / 3 for x in row] for row in X.tolist()], dtype=object)
    assert rank(exact, intercept) == rank_in_fractions(X, intercept)


def rank_in_fractions(X, intercept):
    rows = [[Fraction(x) for x in row] + [Fraction(1)] * intercept for row in X.tolist()]
    found = 0
    for column in range(len(rows[0])):
        pivot = next((row for row in rows if row[column]), None)
        if pivot is None:
            continue
        rows = [
            [a - b * row[column] / pivot[column] for a, b in zip(row, pivot, strict=True)]
            for row in rows
            if row is not pivot
        ]
        found += 1
    return found - intercept


def test_ranks_of_ill_conditioned_rows_are_exact():
    hilbert = 1.0 / (np.arange(12)[:, None] + np.arange(1, 13))
    assert rank(hilbert, False) == rank_in_fractions(hilbert, False) == 12
    assert np.linalg.matrix_rank(hilbert) < 12


def test_numbers_modulo_the_prime():
    prime = 2147483629
    values = np.array([[0.0, -1.0, 0.5, 5e-324, 1.7e308, 2.0**60 + 2.0**20]])
    expected = [
        Fraction(x).numerator * pow(Fraction(x).denominator, -1, prime) % prime
        for x in values[0].tolist()
    ]
    assert modulo(values).tolist() == [expected]

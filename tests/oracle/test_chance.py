"""How many labelings of rows are separable, and logistic regression with many columns."""

import math
import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from scipy.optimize import linprog
from scipy.special import expit
from scipy.stats import norm

import linsep
from fourier_motzkin import rank as rank_by_gauss
from linsep import (
    LogisticRegression,
    dichotomies,
    high_dimensional_mle,
    phase_transition,
    separation,
)
from linsep.chance.asymptotics import proximal, signal_of
from linsep.chance.counting import Chance
from linsep.errors import ParameterError
from linsep.separability.deciding import rank
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
        (200, 50, 1014747011005894210441794629331249854241470621128),
    ],
)
def test_counts_of_labelings(n, d, count):
    found = dichotomies(n, d)
    assert (found.separable, found.total) == (count, 2**n)
    assert found.probability == Fraction(count, 2**n)
    assert float(found) == count / 2**n
    assert math.isclose(found.log_probability, math.log(Fraction(count, 2**n)), rel_tol=1e-13)


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


@pytest.mark.parametrize(("n", "d", "intercept"), [(4, 1, True), (6, 2, False), (7, 3, True)])
def test_counts_are_those_of_all_labelings(n, d, intercept):
    X = np.random.default_rng(n * d).normal(size=(n, d))
    found = dichotomies(n, d, fit_intercept=intercept)
    assert found.separable == separable_labelings(X, intercept)


def test_nothing_is_separable_in_any_way():
    assert dichotomies(3, 0).separable == 2  # all rows on one side


@pytest.mark.parametrize("n", [0, 5, 300, 20_000])
def test_floats_are_near_the_exact_probability(n):
    for n_weights in {0, 1, 2, n // 3, n // 2, max(0, n - 1), n, n + 1}:
        exact = float(dichotomies(n, n_weights, fit_intercept=False))
        found = Chance(n, False, n_weights, True, False, fit_intercept=False).probability
        assert found == pytest.approx(exact, rel=1e-10, abs=1e-300)


# The rows of a verdict.


def chance(X, y=None, **how):
    y = np.arange(X.shape[0]) % 2 if y is None else y
    return separation(X, y, **how).chance


def test_a_verdict_says_how_likely_it_is_by_chance():
    X = np.random.default_rng(0).normal(size=(100, 60))
    found = separation(X, np.arange(100) % 2)
    assert found.chance.dichotomies == dichotomies(100, 60)
    assert "chance" not in found.to_json()
    assert pickle.loads(pickle.dumps(found)).chance == found.chance


def test_columns_that_depend_on_others_and_repeated_rows_do_not_count():
    rng = np.random.default_rng(1)
    X = rng.integers(-(2**20), 2**20, (30, 4)) * 1.0
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.full(30, 7.0), 1e9 + X[:, 2]]) * 3.0
    X = np.vstack([X, X[:9]])
    for rows in (X, sp.csr_matrix(X)):
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


def test_a_quasi_separable_verdict_says_nothing_of_chance():
    """One row of its own column makes any labels of both kinds quasi-separable."""
    X = np.column_stack([np.repeat(np.arange(20) % 5, 2), np.zeros(40)])
    X[-1, 1] = 1.0
    y = np.random.default_rng(0).integers(2, size=40)
    found = separation(X, y)
    assert found.kind == "quasi-separable"
    assert found.chance is None
    assert separation(X[:-1], y[:-1]).chance.n_distinct == 5


def test_independent_rows_may_have_any_labels():
    X = np.random.default_rng(3).integers(2, size=(12, 40))
    assert chance(X).probability == 1.0
    assert separable_labelings(X[:6]) == 64


def test_without_an_intercept():
    X = np.random.default_rng(5).normal(size=(40, 20))
    found = chance(X, fit_intercept=False)
    assert found.dichotomies == dichotomies(40, 20, fit_intercept=False)
    assert found.probability == pytest.approx(0.5, rel=1e-12)


def test_several_classes():
    X = np.random.default_rng(7).normal(size=(30, 12))
    found = separation(X, np.arange(30) % 3)
    assert found.pairs[0, 1].chance.dichotomies == dichotomies(20, 12)
    assert found.multinomial.chance.dichotomies == dichotomies(30, 12)


@examples(100)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 6), st.booleans())
def test_ranks_are_those_of_fractions(seed, n, d, intercept):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, 2)) @ rng.integers(-2, 3, (2, d))
    X = X * 2.0 ** rng.integers(-1000, 1000)
    expected = rank_by_gauss([[*row, *[1] * intercept] for row in X.tolist()]) - intercept
    assert rank(X, intercept) == expected
    exact = np.array([[Fraction(x) / 3 for x in row] for row in X.tolist()], dtype=object)
    assert rank(exact, intercept) == expected


def test_ranks_of_ill_conditioned_rows_are_exact():
    hilbert = 1.0 / (np.arange(12)[:, None] + np.arange(1, 13))
    assert rank(hilbert, False) == rank_by_gauss(hilbert.tolist()) == 12
    assert np.linalg.matrix_rank(hilbert) < 12


@pytest.mark.parametrize(
    ("b0", "gamma", "threshold"),
    [(0, 0, 0.5), (0, 2, 0.344930), (0, 5, 0.185052), (2, 0, 0.283550)],
)
def test_thresholds(b0, gamma, threshold):
    assert round(phase_transition(b0, gamma), 6) == threshold


def test_thresholds_of_strong_signals():
    found = [phase_transition(0, gamma) for gamma in (1, 10, 100, 1000)]
    assert sorted(found, reverse=True) == found
    assert 0 < found[-1] < 0.002
    assert 0 < phase_transition(12.0) < 1e-3


# The three equations of Sur and Candès.


def test_published_solution():
    found = high_dimensional_mle(0.2, 5**0.5)
    assert [round(x, 4) for x in found[:3]] == [1.4994, 4.7436, 3.0269]


def test_the_equations_as_published():
    """With random numbers, and the second equation before Stein's lemma."""
    ratio, signal = 0.4, 0.5
    alpha, sigma, lambda_, mean, understated = high_dimensional_mle(ratio, signal)
    first, other = np.random.default_rng(0).normal(size=(2, 500_000))
    Q1, Q2 = signal * first, -alpha * signal * first + ratio**0.5 * sigma * other
    P = proximal(Q2, lambda_)
    assert np.abs(P + lambda_ * expit(P) - Q2).max() < 1e-9 * (1 + np.abs(Q2).max())
    terms = [
        2 * expit(Q1) * (lambda_ * expit(P)) ** 2 / (ratio * sigma) ** 2 - 1,
        expit(Q1) * Q1 * lambda_ * expit(P),
        2 * expit(Q1) / (1 + lambda_ * expit(P) * expit(-P)) - (1 - ratio),
        -2 * expit(Q1) * np.logaddexp(0, P) - mean,
    ]
    for term in terms:
        assert abs(term.mean()) < 4.5 * term.std() / len(term) ** 0.5
    assert math.isclose(understated**2, ratio * sigma**2 / lambda_)


def test_few_columns_are_the_classical_theory():
    found = high_dimensional_mle(1e-6, 1.5)
    z = np.linspace(-9, 9, 2001)
    curvature = np.trapezoid(norm.pdf(z) * expit(1.5 * z) * expit(-1.5 * z), z)
    assert np.allclose(found[:2], [1.0, curvature**-0.5], rtol=1e-5)
    assert math.isclose(found.understated, 1.0, rel_tol=1e-5)


@pytest.mark.parametrize(("share", "signal"), [(0.05, 8.0), (0.5, 1.0)])
def test_a_signal_is_found_by_the_likelihood(share, signal):
    ratio = share * phase_transition(0, signal)
    mean = high_dimensional_mle(ratio, signal).log_likelihood
    assert math.isclose(signal_of(ratio, mean), signal, rel_tol=1e-4)
    assert signal_of(ratio, -0.7) == 0.0
    assert signal_of(0.4, -1e-9) is None


def drawn(n, d, signal, seed, intercept=0.0, **kinds):
    """Rows of which half of the columns have the same coefficient, and the others none."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    weight = signal / (d // 2) ** 0.5
    y = rng.random(n) < expit(intercept + weight * X[:, : d // 2].sum(axis=1))
    return X, y, weight


# The note below the table of a logistic regression.


@pytest.mark.compiled
def test_a_summary_says_how_biased_its_estimates_are():
    def notes(X, y, **how):
        return " ".join(LogisticRegression(**how).fit(X, y).summary().notes)

    X, y, _ = drawn(500, 100, 5**0.5, 0)
    model = LogisticRegression().fit(X, y)
    ratio = model.log_likelihood_ / model.null_log_likelihood_
    found = high_dimensional_mle(0.2, signal_of(0.2, -math.log(2) * ratio))
    assert 1.3 < found.alpha < 1.8
    assert f"{found.alpha:.2f} times too large" in notes(X, y)
    assert f"{found.understated:.2f} times too small" in notes(X, y)
    assert "times too large" not in notes(X[:, :25], y)
    assert "times too large" not in notes(X, y, l2=1.0)


@pytest.mark.compiled
def test_a_summary_of_separable_rows_says_nothing_of_chance():
    X, y, _ = drawn(100, 60, 1.0, 0)
    with pytest.warns(linsep.errors.SeparationWarning):
        model = LogisticRegression().fit(X, y)
    assert model.summary().notes == [model.stop_sentence_]


def test_solutions_up_to_the_transition():
    signal = 2.0
    most = phase_transition(0, signal)
    found = [high_dimensional_mle(share * most, signal) for share in (0.01, 0.3, 0.9, 0.99)]
    assert (np.diff(found, axis=0) > 0).all()
    assert found[-1].alpha > 8
    with refused(ParameterError, "bad-option", option="ratio"):
        high_dimensional_mle(most, signal)


def test_numbers_without_an_answer_are_refused():
    with refused(ParameterError, "bad-option", option="n_rows"):
        dichotomies(-1, 2)
    with refused(ParameterError, "bad-option"):
        phase_transition(signal=-1)
    for ratio, signal in ((0, 1), (0.1, 21)):
        with refused(ParameterError, "bad-option"):
            high_dimensional_mle(ratio, signal)


def test_many_rows_are_not_counted():
    X = np.random.default_rng(4).normal(size=(500, 3))
    found = chance(X)
    assert found.enough
    assert found.probability < 1e-15
    few = np.repeat(X[:70], 10, axis=0)  # which are counted to the last
    assert chance(few, np.repeat(np.arange(70) % 2, 10)).n_distinct == 70

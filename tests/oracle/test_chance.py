"""How many labelings of rows are separable, and logistic regression with many columns."""

import math
import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from scipy.integrate import quad
from scipy.optimize import linprog, minimize
from scipy.special import expit
from scipy.stats import norm

import linsep
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
from linsep.separability.deciding import modulo, rank
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


@pytest.mark.parametrize(("n", "d", "intercept"), [(4, 1, True), (6, 2, False), (7, 3, True)])
def test_counts_are_those_of_all_labelings(n, d, intercept):
    X = np.random.default_rng(n * d).normal(size=(n, d))
    found = dichotomies(n, d, fit_intercept=intercept)
    assert found.separable == separable_labelings(X, intercept)


def test_rows_that_are_not_in_general_position_have_fewer():
    X = np.array([[0, 0], [1, 0], [2, 0], [0.5, 1], [3, 2]])  # three of them on a line
    assert separable_labelings(X) == 20 < dichotomies(5, 2).separable


def test_nothing_is_separable_in_any_way():
    assert dichotomies(0, 3).probability == 1
    assert dichotomies(3, 0, fit_intercept=False).separable == 0
    assert dichotomies(3, 0, fit_intercept=False).log_probability == -math.inf
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
    assert "0.987 (100 distinct rows, 60 dimensions)" in dict(found.described())["chance"]
    assert found.chance.dichotomies == dichotomies(100, 60)
    assert "chance" not in found.to_json()
    assert linsep.from_json(found.to_json()) == found
    assert pickle.loads(pickle.dumps(found)).chance == found.chance


@pytest.mark.parametrize(("scale", "shift"), [(2.0**-1000, 0.0), (3.0, 1e9)])
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
    for seed in range(5):
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
    text = f"two classes: {found.against_rest[0].chance}"
    assert found.chance_line() == [("chance", text)]
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


@pytest.mark.parametrize(
    ("b0", "gamma", "threshold"),
    [(0, 0, 0.5), (0, 2, 0.344930), (0, 5, 0.185052), (2, 0, 0.283550)],
)
def test_thresholds(b0, gamma, threshold):
    assert round(phase_transition(b0, gamma), 6) == threshold
    assert math.isclose(phase_transition(-b0, gamma), phase_transition(b0, gamma), rel_tol=1e-9)


@pytest.mark.parametrize(("b0", "gamma"), [(0.7, 1.3), (-3.0, 0.5)])
def test_thresholds_by_adaptive_quadrature(b0, gamma):
    def expected(t):
        def inside(x):
            total = 0.0
            for y in (1, -1):
                c = t[0] * y + t[1] * y * x
                below = (1 + math.erf(c / 2**0.5)) / 2
                square = (1 + c * c) * below + c * density(c)
                total += square / (1 + math.exp(-y * (b0 + gamma * x)))
            return total * density(x)

        def density(x):
            return math.exp(-x * x / 2) / (2 * math.pi) ** 0.5

        return quad(inside, -9, 9, limit=400, points=[-b0 / gamma], epsabs=1e-12)[0]

    found = minimize(expected, [0.0, 0.0], method="Nelder-Mead", tol=1e-9)
    assert math.isclose(phase_transition(b0, gamma), found.fun, rel_tol=1e-8)


def test_thresholds_of_strong_signals():
    found = [phase_transition(0, gamma) for gamma in (1, 10, 100, 1000)]
    assert sorted(found, reverse=True) == found
    assert 0 < found[-1] < 0.002
    assert 0 < phase_transition(12.0) < 1e-3


@pytest.mark.thorough
@pytest.mark.parametrize("gamma", [0.0, 2.0])
def test_rows_are_separable_above_the_threshold_and_have_a_maximum_below(gamma):
    n, threshold = 400, phase_transition(0, gamma)
    for share, kinds in ((0.75, {"overlapping"}), (1.25, {"separable"})):
        for seed in range(3):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(n, round(share * threshold * n)))
            y = rng.random(n) < expit(gamma * X[:, 0])
            assert {separation(X, y).kind} == kinds


# The three equations of Sur and Candès.


def test_published_solution():
    found = high_dimensional_mle(0.2, 5**0.5)
    assert [round(x, 4) for x in found[:3]] == [1.4994, 4.7436, 3.0269]


@pytest.mark.parametrize(("ratio", "signal"), [(0.2, 5**0.5), (0.4, 0.5), (0.02, 10.0)])
def test_the_equations_as_published(ratio, signal):
    """With random numbers, and the second equation before Stein's lemma."""
    alpha, sigma, lambda_, mean, understated = high_dimensional_mle(ratio, signal)
    first, other = np.random.default_rng(0).normal(size=(2, 2_000_000))
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


@pytest.mark.thorough
@pytest.mark.parametrize("signal", [0.1, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_a_signal_is_found_by_the_likelihood(signal, share):
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


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("ratio", "signal"), [(0.2, 5**0.5), pytest.param(0.1, 1.0, marks=pytest.mark.thorough)]
)
def test_fits_are_biased_as_the_solution_says(ratio, signal):
    n, d = 1500, round(1500 * ratio)
    fits = []
    for seed in range(100, 110):
        X, y, weight = drawn(n, d, signal, seed)
        model = LogisticRegression().fit(X, y)
        coef, error = model.coef_[0], model.standard_errors_[1:]
        own, noise = coef[: d // 2], coef[d // 2 :]
        fits.append([
            own.mean() / weight, n**0.5 * noise.std(), noise.std() / error[d // 2 :].mean(),
            model.log_likelihood_ / n,
        ])  # fmt: skip
    found = high_dimensional_mle(ratio, signal)
    expected = [found.alpha, found.sigma, found.understated, found.log_likelihood]
    error = np.std(fits, axis=0, ddof=1) / len(fits) ** 0.5
    assert (np.abs(np.mean(fits, axis=0) - expected) < 4 * error + 0.01 * np.abs(expected)).all()
    assert (error < 0.04 * np.abs(expected)).all()


# The note below the table of a logistic regression.


def notes(X, y, **how):
    return " ".join(LogisticRegression(**how).fit(X, y).summary().notes)


def test_a_summary_says_how_biased_its_estimates_are():
    X, y, _ = drawn(500, 100, 5**0.5, 0)
    model = LogisticRegression().fit(X, y)
    ratio = model.log_likelihood_ / model.null_log_likelihood_
    found = high_dimensional_mle(0.2, signal_of(0.2, -math.log(2) * ratio))
    assert 1.3 < found.alpha < 1.8
    notes_ = " ".join(model.summary().notes)
    assert f"{found.alpha:.2f} times too large" in notes_
    assert f"{found.understated:.2f} times too small" in notes_


@pytest.mark.compiled
def test_a_summary_says_nothing_where_it_does_not_know_or_matter():
    X, y, _ = drawn(500, 100, 1.0, 0)
    assert "times too large" in notes(X, y)
    assert "times too large" not in notes(X[:, :25], y)
    assert "times too large" not in notes(X[:, :40], y, penalty="firth")
    assert "times too large" not in notes(X, y, l2=1.0)
    assert "times too large" not in notes(X, np.arange(500) % 3)
    weighted = LogisticRegression().fit(X, y, sample_weight=np.arange(500) % 2 + 1.0)
    assert "times too large" not in " ".join(weighted.summary().notes)


def test_a_summary_of_separable_rows_says_nothing_of_chance(tmp_path):
    X, y, _ = drawn(100, 60, 1.0, 0)
    with pytest.warns(linsep.errors.SeparationWarning):
        model = LogisticRegression().fit(X, y)
    assert model.summary().notes == [model.stop_sentence_]
    linsep.save(model, tmp_path / "model.linsep")
    assert linsep.load(tmp_path / "model.linsep").summary().notes == model.summary().notes


@pytest.mark.parametrize("signal", [0.0, 2.0, 20.0])
def test_solutions_up_to_the_transition(signal):
    most = phase_transition(0, signal)
    found = [high_dimensional_mle(share * most, signal) for share in (0.01, 0.3, 0.9, 0.99)]
    assert (np.diff(found, axis=0) > 0).all()
    assert found[-1].alpha > 8
    with refused(ParameterError, "bad-option", option="ratio"):
        high_dimensional_mle(most, signal)


def test_numbers_without_an_answer_are_refused():
    for value in (-1, 2.0, None, True):
        with refused(ParameterError, "bad-option", option="n_rows"):
            dichotomies(value, 2)
    for how in ({"intercept": np.inf}, {"signal": np.nan}, {"signal": "1"}, {"signal": -1}):
        with refused(ParameterError, "bad-option"):
            phase_transition(**how)
    for ratio, signal in ((0, 1), (np.nan, 1), (0.1, 21), (0.1, -1)):
        with refused(ParameterError, "bad-option"):
            high_dimensional_mle(ratio, signal)


def test_many_rows_are_not_counted():
    X = np.random.default_rng(4).normal(size=(500, 3))
    found = chance(X)
    assert found.enough
    assert found.probability < 1e-15
    few = np.repeat(X[:70], 10, axis=0)  # which are counted to the last
    assert chance(few, np.repeat(np.arange(70) % 2, 10)).n_distinct == 70

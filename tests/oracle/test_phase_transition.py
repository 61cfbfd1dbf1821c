"""Logistic regression as columns and rows grow together, against published numbers, integrals of
scipy's adaptive quadrature, random numbers in the equations as they were published, and fits.
"""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm

import linsep
from linsep import LogisticRegression, high_dimensional_mle, phase_transition, separation
from linsep.chance.bias import proximal, signal_of
from linsep.errors import ParameterError
from refusals import refused

pytestmark = pytest.mark.compiled


@pytest.mark.parametrize(
    ("b0", "gamma", "threshold"),
    [
        (0, 0, 0.5),
        (0, 1, 0.438939),
        (0, 2, 0.344930),
        (0, 5, 0.185052),
        (1, 0, 0.428609),
        (2, 0, 0.283550),
    ],
)
def test_thresholds(b0, gamma, threshold):
    assert round(phase_transition(b0, gamma), 6) == threshold
    assert math.isclose(phase_transition(-b0, gamma), phase_transition(b0, gamma), rel_tol=1e-9)


@pytest.mark.parametrize(("b0", "gamma"), [(0.7, 1.3), (-3.0, 0.5), (1.0, 8.0)])
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


def test_numbers_that_have_no_threshold_are_refused():
    for given in ({"intercept": np.inf}, {"signal": np.nan}, {"signal": "1"}):
        with refused(ParameterError, "bad-option"):
            phase_transition(**given)
    with refused(ParameterError, "bad-option", option="signal"):
        phase_transition(0, -1)


# The three equations of Sur and Candès.


def test_published_solution():
    found = high_dimensional_mle(0.2, 5**0.5)
    assert [round(x, 4) for x in found[:3]] == [1.4994, 4.7436, 3.0269]


@pytest.mark.parametrize(
    ("ratio", "signal"), [(0.2, 5**0.5), (0.1, 1.0), (0.4, 0.5), (0.18, 5.0), (0.02, 10.0)]
)
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


@pytest.mark.parametrize("signal", [0.0, 0.3, 2.0, 20.0])
def test_solutions_up_to_the_transition(signal):
    most = phase_transition(0, signal)
    found = [high_dimensional_mle(share * most, signal) for share in (0.01, 0.3, 0.6, 0.9, 0.99)]
    assert (np.diff(found, axis=0) > 0).all()
    assert found[-1].alpha > 8
    with refused(ParameterError, "bad-option", option="ratio"):
        high_dimensional_mle(most, signal)


@pytest.mark.parametrize(("ratio", "signal"), [(0, 1), (-1, 1), (np.nan, 1), (0.1, 21), (0.1, -1)])
def test_numbers_without_a_solution_are_refused(ratio, signal):
    with refused(ParameterError, "bad-option"):
        high_dimensional_mle(ratio, signal)


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


@pytest.mark.parametrize(("ratio", "signal"), [(0.2, 5**0.5), (0.1, 1.0)])
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
    note = (
        f"With 100 columns and 500 rows, estimates are about {found.alpha:.2f} times too large, "
        f"and their standard errors {found.understated:.2f} times too small (Sur and Candès 2019, "
        "for normal columns)."
    )
    assert note in model.summary().notes
    assert note in str(model.summary())


def test_a_summary_says_at_least_where_one_class_is_rare():
    X, y, _ = drawn(500, 50, 1.0, 0, intercept=2.0)
    assert "estimates are at least about 1." in notes(X, y)


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

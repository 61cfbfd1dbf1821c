"""Firth's penalized likelihood, and profile intervals and tests of both likelihoods."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import chdtrc, chdtri, expit, log_softmax
from sklearn.exceptions import ConvergenceWarning

from linsep import LogisticRegression, load, save, textbook
from linsep.errors import ParameterError, SeparationWarning
from linsep.sources.arrays import ArraySource
from parameters_in_order import ends_of, last, weights_of
from published import ENDOMETRIAL, INFECTIONS
from refusals import refused

pytestmark = pytest.mark.compiled

CRITICAL = float(chdtri(1, 0.05))


def firth(X, y, weights=None, **options):
    return LogisticRegression(penalty="firth", **options).fit(X, y, weights)


def profiles(X, y, weights=None, **options):
    """A plain fit with profile intervals, whether or not there is a maximum."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        return LogisticRegression(intervals="profile", **options).fit(X, y, weights)


# Published values.


def test_infections_as_logistf_has_them():
    """logistf(case ~ age + oc + vic + vicl + vis + dia, sex2) of R's package logistf."""
    found = firth(*INFECTIONS)
    published = [-1.10598131, -0.06881673, 2.26887464, -2.11140817, -0.78831694, 3.09601166]
    assert weights_of(found)[0] == pytest.approx([*published, 0.12025405], rel=3e-7)
    errors = [0.4236601, 0.4437934, 0.5484160, 0.5430824, 0.4173676, 1.6750084, 0.4855415]
    assert last(found, "standard_errors_")[0] == pytest.approx(errors, rel=1e-6)
    low, high = ends_of(found)
    published = [-1.9737884, -0.9414363, 1.2730216, -3.2608611, -1.6080879, 0.7745682, -0.8185591]
    assert low[0] == pytest.approx(published, rel=1e-6)
    published = [-0.30742514, 0.78920202, 3.43543273, -1.11773495, 0.01518468, 8.03029352]
    assert high[0] == pytest.approx([*published, 1.07315122], rel=1e-6)
    p = [6.143472e-03, 8.751911e-01, 1.678877e-06, 1.237805e-05, 5.449701e-02, 4.951873e-03]
    assert last(found, "p_values_")[0] == pytest.approx([*p, 8.020268e-01], rel=2e-6)
    table = found.summary()
    chi2 = [7.50773092, 0.02467044, 22.93139022, 19.10407252, 3.69740975, 7.89693139]
    printed = [row.statistic for row in table.coefficients]
    assert table.statistic == "chi2"
    assert printed == pytest.approx([0.06286298, *chi2], rel=1e-6)
    statistic, df, p = found.likelihood_ratio_
    assert statistic == pytest.approx(49.09064, abs=1e-5)
    assert (df, p) == (6, pytest.approx(7.15089e-9, rel=1e-5))
    assert (found.method_, found.stop_reason_, found.separation_) == ("Firth", "converged", None)


def test_likelihood_ratios_as_logistf_has_them():
    """The penalty of the model without features is that of all features."""
    X, y = INFECTIONS
    found = firth(X[:, 1:5], y, intervals="wald")
    assert found.likelihood_ratio_[0] == pytest.approx(2 * (-140.8798 + 158.3699), abs=4e-4)
    assert found.penalized_log_likelihood_ == pytest.approx(-140.8798, abs=1e-4)


@pytest.mark.parametrize("q", [1, 2])
def test_the_penalty_grows_by_the_logarithm_of_a_unit_for_each_class(q, tmp_path):
    X, y = np.random.default_rng(5).normal(3.0, 2.0, (60, 3)), np.arange(60) % (q + 1)
    X[:, 2] = X[:, 0] + X[:, 1]  # left out
    one = firth(X, y, intervals="wald")
    ten = firth(X * [10.0, 1.0, 1.0], y, intervals="wald")
    more = ten.penalized_log_likelihood_ - one.penalized_log_likelihood_
    assert more == pytest.approx(q * np.log(10.0), rel=1e-8)
    stored = load(save(one, tmp_path / "m.linsep"))
    assert stored.penalized_log_likelihood_ == one.penalized_log_likelihood_
    header = dict(one.summary().header)
    assert header["penalized log-likelihood"] == one.penalized_log_likelihood_
    assert header[f"penalized likelihood ratio ({2 * q} df)"] == one.likelihood_ratio_[0]


def test_endometrial_cancer_as_brglm2_and_logistf_have_it():
    """glm(HG ~ NV + PI + EH, method = "brglm_fit") of R's brglm2, and logistf of the same."""
    found = firth(*ENDOMETRIAL)
    published = [2.92927330, -0.03475175, -2.60416387, 3.77455951]
    assert weights_of(found)[0] == pytest.approx(published, rel=3e-7)
    errors = [1.55076, 0.03958, 0.77602, 1.48869]
    assert last(found, "standard_errors_")[0] == pytest.approx(errors, abs=5e-6)
    low, high = ends_of(found)
    assert low[0] == pytest.approx([0.6097244, -0.1244587, -4.3651832, 1.0825371], rel=1e-6)
    assert high[0] == pytest.approx([7.85463171, 0.04045547, -1.23272106, 7.20928050], rel=1e-6)


# Against brute force.


def by_hand(X, y, weights, B, penalized):
    """The (penalized) log-likelihood by its definition; classes are numbers, the last is the
    reference.
    """
    Z = np.column_stack([X, np.ones(len(X))])
    q, width = y.max(), Z.shape[1]
    logs = log_softmax(np.column_stack([Z @ np.reshape(B, (q, width)).T, np.zeros(len(Z))]), axis=1)
    value = weights @ logs[np.arange(len(y)), y]
    if not penalized:
        return value
    information = np.zeros((q * width,) * 2)
    for z, p, w in zip(Z, np.exp(logs[:, :q]), weights, strict=True):
        information += w * np.kron(np.diag(p) - np.outer(p, p), np.outer(z, z))
    return value + np.linalg.slogdet(information)[1] / 2


def largest(X, y, weights, penalized, held, value, start):
    """The largest likelihood with one weight held."""
    free = np.arange(len(start)) != held

    def lost(rest):
        B = start.copy()
        B[free] = rest
        B[held] = value
        return -by_hand(X, y, weights, B, penalized)

    return -minimize(lost, start[free], method="BFGS", options={"gtol": 1e-7}).fun


@pytest.mark.parametrize(("q", "penalized"), [(2, True), (1, False)])
def test_estimates_and_profiles_by_brute_force(q, penalized):
    rng = np.random.default_rng(q)
    X, weights = rng.standard_normal((40, 2)) + 1, rng.integers(0, 3, 40).astype(float)
    y = rng.integers(0, q + 1, 40)
    penalty = "firth" if penalized else None
    model = LogisticRegression(penalty=penalty, intervals="profile", reference=q, level=0.9)
    found = model.fit(X, y, weights)
    B = weights_of(found).ravel()
    lost = minimize(lambda B: -by_hand(X, y, weights, B, penalized), 0 * B, options={"gtol": 1e-7})
    assert lost.x == pytest.approx(B, abs=2e-6)
    best = by_hand(X, y, weights, B, penalized)
    assert -lost.fun == pytest.approx(best, rel=1e-10)
    low, high = (end.ravel() for end in ends_of(found))
    for held in (0, 3 * q - 1):  # a feature, an intercept
        for end in (low, high):
            there = largest(X, y, weights, penalized, held, end[held], B)
            assert 2 * (best - there) == pytest.approx(float(chdtri(1, 0.1)), rel=1e-6)
        there = largest(X, y, weights, penalized, held, 0.0, B)
        p = chdtrc(1, 2 * (best - there))
        assert last(found, "p_values_").ravel()[held] == pytest.approx(p, rel=1e-5)


def test_firth_by_plain_python():
    X = [[0.5, 1.0], [1.5, 0.0], [2.5, 1.0], [3.0, 0.0], [3.5, 1.0], [4.5, 0.0], [5.5, 1.0]]
    y = [0, 0, 0, 0, 1, 1, 1]
    found, w = firth(X, y), textbook.newton(X, y, 200, firth=True)
    assert weights_of(found)[0] == pytest.approx(w, rel=1e-7)


# What must hold.


def test_firth_adds_half_a_row_to_each_cell_of_a_table():
    """Saturated models, separated or not (Firth 1993)."""
    for cells in map(np.array, ([[4, 3], [0, 5]], [[4, 3, 0], [5, 0, 2]])):
        reference = cells.shape[1] - 1
        X = np.repeat([[0.0], [1.0]], cells.sum(axis=1), axis=0)
        y = np.concatenate([np.repeat(np.arange(cells.shape[1]), row) for row in cells])
        found = firth(X, y, reference=reference)
        inside, outside = np.log(cells + 0.5)
        expected = np.column_stack([outside - inside, inside])
        expected = np.delete(expected - expected[reference], reference, axis=0)
        np.testing.assert_allclose(weights_of(found), expected, rtol=1e-8, atol=1e-8)


def test_weights_scale_with_their_features():
    """Far from zero, of all sizes, dependent, sparse, streamed."""
    X, y = ENDOMETRIAL
    options = {"penalty": "firth"}
    size, shift = np.array([1e-6, 1.0, 1e5]), np.array([0.0, 1e4, -3.0])
    plain = LogisticRegression(**options).fit(X, y)
    moved = LogisticRegression(**options).fit((X + shift) * size, y)
    wide = LogisticRegression(**options).fit(np.column_stack([X, 2 * X[:, 1]]), y)
    sparse = LogisticRegression(**options).fit(sp.csr_matrix(X), y)
    streamed = LogisticRegression(**options).fit(ArraySource(X, y, batch_rows=20))
    low, high = (end[0] for end in ends_of(plain))
    assert last(wide, "limits_")[0, 3] == "dependent"
    for other, factors in ((moved, size), (wide, 1.0), (sparse, 1.0), (streamed, 1.0)):
        ends = (end[0, :3] * factors for end in ends_of(other))
        assert np.concatenate(list(ends)) == pytest.approx([*low[:3], *high[:3]], rel=1e-7)
        assert last(other, "p_values_")[0, :3] == pytest.approx(
            last(plain, "p_values_")[0, :3], rel=1e-6
        )


# Profiles of a likelihood without a maximum.


def test_profiles_of_a_weight_that_runs_away_have_one_end():
    X, y = ENDOMETRIAL
    found = profiles(X, y)
    assert last(found, "limits_")[0].tolist() == ["+inf", "finite", "finite", "finite"]
    low, high = (end[0] for end in ends_of(found))
    assert high[0] == np.inf
    weights, best = np.ones(len(y)), found.log_likelihood_
    start = weights_of(found)[0].copy()
    start[0] = low[0]
    for held, end in ((0, low[0]), (2, low[2]), (2, high[2])):
        start[0] = low[0] if held == 0 else 30.0
        there = largest(X, 1 - y, weights, False, held, end, start)
        assert 2 * (best - there) == pytest.approx(CRITICAL, rel=1e-5)
    squared = 2 * (best - largest(X, 1 - y, weights, False, 0, 0.0, start))
    assert last(found, "p_values_")[0, 0] == pytest.approx(chdtrc(1, squared), rel=1e-5)
    mirrored = profiles(X * [-1.0, 1.0, 1.0], y)
    assert last(mirrored, "limits_")[0, 0] == "-inf"
    ends = [end[0, 0] for end in ends_of(mirrored)]
    assert ends == [-np.inf, pytest.approx(-low[0], rel=1e-9)]


# Choices.


@pytest.mark.parametrize(
    "options",
    [
        {"penalty": "firth", "l2": 1.0},
        {"penalty": "firth", "covariance": "HC1"},
        {"penalty": "firth", "solver": "gradient_ascent"},
        {"l2": 1.0, "intervals": "profile"},
        {"covariance": "HC0", "intervals": "profile"},
    ],
)
def test_choices_that_exclude_each_other_are_refused_by_their_names(options):
    with refused(ValueError, "conflict") as caught:
        LogisticRegression(**options).fit(*ENDOMETRIAL)
    named = {"penalty", "l2", "covariance", "solver", "intervals", "profile"}
    assert {word for word in named if word in str(caught.value)} >= {*options}
    assert not [name for name in named - {*options, "profile"} if name in str(caught.value)]


def test_rows_beyond_memory_are_refused():
    X, y = INFECTIONS
    source = ArraySource(X[:, :5], y, batch_rows=50)
    source.memory_bytes = 1
    with refused(ParameterError, "too-large"):
        LogisticRegression(penalty="firth").fit(source)


def test_a_climb_that_ends_too_soon_is_said():
    X, y = INFECTIONS
    with pytest.warns(ConvergenceWarning):
        assert firth(X, y, max_iter=2).stop_reason_ == "max_iter"


def skewed():
    """An end was infinite, because the loss falls for a while on the way to it."""
    group = [int(digit) for digit in "1001001111110010001111010111011001"]
    dose = """
        1.1 0.4 12.1 1.5 0.1 0.7 1.8 2.5 1 1 23 0.3 0.5 0.4 2.8 0.2 3.1 3.8 0.4 0.3 0.3 0.2 1 0.1
        10.2 2.6 0.2 0.5 0 0.9 2.3 4.3 1.6 0.2
    """
    X = np.column_stack([group, np.array(dose.split(), dtype=float)])
    return X, np.array([int(digit) for digit in "0110110000101101110000101000101110"]), np.ones(34)


def test_profile_ends_beyond_another_local_maximum():
    """Twice the loss at each end, maximized by scipy from many points, is the quantile."""
    X, y, weights = skewed()
    model = LogisticRegression(penalty="firth").fit(X, y, sample_weight=weights)
    A = np.column_stack([np.ones(len(X)), X])

    def minus_twice(b):
        scores = A @ b
        p = expit(scores)
        information = A.T * (weights * p * expit(-scores)) @ A
        sign, log_det = np.linalg.slogdet(information)
        value = weights @ (y * scores - np.logaddexp(0, scores)) + log_det / 2
        return -2 * value if sign > 0 else 1e9

    draw, least = np.random.default_rng(0), minus_twice(model.params_)
    for j, ends in enumerate(model.confidence_intervals()):
        for end in ends:
            along = np.delete(model.params_, j)
            starts = [along * end / model.params_[j], along, 0 * along]
            starts += [draw.normal(size=len(along)) * 10 for _ in range(5)]
            found = [
                minimize(
                    lambda u, j=j, end=end: minus_twice(np.insert(u, j, end)), start,
                    method="Nelder-Mead", options={"maxiter": 3000, "xatol": 1e-6, "fatol": 1e-8},
                ).fun
                for start in starts
            ]  # fmt: skip
            assert min(found) - least == pytest.approx(chdtri(1, 0.05), abs=1e-3)

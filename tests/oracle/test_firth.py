"""Firth's penalized likelihood, and profile intervals and tests of both likelihoods."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import chdtrc, chdtri, expit, log_softmax
from sklearn.exceptions import ConvergenceWarning

from linsep import LogisticRegression, textbook
from linsep.batches import Batch
from linsep.errors import ParameterError, SeparationWarning
from linsep.logistic.firth import Flat, Profiles
from linsep.logistic.newton import FEW, inverse_of
from linsep.logistic.objective import Objective, Terms
from linsep.logistic.task import RowLanes
from linsep.sources.arrays import ArraySource
from parameters_in_order import ends_of, last, weights_of
from published import ALLIGATORS, BUDWORMS, ENDOMETRIAL, INFECTIONS
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
    statistic = firth(X[:, 1:5], y, intervals="wald").likelihood_ratio_[0]
    assert statistic == pytest.approx(2 * (-140.8798 + 158.3699), abs=4e-4)


def test_food_of_alligators_as_agresti_has_it():
    """Plain likelihood of five classes: table 7.4 of the book, which brglm2 repeats."""
    found = LogisticRegression(reference="fish").fit(*ALLIGATORS)
    estimates = {
        "bird": [-0.63, 0.70, -0.65, 1.09, -2.09],
        "invertebrate": [1.46, -1.66, 0.94, 1.12, -1.55],
        "other": [0.33, 0.83, 0.01, 1.52, -1.90],
        "reptile": [-0.35, 1.24, 2.46, 2.94, -3.31],
    }
    errors = {
        "bird": [0.64, 0.78, 1.20, 0.84, 0.66],
        "invertebrate": [0.40, 0.61, 0.47, 0.49, 0.42],
        "other": [0.45, 0.56, 0.78, 0.62, 0.53],
        "reptile": [0.58, 1.19, 1.12, 1.12, 1.05],
    }
    assert weights_of(found) == pytest.approx(np.array(list(estimates.values())), abs=0.0051)
    assert last(found, "standard_errors_") == pytest.approx(
        np.array(list(errors.values())), abs=0.0051
    )


def test_endometrial_cancer_as_brglm2_and_logistf_have_it():
    """glm(HG ~ NV + PI + EH, method = "brglm_fit") of R's brglm2, and logistf of the same."""
    found = firth(*ENDOMETRIAL)
    published = [2.92927330, -0.03475175, -2.60416387, 3.77455951]
    assert weights_of(found)[0] == pytest.approx(published, rel=3e-7)
    errors = [1.55076, 0.03958, 0.77602, 1.48869]
    assert last(found, "standard_errors_")[0] == pytest.approx(errors, abs=5e-6)
    assert last(found, "statistics_")[0] == pytest.approx([1.889, -0.878, -3.356, 2.535], abs=5e-4)
    assert found.deviance_ == pytest.approx(56.575, abs=5e-4)
    assert found.null_deviance_ == pytest.approx(104.903, abs=5e-4)
    assert found.aic_ == pytest.approx(64.575, abs=5e-4)
    low, high = ends_of(found)
    assert low[0] == pytest.approx([0.6097244, -0.1244587, -4.3651832, 1.0825371], rel=1e-6)
    assert high[0] == pytest.approx([7.85463171, 0.04045547, -1.23272106, 7.20928050], rel=1e-6)
    wald = firth(*ENDOMETRIAL, intervals="wald")
    assert last(wald, "p_values_")[0] == pytest.approx(
        [0.058902, 0.379915, 0.000791, 0.011229], abs=1e-6
    )


def test_budworms_as_r_has_them():
    """confint(budworm.lg0) of R, which interpolates profiles."""
    found = profiles(*BUDWORMS, fit_intercept=False)
    low, high = ends_of(found)
    assert low[0] == pytest.approx([-4.4581438, -3.1728745, 0.8228708], abs=1e-4)
    assert high[0] == pytest.approx([-2.6137360, -1.6551170, 1.3390581], abs=3e-4)


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


@pytest.mark.parametrize("penalized", [True, False])
@pytest.mark.parametrize("q", [1, 2])
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


def test_the_slope_is_the_derivative_of_the_penalized_likelihood():
    rng = np.random.default_rng(0)
    for q in (1, 2, 3):
        X = rng.standard_normal((40, 2))
        codes, weights = rng.integers(0, q + 1, 40).astype(np.int32), rng.random(40) * 2
        batch = Batch(X, codes, weights=weights)
        rows = RowLanes(lambda b=batch: [b])
        seen = Objective(rows, Terms(q, np.zeros(2), np.ones(2), True))
        objective = Flat(seen, penalized=True)
        b = rng.standard_normal(3 * q)
        known = objective.at(b)
        value = by_hand(X, codes, weights, b, penalized=True)
        assert known.value == pytest.approx(value, rel=1e-12)
        for j, step in enumerate(np.eye(3 * q) * 1e-5):
            ahead, behind = (objective.at(b + side * step).value for side in (1, -1))
            assert known.gradient[j] == pytest.approx((ahead - behind) / 2e-5, abs=1e-7)


def test_few_rows_are_evaluated_as_many_are():
    """One block of rows has a loop of its own; rows in two batches do not."""
    penalized = True
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 4)) * [1.0, 1e-3, 3.0, 1.0]
    codes, weights = rng.integers(0, 2, 50).astype(np.int32), rng.integers(0, 3, 50).astype(float)
    terms = Terms(1, np.full(4, 0.1), np.ones(4), True)
    for counted in (weights, None, np.where(np.arange(50) < 3, weights, 0.0)):
        batch = Batch(X, codes, weights=counted)
        whole, parts = (
            Flat(Objective(RowLanes(lambda b=b: b), terms), penalized)
            for b in ([batch], [batch.between(0, 20), batch.between(20, 50)])
        )
        for size in (0.0, 1.0, 3.0):
            b = size * rng.standard_normal(5)
            one, other = whole.at(b), parts.at(b)
            assert one.value == pytest.approx(other.value, rel=1e-12)
            for name in ("gradient", "hessian"):
                found, expected = getattr(one, name), getattr(other, name)
                most = np.abs(expected).max(initial=1e-300)
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11 * most)
    assert not penalized or one.value == -np.inf  # three rows for five weights


@pytest.mark.parametrize("n", [2, 7, FEW + 1])
def test_inverses_of_information(n):
    rng = np.random.default_rng(n)
    A = rng.standard_normal((n, n + 3)) * np.exp(rng.uniform(-50, 50, (n, 1)))
    matrix = A @ A.T
    scale = 1.0 / np.sqrt(np.diag(matrix))
    found = inverse_of(matrix) / scale / scale[:, None]
    np.testing.assert_allclose(found @ (matrix * scale * scale[:, None]), np.eye(n), atol=1e-9)
    for broken in (0.0, -1.0, np.nan, np.inf):
        other = matrix.copy()
        other[n // 2, n // 2] = broken
        assert inverse_of(other) is None
    if n > 1:
        matrix[-1], matrix[:, -1] = matrix[0], matrix[:, 0]
        matrix[-1, -1] = matrix[0, 0]
        assert inverse_of(matrix) is None


def test_firth_and_its_profile_by_plain_python():
    X = [[0.5, 1.0], [1.5, 0.0], [2.5, 1.0], [3.0, 0.0], [3.5, 1.0], [4.5, 0.0], [5.5, 1.0]]
    y = [0, 0, 0, 0, 1, 1, 1]
    found, w = firth(X, y), textbook.newton(X, y, 200, firth=True)
    assert weights_of(found)[0] == pytest.approx(w, rel=1e-7)
    best = textbook.penalized(X, y, w)
    for end in (end[0, 0] for end in ends_of(found)):
        held = minimize(
            lambda rest, end=end: -textbook.penalized(X, y, [end, *rest]), [0.0, -5.0],
            method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 10_000},
        )  # fmt: skip
        assert 2 * (best + held.fun) == pytest.approx(CRITICAL, rel=1e-5)


# What must hold.


@pytest.mark.parametrize("reference", [0, 2])
def test_firth_adds_half_a_row_to_each_cell_of_a_table(reference):
    """Saturated models, separated or not (Firth 1993)."""
    for cells in map(np.array, ([[4, 3], [0, 5]], [[4, 3], [2, 5]], [[4, 3, 0], [5, 0, 2]])):
        reference = min(reference, cells.shape[1] - 1)
        X = np.repeat([[0.0], [1.0]], cells.sum(axis=1), axis=0)
        y = np.concatenate([np.repeat(np.arange(cells.shape[1]), row) for row in cells])
        found = firth(X, y, reference=reference)
        inside, outside = np.log(cells + 0.5)
        expected = np.column_stack([outside - inside, inside])
        expected = np.delete(expected - expected[reference], reference, axis=0)
        np.testing.assert_allclose(weights_of(found), expected, rtol=1e-8, atol=1e-8)
        assert (last(found, "limits_") == "finite").all()
        low, high = ends_of(found)
        assert ((low < weights_of(found)) & (weights_of(found) < high)).all()


def test_whole_weights_are_repeated_rows():
    X, y = ENDOMETRIAL
    times = np.random.default_rng(0).integers(0, 3, len(y))
    one = firth(X, y, times)
    other = firth(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weights_of(one) == pytest.approx(weights_of(other), rel=1e-7)
    ends = (np.array(ends_of(model)) for model in (one, other))
    assert next(ends) == pytest.approx(next(ends), rel=1e-7)


@pytest.mark.parametrize("penalty", ["firth", None])
def test_weights_scale_with_their_features(penalty):
    """Far from zero, of all sizes, dependent, sparse, streamed."""
    X, y = ENDOMETRIAL
    options = {"penalty": penalty, "intervals": "profile"}
    size, shift = np.array([1e-6, 1.0, 1e5]), np.array([0.0, 1e4, -3.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
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
        assert last(other, "standard_errors_")[0, 1:3] * (factors * np.ones(3))[
            1:
        ] == pytest.approx(last(plain, "standard_errors_")[0, 1:3], rel=1e-7)
    assert np.isnan(np.array(ends_of(wide))[:, 0, 3]).all()


def test_nearly_collinear_columns_keep_their_digits():
    """In the basis of a column and the small difference the same data are harmless."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 60))
    y = (a + b + rng.standard_normal(60) > 0).astype(int)
    near = a + 2.0**-20 * np.round(b * 256) / 256
    harmless = np.column_stack([a, near - a])
    one, other = firth(np.column_stack([a, near]), y), firth(harmless, y)
    assert weights_of(one)[0, 1] == pytest.approx(weights_of(other)[0, 1], rel=1e-6)
    for end, same in zip(ends_of(one), ends_of(other), strict=True):
        assert end[0, 1:] == pytest.approx(same[0, 1:], rel=1e-6)


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
    line = next(line for line in str(found.summary()).splitlines() if line.startswith("x0"))
    assert line.split() == ["x0", "+inf", f"{squared:.3f}", "0.002", f"{low[0]:.6g}", "inf"]
    mirrored = profiles(X * [-1.0, 1.0, 1.0], y)
    assert last(mirrored, "limits_")[0, 0] == "-inf"
    ends = [end[0, 0] for end in ends_of(mirrored)]
    assert ends == [-np.inf, pytest.approx(-low[0], rel=1e-9)]


# Choices.


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"penalty": "firth", "l2": 1.0}, "conflict"),
        ({"penalty": "firth", "solver": "gradient_ascent"}, "conflict"),
        ({"penalty": "firth", "warm_start": True}, "conflict"),
        ({"on_separation": "firth"}, "bad-option"),
        ({"l2": 1.0, "intervals": "profile"}, "conflict"),
    ],
)
def test_choices_that_exclude_each_other_are_refused(options, code):
    with refused(ValueError, code):
        LogisticRegression(**options).fit(*ENDOMETRIAL)


@pytest.mark.parametrize("options", [{"penalty": "firth"}, {"intervals": "profile"}])
def test_rows_beyond_memory_and_many_weights_are_refused(options, monkeypatch):
    X, y = INFECTIONS
    source = ArraySource(X[:, :5], y, batch_rows=50)
    source.memory_bytes = 1
    with refused(ParameterError, "too-large"):
        LogisticRegression(**options).fit(source)
    monkeypatch.setattr("linsep.logistic.task.MOST_WEIGHTS", 5)
    with refused(ParameterError, "too-large"):
        LogisticRegression(**options).fit(X[:, :5], y)


def test_a_climb_that_ends_too_soon_is_said():
    X, y = INFECTIONS
    with pytest.warns(ConvergenceWarning):
        assert firth(X, y, max_iter=2).stop_reason_ == "max_iter"
    with pytest.warns(ConvergenceWarning):
        found = profiles(X[:, :5], y, max_iter=2)
    assert np.isnan(ends_of(found)).all()


def test_an_end_that_is_not_bracketed_is_missing_with_a_note(monkeypatch):
    plain = firth(*ENDOMETRIAL)
    nothing = lambda self, of, sides: (np.full(len(of), np.nan), 0.0 * of)  # noqa: E731
    monkeypatch.setattr(Profiles, "_newton_ends", nothing)
    monkeypatch.setattr(Profiles, "_end", lambda self, of, value, lost, b, *how: (np.nan, b))
    found = firth(*ENDOMETRIAL)
    assert np.isnan(found.confidence_intervals()).all()
    assert len(found.summary().notes) == len(plain.summary().notes) + 1


def squares():
    """An end was where the loss is 2.67 (one end of the first feature)."""
    digits = [
        "4220166320692486484173122653124346",
        "6233561658395281399871379082777153",
        "7822003350640989140584063942441723",
        "0000110101011010011100001010111011",
    ]
    *X, y = (np.array([int(digit) for digit in text]) for text in digits)
    return np.square(np.column_stack(X)) / 25.0, y, np.ones(34)


def skewed():
    """An end was infinite, because the loss falls for a while on the way to it."""
    group = [int(digit) for digit in "1001001111110010001111010111011001"]
    dose = """
        1.1 0.4 12.1 1.5 0.1 0.7 1.8 2.5 1 1 23 0.3 0.5 0.4 2.8 0.2 3.1 3.8 0.4 0.3 0.3 0.2 1 0.1
        10.2 2.6 0.2 0.5 0 0.9 2.3 4.3 1.6 0.2
    """
    X = np.column_stack([group, np.array(dose.split(), dtype=float)])
    return X, np.array([int(digit) for digit in "0110110000101101110000101000101110"]), np.ones(34)


@pytest.mark.parametrize("rows", [squares, skewed])
def test_profile_ends_beyond_another_local_maximum(rows):
    """Twice the loss at each end, maximized by scipy from many points, is the quantile."""
    X, y, weights = rows()
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

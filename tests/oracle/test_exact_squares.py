"""Least squares of hard numbers against exact rationals: every way, from arrays and files."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from flint import arb, ctx, fmpq, fmpq_mat

from linsep import LinearRegression, open_source
from linsep.errors import DataError
from linsep.inference.tails import f_tail, t_reach, t_tail
from linsep.linear import solving as room
from linsep.linear.solving import DependentFeaturesWarning
from refusals import refused

pytestmark = pytest.mark.compiled

rng = np.random.default_rng(0)
NOISE = rng.standard_normal(1000)


def rational(value):
    return fmpq(*np.longdouble(value).as_integer_ratio())


class Exact:
    """Estimates and all that is inferred from them, in rationals and then in balls of 400 bits."""

    def __init__(self, X, y, weights=None, fit_intercept=True):
        Z = [[fmpq(1)] * fit_intercept + [rational(v) for v in row] for row in X]
        n, p = len(Z), len(Z[0])
        w = [fmpq(1)] * n if weights is None else [rational(v) for v in weights]
        self.Z = fmpq_mat(n, p, [v for row in Z for v in row])
        left = fmpq_mat(n, p, [v * w[i] for i, row in enumerate(Z) for v in row]).transpose()
        b = fmpq_mat(n, 1, [rational(v) for v in y])
        inverse = (left * self.Z).inv()
        self.beta = inverse * (left * b)
        self.residuals = b - self.Z * self.beta
        self.inverse, self.df = inverse, n - p
        self.rss = rss = sum((w[i] * self.residuals[i, 0] ** 2 for i in range(n)), fmpq(0))
        mean = sum((w[i] * b[i, 0] for i in range(n)), fmpq(0)) / sum(w, fmpq(0))
        mean *= fit_intercept
        tss = sum((w[i] * (b[i, 0] - mean) ** 2 for i in range(n)), fmpq(0))
        df, dm = n - p, p - fit_intercept
        with ctx.workprec(400):
            self.estimates = [ball(self.beta[j, 0]) for j in range(p)]
            self.errors = [(ball(inverse[j, j]) * ball(rss) / df).sqrt() for j in range(p)]
            self.t = [a / b for a, b in zip(self.estimates, self.errors, strict=True)]
            self.p = [exact_f_tail(t * t, 1, df) for t in self.t]
            self.r_squared = 1 - ball(rss) / ball(tss)
            self.f = ball(tss - rss) / dm / (ball(rss) / df)
            self.f_p = exact_f_tail(self.f, dm, df)
            hat = self.Z * inverse
            self.leverage = [
                sum((ball(hat[i, j] * self.Z[i, j]) for j in range(p)), arb(0)) for i in range(n)
            ]

    def assert_solved(self, model, bar=1e-12):
        found = model
        for ours, theirs in (
            (found.params_, self.estimates),
            (found.standard_errors_, self.errors),
            (found.statistics_, self.t),
            (found.p_values_, self.p),
            (
                [found.r_squared_, found.f_statistic_, found.f_p_value_],
                [self.r_squared, self.f, self.f_p],
            ),
        ):
            apart(ours, theirs, bar)


def ball(value):
    return arb(value.p) / arb(value.q)


def exact_f_tail(f, a, b):
    return (arb(b) / (b + a * f)).beta_lower(arb(b) / 2, arb(a) / 2, 1)


def apart(ours, theirs, bar):
    """Fail where numbers differ by more than ``bar``, relatively."""
    for one, other in zip(ours, theirs, strict=True):
        if other != 0 and abs(float(other)) > 1e-300:
            assert abs(arb(float(one)) / other - 1) < bar, (one, other)


def hard_sets():
    i = np.arange(200.0)
    stamps = 1.7e15 + i
    far = 1e14 + 2 * i
    noise = NOISE[:200]
    yield "timestamps", stamps[:, None], 3 + 2e-3 * i + noise
    yield "few timestamps", stamps[:5, None], noise[:5]
    yield "timestamps of seconds", (1.7e9 + 1e-6 * i)[:10, None], noise[:10]
    yield "far", far[:, None], 0.5 * i + 0.01 * noise
    yield "far, and so is y", far[:, None], far + 0.05 * noise
    yield "two far", np.column_stack([far, stamps + rng.integers(0, 3, 200)]), noise
    starts = 1.7e15 + np.cumsum(rng.integers(1, 10**7, 200))
    yield "starts and ends", np.column_stack([starts, starts + rng.integers(0, 3, 200)]), noise
    yield "tiny y", np.column_stack([noise, i]), 1e-160 * (i + 30 * NOISE[200:400])
    yield "tinier y", i[:, None], 1e-250 * (i + 30 * NOISE[200:400])
    yield "tiny x", 1e-160 * i[:, None], i + 30 * noise
    yield "huge x", 1e160 * i[:, None], i + 30 * noise
    yield "next to nothing explained", i[:, None], noise - noise @ i / (i @ i) * i + 1e-7 * i


@pytest.mark.parametrize("hint", ["exact", "many", "sparse", "file"])
@pytest.mark.parametrize(("X", "y"), [pytest.param(X, y, id=name) for name, X, y in hard_sets()])
def test_every_digit_of_hard_numbers(hint, X, y, tmp_path, monkeypatch):
    data = (X, y)
    if hint != "exact":
        monkeypatch.setattr(room, "EXACT_VALUES", 0)
    if hint == "sparse":
        data = (sp.csr_array(X), y)
    if hint == "file":
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(y=y)
        frame.to_parquet(tmp_path / "rows.parquet", row_group_size=64)
        data = (open_source(tmp_path / "rows.parquet", target="y"),)
        X = frame.drop(columns="y")
    model = LinearRegression().fit(*data)
    assert (model._fitted.method == "exact") == (hint == "exact")
    assert not model._fitted.perfect
    exact = Exact(np.asarray(X), y)
    # An intercept at x = 0 is 1e11 times as far from the data as these are from each other.
    exact.assert_solved(model, 1e-12 if hint == "exact" else 2e-11)
    found = model
    apart(found._inference.leverage(np.asarray(X)), exact.leverage, 1e-7)
    # The parts that weights have in a prediction may cancel each other: of starts and ends they do.
    bar = 1e-12 * (np.abs(y - y.mean()).max() + np.abs(model.coef_) @ found._fitted.spread)
    residuals = found._fitted.residuals(np.asarray(X), y)
    for ours, back, y_i, r in zip(
        residuals, model.predict(X), y, exact.residuals.entries(), strict=True
    ):
        assert abs(ours - float(ball(r))) < bar
        wanted = float(ball(rational(y_i) - r))
        assert back == pytest.approx(wanted, rel=1e-12, abs=bar)


def without(X, y, row, weights):
    """The studentized residual of a row and its Cook's distance, None where there is none."""
    keep = np.arange(y.size) != row
    Z = np.column_stack([np.ones(y.size), X])
    if np.linalg.matrix_rank(Z[keep]) < Z.shape[1]:
        return "leverage of 1"
    whole, some = Exact(X, y, weights), Exact(X[keep], y[keep], weights[keep])
    if not any(some.residuals.entries()):
        return "perfect"
    x = fmpq_mat(1, Z.shape[1], [rational(v) for v in Z[row]])
    error = rational(y[row]) - (x * some.beta)[0, 0]
    moved = [a - b for a, b in zip(whole.beta.entries(), some.beta.entries(), strict=True)]
    step = whole.Z * fmpq_mat(len(moved), 1, moved)
    w = [rational(v) for v in weights]
    with ctx.workprec(400):
        spread = ball((x * some.inverse * x.transpose())[0, 0] + 1 / w[row])
        t = ball(error) / (ball(some.rss) / some.df * spread).sqrt()
        squares = sum((ball(a * a * b) for a, b in zip(step.entries(), w, strict=True)), arb(0))
        return t, squares / (ball(whole.rss) / whole.df * Z.shape[1])


@pytest.mark.parametrize("hint", ["exact", "many"])
@pytest.mark.parametrize("scale", [1.0, 2.0**-531])
@pytest.mark.parametrize("seed", range(6))
def test_leaving_out_a_row_as_in_rationals(seed, scale, hint, monkeypatch):
    """Whole numbers, of which some rows decide an estimate and some all that is left."""
    draw = np.random.default_rng(seed)
    if hint == "many":
        monkeypatch.setattr(room, "EXACT_VALUES", 0)
    n = int(draw.integers(6, 9))
    x = draw.integers(0, 5, n).astype(float)
    X = np.column_stack([x, np.arange(n) == 2]).astype(float)
    y = 2 * x + 1 + (X[:, 1] * 7)
    y[4] += 5
    if seed % 2:
        y[5] += 1
    weights = draw.integers(1, 4, n).astype(float)
    y = y * scale
    model = LinearRegression().fit(X, y, weights)
    found = model.assumptions(X, y, weights)
    for row in range(n):
        wanted = without(X, y, row, weights)
        if isinstance(wanted, str):
            assert np.isnan(found.studentized[row]), wanted
            assert np.isnan(found.cooks_distance[row]) == (wanted == "leverage of 1")
            said = found["leverage" if wanted != "perfect" else "studentized residual"].conclusion
            assert ("is 1, so its residual is zero" in said) or f"without row {row}" in said
        else:
            np.testing.assert_allclose(found.studentized[row], float(wanted[0]), rtol=1e-9)
            np.testing.assert_allclose(found.cooks_distance[row], float(wanted[1]), rtol=1e-9)
    if not seed % 2:
        assert np.isnan(found["studentized residual"][2:4]).all()
        assert "without row 4 the fit is perfect" in found["studentized residual"].conclusion


def test_a_row_left_out_of_a_line_of_decimals():
    """0.1, 0.2, ... are a line but for rounding, and the last row is not on it."""
    x = np.arange(8.0)[:, None]
    y = 0.1 * np.arange(8.0)
    y[7] = 3.0
    found = LinearRegression().fit(x, y).assumptions(x, y)
    worst = found["studentized residual"]
    assert np.isnan(worst.statistic)
    assert np.isnan(worst.p_value)
    assert "without row 7 the fit is perfect" in worst.conclusion
    assert found["Cook's distance"].conclusion.startswith("row 7")


def test_tests_of_residuals_that_leave_no_variance():
    x = np.arange(6.0)[:, None]
    square = LinearRegression().fit(x, x[:, 0] ** 2).assumptions(x, x[:, 0] ** 2)
    assert square["RESET"].p_value < 1e-12
    assert "not linear" in square["RESET"].conclusion
    pairs = np.array([1.0, 1, 2, 2, 3, 3, 4.3, 4.3])
    y = 0.1 + np.array([0.0, 1.0] * 4)
    same = LinearRegression().fit(pairs[:, None], y).assumptions(pairs[:, None], y)
    assert same["Breusch-Pagan"][2:4] == same["White"][2:4] == (0.0, 1.0)
    assert same["RESET"].conclusion == "not defined: the predictions are the same in all rows"
    two = LinearRegression().fit(x[:2], [1.0, 5.0]).assumptions(x[:2], [1.0, 5.0])
    assert "no residual degrees of freedom are left" in two["Durbin-Watson"].conclusion


@pytest.mark.parametrize("values", [1 << 17, 0])
def test_same_and_perfect_are_decided_exactly(values, monkeypatch):
    monkeypatch.setattr(room, "EXACT_VALUES", values)
    noise = NOISE[:50]
    last_digit = np.where(noise > 0, 0.3, 0.1 + 0.2)
    X = np.column_stack([last_digit, np.full(50, 0.1 + 0.2)])
    with pytest.warns(DependentFeaturesWarning, match="x1 is constant, like the intercept"):
        model = LinearRegression().fit(X, noise)
    assert model._fitted.kept.tolist() == [True, False]
    y = LinearRegression().fit(noise[:, None], last_digit)._fitted
    assert y.y_norm > 0
    stamps = 1.7e15 + np.arange(50.0)
    line = LinearRegression().fit(stamps[:, None], 3 * stamps + 7)._fitted
    assert line.perfect
    one_off = 3 * stamps + 7
    one_off[17] += 1
    assert not LinearRegression().fit(stamps[:, None], one_off)._fitted.perfect
    same = LinearRegression().fit(stamps[:, None], np.full(50, 1.7e15 + 1))
    assert (same._fitted.y_norm, same.coef_[0], same.intercept_) == (0.0, 0.0, 1.7e15 + 1)


@pytest.mark.parametrize("values", [1 << 17, 0])
@pytest.mark.parametrize("shift", [0.0, 2.0**52, 2.0**53])
def test_residuals_within_the_rounding_of_far_columns_are_not_a_perfect_fit(
    values, shift, monkeypatch
):
    monkeypatch.setattr(room, "EXACT_VALUES", values)
    X = shift + np.array([[0.0], [4], [4], [8], [2], [4]])
    y = np.array([1.0, 3, 5, 7, 2, 4])
    model, exact = LinearRegression().fit(X, y), Exact(X, y)
    assert not model.solution_.perfect
    exact.assert_solved(model, 1e-12)
    apart([model.rss_], [ball(exact.rss)], 1e-12)
    unexplained = ball(exact.rss) / exact.df / (arb(70) / 3 / 5)  # the variance of y is 14 / 3
    apart([model.adjusted_r_squared_], [1 - unexplained], 1e-12)


@pytest.mark.parametrize("values", [1 << 17, 0])
@pytest.mark.parametrize(
    "y", [[1.0, 2, 3, 4], [0.1, 0.2, 0.3, 0.4], [1e6 + k / 10 for k in range(4)]]
)
def test_a_perfect_fit_has_no_standard_errors(values, y, monkeypatch):
    monkeypatch.setattr(room, "EXACT_VALUES", values)
    X = np.arange(1.0, 5)[:, None]
    model = LinearRegression().fit(X, y)
    assert (model.rss_, model.r_squared_, model.adjusted_r_squared_) == (0.0, 1.0, 1.0)
    assert np.isnan(model.standard_errors_).all()
    assert np.isnan(model.covariance_).all()
    assert np.isnan(model.confidence_intervals()).all()
    for interval in ("confidence", "prediction"):
        found = model.predict(X, interval=interval)
        np.testing.assert_allclose(found.prediction, y, rtol=1e-14)
        assert np.isnan([found.low, found.high]).all()
    text = str(model.summary())
    assert "zero, or rounding errors of the data" in " ".join(text.split())
    assert "-0" not in text
    tests = model.likelihood_ratio_tests(X, y)
    assert "leaves no residual variance" in " ".join(str(tests).split())
    with refused(DataError, "no-estimate"):
        model.wald_test("x0")


def test_as_many_estimates_as_rows_are_no_perfect_fit_of_rounding():
    model = LinearRegression().fit([[1.0], [2]], [1.0, 5])
    assert "perfect" not in str(model.summary())
    assert "as many estimates as rows (2)" in str(model.summary())
    tests = model.likelihood_ratio_tests([[1.0], [2]], [1.0, 5])
    assert "leaves no residual variance" in " ".join(str(tests).split())


def test_an_estimate_of_zero_has_no_sign():
    model = LinearRegression().fit([[-1.0], [0], [1], [-1], [1]], [-1.0, 0, -1, 1, 1])
    assert model.coef_[0] == 0
    text = str(model.summary())
    assert "-0.000" not in text
    assert " 0.000 " in text


def test_values_and_weights_of_any_range():
    """Slices of floats cannot hold these; whole numbers can."""
    X = np.array([[1e-300, 1.0], [1e300, 2.0], [1.0, -3.0], [5e-324, 0.5], [1e10, 1e-200]])
    y = np.array([1.0, 2.0, 1e-250, -4.0, 3.0])
    Exact(X, y).assert_solved(LinearRegression().fit(X, y))
    weights = np.array([1e-200, 1.0, 1e100, 3.0, 1e-100])
    X = np.column_stack([np.arange(5.0), [1.0, 7.0, -1.0, 2.0, 3.0]])
    y = np.array([1.0, 2.0, 0.0, -4.0, 3.0])
    exact = Exact(X, y, weights)
    exact.assert_solved(LinearRegression().fit(X, y, weights))
    exact = Exact(X[:, :1], y, fit_intercept=False)
    exact.assert_solved(LinearRegression(fit_intercept=False).fit(X[:, :1], y))


def test_tails_for_any_degrees_of_freedom():
    with ctx.workprec(400):
        for df in (1, 2, 5, 30, 1000, 10**5, 10**7, 10**9):
            for t in (1e-3, 0.5, 1.96, 5.0, 10.0):
                apart([t_tail(t, df)], [exact_f_tail(arb(t) ** 2, 1, df)], 1e-13)
            for f in (1e-3, 0.5, 3.0):
                apart([f_tail(f, 7, df)], [exact_f_tail(arb(f), 7, df)], 1e-13)
            for level in (0.01, 0.5, 0.95, 1 - 1e-6):
                t = arb(t_reach(level, df))
                p = exact_f_tail(t * t, 1, df)
                apart([1 - arb(level)], [p], 1e-11)
    assert np.isnan(t_tail(np.nan, 5))
    assert (t_tail(1e200, 3), t_tail(np.inf, 3)) == (0.0, 0.0)

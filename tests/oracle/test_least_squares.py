"""Least squares against exact rationals, and its solution from arrays, sparse rows and files."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from flint import arb, ctx, fmpq, fmpq_mat
from hypothesis import given, strategies as st

from linsep import LinearRegression, open_source
from linsep.batches import Batch
from linsep.errors import DataError
from linsep.inference.results import t_reach, t_tail, upper_tail
from linsep.linear import least_squares as room
from linsep.linear.least_squares import DependentFeaturesWarning, least_squares
from refusals import refused
from thoroughness import examples

rng = np.random.default_rng(0)
NOISE = rng.standard_normal(1000)


def rational(value):
    return fmpq(*float(value).as_integer_ratio())


def ball(value):
    return arb(value.p) / arb(value.q)


def exact_f_tail(f, a, b):
    return (arb(b) / (b + a * f)).beta_lower(arb(b) / 2, arb(a) / 2, 1)


def apart(ours, theirs, bar):
    """Fail where numbers differ by more than ``bar``, relatively."""
    for one, other in zip(ours, theirs, strict=True):
        if other != 0 and abs(float(other)) > 1e-300:
            assert abs(arb(float(one)) / other - 1) < bar, (one, other)


class Exact:
    """Estimates and all that is inferred from them, in rationals and then in balls of 400 bits."""

    def __init__(self, X, y, weights=None, fit_intercept=True):
        Z = [[fmpq(1)] * fit_intercept + [rational(v) for v in row] for row in X]
        n, p = len(Z), len(Z[0])
        w = [fmpq(1)] * n if weights is None else [rational(v) for v in weights]
        self.Z = fmpq_mat(n, p, [v for row in Z for v in row])
        left = fmpq_mat(n, p, [v * w[i] for i, row in enumerate(Z) for v in row]).transpose()
        b = fmpq_mat(n, 1, [rational(v) for v in y])
        self.inverse = inverse = (left * self.Z).inv()
        self.beta = inverse * (left * b)
        self.residuals = b - self.Z * self.beta
        self.df, dm = n - p, p - fit_intercept
        self.rss = rss = sum((w[i] * self.residuals[i, 0] ** 2 for i in range(n)), fmpq(0))
        mean = sum((w[i] * b[i, 0] for i in range(n)), fmpq(0)) / sum(w, fmpq(0))
        mean *= fit_intercept
        tss = sum((w[i] * (b[i, 0] - mean) ** 2 for i in range(n)), fmpq(0))
        with ctx.workprec(400):
            self.estimates = [ball(self.beta[j, 0]) for j in range(p)]
            self.errors = [(ball(inverse[j, j]) * ball(rss) / self.df).sqrt() for j in range(p)]
            t = [a / b for a, b in zip(self.estimates, self.errors, strict=True)]
            p_values = [exact_f_tail(v * v, 1, self.df) for v in t]
            f = ball(tss - rss) / dm / (ball(rss) / self.df)
            whole = [1 - ball(rss) / ball(tss), f, exact_f_tail(f, dm, self.df)]
            self.inferred = [self.errors, t, p_values, whole]

    def assert_solved(self, model, bar=1e-12):
        apart(model.params_, self.estimates, bar)
        whole = [model.r_squared_, model.f_statistic_, model.f_p_value_]
        ours = [model.standard_errors_, model.statistics_, model.p_values_, whole]
        for one, other in zip(ours, self.inferred, strict=True):
            apart(one, other, bar)


def digits(ours, theirs):
    """The least number of digits in which the numbers agree."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    difference = np.abs(ours - theirs) / np.where(theirs == 0, 1, np.abs(theirs))
    return float(-np.log10(max(difference.max(), 1e-16)))


POWERS = {"norris": 1, "pontius": 2, "filip": 10, **{f"wampler{k}": 5 for k in range(1, 6)}}


@pytest.mark.parametrize("name", [*POWERS, "noint1", "noint2", "longley"])
def test_nist(shared_data, name):
    certified = json.loads((shared_data / "nist" / "certified.json").read_text())[name]
    with open(shared_data / "nist" / f"{name}.csv", newline="") as file:
        y, *columns = np.array([[float(c) for c in row] for row in list(csv.reader(file))[1:]]).T
    columns = [columns[0] ** k for k in range(1, POWERS[name] + 1)] if name in POWERS else columns
    model = LinearRegression(fit_intercept=certified["intercept"]).fit(np.array(columns).T, y)
    bar = 7 if name == "filip" else 13  # its powers of x, rounded to floats, determine no more
    assert digits(model.params_, certified["estimate"]) > bar
    if model.solution_.perfect:
        assert float(certified["residual_sd"]) == 0
        assert np.isnan(model.statistics_).all()
    else:
        assert digits(model.standard_errors_, certified["standard_error"]) > bar
        assert digits(model.r_squared_, certified["r_squared"]) > min(bar, 11)


def hard_sets():
    i, noise = np.arange(200.0), NOISE[:200]
    yield "timestamps", (1.7e9 + i)[:, None], 3 + 2e-3 * i + noise
    yield "far, and so is y", (1e10 + 2 * i)[:, None], 1e10 + 2 * i + 0.05 * noise
    yield "tiny y", np.column_stack([noise, i]), 1e-90 * (i + 30 * NOISE[200:400])
    yield "huge x", 1e90 * i[:, None], i + 30 * noise
    yield "next to nothing explained", i[:, None], noise - noise @ i / (i @ i) * i + 1e-7 * i


@pytest.mark.parametrize("kind", ["array", "sparse", "file"])
@pytest.mark.parametrize(("X", "y"), [pytest.param(X, y, id=name) for name, X, y in hard_sets()])
def test_hard_numbers_keep_their_digits(kind, X, y, tmp_path):
    data = (X, y)
    if kind == "sparse":
        data = (sp.csr_array(X), y)
    if kind == "file":
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(y=y)
        frame.to_parquet(tmp_path / "rows.parquet", row_group_size=64)
        data = (open_source(tmp_path / "rows.parquet", target="y"),)
    model = LinearRegression().fit(*data)
    assert not model.solution_.perfect
    exact = Exact(X, y)
    # An intercept at x = 0 is 1e7 times as far from the data as these are from each other.
    exact.assert_solved(model, 2e-9)
    bar = 1e-12 * (np.abs(y - y.mean()).max() + np.abs(model.coef_) @ model.solution_.spread)
    residuals = model.solution_.residuals(X, y)
    assert residuals == pytest.approx([float(ball(r)) for r in exact.residuals.entries()], abs=bar)
    predicted = model.predict(frame.drop(columns="y") if kind == "file" else X)
    assert predicted == pytest.approx(y - residuals, rel=1e-12, abs=bar)


@st.composite
def small_integers(draw):
    n, d = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    whole = st.integers(-9, 9)
    X = draw(st.lists(st.lists(whole, min_size=d, max_size=d), min_size=n, max_size=n))
    y = draw(st.lists(whole, min_size=n, max_size=n))
    weights = draw(st.lists(st.sampled_from([0.1, 1.0, 3.0]), min_size=n, max_size=n))
    return np.array(X, float), np.array(y, float), np.array(weights)


def walk(X, y, weights=None, rows=None):
    block = Batch(X, y, weights=weights)
    return lambda: iter([block]) if rows is None else block.cut(rows)


@given(data=small_integers(), fit_intercept=st.booleans(), sparse=st.booleans())
@examples(60)
def test_small_integers_are_solved_as_fractions_are(data, fit_intercept, sparse):
    X, y, weights = data
    found = least_squares(
        walk(sp.csr_array(X) if sparse else X, y, weights), fit_intercept=fit_intercept
    )
    Z = np.column_stack([np.ones(len(X))] * fit_intercept + [X])
    assert found.rank == np.linalg.matrix_rank(Z)
    for feature, row in found.combinations.items():
        others = np.column_stack([np.ones(len(X)), X]) @ row
        np.testing.assert_allclose(others, X[:, feature], atol=1e-12)
        assert not found.kept[feature]
    kept = np.append([True] * fit_intercept, found.kept).astype(bool)
    rows = [[rational(v) for v in row] for row in Z[:, kept]]
    w = [rational(v) for v in weights]
    A = fmpq_mat(len(rows), found.rank, [v for row in rows for v in row])
    left = [v * w[i] for i, row in enumerate(rows) for v in row]
    left = fmpq_mat(len(rows), found.rank, left).transpose()
    b = fmpq_mat(len(rows), 1, [rational(v) for v in y])
    beta = (left * A).solve(left * b) if found.rank else fmpq_mat(0, 1)
    estimates = np.append([found.intercept] * fit_intercept, found.coef)[kept]
    wanted = [float(ball(v)) for v in beta.entries()]
    np.testing.assert_allclose(estimates, wanted, rtol=1e-13, atol=1e-14)
    rest = (b - A * beta).entries() if found.rank else b.entries()
    rss = sum((v * r * r for v, r in zip(w, rest, strict=True)), fmpq(0))
    np.testing.assert_allclose(found.rss, float(ball(rss)), rtol=1e-12, atol=1e-28)


def collinear(n, d, noise, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 100 * rng.random(d)
    X[:, -1] = X[:, :-1].sum(axis=1) + noise * rng.standard_normal(n)
    return X, X @ rng.standard_normal(d) + rng.standard_normal(n)


@pytest.mark.parametrize(
    ("noise", "weighted", "fit_intercept"), [(1e-2, True, False), (1e-8, True, True)]
)
def test_collinear_columns_in_lanes_of_any_kind(noise, weighted, fit_intercept, monkeypatch):
    X, y = collinear(600, 6, noise)
    weights = np.random.default_rng(1).random(y.size) if weighted else None
    exact = Exact(X, y, weights, fit_intercept)
    monkeypatch.setattr(room, "MANY_VALUES", 100)  # factors of lanes come from products
    monkeypatch.setattr("linsep.lanes.DENSE_VALUES", 800)
    monkeypatch.setattr("linsep.lanes.LEAST_ROWS", 100)
    monkeypatch.setattr("linsep.lanes.SPARSE_ROWS", 100)
    blocks = [walk(X, y, weights), walk(X, y, weights, 70), walk(sp.csr_array(X), y, weights, 70)]
    found = [least_squares(one, fit_intercept=fit_intercept) for one in blocks]
    assert np.array_equal(found[0].coef, found[1].coef)
    for one in found:
        apart(np.append([one.intercept] * fit_intercept, one.coef), exact.estimates, 1e-12)
        apart([one.rss], [ball(exact.rss)], 1e-13)
        errors = np.linalg.norm(one.root[:, 1 - fit_intercept :], axis=0)
        errors *= one.residual_norm / np.sqrt(exact.df)
        apart(errors, exact.errors, 1e-8 if noise == 1e-8 else 1e-9)


def test_columns_that_rounding_keeps_apart_are_dependent():
    X, y = collinear(2000, 5, 1e-15)
    X[:, 4] += 0.1 - X[:, 1]
    X[:, 1] = 0.1
    found = least_squares(walk(X, y))
    assert found.kept.tolist() == [True, False, True, True, False]
    np.testing.assert_allclose(found.combinations[4], [0.1, 1, 0, 1, 1, 0], atol=1e-6)


def test_single_precision_is_told_from_dependence_by_its_own_rounding():
    X, y = collinear(500, 4, 0.0)
    found = least_squares(walk(X.astype(np.float32), y))
    assert found.kept.tolist() == [True, True, True, False]


def test_a_condition_beyond_1e14_is_named():
    x = np.random.default_rng(1).standard_normal((50, 9))
    x[:, 0] = 2.0**-30 * x[:, 0] + x[:, 1]
    x[:, 2] = 2.0**-38 * x[:, 2] + x[:, 1] + 2.0**38 * (x[:, 0] - x[:, 1])
    with pytest.warns(room.IllConditionedWarning):
        found = least_squares(walk(x - x.mean(axis=0), NOISE[:50]))
    assert found.kept.all()


def test_blocks_of_any_size_and_width_give_the_same():
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.standard_normal((4000, 30)) * (rng.random((4000, 30)) < 0.04))
    y = X @ rng.standard_normal(30) + rng.standard_normal(4000)
    parts = [Batch(X[:1500, :20], y[:1500]), Batch(X[1500:], y[1500:])]
    narrow = X.toarray()
    narrow[:1500, 20:] = 0
    whole, grown = least_squares(walk(narrow, y)), least_squares(lambda: iter(parts))
    np.testing.assert_allclose(grown.coef, whole.coef, rtol=1e-12)
    np.testing.assert_allclose(grown.root, whole.root, rtol=1e-10, atol=1e-15)


def test_what_is_constant_or_perfect_but_for_rounding():
    noise, stamps = NOISE[:50], 1.7e9 + np.arange(50.0)
    X = np.column_stack([np.where(noise > 0, 0.3, 0.1 + 0.2), noise])
    with pytest.warns(DependentFeaturesWarning):
        model = LinearRegression().fit(X, stamps)
    assert model.solution_.kept.tolist() == [False, True]
    assert LinearRegression().fit(stamps[:, None], 3 * stamps + 7).solution_.perfect
    one_off = 3 * stamps + 7
    one_off[17] += 1e-3
    assert not LinearRegression().fit(stamps[:, None], one_off).solution_.perfect


def test_a_perfect_fit_has_no_standard_errors():
    y = [0.1, 0.2, 0.3, 0.4]
    X = np.arange(1.0, 5)[:, None]
    model = LinearRegression().fit(X, y)
    assert (model.rss_, model.r_squared_, model.adjusted_r_squared_) == (0.0, 1.0, 1.0)
    for undefined in (model.standard_errors_, model.covariance_, model.confidence_intervals()):
        assert np.isnan(undefined).all()
    found = model.predict(X, interval="prediction")
    np.testing.assert_allclose(found.prediction, y, rtol=1e-14)
    assert np.isnan([found.low, found.high]).all()
    assert np.isnan(model.likelihood_ratio_tests(X, y).columns["p_value"]).all()
    with refused(DataError, "no-estimate"):
        model.wald_test("x0")


def test_tails_for_any_degrees_of_freedom():
    with ctx.workprec(400):
        for df in (1, 10**9):
            for t in (1e-3, 1.96, 10.0):
                apart([t_tail(t, df)], [exact_f_tail(arb(t) ** 2, 1, df)], 1e-13)
            apart([upper_tail(0.5, 7, df)], [exact_f_tail(arb(0.5), 7, df)], 1e-13)
            for level in (0.01, 0.95, 1 - 1e-6):
                t = arb(t_reach(level, df))
                apart([1 - arb(level)], [exact_f_tail(t * t, 1, df)], 1e-11)

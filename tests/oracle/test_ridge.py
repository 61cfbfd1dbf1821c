"""Ridge regression beside exact fractions, scikit-learn, and rows that stand for the penalty."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge

import linsep
from exact_solve import solved
from linsep import LinearRegression
from linsep.sources.arrays import ArraySource
from refusals import refused

rng = np.random.default_rng(7)


def exact(X, y, weights, l2, intercept):
    """The estimates, the intercept first, the squared residuals and the effective df, as floats."""
    ones = [[Fraction(1)] for _ in y] if intercept else [[] for _ in y]
    Z = [[*one, *map(Fraction, row)] for one, row in zip(ones, X.tolist(), strict=True)]
    each, w, t = (
        range(len(Z[0])),
        list(map(Fraction, weights.tolist())),
        list(map(Fraction, y.tolist())),
    )
    G = [[sum(a * z[i] * z[j] for a, z in zip(w, Z, strict=True)) for j in each] for i in each]
    A = [[G[i][j] + (Fraction(l2) if i == j >= intercept else 0) for j in each] for i in each]
    beta = solved(A, [sum(a * z[i] * b for a, z, b in zip(w, Z, t, strict=True)) for i in each])
    trace = sum(solved(A, [G[i][j] for i in each])[j] for j in each)
    rss = sum(
        a * (b - sum(x * c for x, c in zip(z, beta, strict=True))) ** 2
        for a, z, b in zip(w, Z, t, strict=True)
    )
    return [float(x) for x in beta], float(rss), float(trace)


SMALL = np.array([[1.0, 2.0, 4.0], [2, 1, 3], [4, 4, 9], [3, 7, 1], [5, 2, 8], [0.5, 1, 1.75]])
TABLES = {
    "plain": SMALL,
    "repeated columns": np.column_stack([SMALL, SMALL[:, 0], SMALL[:, 0] + SMALL[:, 1]]),
    "more columns than rows": rng.integers(-9, 9, size=(6, 9)).astype(float),
    "shifted": SMALL + 2.0**30,
    "nearly the same": np.column_stack([SMALL[:, 0], SMALL[:, 0] + SMALL[:, 1] * 2.0**-30]),
}
TARGET = np.array([1.0, 4.0, 2.5, -3.0, 7.0, 0.25])


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(("intercept", "weighted"), [(True, False), (False, True)])
def test_small_tables_in_fractions(name, weighted, intercept):
    X, y = TABLES[name], TARGET[: len(TABLES[name])]
    weights = np.array([1.0, 0.5, 2.0, 3.0, 0.25, 1.5])[: len(y)] if weighted else np.ones(len(y))
    l2 = 4.0 ** np.frexp(np.abs(X).max())[1]
    model = LinearRegression(l2=l2, fit_intercept=intercept).fit(X, y, weights)
    beta, rss, trace = exact(X, y, weights, l2, intercept)
    assert model.params_ == pytest.approx(beta, rel=1e-10, abs=1e-12 * np.abs(beta).max())
    assert model.rss_ == pytest.approx(rss, rel=1e-11, abs=1e-300)
    assert model.n_parameters_ == pytest.approx(trace, rel=1e-12)
    assert model.df_residual_ == pytest.approx(len(y) - trace, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize(
    ("rows", "columns", "l2", "intercept"), [(20_000, 12, 1e-2, True), (300, 60, 30.0, False)]
)
def test_large_tables_beside_scikit_learn(rows, columns, l2, intercept):
    X = rng.normal(size=(rows, columns)) * np.geomspace(0.01, 100, columns) + 3.0
    y = X @ rng.normal(size=columns) + rng.normal(size=rows)
    weights = rng.random(rows) + 0.1
    model = LinearRegression(l2=l2, fit_intercept=intercept).fit(X, y, weights)
    theirs = Ridge(alpha=l2, fit_intercept=intercept, solver="svd").fit(X, y, weights)
    assert np.allclose(model.coef_, theirs.coef_, rtol=1e-8)
    assert model.rss_ == pytest.approx(weights @ (y - theirs.predict(X)) ** 2, rel=1e-9)
    A = np.sqrt(weights)[:, None] * (X - intercept * np.average(X, axis=0, weights=weights))
    s = np.linalg.svd(A, compute_uv=False) ** 2
    assert model.n_parameters_ == pytest.approx(intercept + (s / (s + l2)).sum(), rel=1e-9)
    sparse = LinearRegression(l2=l2, fit_intercept=intercept).fit(sp.csr_array(X), y, weights)
    assert np.allclose(sparse.coef_, model.coef_, rtol=1e-9)
    source = ArraySource(X, y, weights, batch_rows=1000)
    read = LinearRegression(l2=l2, fit_intercept=intercept).fit(source)
    assert np.allclose(read.coef_, model.coef_, rtol=1e-11)


def test_nothing_is_inferred_from_biased_estimates(tmp_path):
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    model = LinearRegression(l2=2.0).fit(X, y)
    for found in (model.standard_errors_, model.p_values_, model.covariance_, model.f_p_value_):
        assert np.isnan(found).all()
    assert "standard errors and tests are not known" in str(model.summary())
    with refused(ValueError, "unsupported", option="l2"):
        model.predict(X, interval="confidence")
    copy = linsep.load(linsep.save(model, tmp_path / "ridge.linsep"))
    assert copy.n_parameters_ == model.n_parameters_
    with refused(ValueError, "bad-option", option="l2"):
        LinearRegression(l2=-1.0).fit(X, y)

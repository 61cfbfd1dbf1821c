"""Robust covariances: exact fractions, published values of Stata and R, statsmodels."""

from fractions import Fraction

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.datasets import grunfeld, longley
from statsmodels.discrete.discrete_model import MNLogit
from statsmodels.regression.tests.results import (
    results_grunfeld_ols_robust_cluster as stata_clusters,
)
from statsmodels.regression.tests.results.results_regression import Longley

from linsep import LinearRegression, LogisticRegression, open_source
from linsep.errors import SeparationWarning
from linsep.linear.least_squares import DependentFeaturesWarning

NAMES = ("HC0", "HC1", "HC2", "HC3", "CR1")
X5, Y5, CLUSTERS5 = [[1], [2], [-1], [3], [4]], [2, 4, 0, 4, 6], ["u", "u", "v", 7, 7]


def fitted(kind, name, X, y, clusters, **how):
    given = {"clusters": clusters} if name == "CR1" else {}
    return kind(covariance=name).fit(X, y, **given, **how)


rng = np.random.default_rng(7)
SMALL = rng.integers(-9, 10, size=(15, 3)).astype(float)
TARGET = np.round(SMALL @ [1.0, -2.0, 0.5] + rng.normal(size=15) * (1 + np.abs(SMALL[:, 0])), 3)
PLACES = rng.integers(0, 5, 15).tolist()


def test_frequency_weights_are_repeated_rows():
    name, copies = "HC3", rng.integers(1, 4, 15)
    model = LinearRegression(weight_type="frequency", covariance=name).fit(SMALL, TARGET, copies)
    repeated = LinearRegression(covariance=name)
    repeated.fit(np.repeat(SMALL, copies, axis=0), np.repeat(TARGET, copies))
    assert model.covariance_ == pytest.approx(repeated.covariance_, rel=1e-11)
    assert model.p_values_ == pytest.approx(repeated.p_values_, rel=1e-10)
    assert model.f_statistic_ == pytest.approx(repeated.f_statistic_, rel=1e-10)


def test_precision_weights_are_those_of_whitened_rows():
    name, weights = "HC2", rng.random(15) + 0.1
    theirs = sm.WLS(TARGET, sm.add_constant(SMALL), weights).fit(cov_type=name, use_t=True)
    model = LinearRegression(covariance=name).fit(SMALL, TARGET, weights)
    assert model.covariance_ == pytest.approx(np.array(theirs.cov_params()), rel=1e-10)
    root = np.sqrt(weights)  # a fit of other rows without an intercept, too
    plain = LinearRegression(covariance=name, fit_intercept=False)
    plain.fit(sm.add_constant(SMALL) * root[:, None], TARGET * root)
    assert model.covariance_ == pytest.approx(plain.covariance_, rel=1e-10)


def test_longley_in_r():
    """Standard errors of R's car::hccm; the constant comes last there."""
    data, published = longley.load_pandas(), Longley()
    for name in NAMES[:4]:
        model = LinearRegression(covariance=name).fit(data.exog.to_numpy(), data.endog.to_numpy())
        expected = getattr(published, f"{name}_se")
        shown = np.roll(model.standard_errors_, -1)
        assert shown == pytest.approx(expected, rel=1e-6, abs=6e-6), name


def by_stata(model, published, order):
    """The published table of Stata, whose constant comes last."""
    table = published.params_table[order]
    np.testing.assert_allclose(model.params_, table[:, 0], rtol=1e-9)
    assert model.standard_errors_ == pytest.approx(table[:, 1], rel=1e-9)
    assert model.statistics_ == pytest.approx(table[:, 2], rel=1e-9)
    assert model.p_values_ == pytest.approx(table[:, 3], rel=1e-8)
    assert model.confidence_intervals() == pytest.approx(table[:, 4:6], rel=1e-9)
    np.testing.assert_allclose(model.covariance_, published.cov[np.ix_(order, order)], rtol=1e-9)
    assert model.f_statistic_ == pytest.approx(published.F, rel=1e-9)
    assert model.r_squared_ == pytest.approx(published.r2, rel=1e-9)


def test_grunfeld_by_company_in_stata():
    """``regress invest mvalue kstock, vce(cluster company)``, of 10 of the 11 companies."""
    data = grunfeld.data.load_pandas().data
    data = data[data["firm"] != "American Steel"]
    X, y = (data[names].astype(np.float32).astype(float)  # as Stata stores them
            for names in (["value", "capital"], "invest"))  # fmt: skip
    model = LinearRegression(covariance="CR1").fit(X, y, clusters=data["firm"])
    by_stata(model, stata_clusters.results_cluster, [2, 0, 1])
    assert model.summary().to_dict()["header"]["clusters"] == 10


def many_rows(random=rng, n=6000):
    X = random.normal(size=(n, 4))
    noise = random.normal(size=n) * np.exp(X[:, 1] / 2)
    clusters = random.integers(0, 30, n)
    effects = random.normal(size=30)
    return X, X @ [1, -1, 0, 0.5] + noise + effects[clusters], clusters


@pytest.mark.parametrize(
    ("name", "far"), [("HC0", 1e6), ("HC1", 0), ("HC2", 1e4), ("HC3", 0), ("CR1", 1e6)]
)
def test_many_rows_in_statsmodels(name, far):
    X, y, clusters = many_rows()
    how = {"cov_type": name}
    if name == "CR1":
        correction = {"groups": clusters, "use_correction": True}
        how = {"cov_type": "cluster", "cov_kwds": correction}
    theirs = sm.OLS(y, sm.add_constant(X)).fit(use_t=True, **how)
    model = fitted(LinearRegression, name, X, y, clusters)
    moved = fitted(LinearRegression, name, X + far, y, clusters)  # of columns far from zero
    errors = moved.standard_errors_[1:]
    assert errors == pytest.approx(model.standard_errors_[1:], rel=1e-8)
    assert model.covariance_ == pytest.approx(theirs.cov_params(), rel=1e-10, abs=1e-15)
    assert model.p_values_ == pytest.approx(theirs.pvalues, rel=1e-9)
    assert model.confidence_intervals() == pytest.approx(theirs.conf_int(), rel=1e-10)
    assert model.f_statistic_ == pytest.approx(theirs.fvalue, rel=1e-10)
    assert model.f_p_value_ == pytest.approx(theirs.f_pvalue, rel=1e-9)
    matrix, values = np.array([[0, 1, 1, 0, 0], [0, 0, 0, 1, 0]]), np.array([0, 0.1])
    expected = theirs.wald_test((matrix, values), use_f=True, scalar=True)
    found = model.wald_test(matrix, values)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-9)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-8)
    A = sm.add_constant(X[:50])
    reach = np.sqrt(np.einsum("ij,jk,ik->i", A, theirs.cov_params(), A))
    low, high = theirs.conf_int(0.05)[1]
    half = (high - low) / 2 / theirs.bse[1] * reach  # the same quantile of t
    bands = model.predict(X[:50], interval="confidence")
    assert bands.high - bands.prediction == pytest.approx(half, rel=1e-9)


@pytest.mark.parametrize("name", ["HC0", "CR1"])
def test_two_classes_in_statsmodels(name):
    X, y, clusters = many_rows(np.random.default_rng(3))
    y = (y > 0).astype(int)
    how = {"cov_type": "HC0"}
    if name == "CR1":
        correction = {"groups": clusters, "use_correction": True}
        how = {"cov_type": "cluster", "cov_kwds": correction, "use_t": True}
    theirs = sm.Logit(y, sm.add_constant(X)).fit(disp=0, tol=1e-14, maxiter=100, **how)
    model = fitted(LogisticRegression, name, X, y, clusters)
    assert model.covariance_ == pytest.approx(theirs.cov_params(), rel=1e-9)
    assert model.p_values_ == pytest.approx(theirs.pvalues, rel=1e-9)
    assert model.confidence_intervals() == pytest.approx(theirs.conf_int(), rel=1e-9)
    rows = np.column_stack([np.zeros(2), np.eye(2), np.zeros((2, 2))])
    expected = theirs.wald_test(rows, use_f=name == "CR1", scalar=True)
    found = model.wald_test(rows)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-8)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-8)


def test_several_classes_in_statsmodels():
    reference = 0
    X, y, clusters = many_rows(np.random.default_rng(5), 2000)
    y = np.digitize(y, [-1.0, 1.0])
    how = {
        "cov_type": "cluster",
        "cov_kwds": {"groups": clusters, "use_correction": True},
    }
    order = [reference, *(k for k in range(3) if k != reference)]  # the first of statsmodels
    theirs = MNLogit(np.argsort(order)[y], sm.add_constant(X)).fit(
        disp=0, tol=1e-14, maxiter=100, **how
    )
    model = LogisticRegression(covariance="CR1", reference=reference).fit(X, y, clusters=clusters)
    assert model.covariance_ == pytest.approx(theirs.cov_params(), rel=1e-8, abs=1e-13)


#: x, z, y and weights of some rows, one of weight 0
WEIGHTED = np.array([
    [-1.5, 1, 0, 0.5], [0.25, 0, 0, 1.25], [1, 1, 1, 2], [2, 1, 1, 0.75], [-0.5, 0, 1, 1],
    [0.75, 0, 0, 1.5], [1.25, 1, 1, 0.25], [-2, 0, 0, 2.5], [0.5, 1, 0, 1], [3, 0, 1, 0.5],
    [-1, 0, 0, 0], [1.5, 1, 0, 1.75], [0, 1, 1, 3], [2.5, 0, 1, 0.8],
])  # fmt: skip
#: of R's glm(y ~ x + z, binomial, weights = w): sandwich::vcovHC
HC1_OF_R = [0.988840346300324, 0.482399395844640, 1.478243656324666]


def test_scores_of_weighted_rows_as_in_r(tmp_path):
    *X, y, weights = WEIGHTED.T
    X, name = np.column_stack(X), "HC1"
    model = LogisticRegression(covariance=name).fit(X, y, weights)
    assert model.standard_errors_ == pytest.approx(HC1_OF_R, rel=1e-8)
    path = tmp_path / "rows.csv"
    rows = [",".join(map(str, row)) for row in np.column_stack([X, y, weights]).tolist()]
    path.write_text("\n".join(["x,z,y,w", *rows]))
    source = open_source(path, target="y", weight="w")
    streamed = LogisticRegression(covariance=name).fit(source)
    np.testing.assert_array_equal(streamed.covariance_, model.covariance_)
    of_classes = {0: 3.0, 1: 0.7}
    twice = LogisticRegression(covariance=name, class_weight=of_classes).fit(X, y, weights)
    both = LogisticRegression(covariance=name).fit(X, y, weights * np.where(y, 0.7, 3.0))
    assert twice.covariance_ == pytest.approx(both.covariance_, rel=1e-9)


def test_scores_that_cancel_in_every_cluster_have_no_error():
    """In each cluster as many rows are 1 as expected, so that the covariance is exactly zero."""
    X, y = [[0]] * 6 + [[1]] * 4, [1, 0, 0, 1, 0, 0, 1, 0, 1, 0]
    clusters = [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]
    model = LogisticRegression(covariance="CR1").fit(X, y, clusters=clusters)
    assert not model.standard_errors_.any()
    assert np.isnan(model.p_values_).all()


def test_limit_of_a_likelihood_without_a_maximum():
    """At x = 1 all rows are 1: the slope diverges, and the rows at 0 determine the intercept."""
    X, y, clusters = [[0]] * 5 + [[1]] * 3, [0, 1, 1, 0, 0, 1, 1, 1], [1, 1, 2, 3, 3, 4, 5, 5]
    variance = {"HC0": Fraction(5, 6), "HC1": Fraction(5, 6) * Fraction(8, 6)}
    # scores y - 2/5 of the clusters at 0: 1/5, 3/5, -4/5
    squares = Fraction(1 + 9 + 16, 25) / Fraction(6, 5) ** 2
    variance["CR1"] = squares * Fraction(5, 4) * Fraction(7, 6)
    for name, expected in variance.items():
        with pytest.warns(SeparationWarning):
            model = fitted(LogisticRegression, name, X, y, clusters)
        assert model.params_ == pytest.approx([np.log(2 / 3), np.inf])
        assert model.standard_errors_[0] ** 2 == pytest.approx(float(expected), rel=1e-9)
        assert np.isnan(model.standard_errors_[1])


def test_dependent_columns_have_no_errors_and_change_nothing():
    name = "CR1"
    X = np.column_stack([SMALL, SMALL[:, 0] - SMALL[:, 1], np.ones(15)])
    with pytest.warns(DependentFeaturesWarning):
        model = fitted(LinearRegression, name, X, TARGET, PLACES)
    plain = fitted(LinearRegression, name, SMALL, TARGET, PLACES)
    assert np.isnan(model.standard_errors_[4:]).all()
    assert model.standard_errors_[:4] == pytest.approx(plain.standard_errors_, rel=1e-12)
    assert model.f_statistic_ == pytest.approx(plain.f_statistic_, rel=1e-11)
    assert model.predict(X, "confidence").low == pytest.approx(
        plain.predict(SMALL, "confidence").low, rel=1e-11
    )


def test_f_of_too_few_clusters_is_not_defined():
    model = LinearRegression(covariance="CR1").fit(SMALL, TARGET, clusters=[0] * 7 + [1] * 8)
    assert np.isnan(model.f_statistic_)
    assert np.isnan(model.f_p_value_)
    assert model.p_values_ == pytest.approx(  # t with one degree of freedom: Cauchy's
        1 - 2 / np.pi * np.arctan(np.abs(model.statistics_)), rel=1e-9
    )

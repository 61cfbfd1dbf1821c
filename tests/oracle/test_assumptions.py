"""What data say about the assumptions of a linear regression: the numbers of statsmodels."""

import numpy as np
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from scipy.stats import shapiro
from statsmodels.stats.diagnostic import het_breuschpagan, het_white, linear_reset
from statsmodels.stats.stattools import durbin_watson, jarque_bera

from linsep import LinearRegression
from refusals import refused


def data(name):
    loaded = getattr(sm.datasets, name).load()
    X, y = np.asarray(loaded.exog, dtype=float), np.asarray(loaded.endog, dtype=float)
    return X[:, np.ptp(X, axis=0) > 0], y


@pytest.mark.filterwarnings("ignore:The design matrix is rank-deficient")
@pytest.mark.parametrize(
    ("name", "weighted"), [("stackloss", True), ("ccard", False), ("longley", False)]
)
def test_as_statsmodels(name, weighted):
    X, y = data(name)
    weights = 0.5 + np.arange(y.size) % 3 if weighted else None
    found = LinearRegression().fit(X, y, weights).assumptions(X, y, weights)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    Z = sm.add_constant(scaled)
    theirs = (sm.OLS(y, Z) if weights is None else sm.WLS(y, Z, weights)).fit(method="qr")
    near = {"rtol": 1e-7, "atol": 1e-10}
    np.testing.assert_allclose(found.pearson, theirs.wresid, atol=1e-9 * np.abs(y).max())
    np.testing.assert_allclose(
        found["Durbin-Watson"].statistic, durbin_watson(theirs.wresid), **near
    )
    jb = jarque_bera(theirs.wresid)
    np.testing.assert_allclose(found["Jarque-Bera"][2:4], jb[:2], **near)
    np.testing.assert_allclose(found["Shapiro-Wilk"][2:4], shapiro(theirs.wresid), **near)
    np.testing.assert_allclose(
        found["Breusch-Pagan"][2:4], het_breuschpagan(theirs.wresid, Z)[:2], **near
    )
    if name != "longley":  # it has as many products of features as rows
        np.testing.assert_allclose(found["White"][2:4], het_white(theirs.wresid, Z)[:2], **near)
    if not weighted:
        powers = np.vander((theirs.fittedvalues - y.mean()) / y.std(), 4)[:, :2]
        more = sm.OLS(y, np.column_stack([Z, powers])).fit(method="qr")
        np.testing.assert_allclose(found["RESET"][2:4], more.compare_f_test(theirs)[:2], **near)
        if name != "longley":  # powers of 60,000, not centered, are too much for their digits
            reset = linear_reset(theirs, power=3, test_type="fitted", use_f=True)
            wanted = [reset.fvalue, reset.pvalue]
            np.testing.assert_allclose(found["RESET"][2:4], wanted, rtol=1e-4)
        worst = theirs.outlier_test()[:, 2].min()
        np.testing.assert_allclose(found["studentized residual"].p_value, worst, **near)


def test_sparse_rows_say_the_same():
    X, y = data("ccard")
    model = LinearRegression().fit(X, y)
    assert str(model.assumptions(sp.csr_matrix(X), y)) == str(model.assumptions(X, y))


def test_each_assumption_is_asked_and_each_breach_is_seen():
    rng = np.random.default_rng(0)
    x, noise = rng.uniform(-2, 2, 400), rng.standard_normal(400)

    def ask(y):
        return LinearRegression().fit(x[:, None], y).assumptions(x[:, None], y)

    good = ask(x + noise)
    tests = ("RESET", "Breusch-Pagan", "White", "Jarque-Bera", "Shapiro-Wilk")
    assert all(good[test].p_value > 0.05 for test in tests)
    assert ask(x**2 + noise)["RESET"].p_value < 1e-6
    assert ask(x + noise * (3 + x))["Breusch-Pagan"].p_value < 1e-6
    assert ask(x + noise * x**2)["White"].p_value < 1e-6
    assert ask(x + np.exp(noise))["Shapiro-Wilk"].p_value < 1e-6
    assert ask(x + np.cumsum(noise))["Durbin-Watson"].statistic < 0.5
    moved = x + noise
    moved[17] += 9
    assert "row 17" in ask(moved)["studentized residual"].conclusion


def test_where_nothing_can_be_asked_it_says_so():
    x = np.arange(6.0)[:, None]
    found = LinearRegression().fit(x, 2 * x[:, 0]).assumptions(x, 2 * x[:, 0])
    assert np.isnan([one.statistic for one in found.findings]).sum() == 8
    two = LinearRegression().fit(x[:2], [1.0, 5.0]).assumptions(x[:2], [1.0, 5.0])
    assert np.isnan(two["RESET"].p_value)


def test_other_rows_than_those_of_the_fit_are_refused():
    X, y = data("stackloss")
    model = LinearRegression().fit(X, y)
    for rows, target in ((X[:5], y[:5]), (X, y[::-1])):
        with refused(ValueError, "other-rows"):
            model.assumptions(rows, target)
    with refused(ValueError, "other-rows"):
        LinearRegression().fit(X, y, np.arange(1, 22)).assumptions(X, y)


X = np.arange(1.0, 9).reshape(-1, 1)
Y = np.array([1.1, 2.9, 2.4, 4.9, 4.4, 6.9, 6.2, 8.6])


def test_copies_of_rows_have_no_order_and_the_numbers_of_their_row():
    counts = np.array([3, 3, 0, 3, 1, 3, 3, 2])
    model = LinearRegression(weight_type="frequency").fit(X, Y, counts)
    found = model.assumptions(X, Y, counts)
    for test in ("Durbin-Watson", "Shapiro-Wilk"):
        assert np.isnan(found[test].statistic)
    assert found.numbers.tolist() == np.repeat(np.arange(8), counts).tolist()
    farthest = int(found.numbers[np.argmax(np.abs(found.studentized))])
    assert found["studentized residual"].conclusion.startswith(f"row {farthest};")


def test_rows_are_numbered_as_they_are_given():
    weights = np.array([0, 0, 1, 1, 1, 1, 1, 1.0])
    y = np.array([1.1, 2.3, 2.9, 4.2, 9.9, 6.1, 6.8, 8.3])
    found = LinearRegression().fit(X, y, weights).assumptions(X, y, weights)
    assert found["studentized residual"].conclusion.startswith("row 4;")


def test_more_products_than_rows_explain_anything():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 40)), rng.normal(size=300)
    found = LinearRegression().fit(X, y).assumptions(X, y)
    assert np.isnan(found["White"].statistic)
    assert found["Breusch-Pagan"].p_value > 0


def test_products_that_repeat_are_fewer_than_rows():
    """Of indicators a square is the column itself, and many products are zero."""
    rng = np.random.default_rng(0)
    X = np.eye(12)[rng.integers(0, 12, 80)][:, 1:]
    y = rng.normal(size=80)
    found = LinearRegression().fit(X, y).assumptions(X, y)
    assert found["White"].statistic == pytest.approx(found["Breusch-Pagan"].statistic)

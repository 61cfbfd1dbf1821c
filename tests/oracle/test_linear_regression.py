"""Linear regression: worked numbers, what statisticians' software says, bad input."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from sklearn.datasets import load_diabetes
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_least_squares import digits

from linsep import LinearRegression, datasets, open_source
from linsep.linear.least_squares import DependentFeaturesWarning
from refusals import refused


@pytest.mark.thorough
@parametrize_with_checks([LinearRegression(), LinearRegression(fit_intercept=False)])
def test_check_estimator(estimator, check):
    with warnings.catch_warnings():  # some checks have fewer rows than columns
        warnings.simplefilter("ignore", DependentFeaturesWarning)
        check(estimator)


def test_worked_numbers():
    model = LinearRegression().fit([[1], [2], [-1], [3], [4]], [2, 4, 0, 4, 6])
    assert model.coef_[0] == pytest.approx(43 / 37, rel=1e-15)
    assert model.intercept_ == pytest.approx(41 / 37, rel=1e-15)
    assert round(model.correlation_, 5) == 0.98032


def test_moments_of_one_feature_and_the_target():
    X, y = datasets.load_blood_pressure(return_X_y=True, as_frame=True)
    model = LinearRegression().fit(X, y.rename("pressure"))
    found = model.moments_
    covariance = np.cov(X["age"], y)
    assert found.mean_x == pytest.approx(X["age"].mean(), rel=1e-14)
    assert found.mean_y == pytest.approx(y.mean(), rel=1e-14)
    assert found.variance_x == pytest.approx(covariance[0, 0], rel=1e-13)
    assert found.variance_y == pytest.approx(covariance[1, 1], rel=1e-13)
    assert found.covariance == pytest.approx(covariance[0, 1], rel=1e-13)
    assert model.summary().title == "Linear regression of pressure"
    rss = ((y - model.predict(X)) ** 2).sum()
    assert model.summary().to_dict()["header"]["residual sum of squares"] == pytest.approx(rss)


@pytest.mark.parametrize(
    ("name", "weighted", "intercept"),
    [("longley", False, True), ("stackloss", True, False), ("ccard", True, True)],
)  # fmt: skip
def test_as_statsmodels_on_its_own_data(name, weighted, intercept):
    data = getattr(sm.datasets, name).load()
    X, y = np.atleast_2d(np.asarray(data.exog, float).T).T, np.asarray(data.endog, float)
    constant = np.ptp(X, axis=0) == 0
    X = X[:, ~constant]
    weights = 0.5 + np.arange(y.size) % 5 if weighted else None
    model = LinearRegression(fit_intercept=intercept).fit(X, y, weights)
    found = model
    Z = np.column_stack([np.ones(y.size), X]) if intercept else X
    # by QR of columns of length one, or its own digits are not enough to compare with
    lengths = np.linalg.norm(Z, axis=0)
    theirs = sm.WLS(y, Z / lengths, 1.0 if weights is None else weights).fit(method="qr")
    assert digits(found.params_, theirs.params / lengths) > 8
    assert digits(found.standard_errors_, theirs.bse / lengths) > 8
    assert digits(found.p_values_, theirs.pvalues) > 7  # of Longley's, theirs are right to 7
    assert digits(found.confidence_intervals(0.9), theirs.conf_int(0.1) / lengths[:, None]) > 7
    assert digits(found.log_likelihood_, theirs.llf) > 9
    assert digits(found.residual_variance_, theirs.mse_resid) > 9
    if intercept:
        ours = [
            found.r_squared_,
            found.adjusted_r_squared_,
            found.f_statistic_,
            found.aic_,
            found.bic_,
        ]
        others = [theirs.rsquared, theirs.rsquared_adj, theirs.fvalue, theirs.aic, theirs.bic]
        assert digits(ours, others) > 8
        assert digits(found.f_p_value_, theirs.f_pvalue) > 7.5
    new = X[:5] * 1.1
    told = theirs.get_prediction(
        (np.column_stack([np.ones(5), new]) if intercept else new) / lengths
    )
    frame = told.summary_frame(alpha=0.2)
    for interval, columns in (
        ("confidence", ["mean", "mean_ci_lower", "mean_ci_upper"]),
        ("prediction", ["mean", "obs_ci_lower", "obs_ci_upper"]),
    ):
        bands = model.predict(new, interval=interval, level=0.8)
        assert digits(np.column_stack(bands), frame[columns].to_numpy()) > 6.5


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True, as_frame=True)


def test_sparse_rows_and_files_are_dense_rows(diabetes, tmp_path):
    X, y = diabetes
    model = LinearRegression().fit(X, y)
    sparse = LinearRegression().fit(sp.csr_matrix(X.to_numpy()), y)
    assert digits(sparse.coef_, model.coef_) > 15
    X.assign(y=y).to_csv(tmp_path / "diabetes.csv", index=False)
    source = open_source(tmp_path / "diabetes.csv", target="y")
    read = LinearRegression().fit(source)
    assert digits(read.coef_, model.coef_) > 15
    again = open_source(tmp_path / "diabetes.csv", recipe=read.recipe_)
    assert digits(read.predict(again), model.predict(X)) > 13
    assert read.score(again) == pytest.approx(model.score(X, y), rel=1e-12)


def test_dependent_features_are_left_out_as_r_does_it(diabetes):
    X, y = diabetes
    wide = X.assign(sum=X["age"] + 2 * X["bmi"], one=0.1, again=X["s1"], none=0.0)
    with pytest.warns(DependentFeaturesWarning):
        model = LinearRegression().fit(wide, y)
    plain = LinearRegression().fit(X, y)
    assert digits(model.coef_[:10], plain.coef_) > 12
    assert not model.coef_[10:].any()
    assert str(model.summary()).count("dependent") == 4
    assert digits(model.aic_, plain.aic_) > 12


def test_rows_of_weight_zero_are_left_out(diabetes):
    X, y = diabetes
    weights = np.arange(442) % 3
    model = LinearRegression().fit(X, y, weights)
    some = weights > 0
    without = LinearRegression().fit(X[some], y[some], weights[some])
    assert str(model.summary()) == str(without.summary())


def test_bad_input_is_refused():
    X = [[1.0], [2.0]]
    for rows, y, code in (
        (X, [1.0, np.nan], "missing-value"), (X, [-np.inf, 1.0], "not-finite"),
        (X, [1.0, 1.0j], "label-type"), (X, ["a", "b"], "not-a-number"), (X, [1.0], "shape"),
        (sp.csr_matrix(([1.0, 2], ([0, 1], [3, 19_999])), shape=(2, 20_000)), [1, 2], "too-large"),
    ):  # fmt: skip
        with refused(ValueError, code):
            LinearRegression().fit(rows, y)


def test_bad_questions():
    model = LinearRegression().fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0])
    with refused(ValueError, "bad-option", option="interval"):
        model.predict([[1.0]], interval="both")
    with refused(ValueError, "bad-option", option="level"):
        model.predict([[1.0]], interval="prediction", level=95)

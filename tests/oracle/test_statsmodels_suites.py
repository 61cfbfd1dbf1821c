"""Tests of statsmodels' own suites that are about its linear and logistic regressions, on linsep.

``tests/helpers/statsmodels_adapter.py`` stands in for its classes, and the tests run as they are
installed, against the results of Stata, R and SAS that come with them. Counted are those that ask
the stand-ins for something, and are neither skipped nor expected to fail. Each that does not pass
has a reason; it leaves the table when it passes.
"""

import json
import os
import re
import subprocess
import sys

import pytest

from documents import ROOT

statsmodels = pytest.importorskip("statsmodels")

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.thorough,
    pytest.mark.skipif(not statsmodels.__version__.startswith("0.15."), reason="other suites"),
]

#: suite of statsmodels: tests that ask, and those of them that pass
COUNTS = {
    "regression.tests.test_regression": (334, 275),
    "regression.tests.test_robustcov": (251, 92),
    "discrete.tests.test_discrete": (237, 92),
    "genmod.tests.test_glm": (74, 29),
}

#: why the others do not, by patterns: ``Class::*`` is all tests of a class
REASONS = {
    "regression.tests.test_regression": {
        "R^2 without an intercept is about zero, as in R": "test_const_indicator",
        "announcements of changes of statsmodels": """
            TestCompareAndElTestNamedTuple::test_el_test_result_object_default_warns""",
        "condition indices of scaled columns, not of raw ones": """
            TestOLS::test_eigenvalues test_condition_number*""",
        "degrees of freedom that the caller changes": """
            TestDataDimensions::test_degrees TestGLS_large_data::test_degrees
            TestNx*::test_degrees""",
        "estimators refuse missing values, which linsep.fit drops": """
            TestOLS::test_missing test_wls_missing""",
        "its own layout of tables": """
            TestOLS::test_summary_slim test_slim_summary* test_summary_after_remove_data[OLS]
            test_summary_as_latex test_summary_no_constant""",
        "nested least squares are compared by F": """
            TestCompareAndElTestNamedTuple::test_compare_lr_test_returns_namedtuple""",
        "no AICc and no criterion of Hannan and Quinn": """
            TestDataDimensions::test_aic TestGLS_large_data::test_aic TestNx*::test_aic
            TestOLS::test_aic TestRTO::test_aic TestWLS*::test_aic""",
        "no empirical likelihood": """
            TestCompareAndElTestNamedTuple::test_el_test_invalid_method_raises
            TestCompareAndElTestNamedTuple::test_el_test_result_object_true_*
            test_conf_int_el_matches_own_critical_value_and_shrinks""",
        "no likelihood, score or Hessian at other parameters than the estimates": """
            test_hessian_factor_gls_wls_matches_numerical_hessian""",
        "no models of an intercept alone": """
            TestWLS_CornerCases::* test_conf_int_single_regressor test_ols_constant""",
        "other warnings and errors, some of them later": """
            TestOLS::test_rsquared_adj_overfit test_bad_size test_fit_invalid_method_raises""",
        "penalties with l1 or of single features": "TestRegularizedFit::* test_r*",
        "residuals of a perfect fit are not standardized": "TestOLS::test_norm_resid_zero_variance",
        "score tests of more columns only, at the estimates and without a robust covariance": """
            TestLM::*n TestLM::test_LM_nonnested""",
        "sums of squares that are equal to the last bit": "test_wls_tss",
        "the variance of residuals is estimated": "test_ols_wls_fixed_scale",
    },
    "regression.tests.test_robustcov": {
        "a p-value of 2e-35 in 13 digits, of a t that is rounded in the 16th": """
            TestWLSOLSRobustSmall::test_all""",
        "CR1 always has its correction": """
            Test*::test_hc3_vs_crv3 TestOLSRobustCluster2Large* TestWLSRobustCluster2Large::*""",
        "least squares have t and F, logistic regressions z and chi-squared": """
            TestOLSRobust2LargeNew::test_ttest""",
        "no clusters of two kinds": """
            TestOLSRobustCluster2G* TestOLSRobustCluster2Input::test_2way_dataframe
            TestOLSRobustCluster2Input::test_too_many_groups""",
        "no clusters with weights": "TestWLSRobustCluster2::*",
        "no covariances of the caller's": """
            TestOLSRobustHac*::test_t* TestOLSRobustHac*_test_summary""",
        "no covariances of time series and panels": """
            TestOLSRobustClusterGS* TestOLSRobustClusterNWP* TestOLSRobustHACSmallNew::*
            test_qr_equiv[cov_info5]""",
        "no jackknife of clusters": """
            Test*::test_cr3_vs_r TestClusterJKvsRSandwich::test_*
            TestClusterJackknifeRegressions::*s[cluster-crv3]
            TestClusterJackknifeRegressions::*s[cluster-jk]
            TestClusterJackknifeRegressions::*_type[cluster-crv3*
            TestClusterJackknifeRegressions::*_type[cluster-jk-*
            TestClusterJackknifeRegressions::test_df_correction_adjusts_df_resid_inference[cluster-*
            test_qr_equiv[cov_info7] test_qr_equiv[cov_info8]""",
        "other attributes of theirs": """
            TestClusterJackknifeRegressions::test_description_matches_cov_type[cluster-(CRV1)]""",
        "other warnings and errors, some of them later": "TestOLSRobust2SmallNew::test_compare",
        "the variance of residuals is estimated": """
            TestWLSOLSRobustSmall::test_fixed_scale test_cov_type_fixed_scale""",
    },
    "discrete.tests.test_discrete": {
        "announcements of changes of statsmodels": "test_issue_8943",
        "its own layout of tables": """
            TestLogit*::test_summary_latex TestMNLogitNewtonBaseZero::test_endog_names
            TestMNLogitNewtonBaseZero::test_summary_latex test_issue_339
            test_summary_after_remove_data[*""",
        "no AICc and no criterion of Hannan and Quinn": "test_binary_results_info_criteria",
        "no distributions as objects": """
            TestLogit*::test_distr TestMNLogitNewtonBaseZero::test_distr
            test_logit_family_is_binomial""",
        "no effects of one more count": "TestLogit*::test_count_d*",
        "no elasticities": """
            TestLogit*::test_dummy_eydx* TestLogit*::test_nodummy_dyex*
            TestLogit*::test_nodummy_ey* TestMNLogitNewtonBaseZero::test_margeff_dummy""",
        "no likelihood, score or Hessian at other parameters than the estimates": """
            Test*::test_jac Test*::test_loglikeobs TestMNLogitLBFGSBaseZero::*
            TestMNLogitScoreTest::*_factor_consistency""",
        "no models of an intercept alone": "test_binary_pred_table_zeros",
        "other attributes of theirs": """
            TestLogit*::test_resid_generalized TestMNLogitNewtonBaseZero::test_resid
            test_cov_confint_pandas test_mnlogit_basinhopping""",
        "other warnings and errors, some of them later": "test_non_binary test_perfect_prediction",
        "penalties with l1 or of single features": """
            TestL1AlphaZero* TestLogit*::test_f* TestLogitL1* TestMNLogitL1*
            TestMNLogitNewtonBaseZero::test_fit_regularized_invalid_method""",
        "residuals of two classes only": "test_mnlogit_resid_response",
        "score tests of more columns only, at the estimates and without a robust covariance": """
            TestMNLogitScoreTest::test_score_test_hc0""",
    },
    "genmod.tests.test_glm": {
        "its own layout of tables": "TestGlmB*::test_summary2",
        "no AICc and no criterion of Hannan and Quinn": "test_qaic",
        "no Anscombe residuals": "TestGlmB*::test_residuals",
        "no BIC from the deviance": "TestGlmB*::test_bic",
        "no R^2 but those of McFadden": "TestGlmBinomial::test_prsquared",
        "no distributions as objects": "TestGlmB*::test_get_distribution",
        "no fits without iterations": "test_loglike_no_opt",
        "no likelihood, score or Hessian at other parameters than the estimates": """
            TestGlmBernoulli::test_compare_discrete
            test_derivative_predict_matches_numerical_derivative test_gradient_irls*""",
        "no residuals of counts": "TestGlmBinomial::test_pearson_chi2",
        "no shares as outcomes": "TestWtdGlmBinomial::*",
        "no standard errors of probabilities": "TestGlmBernoulli::test_get_prediction",
        "other attributes of theirs": """
            TestConvergence::test_convergence_atol_only
            TestGlmBinomial::test_get_distribution_binom_count
            TestRegularized::test_regularized_elastic_net_method_alias""",
        "other pictures": "test_plots",
        "other warnings and errors, some of them later": """
            TestGlmBinomial::test_invalid_endog
            TestRegularized::test_regularized_l1_slsqp_no_convergence_warns test_perfect_pred""",
        "penalties with l1 or of single features": """
            TestRegularized::*t TestRegularized::test_regularized
            TestRegularized::test_regularized_l1_slsqp_fit_history_iteration
            TestRegularized::test_regularized_l1_slsqp_vs_*
            TestRegularized::test_regularized_method_errors""",
        "score tests of more columns only, at the estimates and without a robust covariance": """
            TestGlmBernoulli::test_score_test""",
    },
}


def outcomes(suite, folder):
    """Run a suite of statsmodels in a process of its own; returns what became of each test."""
    known = os.environ.get("PYTHONPATH", "")
    paths = [str(ROOT / "src"), str(ROOT / "tests" / "helpers"), known]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths), "SUITES_OUTCOMES": str(folder / "outcomes.json"),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider",
         "-p", "statsmodels_adapter", "--pyargs", f"statsmodels.{suite}"],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (folder / "outcomes.json").exists(), done.stdout + done.stderr
    found = json.loads((folder / "outcomes.json").read_text("utf-8"))
    return {test.split("::", 1)[1]: said for test, said in found.items() if said[0] != "skipped"}


def fits(test, pattern):
    """Whether a test is one of a pattern of the table, where a star is any text."""
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), test) is not None


@pytest.mark.parametrize("suite", COUNTS)
def test_suite_of_statsmodels(suite, tmp_path):
    found = outcomes(suite, tmp_path)
    patterns = [pattern for some in REASONS[suite].values() for pattern in some.split()]
    assert [one for one in patterns if not any(fits(test, one) for test in found)] == []
    listed = {test for test in found if any(fits(test, pattern) for pattern in patterns)}
    without = {test: said for test, said in found.items() if said[0] != "passed"}
    assert {test: said for test, said in without.items() if test not in listed} == {}
    assert sorted(listed - without.keys()) == []  # it passes: take it out of the table
    assert (len(found), len(found) - len(without)) == COUNTS[suite]

"""Tests of statsmodels' own suites that are about its linear and logistic regressions, on linsep.

``tests/helpers/statsmodels_adapter.py`` stands in for its classes, and the tests run as they are
installed, against the results of Stata, R and SAS that come with them. Counted are those that ask
the stand-ins for something, and are neither skipped nor expected to fail. Each that does not pass
has a reason; it leaves the table when it passes.
"""

import json
import os
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
    "regression.tests.test_regression": (334, 276),
    "regression.tests.test_robustcov": (251, 93),
    "discrete.tests.test_discrete": (237, 92),
    "genmod.tests.test_glm": (74, 29),
}

#: why the others do not; ``Class::*`` is all tests of a class
REASONS = {
    "regression.tests.test_regression": {
        "R^2 without an intercept is about zero, as in R": [
            "test_const_indicator",
        ],
        "announcements of changes of statsmodels": [
            "TestCompareAndElTestNamedTuple::test_el_test_result_object_default_warns",
        ],
        "condition indices of scaled columns, not of raw ones": [
            "TestOLS::test_eigenvalues",
            "test_condition_number",
            "test_condition_number_nonpositive_eigval",
        ],
        "degrees of freedom that the caller changes": [
            "TestDataDimensions::test_degrees",
            "TestGLS_large_data::test_degrees",
            "TestNxNx::test_degrees",
            "TestNxOneNx::test_degrees",
            "TestNxNxOne::test_degrees",
        ],
        "estimators refuse missing values, which linsep.fit drops": [
            "TestOLS::test_missing",
            "test_wls_missing",
        ],
        "its own layout of tables": [
            "TestOLS::test_summary_slim",
            "test_summary_as_latex",
            "test_summary_no_constant",
            "test_slim_summary",
            "test_slim_summary_skips_diagnostics",
            "test_summary_after_remove_data[OLS]",
        ],
        "nested least squares are compared by F": [
            "TestCompareAndElTestNamedTuple::test_compare_lr_test_returns_namedtuple",
        ],
        "no AICc and no criterion of Hannan and Quinn": [
            "TestOLS::test_aic",
            "TestRTO::test_aic",
            "TestWLSExogWeights::test_aic",
            "TestWLSScalarVsArray::test_aic",
            "TestWLS_GLS::test_aic",
            "TestWLS_OLS::test_aic",
            "TestDataDimensions::test_aic",
            "TestGLS_large_data::test_aic",
            "TestNxNx::test_aic",
            "TestNxOneNx::test_aic",
            "TestNxNxOne::test_aic",
        ],
        "no empirical likelihood": [
            "TestCompareAndElTestNamedTuple::test_el_test_invalid_method_raises",
            "TestCompareAndElTestNamedTuple::test_el_test_result_object_true_full",
            "TestCompareAndElTestNamedTuple::test_el_test_result_object_true_nuisance",
            "test_conf_int_el_matches_own_critical_value_and_shrinks",
        ],
        "no likelihood, score or Hessian at other parameters than the estimates": [
            "test_hessian_factor_gls_wls_matches_numerical_hessian",
        ],
        "no models of an intercept alone": [
            "TestWLS_CornerCases::*",
            "test_conf_int_single_regressor",
            "test_ols_constant",
        ],
        "other warnings and errors, some of them later": [
            "TestOLS::test_rsquared_adj_overfit",
            "test_bad_size",
            "test_fit_invalid_method_raises",
        ],
        "penalties with l1 or of single features": [
            "TestRegularizedFit::*",
            "test_ridge",
            "test_regularized_refit",
            "test_regularized_predict",
            "test_regularized_options",
        ],
        "residuals of a perfect fit are not standardized": [
            "TestOLS::test_norm_resid_zero_variance",
        ],
        "score tests of more columns only, at the estimates and without a robust covariance": [
            "TestLM::test_LM_heteroskedastic_nodemean",
            "TestLM::test_LM_heteroskedastic_demean",
            "TestLM::test_LM_heteroskedastic_LRversion",
            "TestLM::test_LM_nonnested",
        ],
        "the variance of residuals is estimated": [
            "test_ols_wls_fixed_scale",
        ],
    },
    "regression.tests.test_robustcov": {
        "CR1 always has its correction": [
            "TestOLSRobustCluster2Large::*",
            "TestOLSRobustCluster2LargeFit::*",
            "TestWLSRobustCluster2Large::*",
            "TestOLSRobustClusterJK::test_hc3_vs_crv3",
            "TestWLSRobustClusterJK::test_hc3_vs_crv3",
        ],
        "least squares have t and F, logistic regressions z and chi-squared": [
            "TestOLSRobust2LargeNew::test_ttest",
        ],
        "no clusters of two kinds": [
            "TestOLSRobustCluster2Input::test_too_many_groups",
            "TestOLSRobustCluster2Input::test_2way_dataframe",
            "TestOLSRobustCluster2G::*",
            "TestOLSRobustCluster2GLarge::*",
        ],
        "no clusters with weights": [
            "TestWLSRobustCluster2::*",
        ],
        "no covariances of the caller's": [
            "TestOLSRobustHacSmall::test_t_test_summary",
            "TestOLSRobustHacSmall::test_t_test_summary_frame",
            "TestOLSRobustHacSmall::test_f_test_summary",
            "TestOLSRobustHacSmall::test_tests",
            "TestOLSRobustHacLarge::test_t_test_summary",
            "TestOLSRobustHacLarge::test_t_test_summary_frame",
            "TestOLSRobustHacLarge::test_f_test_summary",
            "TestOLSRobustHacLarge::test_tests",
        ],
        "no covariances of time series and panels": [
            "TestOLSRobustHACSmallNew::*",
            "TestOLSRobustClusterGS::*",
            "TestOLSRobustClusterGSFit::*",
            "TestOLSRobustClusterNWP::*",
            "TestOLSRobustClusterNWPGroupsFit::*",
            "test_qr_equiv[cov_info5]",
        ],
        "no jackknife of clusters": [
            "test_qr_equiv[cov_info7]",
            "test_qr_equiv[cov_info8]",
            "TestOLSRobustClusterJK::test_cr3_vs_r",
            "TestWLSRobustClusterJK::test_cr3_vs_r",
            "TestClusterJackknifeRegressions::test_noncontiguous_integer_labels_match_contiguous[cluster-crv3]",
            "TestClusterJackknifeRegressions::test_noncontiguous_integer_labels_match_contiguous[cluster-jk]",
            "TestClusterJackknifeRegressions::test_fixed_effect_collinear_with_cluster_raises[cluster-crv3]",
            "TestClusterJackknifeRegressions::test_fixed_effect_collinear_with_cluster_raises[cluster-jk]",
            "TestClusterJackknifeRegressions::test_single_cluster_raises[cluster-crv3]",
            "TestClusterJackknifeRegressions::test_single_cluster_raises[cluster-jk]",
            "TestClusterJackknifeRegressions::test_description_matches_cov_type[cluster-crv3-(CRV3)]",
            "TestClusterJackknifeRegressions::test_description_matches_cov_type[cluster-jk-*",
            "TestClusterJackknifeRegressions::test_df_correction_adjusts_df_resid_inference[cluster-crv3]",
            "TestClusterJackknifeRegressions::test_df_correction_adjusts_df_resid_inference[cluster-jk]",
            "TestClusterJKvsRSandwich::*",
        ],
        "other attributes of theirs": [
            "TestClusterJackknifeRegressions::test_description_matches_cov_type[cluster-(CRV1)]",
        ],
        "other warnings and errors, some of them later": [
            "TestOLSRobust2SmallNew::test_compare",
        ],
        "the variance of residuals is estimated": [
            "TestWLSOLSRobustSmall::test_fixed_scale",
            "test_cov_type_fixed_scale",
        ],
    },
    "discrete.tests.test_discrete": {
        "announcements of changes of statsmodels": [
            "test_issue_8943",
        ],
        "its own layout of tables": [
            "TestLogitNewton::test_summary_latex",
            "TestLogitBFGS::test_summary_latex",
            "TestMNLogitNewtonBaseZero::test_summary_latex",
            "TestMNLogitNewtonBaseZero::test_endog_names",
            "test_issue_339",
            "test_summary_after_remove_data[Logit]",
            "test_summary_after_remove_data[MNLogit]",
        ],
        "no AICc and no criterion of Hannan and Quinn": [
            "test_binary_results_info_criteria",
        ],
        "no distributions as objects": [
            "TestLogitNewton::test_distr",
            "TestLogitBFGS::test_distr",
            "TestMNLogitNewtonBaseZero::test_distr",
            "test_logit_family_is_binomial",
        ],
        "no effects of one more count": [
            "TestLogitNewton::test_count_dydxoverall",
            "TestLogitNewton::test_count_dydxmean",
            "TestLogitNewton::test_count_dummy_dydxoverall",
            "TestLogitNewton::test_count_dummy_dydxmean",
            "TestLogitNewtonPrepend::test_count_dydxoverall",
            "TestLogitNewtonPrepend::test_count_dydxmean",
            "TestLogitNewtonPrepend::test_count_dummy_dydxoverall",
            "TestLogitNewtonPrepend::test_count_dummy_dydxmean",
            "TestLogitBFGS::test_count_dydxoverall",
            "TestLogitBFGS::test_count_dydxmean",
            "TestLogitBFGS::test_count_dummy_dydxoverall",
            "TestLogitBFGS::test_count_dummy_dydxmean",
        ],
        "no elasticities": [
            "TestLogitNewton::test_nodummy_dyexoverall",
            "TestLogitNewton::test_nodummy_dyexmean",
            "TestLogitNewton::test_nodummy_dyexmedian",
            "TestLogitNewton::test_nodummy_dyexzero",
            "TestLogitNewton::test_nodummy_eydxoverall",
            "TestLogitNewton::test_nodummy_eydxmean",
            "TestLogitNewton::test_nodummy_eydxmedian",
            "TestLogitNewton::test_nodummy_eydxzero",
            "TestLogitNewton::test_nodummy_eyexoverall",
            "TestLogitNewton::test_nodummy_eyexmean",
            "TestLogitNewton::test_nodummy_eyexmedian",
            "TestLogitNewton::test_nodummy_eyexzero",
            "TestLogitNewton::test_dummy_eydxoverall",
            "TestLogitNewton::test_dummy_eydxmean",
            "TestLogitNewtonPrepend::test_nodummy_dyexoverall",
            "TestLogitNewtonPrepend::test_nodummy_dyexmean",
            "TestLogitNewtonPrepend::test_nodummy_dyexmedian",
            "TestLogitNewtonPrepend::test_nodummy_dyexzero",
            "TestLogitNewtonPrepend::test_nodummy_eydxoverall",
            "TestLogitNewtonPrepend::test_nodummy_eydxmean",
            "TestLogitNewtonPrepend::test_nodummy_eydxmedian",
            "TestLogitNewtonPrepend::test_nodummy_eydxzero",
            "TestLogitNewtonPrepend::test_nodummy_eyexoverall",
            "TestLogitNewtonPrepend::test_nodummy_eyexmean",
            "TestLogitNewtonPrepend::test_nodummy_eyexmedian",
            "TestLogitNewtonPrepend::test_nodummy_eyexzero",
            "TestLogitNewtonPrepend::test_dummy_eydxoverall",
            "TestLogitNewtonPrepend::test_dummy_eydxmean",
            "TestLogitBFGS::test_nodummy_dyexoverall",
            "TestLogitBFGS::test_nodummy_dyexmean",
            "TestLogitBFGS::test_nodummy_dyexmedian",
            "TestLogitBFGS::test_nodummy_dyexzero",
            "TestLogitBFGS::test_nodummy_eydxoverall",
            "TestLogitBFGS::test_nodummy_eydxmean",
            "TestLogitBFGS::test_nodummy_eydxmedian",
            "TestLogitBFGS::test_nodummy_eydxzero",
            "TestLogitBFGS::test_nodummy_eyexoverall",
            "TestLogitBFGS::test_nodummy_eyexmean",
            "TestLogitBFGS::test_nodummy_eyexmedian",
            "TestLogitBFGS::test_nodummy_eyexzero",
            "TestLogitBFGS::test_dummy_eydxoverall",
            "TestLogitBFGS::test_dummy_eydxmean",
            "TestMNLogitNewtonBaseZero::test_margeff_dummy",
        ],
        "no likelihood, score or Hessian at other parameters than the estimates": [
            "TestLogitNewton::test_loglikeobs",
            "TestLogitNewton::test_jac",
            "TestLogitBFGS::test_loglikeobs",
            "TestLogitBFGS::test_jac",
            "TestMNLogitNewtonBaseZero::test_loglikeobs",
            "TestMNLogitNewtonBaseZero::test_jac",
            "TestMNLogitLBFGSBaseZero::*",
            "TestMNLogitScoreTest::test_score_factor_consistency",
            "TestMNLogitScoreTest::test_hessian_factor_consistency",
        ],
        "no models of an intercept alone": [
            "test_binary_pred_table_zeros",
        ],
        "other attributes of theirs": [
            "TestLogitNewton::test_resid_generalized",
            "TestLogitBFGS::test_resid_generalized",
            "TestMNLogitNewtonBaseZero::test_resid",
            "test_mnlogit_basinhopping",
            "test_cov_confint_pandas",
        ],
        "other warnings and errors, some of them later": [
            "test_perfect_prediction",
            "test_non_binary",
        ],
        "penalties with l1 or of single features": [
            "TestMNLogitL1::*",
            "TestLogitL1::*",
            "TestLogitL1Compatability::*",
            "TestMNLogitL1Compatability::*",
            "TestL1AlphaZeroLogit::*",
            "TestL1AlphaZeroMNLogit::test_basic_results",
            "TestLogitNewton::test_fit_regularized_invalid_method",
            "TestLogitBFGS::test_fit_regularized_invalid_method",
            "TestMNLogitNewtonBaseZero::test_fit_regularized_invalid_method",
        ],
        "residuals of two classes only": [
            "test_mnlogit_resid_response",
        ],
        "score tests of more columns only, at the estimates and without a robust covariance": [
            "TestMNLogitScoreTest::test_score_test_hc0",
        ],
    },
    "genmod.tests.test_glm": {
        "its own layout of tables": [
            "TestGlmBinomial::test_summary2",
            "TestGlmBernoulli::test_summary2",
        ],
        "no AICc and no criterion of Hannan and Quinn": [
            "test_qaic",
        ],
        "no Anscombe residuals": [
            "TestGlmBinomial::test_residuals",
            "TestGlmBernoulli::test_residuals",
        ],
        "no BIC from the deviance": [
            "TestGlmBinomial::test_bic",
            "TestGlmBernoulli::test_bic",
        ],
        "no R^2 but those of McFadden": [
            "TestGlmBinomial::test_prsquared",
        ],
        "no distributions as objects": [
            "TestGlmBinomial::test_get_distribution",
            "TestGlmBernoulli::test_get_distribution",
        ],
        "no fits without iterations": [
            "test_loglike_no_opt",
        ],
        "no likelihood, score or Hessian at other parameters than the estimates": [
            "TestGlmBernoulli::test_compare_discrete",
            "test_gradient_irls[0-Binomial-Logit]",
            "test_gradient_irls[1-Binomial-Logit]",
            "test_gradient_irls_eim[0-Binomial-Logit]",
            "test_gradient_irls_eim[1-Binomial-Logit]",
            "test_derivative_predict_matches_numerical_derivative",
        ],
        "no residuals of counts": [
            "TestGlmBinomial::test_pearson_chi2",
        ],
        "no shares as outcomes": [
            "TestWtdGlmBinomial::*",
        ],
        "no standard errors of probabilities": [
            "TestGlmBernoulli::test_get_prediction",
        ],
        "other attributes of theirs": [
            "TestGlmBinomial::test_get_distribution_binom_count",
            "TestRegularized::test_regularized_elastic_net_method_alias",
            "TestConvergence::test_convergence_atol_only",
        ],
        "other pictures": [
            "test_plots",
        ],
        "other warnings and errors, some of them later": [
            "TestGlmBinomial::test_invalid_endog",
            "test_perfect_pred",
            "TestRegularized::test_regularized_l1_slsqp_no_convergence_warns",
        ],
        "penalties with l1 or of single features": [
            "TestRegularized::test_regularized",
            "TestRegularized::test_regularized_l1_slsqp_vs_glmnet",
            "TestRegularized::test_regularized_l1_slsqp_vs_discrete",
            "TestRegularized::test_regularized_l1_slsqp_vs_elastic_net",
            "TestRegularized::test_regularized_l1_slsqp_refit",
            "TestRegularized::test_regularized_method_errors",
            "TestRegularized::test_regularized_elastic_net_ridge_shortcut",
            "TestRegularized::test_regularized_l1_slsqp_fit_history_iteration",
        ],
        "score tests of more columns only, at the estimates and without a robust covariance": [
            "TestGlmBernoulli::test_score_test",
        ],
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
         "-p", "statsmodels_suites", "--pyargs", f"statsmodels.{suite}"],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (folder / "outcomes.json").exists(), done.stdout + done.stderr
    found = json.loads((folder / "outcomes.json").read_text("utf-8"))
    return {test.split("::", 1)[1]: said for test, said in found.items() if said[0] != "skipped"}


def fits(test, pattern):
    """Whether a test is the one of the table, or begins as it says."""
    return test == pattern or (pattern.endswith("*") and test.startswith(pattern[:-1]))


@pytest.mark.parametrize("suite", COUNTS)
def test_suite_of_statsmodels(suite, tmp_path):
    found = outcomes(suite, tmp_path)
    patterns = [pattern for some in REASONS[suite].values() for pattern in some]
    assert [one for one in patterns if not any(fits(test, one) for test in found)] == []
    listed = {test for test in found if any(fits(test, pattern) for pattern in patterns)}
    without = {test: said for test, said in found.items() if said[0] != "passed"}
    assert {test: said for test, said in without.items() if test not in listed} == {}
    assert sorted(listed - without.keys()) == []  # it passes: take it out of the table
    assert (len(found), len(found) - len(without)) == COUNTS[suite]

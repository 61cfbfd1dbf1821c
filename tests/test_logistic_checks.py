"""scikit-learn's own checks of the regressions that classify."""

import warnings

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from linsep import GaussianNaiveBayes, LogisticRegression
from linsep.errors import SeparationWarning


def expected(estimator):
    """Checks that must fail, each with its reason."""
    if getattr(estimator, "fit_intercept", True):
        return {}
    return {
        "check_class_weight_classifiers": "a class weight of 1000 shall make nearly every row of "
        "that class, which the weight of a constant does and no other here"
    }


@parametrize_with_checks(
    [
        LogisticRegression(),
        GaussianNaiveBayes(),
        LogisticRegression(l2=0.5),
        LogisticRegression(solver="lbfgs", l2=1.0),
        LogisticRegression(solver="gradient_ascent", l2=1.0, max_iter=200, tol=1e-4),
        LogisticRegression(penalty="firth", intervals="wald"),
        LogisticRegression(fit_intercept=False),
        LogisticRegression(l2=1.0, class_weight="balanced"),
    ],
    expected_failed_checks=expected,
    xfail_strict=True,
)
def test_check_estimator(estimator, check):
    with warnings.catch_warnings():  # clouds of points in these checks are separable
        warnings.simplefilter("ignore", SeparationWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "All rows of class.* have weight 0")
        check(estimator)

"""scikit-learn's own checks of the regressions that classify.

Left out: ``reference``, which names a class that the data of a check may not have, and a function
for ``learning_rate``, which Python cannot pickle where it has no name.
"""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from estimator_configurations import SEPARABLE
from linsep import GaussianNaiveBayes, LogisticRegression
from linsep.errors import SeparationWarning

pytestmark = pytest.mark.compiled


def expected(estimator):
    """Checks that must fail, each with its reason."""
    if getattr(estimator, "on_separation", "warn") == "raise":
        return dict.fromkeys(SEPARABLE, "its rows are separable, which was to be an error")
    if getattr(estimator, "learning_rate", "auto") == 1e-3:
        return dict.fromkeys(
            (
                "check_sample_weight_equivalence_on_dense_data",
                "check_sample_weight_equivalence_on_sparse_data",
            ),
            "a hundred short steps end far from the limit of these separable rows, which is then "
            "taken along a direction that separates them: of rows of weight 0 there are several",
        )
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
        LogisticRegression(solver="lbfgs"),
        LogisticRegression(solver="lbfgs", l2=1.0),
        LogisticRegression(on_separation="raise"),
        LogisticRegression(solver="gradient_ascent", l2=1.0, max_iter=200, tol=1e-4),
        LogisticRegression(solver="gradient_ascent", learning_rate=1e-3, max_iter=100),
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

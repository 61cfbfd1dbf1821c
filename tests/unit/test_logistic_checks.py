"""scikit-learn's own checks of the regressions that classify.

``make campaign PARTS=estimators`` asks the same of more configurations. Left out: ``reference``,
which names a class that the data of a check may not have, and a function for ``learning_rate``,
which Python cannot pickle where it has no name.
"""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from estimator_configurations import SEPARABLE
from linsep import GaussianNaiveBayes, LogisticRegression
from linsep.errors import SeparationWarning
from thoroughness import THOROUGH

pytestmark = pytest.mark.compiled


def expected(estimator):
    """Checks that must fail, each with its reason."""
    if getattr(estimator, "on_separation", "warn") == "raise":
        return dict.fromkeys(SEPARABLE, "its rows are separable, which was to be an error")
    if getattr(estimator, "fit_intercept", True):
        return {}
    return {
        "check_class_weight_classifiers": "a class weight of 1000 shall make nearly every row of "
        "that class, which the weight of a constant does and no other here"
    }


@parametrize_with_checks(
    [
        LogisticRegression(),
        *([GaussianNaiveBayes()] if THOROUGH else []),
        *(
            LogisticRegression(**how)
            for how in (
                {"fit_intercept": False, "penalty": "firth", "intervals": "wald"},
                {"on_separation": "raise"},
                {"solver": "gradient_ascent", "l2": 1.0, "max_iter": 200, "tol": 1e-4},
            )
            if THOROUGH
        ),
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

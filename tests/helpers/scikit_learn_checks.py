"""scikit-learn's checks of estimators, and which of them cannot pass, why."""

import contextlib
import io
import warnings

import numpy as np
from sklearn.utils.estimator_checks import check_estimator

#: depends on the order of the rows, as scikit-learn's Perceptron does
WEIGHTED_TWICE = (
    "a row of weight 2 makes one update of twice the size, not two updates with a second look in "
    "between"
)


def failures(estimator, expected):
    """What scikit-learn's checks of an estimator say against it that is not expected."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(io.StringIO()):
            found = check_estimator(
                estimator, on_skip=None, on_fail=None, expected_failed_checks=expected
            )
    return [
        f"{one['check_name']}: {one['exception']!r:.300}"
        for one in found
        if one["status"] == "failed"
    ]


#: checks whose rows are separable
SEPARABLE = (
    "check_estimators_overwrite_params",
    "check_dont_overwrite_parameters",
    "check_estimators_fit_returns_self",
    "check_readonly_memmap_input",
    "check_positive_only_tag_during_fit",
    "check_sample_weights_shape",
    "check_sample_weights_not_overwritten",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_pipeline_consistency",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_classifiers_classes",
    "check_non_transformer_estimators_n_iter",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_fit2d_1feature",
    "check_dict_unchanged",
    "check_fit2d_predict1d",
)


def expected(estimator):
    """Checks of this online learner that cannot pass, each with its reason."""
    found = {
        f"check_sample_weight_equivalence_on_{kind}_data": WEIGHTED_TWICE
        for kind in ("dense", "sparse")
    }
    reason = {
        "Winnow": "it gives negative features, against the tag",
        "BalancedWinnow": "a class weight of 1000 multiplies weights by 2^1000 at once",
    }.get(type(estimator).__name__)
    return found | ({} if reason is None else {"check_class_weight_classifiers": reason})

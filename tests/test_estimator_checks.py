"""scikit-learn's own checks of an estimator."""

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks

from linsep import Perceptron

ORDER = (
    "a perceptron depends on the order of its examples: a row of weight 2 makes one update of "
    "twice the size, not two updates with a second look in between"
)
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": ORDER,
    "check_sample_weight_equivalence_on_sparse_data": ORDER,
}
# One check asks for an accuracy of 0.83 on classes that overlap, where the last weights of any one
# pass miss that by bad luck a few times in a hundred. So the number of passes is fixed to one that
# is known to do, and is small enough to run without the compiler.
PASSES = 30


@parametrize_with_checks(
    [Perceptron(multiclass=name, max_iter=PASSES) for name in ("native", "ovr", "ovo")],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
    xfail_strict=True,
)
def test_check_estimator(estimator, check):
    with np.errstate(all="ignore"):  # uncompiled loops warn of NaN where compiled ones do not
        check(estimator)

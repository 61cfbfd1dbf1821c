"""Models that are not fitted yet say so, whatever they are asked."""

import pytest
from sklearn.exceptions import NotFittedError

from linsep.catalog import ESTIMATORS

pytestmark = pytest.mark.uncompiled

KINDS = list(ESTIMATORS.values())
#: methods that take no rows
ASKED = ("confidence_intervals", "summary", "tidy", "odds_ratios", "to_logistic")


@pytest.mark.parametrize("estimator", KINDS)
def test_it_has_no_results(estimator):
    results = [name for name in dir(estimator) if name.endswith("_") and name[0] != "_"]
    assert results
    for name in results:
        assert not hasattr(estimator(), name), name
        with pytest.raises(NotFittedError, match=r"is not fitted yet\. Call 'fit' with"):
            getattr(estimator(), name)


@pytest.mark.parametrize("estimator", KINDS)
@pytest.mark.parametrize("method", ASKED)
def test_its_methods_have_nothing_to_tell(estimator, method):
    if hasattr(estimator, method):
        with pytest.raises(NotFittedError, match=r"is not fitted yet\. Call 'fit' with"):
            getattr(estimator(), method)()

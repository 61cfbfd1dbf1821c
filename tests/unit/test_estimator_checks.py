"""scikit-learn's own checks of each estimator, also in one other configuration."""

import pytest

from linsep import KernelSoftMargin, Perceptron
from linsep.catalog import LEARNERS
from scikit_learn_checks import (
    expected,
    failures,
)

#: those whose base classes the others share, first
CHECKED = [Perceptron, *(kind for kind in LEARNERS.values() if kind is not Perceptron)]
MODELS = [*(kind(max_iter=30) for kind in CHECKED), KernelSoftMargin(gamma=0.5)]


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:All rows of class.* have weight 0")
@pytest.mark.parametrize("model", [MODELS[0], *(
    pytest.param(model, marks=pytest.mark.thorough) for model in MODELS[1:]
)])  # fmt: skip
def test_check_estimator(model):
    fails = {} if isinstance(model, KernelSoftMargin) else expected(model)
    assert failures(model, fails) == []

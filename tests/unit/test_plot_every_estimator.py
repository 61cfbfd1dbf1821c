"""Every picture of every estimator: it is drawn to PNG, or refused in one sentence."""

import io

import numpy as np
import pandas as pd
import pytest
from matplotlib import rcParams
from sklearn.datasets import load_iris

import linsep
from linsep import plot
from linsep.errors import LinsepError
from thoroughness import THOROUGH

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]
PNG = b"\x89PNG"

IRIS = load_iris(as_frame=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[IRIS.target]
#: names that a reader of formulas, or a terminal, would take for commands
LONG = ["the length of the petal in $\\frac$ \x1b[31m$, as it was measured by hand", "$\\width$"]
FIRST = "$\\first$\x07"
BINARY = pd.DataFrame((IRIS.data > IRIS.data.mean()).astype(float))

ONLINE = {
    "perceptron": linsep.Perceptron(max_iter=9, shuffle=False),
    "batch": linsep.Perceptron(max_iter=9, update="batch"),
    "average": linsep.Perceptron(max_iter=9, keep="average", early_stopping=True),
    "vote": linsep.Perceptron(max_iter=9, keep="vote", reference="other"),
    "ovr": linsep.Perceptron(max_iter=9, multiclass="ovr", normalize=True),
    "ovo": linsep.Perceptron(max_iter=9, multiclass="ovo"),
    "margin": linsep.MarginPerceptron(max_iter=9),
    "pa": linsep.PassiveAggressive(max_iter=9),
    "scw": linsep.SCW(max_iter=9),
    "winnow": linsep.Winnow(max_iter=9),
    "balanced": linsep.BalancedWinnow(max_iter=9),
    "kernel": linsep.KernelPerceptron(max_iter=9),
}
MARGINS = {"soft-margin": linsep.SoftMargin(), "kernel-margin": linsep.KernelSoftMargin()}
REGRESSIONS = {
    "logistic": linsep.LogisticRegression(l2=1.0),
    "bayes": linsep.GaussianNaiveBayes(),
    "linear": linsep.LinearRegression(),
}
EVERY = ONLINE | MARGINS | REGRESSIONS
LINEAR = set(EVERY) - {"kernel", "kernel-margin", "linear"}
#: which estimators of two classes and one or two features each picture accepts
ACCEPTED = {
    "DecisionDisplay": set(EVERY) - {"linear"},
    "UpdateDisplay": set(ONLINE) - {"kernel", "batch", "average"},
    "AugmentationDisplay": LINEAR - {"bayes"},
    "LearningCurveDisplay": set(ONLINE),
    "BoundDisplay": {"perceptron", "average", "vote", "ovr", "ovo"},
    "ConvergenceDisplay": {"perceptron", "vote", "ovr", "ovo"},
    "MarginDisplay": LINEAR - {"bayes"},
    "GapDisplay": set(MARGINS),
    "CoefficientDisplay": {"logistic", "linear", "scw"},
    "WeightImageDisplay": LINEAR - {"bayes"},
    "RegressionDisplay": {"linear"},
    "AssumptionsDisplay": {"linear"},
    "DiagnosticsDisplay": {"logistic", "linear"},
    "LogisticDisplay": {"logistic", "bayes"},
    "KernelDisplay": {"kernel", "kernel-margin"},
    "ReliabilityDisplay": {"logistic", "bayes"},
    "CycleDisplay": set(),
    "RocDisplay": set(EVERY) - {"linear"},
    "PrecisionRecallDisplay": set(EVERY) - {"linear"},
    "GainDisplay": set(EVERY) - {"linear"},
    "ThresholdDisplay": set(EVERY) - {"linear"},
    "ConfusionDisplay": set(EVERY) - {"linear"},
}
#: a line has one
OF_ONE_FEATURE = ("RegressionDisplay",)
#: arguments of a picture other than the estimator, rows and labels
OTHERS = {
    "LearningCurveDisplay": lambda X, y: ((), {}),
    "GapDisplay": lambda X, y: ((), {}),
    "CoefficientDisplay": lambda X, y: ((), {}),
    "WeightImageDisplay": lambda X, y: ((), {"shape": (1, X.shape[1])}),
}


def drawn(kind, model, X, y):
    """The picture of a fitted estimator."""
    of = OTHERS.get(kind, lambda X, y: ((X, y), {}))
    more, named = of(X, y)
    return getattr(plot, kind).from_estimator(model, *more, **named)


def png(display):
    """The picture as PNG, small; its parts may overlap where time is short."""
    file = io.BytesIO()
    if not THOROUGH:
        display.figure_.set_layout_engine("none")
    display.save(file, format="png", dpi=30)
    return file.getvalue()


def data_of(name, columns, several=False):
    """The rows and labels that an estimator learns."""
    X = (BINARY if name == "winnow" else IRIS.data).iloc[:, columns].copy()
    if len(columns) == 2:
        X.columns = LONG
    labels = NAMES if several else np.where(NAMES == "setosa", FIRST, "other")
    return X, IRIS.target if name == "linear" else labels


TWO_CLASSES = [
    (kind, name)
    for k, kind in enumerate(ACCEPTED)
    for n, name in enumerate(EVERY)
    if name not in ("ovr", "ovo") and (THOROUGH or (k + n) % 2)
]


@pytest.mark.parametrize(("kind", "name"), TWO_CLASSES)
def test_a_picture_of_two_classes_is_drawn_or_refused(kind, name):
    X, y = data_of(name, [2] if kind in OF_ONE_FEATURE else [2, 1])
    model = EVERY[name].fit(X, y)
    if name in ACCEPTED[kind]:
        before = dict(rcParams)
        assert png(drawn(kind, model, X, y)).startswith(PNG)
        assert dict(rcParams) == before
        return
    with pytest.raises((LinsepError, TypeError, ValueError)) as refusal:
        drawn(kind, model, X, y)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", [name for name in EVERY if name not in ("linear", "vote")])
def test_several_classes_and_features_are_drawn(name):
    X, y = data_of(name, [0, 1, 2, 3], several=True)
    rows, labels = data_of(name, [2, 1], several=True)
    assert png(EVERY[name].fit(rows, labels).plot(rows, labels)).startswith(PNG)
    kinds = ["LearningCurveDisplay"] * (name in ONLINE) + ["KernelDisplay"] * (name == "kernel")
    kinds += ["MarginDisplay"] * (name not in ("bayes", "kernel", "kernel-margin"))
    model = EVERY[name].fit(X, y)
    for kind in kinds:
        assert png(drawn(kind, model, X, y)).startswith(PNG)

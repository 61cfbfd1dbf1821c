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

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]
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
    "BoundDisplay": {"perceptron", "average", "vote"},
    "ConvergenceDisplay": {"perceptron", "vote"},
    "MarginDisplay": LINEAR - {"bayes"},
    "GapDisplay": set(MARGINS),
    "CoefficientDisplay": LINEAR - {"bayes"} | {"linear"},
    "NeuronDisplay": LINEAR - {"bayes"},
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


def drawn(kind, model, X, y):
    """The picture of a fitted estimator."""
    of, how = getattr(plot, kind).from_estimator, {}
    if kind == "WeightImageDisplay":
        how = {"shape": (1, X.shape[1])}
    rowless = kind.split("D")[0] in ("LearningCurve", "Gap", "Coefficient", "Neuron") or how
    return of(model, **how) if rowless else of(model, X, y)


def data_of(name, columns):
    """The rows and labels that an estimator learns."""
    X = (BINARY if name == "winnow" else IRIS.data).iloc[:, columns].copy()
    if len(columns) == 2:
        X.columns = LONG
    return X, IRIS.target if name == "linear" else np.where(NAMES == "setosa", FIRST, "other")


@pytest.mark.parametrize("kind", ACCEPTED)
def test_a_picture_of_two_classes_is_drawn_or_refused(kind):
    for name, estimator in EVERY.items():
        X, y = data_of(name, [2] if kind == "RegressionDisplay" else [2, 1])  # a line has one
        model, before = estimator.fit(X, y), dict(rcParams)
        if name in ACCEPTED[kind]:
            drawn(kind, model, X, y).save(io.BytesIO(), format="png", dpi=30)
            assert dict(rcParams) == before
            continue
        with pytest.raises((LinsepError, TypeError, ValueError)) as refusal:
            drawn(kind, model, X, y)
        assert "\n" not in str(refusal.value)

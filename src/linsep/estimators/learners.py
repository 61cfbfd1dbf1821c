"""All learners by their names on the command line."""

from typing import Any

from linsep.estimators._common.fitting import OnlineClassifier
from linsep.estimators.kernel import KernelPerceptron
from linsep.estimators.linear_regression import LinearRegression
from linsep.estimators.logistic import LogisticRegression
from linsep.estimators.margin import MarginPerceptron
from linsep.estimators.naive_bayes import GaussianNaiveBayes
from linsep.estimators.passive_aggressive import PassiveAggressive
from linsep.estimators.perceptron import Perceptron
from linsep.estimators.winnow import BalancedWinnow, Winnow

LEARNERS: dict[str, type[OnlineClassifier]] = {
    "perceptron": Perceptron,
    "margin": MarginPerceptron,
    "winnow": Winnow,
    "balanced-winnow": BalancedWinnow,
    "pa": PassiveAggressive,
    "kernel": KernelPerceptron,
}
#: statistical models, fitted without passes and mistakes
REGRESSIONS: dict[str, type[Any]] = {
    "linear": LinearRegression,
    "logistic": LogisticRegression,
    "naive-bayes": GaussianNaiveBayes,
}
#: learners for which commands do not scale columns by default: estimates are in the units of the
#: columns, and Winnow takes no negative values
UNSCALED = ("winnow", *REGRESSIONS)

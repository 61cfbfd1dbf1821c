"""Every learner, by the name it has on the command line."""

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
#: those of statistics: an estimate with what it lets one infer, not passes with mistakes
REGRESSIONS: dict[str, type[Any]] = {
    "linear": LinearRegression,
    "logistic": LogisticRegression,
    "naive-bayes": GaussianNaiveBayes,
}
#: what a command does not scale columns for by itself: estimates are read in the units of the
#: columns, and Winnow takes no negative values
UNSCALED = ("winnow", *REGRESSIONS)

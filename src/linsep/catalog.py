"""All learners by their names on the command line."""

from typing import Any

from linsep.learners.classifier import OnlineClassifier
from linsep.learners.kernel import KernelPerceptron
from linsep.learners.margin import MarginPerceptron
from linsep.learners.passive_aggressive import PassiveAggressive
from linsep.learners.perceptron import Perceptron
from linsep.learners.winnow import BalancedWinnow, Winnow
from linsep.linear.estimator import LinearRegression
from linsep.logistic.estimator import LogisticRegression
from linsep.naive_bayes import GaussianNaiveBayes

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

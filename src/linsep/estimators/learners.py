"""Every learner, by the name it has on the command line."""

from linsep.estimators.kernel import KernelPerceptron
from linsep.estimators.margin import MarginPerceptron
from linsep.estimators.online import OnlineClassifier
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

"""Every learner, by the name it has on the command line."""

from linsep.estimators.base import LinearClassifier
from linsep.estimators.margin import MarginPerceptron
from linsep.estimators.passive_aggressive import PassiveAggressive
from linsep.estimators.perceptron import Perceptron
from linsep.estimators.winnow import BalancedWinnow, Winnow

LEARNERS: dict[str, type[LinearClassifier]] = {
    "perceptron": Perceptron,
    "margin": MarginPerceptron,
    "winnow": Winnow,
    "balanced-winnow": BalancedWinnow,
    "pa": PassiveAggressive,
}

"""Public names, as :mod:`lazy_loader` finds them at run time and type checkers read them."""

from .decision import DecisionDisplay as DecisionDisplay
from .learning_curve import LearningCurveDisplay as LearningCurveDisplay
from .margins import MarginDisplay as MarginDisplay
from .weight_space import WeightSpaceDisplay as WeightSpaceDisplay

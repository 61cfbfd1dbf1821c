"""Public names, as :mod:`lazy_loader` finds them at run time and type checkers read them."""

from .assumptions import AssumptionsDisplay as AssumptionsDisplay
from .augmentation import AugmentationDisplay as AugmentationDisplay
from .bound import BoundDisplay as BoundDisplay
from .coefficients import CoefficientDisplay as CoefficientDisplay
from .convergence import ConvergenceDisplay as ConvergenceDisplay
from .cycle import CycleDisplay as CycleDisplay
from .decision import DecisionDisplay as DecisionDisplay
from .descent import DescentDisplay as DescentDisplay
from .kernel import KernelDisplay as KernelDisplay
from .learning_curve import LearningCurveDisplay as LearningCurveDisplay
from .logistic import LogisticDisplay as LogisticDisplay
from .margins import MarginDisplay as MarginDisplay
from .regression import RegressionDisplay as RegressionDisplay
from .reliability import ReliabilityDisplay as ReliabilityDisplay
from .separation import SeparationDisplay as SeparationDisplay
from .update import UpdateDisplay as UpdateDisplay
from .weight_images import WeightImageDisplay as WeightImageDisplay
from .weight_space import WeightSpaceDisplay as WeightSpaceDisplay

"""Public names, as :mod:`lazy_loader` finds them at run time and type checkers read them."""

from .animation import RunDisplay as RunDisplay
from .answers import (
    ConfusionDisplay as ConfusionDisplay,
    GainDisplay as GainDisplay,
    PrecisionRecallDisplay as PrecisionRecallDisplay,
    ReliabilityDisplay as ReliabilityDisplay,
    RocDisplay as RocDisplay,
    ThresholdDisplay as ThresholdDisplay,
)
from .chance import (
    ChanceDisplay as ChanceDisplay,
    PhaseTransitionDisplay as PhaseTransitionDisplay,
)
from .decision import DecisionDisplay as DecisionDisplay
from .diagnostics import DiagnosticsDisplay as DiagnosticsDisplay
from .errors import FewestErrorsDisplay as FewestErrorsDisplay
from .kernel import KernelDisplay as KernelDisplay
from .palettes import palette as palette
from .probabilities import LogisticDisplay as LogisticDisplay
from .regression import (
    AssumptionsDisplay as AssumptionsDisplay,
    RegressionDisplay as RegressionDisplay,
)
from .runs import (
    BoundDisplay as BoundDisplay,
    ConvergenceDisplay as ConvergenceDisplay,
    CycleDisplay as CycleDisplay,
    LearningCurveDisplay as LearningCurveDisplay,
)
from .separation import MarginDisplay as MarginDisplay, SeparationDisplay as SeparationDisplay
from .soft_margin import (
    GapDisplay as GapDisplay,
    SoftMarginPathDisplay as SoftMarginPathDisplay,
)
from .steps import DescentDisplay as DescentDisplay, UpdateDisplay as UpdateDisplay
from .suspicious import SuspiciousLabelsDisplay as SuspiciousLabelsDisplay
from .weight_space import (
    AugmentationDisplay as AugmentationDisplay,
    WeightSpaceDisplay as WeightSpaceDisplay,
)
from .weights import (
    CoefficientDisplay as CoefficientDisplay,
    WeightImageDisplay as WeightImageDisplay,
)

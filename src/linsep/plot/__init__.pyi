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
from .decision import DecisionDisplay as DecisionDisplay
from .kernel import KernelDisplay as KernelDisplay
from .palettes import palette as palette
from .probabilities import LogisticDisplay as LogisticDisplay
from .regression import (
    AssumptionsDisplay as AssumptionsDisplay,
    DiagnosticsDisplay as DiagnosticsDisplay,
    RegressionDisplay as RegressionDisplay,
)
from .runs import (
    BoundDisplay as BoundDisplay,
    ConvergenceDisplay as ConvergenceDisplay,
    CycleDisplay as CycleDisplay,
    DescentDisplay as DescentDisplay,
    GapDisplay as GapDisplay,
    LearningCurveDisplay as LearningCurveDisplay,
    UpdateDisplay as UpdateDisplay,
)
from .separation import (
    ChanceDisplay as ChanceDisplay,
    FewestErrorsDisplay as FewestErrorsDisplay,
    MarginDisplay as MarginDisplay,
    PhaseTransitionDisplay as PhaseTransitionDisplay,
    SeparationDisplay as SeparationDisplay,
    SuspiciousLabelsDisplay as SuspiciousLabelsDisplay,
)
from .weights import (
    AugmentationDisplay as AugmentationDisplay,
    CoefficientDisplay as CoefficientDisplay,
    NeuronDisplay as NeuronDisplay,
    SoftMarginPathDisplay as SoftMarginPathDisplay,
    WeightImageDisplay as WeightImageDisplay,
    WeightSpaceDisplay as WeightSpaceDisplay,
)

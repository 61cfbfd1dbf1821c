"""Public names, loaded lazily by :mod:`lazy_loader` and read by type checkers."""

from . import (
    descent as descent,
    distributed as distributed,
    errors as errors,
    exports as exports,
    extending as extending,
    kernels as kernels,
    plot as plot,
    sources as sources,
)

# isort: off
# The learners, in the order in which commands and pages list them; each says all else itself.
from .learners.perceptron import Perceptron as Perceptron
from .learners.margin import MarginPerceptron as MarginPerceptron
from .learners.winnow import Winnow as Winnow, BalancedWinnow as BalancedWinnow
from .learners.passive_aggressive import PassiveAggressive as PassiveAggressive
from .learners.arow import AROW as AROW
from .learners.scw import SCW as SCW
from .learners.online_logistic import OnlineLogistic as OnlineLogistic
from .learners.kernel import KernelPerceptron as KernelPerceptron

# isort: on
from .bounding import bounds as bounds
from .certificate.proofs import from_json as from_json
from .chance.asymptotics import (
    high_dimensional_mle as high_dimensional_mle,
    phase_transition as phase_transition,
)
from .chance.counting import dichotomies as dichotomies
from .checkpoints.saving import Checkpoint as Checkpoint
from .cli.choosing import tune as tune
from .cli.results import effects as effects, explain as explain, inspect as inspect
from .describing.facts import describe as describe
from .estimators.thresholds import calibrate as calibrate, set_threshold as set_threshold
from .exports.exporting import export as export
from .exports.sklearn_onnx import to_onnx as to_onnx
from .fitting import fit as fit
from .inference.hypotheses import compare as compare
from .linear.estimator import LinearRegression as LinearRegression
from .logistic.estimator import LogisticRegression as LogisticRegression
from .mistake_bounds.adversary import Adversary as Adversary
from .mistake_bounds.margins import (
    cosine_margin as cosine_margin,
    functional_margin as functional_margin,
    geometric_margin as geometric_margin,
    l1_margin as l1_margin,
    margin_distribution as margin_distribution,
    unsigned_margin as unsigned_margin,
)
from .model_files import load as load, save as save
from .naive_bayes import GaussianNaiveBayes as GaussianNaiveBayes
from .pipelines import TableEncoder as TableEncoder, TablePipeline as TablePipeline
from .scoring.scores import score as score
from .separating import separation as separation
from .soft_margins.kernel import KernelSoftMargin as KernelSoftMargin
from .soft_margins.linear import SoftMargin as SoftMargin
from .soft_margins.path import soft_margin_path as soft_margin_path
from .soft_margins.total_distance import total_distance as total_distance
from .sources.opening import open_source as open_source
from .sources.text import Text as Text
from .suspecting import suspicious_labels as suspicious_labels
from .teaching import datasets as datasets, textbook as textbook
from .teaching.convergence import convergence as convergence
from .teaching.criterion import PerceptronCriterion as PerceptronCriterion
from .teaching.deviations import deviations as deviations
from .teaching.reflection import reflection as reflection
from .teaching.tracing import trace as trace

TOOLS: dict[str, str]
__version__: str

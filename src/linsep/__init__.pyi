"""Public names, as :mod:`lazy_loader` finds them at run time and type checkers read them."""

from . import (
    descent as descent,
)
from . import (
    errors as errors,
)
from . import (
    kernels as kernels,
)
from . import (
    sources as sources,
)
from . import (
    textbook as textbook,
)
from .estimators.kernel import KernelPerceptron as KernelPerceptron
from .estimators.linear_regression import LinearRegression as LinearRegression
from .estimators.logistic import LogisticRegression as LogisticRegression
from .estimators.margin import MarginPerceptron as MarginPerceptron
from .estimators.naive_bayes import GaussianNaiveBayes as GaussianNaiveBayes
from .estimators.passive_aggressive import PassiveAggressive as PassiveAggressive
from .estimators.perceptron import Perceptron as Perceptron
from .estimators.winnow import BalancedWinnow as BalancedWinnow
from .estimators.winnow import Winnow as Winnow
from .model_file import load as load
from .model_file import save as save
from .sources.opening import open_source as open_source
from .theory.adversary import Adversary as Adversary
from .theory.bounding import bounds as bounds
from .theory.deciding import separation as separation
from .theory.margins import (
    cosine_margin as cosine_margin,
)
from .theory.margins import (
    functional_margin as functional_margin,
)
from .theory.margins import (
    geometric_margin as geometric_margin,
)
from .theory.margins import (
    margin_distribution as margin_distribution,
)
from .theory.margins import (
    unsigned_margin as unsigned_margin,
)
from .theory.proofs import from_json as from_json
from .tracing.tracer import trace as trace

__version__: str

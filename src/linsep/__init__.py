"""linsep learns linear separators at memory speed and proves what it says about them."""

from linsep.lazy import loader

__version__ = "0.1.0"

_HOMES = {
    "Adversary": "linsep.theory.adversary",
    "BalancedWinnow": "linsep.estimators.winnow",
    "GaussianNaiveBayes": "linsep.estimators.naive_bayes",
    "KernelPerceptron": "linsep.estimators.kernel",
    "LinearRegression": "linsep.estimators.linear_regression",
    "LogisticRegression": "linsep.estimators.logistic",
    "MarginPerceptron": "linsep.estimators.margin",
    "PassiveAggressive": "linsep.estimators.passive_aggressive",
    "Perceptron": "linsep.estimators.perceptron",
    "Winnow": "linsep.estimators.winnow",
    "bounds": "linsep.theory.bounding",
    "cosine_margin": "linsep.theory.margins",
    "descent": "linsep.descent",
    "errors": "linsep.errors",
    "from_json": "linsep.theory.proofs",
    "functional_margin": "linsep.theory.margins",
    "geometric_margin": "linsep.theory.margins",
    "kernels": "linsep.kernels",
    "load": "linsep.model_file",
    "margin_distribution": "linsep.theory.margins",
    "save": "linsep.model_file",
    "open_source": "linsep.sources.opening",
    "separation": "linsep.theory.deciding",
    "sources": "linsep.sources",
    "textbook": "linsep.textbook",
    "trace": "linsep.tracing.tracer",
    "unsigned_margin": "linsep.theory.margins",
}
__all__ = list(_HOMES)
__getattr__ = loader(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__

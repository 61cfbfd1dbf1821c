"""linsep learns linear separators at memory speed and proves what it says about them."""

from linsep.lazy import loader

__version__ = "0.1.0"

_HOMES = {
    "BalancedWinnow": "linsep.estimators.winnow",
    "MarginPerceptron": "linsep.estimators.margin",
    "PassiveAggressive": "linsep.estimators.passive_aggressive",
    "Perceptron": "linsep.estimators.perceptron",
    "Winnow": "linsep.estimators.winnow",
    "from_json": "linsep.theory.proof_file",
    "load": "linsep.model_file",
    "save": "linsep.model_file",
    "open_source": "linsep.sources.opening",
    "separation": "linsep.theory.deciding",
    "sources": "linsep.sources",
    "textbook": "linsep.textbook",
    "trace": "linsep.tracing.tracer",
}
__all__ = list(_HOMES)
__getattr__ = loader(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__

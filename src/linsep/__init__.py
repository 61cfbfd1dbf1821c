"""linsep learns linear separators at memory speed and proves what it says about them."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Loaded on first use: `import linsep` alone costs nothing, the compiler is only paid by learners.
_HOMES = {
    "Perceptron": "linsep.estimators.perceptron",
    "load": "linsep.model_file",
    "save": "linsep.model_file",
    "open_source": "linsep.sources.opening",
    "sources": "linsep.sources",
    "textbook": "linsep.textbook",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'linsep' has no attribute {name!r}")
    module = import_module(_HOMES[name])
    return module if _HOMES[name].endswith("." + name) else getattr(module, name)


def __dir__() -> list[str]:
    return __all__

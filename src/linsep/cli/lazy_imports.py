"""Modules that scikit-learn imports but no command uses, imported when they are first asked for.

They are half of what a command takes to start.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class LazyModule(ModuleType):
    """Stands for a module until something is taken from it."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def import_lazily(name: str) -> None:
    """Let ``import name`` succeed at once; the module is run when it is first used."""
    if name not in sys.modules and find_spec(name) is not None:
        sys.modules[name] = LazyModule(name)

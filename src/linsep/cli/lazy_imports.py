"""Lazy import of modules that scikit-learn imports but no command uses.

They take half of the start-up time of a command.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class LazyModule(ModuleType):
    """A placeholder for a module until one of its attributes is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def import_lazily(name: str) -> None:
    """Let ``import name`` succeed at once; the module is executed on first use."""
    if name not in sys.modules and (spec := find_spec(name)) is not None:
        sys.modules[name] = LazyModule(name)
        sys.modules[
            name
        ].__spec__ = spec  # others look for it to see whether the module is installed

"""Public names that are loaded on first use, so that importing a package costs nothing."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def loader(package: str, homes: dict[str, str]) -> Callable[[str], Any]:
    """A module ``__getattr__`` for ``package``: each name lives in the module ``homes`` says.

    A name that is the last part of its home stands for that module itself.
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(homes[name])
        return module if homes[name].endswith("." + name) else getattr(module, name)

    return load

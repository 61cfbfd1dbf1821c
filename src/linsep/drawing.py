"""What the method ``plot`` of estimators and results draws with.

linsep.plot is imported when a picture is drawn, the only import that goes up the list of rooms, so
that nothing else needs matplotlib.
"""

from importlib import import_module
from typing import Any


def display(name: str) -> Any:
    """Return a class of :mod:`linsep.plot`."""
    return getattr(import_module("linsep.plot"), name)

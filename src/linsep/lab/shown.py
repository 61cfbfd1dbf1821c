"""What the page offers, as plain data: learners, and ready-made points.

Nothing but the standard library is imported, so that a browser can run this.
"""

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any, NamedTuple

from linsep.parameters import Demonstration, Parameter

Points = tuple[Any, Any, tuple[str, ...], tuple[str, str]]


class Shown(NamedTuple):
    """A learner of the lab.

    Attributes
    ----------
    estimator : str
        The name of its class in :mod:`linsep`.
    how : Demonstration
    parameters : dict from names to Parameter
    rule : str
        The module and the class of its rule in the textbook, "" if it has none.
    given : dict
        The fields of the rule with default parameters; they have the names of parameters.
    unit : bool
        Whether rows are scaled to length 1.
    """

    estimator: str
    how: Demonstration
    parameters: dict[str, Parameter]
    rule: str
    given: dict[str, Any]
    unit: bool

    def rule_of(self, parameters: dict[str, Any]) -> Any:
        """Return the rule of the textbook with these parameters."""
        mine = {name: value for name, value in parameters.items() if name in self.given}
        return resolve_name(self.rule)(**self.given | mine)


class Ready(NamedTuple):
    """A ready-made scene: group, title, the function that returns its points, and settings."""

    group: str
    title: str
    make: Callable[[], Points]
    settings: dict[str, Any]

"""The learners that the page shows, as their estimators declare them, and the ready-made points.

In the folder that ``linsep lab --static`` writes, this module has the same values as literals,
since estimators do not run in a browser.
"""

from dataclasses import fields
from typing import Any

from linsep.catalog import LEARNERS
from linsep.lab.ready import FIRST, READY
from linsep.lab.shown import Shown
from linsep.parameters import Demonstration, parameters_of

__all__ = ["FIRST", "OWN_LESSON", "READY", "SERVED", "SHOWN"]
#: whether the whole library is available, and not only the standard library
SERVED = True
#: the text of a lesson that a teacher wrote
OWN_LESSON = ""


def _shown(kind: Any, how: Demonstration) -> Shown:
    model = kind(**how.fixed)
    twin, rule, given = model.twin() if hasattr(model, "twin") else None, "", {}
    if twin is not None:
        rule = f"{type(twin).__module__}:{type(twin).__name__}"
        given = {one.name: getattr(twin, one.name) for one in fields(twin)}
    return Shown(kind.__name__, how, parameters_of(kind), rule, given,
                 bool(getattr(model, "normalize", False)))  # fmt: skip


SHOWN: dict[str, Shown] = {
    how.name: _shown(kind, how) for kind in LEARNERS.values() for how in kind.demonstrations
}

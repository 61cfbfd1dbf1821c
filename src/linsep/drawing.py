"""Drawing for the ``plot`` methods of estimators and results.

Pictures and pages come from the tools named in :data:`linsep.TOOLS`. They are loaded when something
is drawn, so nothing else needs matplotlib.
"""

from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from io import BytesIO
from pkgutil import resolve_name
from typing import Any, Self

import linsep
from linsep.errors import LinsepError

#: of a result that a notebook shows with its picture: most rows, and most numbers in them
MOST_ROWS, MOST_NUMBERS = 1000, 20_000


def display(name: str) -> Any:
    return getattr(resolve_name(linsep.TOOLS["picture"]), name)


def beside(table: str, draw: Callable[[], Any] | None) -> str:
    """Return HTML of a table with the picture of ``draw`` beside it.

    It is the table alone without matplotlib, without a ``draw`` function, and where no picture can
    be drawn.
    """
    if draw is not None and find_spec("matplotlib") is not None:
        with suppress(LinsepError, TypeError, ValueError):
            draw().save(file := BytesIO(), format="png", dpi=100)
            png = b64encode(file.getvalue()).decode()
            return (
                '<div style="display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start">'
                f"<div>{table}</div>"
                f'<img alt="" style="max-width:100%;height:auto" src="data:image/png;base64,{png}">'
                "</div>"
            )
    return table


class WithRows:
    """Mixin of results whose pictures need the rows: they keep the rows, if few, for notebooks.

    The rows are not part of the result's claims, and are not pickled.
    """

    _rows: tuple[Any, Any] | None

    def remember(self, X: Any, y: Any) -> Self:
        from numpy import shape as shape_of  # which the twins of learners do without

        shape = shape_of(X)
        if len(shape) == 2 and shape[0] <= MOST_ROWS and shape[0] * shape[1] <= MOST_NUMBERS:
            object.__setattr__(self, "_rows", (X, y))  # also of a frozen dataclass
        return self

    def _beside(self, table: str) -> str:
        rows = getattr(self, "_rows", None)
        return beside(table, None if rows is None else lambda: self.plot(*rows))  # type: ignore

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_rows"}

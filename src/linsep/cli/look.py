"""How pictures look: options of every command that draws."""

import re
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import click

from linsep.cli.options import Gathered, Option, number, typed

#: inches of a side, at least and at most
LEAST, MOST = 0.5, 100.0


def _inches(text: Any) -> tuple[float, float]:
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*[x×]\s*(\d+\.?\d*|\.\d+)", text)
    size = (float(found[1]), float(found[2])) if found else (0.0, 0.0)
    if not all(LEAST <= side <= MOST for side in size):
        raise click.BadParameter(
            f"must be the width and the height in inches, of {LEAST:g} to {MOST:g} each, as in "
            f"8x6, not {text!r}."
        )
    return size


class Look(NamedTuple):
    """What the options say."""

    dpi: int | None
    size: tuple[float, float] | None
    title: str | None
    palette: str | None

    def colors(self) -> AbstractContextManager[None]:
        """Return the palette of pictures, which must be known."""
        if self.palette is None:
            return nullcontext()
        from linsep.plot import palette

        return palette(self.palette)

    def saved(self) -> dict[str, Any]:
        """Return the arguments of the ``save`` of a picture."""
        given = {"dpi": self.dpi, "size": self.size, "title": self.title}
        return {name: value for name, value in given.items() if value is not None}


def _look(given: dict[str, Any]) -> Look:
    look = Look(**given)
    with look.colors():  # an unknown palette is an error before anything is read
        return look


LOOK = Gathered("look", (
    Option(
        "--dpi", number(at_least=10, at_most=2400),
        "Resolution of a picture in dots per inch.  [default: 100]", needs=["plot"],
    ),
    Option(
        "--size", typed(_inches, "WIDTHxHEIGHT"),
        "Size of a picture in inches, as in 8x6.  [default: as large as needed]", needs=["plot"],
    ),
    Option("--title", "TEXT", "Title above a picture.", needs=["plot"]),
    Option(
        "--palette", "NAME",
        "Colors of a picture: a color map of matplotlib, such as tab10 or viridis, "
        "or colors separated by commas.",
        needs=["plot"],
    ),
), _look)  # fmt: skip

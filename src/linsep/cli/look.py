"""How pictures look: options of every command that draws."""

import re
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import click

from linsep.cli.options import Gathered, Option, number

#: inches of a side, at least and at most
LEAST, MOST = 0.5, 100.0


def inches(text: Any) -> tuple[float, float]:
    """Return the width and the height of a picture."""
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*[x×]\s*(\d+\.?\d*|\.\d+)", text)
    size = (float(found[1]), float(found[2])) if found else (0.0, 0.0)
    if not all(LEAST <= side <= MOST for side in size):
        raise click.BadParameter(
            f"must be the width and the height in inches, of {LEAST:g} to {MOST:g} each, as in "
            f"8x6, not {text!r}."
        )
    return size


def height_and_width(text: Any) -> tuple[int, int]:
    """Return the pixels of an image."""
    found = re.fullmatch(r"(\d{1,6})x(\d{1,6})", text)
    shape = (int(found[1]), int(found[2])) if found else (0, 0)
    if not all(shape):
        raise click.BadParameter(
            f"must be a height and a width in pixels, as in 8x8, not {text!r}."
        )
    return shape


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

    def check_drawn(self, path: Path | None) -> None:
        """Raise BadParameter for picture options without a picture."""
        given = [f"--{name}" for name, value in self._asdict().items() if value is not None]
        if path is None and given:
            raise click.BadParameter(f"{given[0]} needs --plot FILE, the picture.")


def _look(given: dict[str, Any]) -> Look:
    look = Look(**given)
    with look.colors():  # an unknown palette is an error before anything is read
        return look


LOOK = Gathered(
    "look",
    (
        Option(
            "--dpi", **number(at_least=10, at_most=2400),
            help="Resolution of a picture in dots per inch.  [default: 100]",
        ),
        Option(
            "--size", type=inches, metavar="WIDTHxHEIGHT",
            help="Size of a picture in inches, as in 8x6.  [default: as large as needed]",
        ),
        Option("--title", metavar="TEXT", help="Title above a picture."),
        Option(
            "--palette", metavar="NAME",
            help="Colors of a picture: a color map of matplotlib, such as tab10 or viridis, "
            "or colors separated by commas.",
        ),
    ),
    _look,
)  # fmt: skip

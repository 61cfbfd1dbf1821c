"""Compressed output into files that stay open, to be put in their places when they are whole."""

from typing import Any


class LeftOpen:
    """A file that the end of compression does not close."""

    closed = False

    def __init__(self, file: Any):
        self.write, self.flush = file.write, file.flush

    def close(self) -> None:
        """Leave it open."""

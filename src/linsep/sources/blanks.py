"""Text whose fields are separated by runs of blanks, as tables for people to read often are."""

import io
import re
from typing import Any

import pyarrow as pa

#: stands for a delimiter: any run of blanks and tabs
WHITESPACE = "whitespace"
#: a quoted field, which stays as it is, or a run
_RUNS = re.compile(rb'("[^"\n]*")|[ \t]+')
_ENDS = re.compile(rb"^\t|\t(?=\r?$)", re.MULTILINE)


class Squeezed(io.RawIOBase):
    """The same text with each run of blanks and tabs as one tab, and none at the ends of lines.

    Parameters
    ----------
    stream : pa.NativeFile
        Stays open.
    block : int
        Bytes read at a time; a longer line takes as many as it has.
    """

    def __init__(self, stream: pa.NativeFile, block: int = 1 << 20):
        self._stream, self._block = stream, block
        self._ready = memoryview(b"")
        self._tail, self._ended = b"", False

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill ``buffer`` as far as there is text at hand; 0 at the end."""
        while not self._ready and not self._ended:
            self._more()
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _more(self) -> None:
        """Whole lines of the next block; the rest waits."""
        block = self._stream.read(self._block)
        self._ended = not block
        text = self._tail + block
        end = len(text) if self._ended else text.rfind(b"\n") + 1
        self._tail = text[end:]
        self._ready = memoryview(_ENDS.sub(b"", _RUNS.sub(_squeezed, text[:end])))


def _squeezed(found: re.Match[bytes]) -> bytes:
    return found[1] or b"\t"

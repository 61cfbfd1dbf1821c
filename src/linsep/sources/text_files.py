"""What CSV and JSON lines share: text read in blocks, with errors that name the line.

Arrow guesses the types of such files from their first block. The guess is used once, to decide
what each column is; the rows are then read with fixed types, so that a column of whole numbers
may hold 2.5 later on, and text among numbers is an error wherever it comes. Arrow's own messages
know no line numbers, so on an error the file is read again in plain Python to find the line.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from linsep.errors import DataError, way
from linsep.sources.arrow_files import TableFile, first_line, reading
from linsep.sources.chunks import CODECS, opened

#: bytes read at a time; some ten blocks are in memory at once
BLOCK_BYTES = 1 << 20

#: the Arrow type that a column of each kind is read as
ARROW_TYPES = {"number": pa.float64(), "bool": pa.bool_(), "text": pa.string()}
_WANTED = {"number": "a number", "bool": "true or false", "text": "text"}


class TextFile(TableFile):
    """What CSV and JSON lines share: compression, block size, and the search for a bad line.

    Parameters
    ----------
    path : Path
        A text file in UTF-8, compressed when its name ends in .gz, .bz2 or .zst.
    """

    typed = False

    def __init__(self, path: Path):
        super().__init__(path)
        self._tell: Callable[[], int] = int
        with self.open() as stream:
            if b"\0" in stream.read(1 << 16):
                raise DataError(f"{path} holds binary data, not UTF-8 text: rename or convert it.")

    @property
    def position(self) -> int:
        """Bytes on disk read so far, ahead of the rows by some blocks."""
        try:
            return self._tell()
        except ValueError:  # the file is closed: it has been read
            return self.size

    @contextmanager
    def open(self, watched: bool = False) -> Iterator[pa.NativeFile]:
        """Open the decompressed bytes; `watched` makes :attr:`position` follow this reading."""
        codec = CODECS.get(self.path.suffix.lower())
        what = f"{codec} text" if codec else "text of its format"
        with reading(self.path, what), opened(self.path) as (stream, tell):
            if watched:
                self._tell = tell
            yield stream

    def _checked(
        self,
        open_reader: Callable[[pa.NativeFile], pa.RecordBatchReader],
        explain: Callable[[pa.ArrowInvalid, int], DataError | None],
    ) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a reader; on an error, find the line behind it."""
        done = 0
        try:
            with self.open(watched=True) as stream, open_reader(stream) as reader:
                for batch in reader:
                    done += batch.num_rows
                    yield batch
        except DataError as error:
            if not isinstance(error.__cause__, pa.ArrowInvalid):
                raise
            found = explain(error.__cause__, done)
            raise found or DataError(
                f"{self.path} cannot be read after row {done} ({first_line(error.__cause__)})",
                "correct or remove what stands there",
            ) from error.__cause__


def too_long(place: str, length: int, block: int) -> DataError | None:
    """Return what to raise of a row of `length` characters if it fills more than a block."""
    if length <= block:
        return None
    return DataError(f"{place} is longer than the {block:,} bytes read at a time", "shorten it")


def misfit(place: str, name: str, value: str, kind: str) -> DataError:
    """Return what to raise where `value`, as written, is not of the column's kind."""
    wanted = _WANTED.get(kind, "of one kind")
    return DataError(
        f"{place}, column '{name}' holds {value[:60]}, not {wanted} as in the rows before",
        "correct it",
        way("leave the column out with {}", exclude=[name]),
    )

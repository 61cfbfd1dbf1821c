"""Whole files as the body of a request: CSV, JSON lines, Arrow, svmlight and Vowpal Wabbit's text.

They are written to a temporary file and read by the sources that :func:`linsep.open_source` opens,
so that they mean what they mean to ``linsep predict``.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

from linsep.errors import DataError, LinsepError
from linsep.scratch import scratch_folder
from linsep.serving.limits import Limits, Refused, too_wide
from linsep.serving.rows import rows_of_one_kind
from linsep.sources.base import Source
from linsep.sources.declared import messages
from linsep.sources.opening import open_source
from linsep.sources.tables.csv_records import Fields
from linsep.sources.tables.roles import WHITESPACE

#: formats by content type; that of plain text depends on the model
FORMATS = {
    b"text/csv": "csv",
    b"text/tab-separated-values": "tsv",
    b"application/jsonl": "jsonl",
    b"application/x-ndjson": "jsonl",
    b"application/vnd.apache.arrow.stream": "arrow",
    b"application/vnd.apache.arrow.file": "arrow",
    b"text/plain": "text",
}
THE_BODY = "the body"


class Bodies:
    """A temporary folder for bodies of requests, for one thread.

    Parameters
    ----------
    limits : Limits
    """

    def __init__(self, limits: Limits):
        self.limits, self._folder, self._numbers = limits, scratch_folder(), count()

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()

    @contextmanager
    def opened(self, content: bytes, format: str, recipe: dict[str, Any]) -> Iterator[Source]:
        """Write a body to a file and open it as the training data of a model were.

        Its name in errors is "the body". Raises Refused if it has too many columns, LinsepError if
        it cannot be read.
        """
        path = Path(self._folder.name) / f"body-{next(self._numbers)}"
        try:
            path.write_bytes(content)
            self._check_columns(path, content, format, recipe)
            # Tabs are told by the content type, other delimiters by the model.
            delimiter = "\t" if format == "tsv" else None
            source = open_source(
                path, recipe=recipe, format=format, delimiter=delimiter, labelled=False
            )
            source.name = THE_BODY
            yield source
        except LinsepError as problem:
            # Hints are parameters of Python.
            raise type(problem)(_without(path, problem.render(lambda hint: None))) from None
        except OSError as problem:
            raise Refused(503, f"The body cannot be stored: {problem.strerror}.") from None
        finally:
            path.unlink(missing_ok=True)

    def _check_columns(
        self, path: Path, content: bytes, format: str, recipe: dict[str, Any]
    ) -> None:
        """Refuse wide tables before a reader makes room for all their columns."""
        most = self.limits.features
        if format in ("csv", "tsv"):
            told = "\t" if format == "tsv" else recipe.get("delimiter")
            delimiter = Fields(told).of(format).delimiter or ""
            line = content.partition(b"\n")[0]
            many = len(line.split()) if delimiter == WHITESPACE else line.count(delimiter.encode())
        elif format == "arrow":
            with path.open("rb") as file:
                if any(buffers for _, _, buffers in messages(file, len(content))):
                    raise Refused(415, "The Arrow data are compressed: send them uncompressed.")
            many = _arrow_columns(path)
        else:
            return
        columns = sum(len(recipe.get(kind) or ()) for kind in ("numeric", "text", "words"))
        if many >= max(most, 2 * columns):
            raise too_wide("The table", most)


def _arrow_columns(path: Path) -> int:
    with path.open("rb") as file:
        opened = pa.ipc.open_file if file.read(6) == b"ARROW1" else pa.ipc.open_stream
    try:
        with pa.OSFile(str(path)) as raw:
            return len(opened(raw).schema)
    except (pa.ArrowException, OSError):
        return 0  # its reader says what is wrong


def _without(path: Path, message: str) -> str:
    """Return a message that calls the file what users know it as."""
    message = message.replace(str(path), THE_BODY)
    message = re.sub(rf"{THE_BODY} (line|row) (\d+)", rf"\1 \2 of {THE_BODY}", message)
    message = message.replace("give a file with rows", "send at least one")
    message = message.replace("give a file with", "send")
    return message[0].upper() + message[1:]


def lines_of(rows: list[Any], format: str) -> bytes:
    """Return rows that are lines of text as a body; DataError if one is none, or no row."""
    kind = "svmlight text" if format == "svmlight" else "Vowpal Wabbit's text"
    rows_of_one_kind(rows, {str: f"a line of {kind}"})
    for number, row in enumerate(rows):
        line = row.partition("#")[0] if format == "svmlight" else row
        if not line.strip() or set(line) & set("\r\n"):
            raise DataError(f"rows[{number}] is not one line of {kind}: give a line for each row.")
    return "\n".join(rows).encode() + b"\n"

"""Columns of numbers in CSV: scanned by compiled code, to the values that Arrow reads."""

import re

import numpy as np
import pyarrow as pa

from linsep.compiled.scanners.csv import scan
from linsep.compiled.scanners.numbers import PADDING

#: bytes of a file from which on it is worth while to load, or compile, the scanner
WORTHWHILE = 8 << 20
#: what the scanner and Python's float() read alike, blanks around it aside
_DECIMAL = re.compile(rb"[ \t]*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?[ \t]*")


class NumberColumns:
    """Reads blocks of CSV in which the columns wanted, ``names``, hold numbers only, or cells that
    are ``missing``. Blocks with quotes that enclose cells are left to another parser.
    """

    def __init__(
        self, header: list[str], names: list[str], separator: str, quotes: bool, missing: list[str]
    ):
        self._names, self._quotes = names, quotes
        self._separator = np.uint64(ord(separator))
        self._missing = {cell.encode() for cell in missing}
        self._places = np.array([names.index(n) if n in names else -1 for n in header], np.int32)

    def of(self, block: bytes) -> pa.RecordBatch | None:
        """Return the rows of a block of whole lines, null where there is no value; None if another
        parser must read them, or say why they cannot be read.
        """
        if self._quotes and b'"' in block:
            return None
        lines = block if block.endswith(b"\n") else block + b"\n"
        # Arrow's pool gives the memory of one block to the next: to touch fresh memory for the
        # first time takes as long as to read the numbers.
        rows = lines.count(b"\n")
        buffer = pa.allocate_buffer(8 * rows * len(self._names))
        columns = np.frombuffer(buffer, np.float64).reshape(len(self._names), rows)
        # Where every fourth cell is something else, Arrow is as fast.
        others = np.empty((columns.size // 4 + 1, 4), np.int64)
        text = np.frombuffer(lines + b"\n" * PADDING, np.uint8)
        with np.errstate(over="ignore"):  # words wrap around, which numpy notes when not compiled
            at, rows, n_others, empty = scan(
                text, np.uint64(len(lines)), self._separator, self._places, columns, others
            )
        if at < len(lines) or not self._read(lines, others[: int(n_others)], columns):
            return None
        arrays = [
            # Cells without a value are rare, and to look for them takes time.
            pa.array(values, mask=np.isnan(values) if empty or n_others else None)
            for values in columns[:, : int(rows)]
        ]
        return pa.RecordBatch.from_arrays(arrays, self._names)

    def _read(self, lines: bytes, others: np.ndarray, columns: np.ndarray) -> bool:
        """Read the cells that the scanner did not; return whether all have numbers or no value."""
        for column, row, begin, end in others.tolist():
            cell = lines[begin:end]
            if cell in self._missing:
                continue
            if not _DECIMAL.fullmatch(cell):
                return False
            columns[column, row] = float(cell)
        return True

"""Columns of numbers in CSV: scanned by compiled code, to the values that Arrow reads."""

import numpy as np
import pyarrow as pa

from linsep.compiled.scanners.csv import scan
from linsep.compiled.scanners.numbers import PADDING

#: bytes of a file from which on it is worth while to load, or compile, the scanner
WORTHWHILE = 8 << 20


def scanned(
    block: bytes, header: list[str], names: list[str], separator: str, missing: list[str]
) -> pa.RecordBatch | None:
    """Return the columns ``names`` of a block of whole lines without quotes, null where a cell is
    empty or ``missing``; None if a cell is neither, or a line has more or fewer, so that another
    parser must read them, or say why they cannot be read.
    """
    lines = block if block.endswith(b"\n") else block + b"\n"
    numbers = {name: number for number, name in enumerate(names)}
    places = np.array([numbers.get(name, -1) for name in header], np.int32)
    # Arrow's pool gives the memory of one block to the next: to touch fresh memory for the first
    # time takes as long as to read the numbers.
    rows = lines.count(b"\n")
    buffer = pa.allocate_buffer(8 * rows * len(names))
    columns = np.frombuffer(buffer, np.float64).reshape(len(names), rows)
    # Where every fourth cell is something else, Arrow is as fast.
    others = np.empty((columns.size // 4 + 1, 4), np.int64)
    text = np.frombuffer(lines + b"\n" * PADDING, np.uint8)
    with np.errstate(over="ignore"):  # words wrap around, which numpy notes when not compiled
        at, rows, n_others, empty = scan(
            text, np.uint64(len(lines)), np.uint64(ord(separator)), places, columns, others
        )
    cells = {
        lines[begin:end].decode(errors="replace")
        for _, _, begin, end in others[: int(n_others)].tolist()
    }
    if at < len(lines) or cells - {*missing}:
        return None
    arrays = [
        # Cells without a value are rare, and to look for them takes time.
        pa.array(values, mask=np.isnan(values) if empty or n_others else None)
        for values in columns[:, : int(rows)]
    ]
    return pa.RecordBatch.from_arrays(arrays, names)

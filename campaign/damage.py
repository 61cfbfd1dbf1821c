"""Random damage to files; a damaged row cache must be refused in one sentence."""

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from campaign.batches import folder
from linsep.batches import Batch
from linsep.errors import LinsepError
from linsep.sources import ArraySource
from linsep.sources.row_cache import RowCache, RowCacheWriter

#: lengths of runs of one byte; one in a hundred is of nearly a megabyte
RUNS = [*(1, 3, 300, 3000) * 25, 900_000]
KEY = {"files": [["rows", 1, 2]], "options": {}}


def mutated(data: bytes, draw: random.Random) -> bytes:
    """Make a few random edits: bits, bytes, cuts, copies, runs of one byte."""
    out = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        at, size = draw.randrange(len(out) + 1), draw.choice((1, 2, 8, 64))
        kind = draw.randrange(6)
        if kind == 0 and at < len(out):
            out[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            out[at : at + size] = draw.randbytes(draw.choice((0, size)))
        elif kind == 2:
            del out[at:]
        elif kind == 3:
            out[at:at] = out[: draw.randrange(len(out) + 1)][-size:]
        elif kind == 4:
            out[at:at] = bytes([draw.choice(b'[{"\\,:\n\r\0 -0')]) * draw.choice(RUNS)
        else:
            out[at : at + size] = bytes(size)
    return bytes(out)


def judged(data: bytes, whole: bytes, name: str, read: Callable[[Path], Any]) -> str | None:
    """Return what is wrong with reading a damaged file, which must be refused in a sentence."""
    path = folder() / name
    path.write_bytes(data)
    try:
        read(path)
    except LinsepError:
        return None
    return None if data == whole else f"accepted {data!r}"


@cache
def _row_caches() -> list[bytes]:
    """Return row caches of 200 rows, dense and sparse."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), rng.integers(0, 2, 200).astype(np.int32)
    stored = []
    for rows in (X, sp.csr_matrix(X.astype(np.float32) * (X > 0))):
        writer = RowCacheWriter(folder() / "whole.rows", KEY)
        writer.write(Batch(rows, y))
        writer.commit(4, ["no", "yes"], ArraySource(X, y)).close()
        stored.append((folder() / "whole.rows").read_bytes())
    return stored


def row_cache(draw: random.Random) -> str | None:
    """Check that a damaged row cache is refused."""
    whole = draw.choice(_row_caches())
    return judged(mutated(whole, draw), whole, "rows.rows", _all_rows)


def _all_rows(path: Path) -> Any:
    path.chmod(0o600)
    row_cache = RowCache.open(path, KEY)
    if row_cache is None:
        raise LinsepError("refused")
    return row_cache.read_blocks(np.arange(row_cache.n_blocks))

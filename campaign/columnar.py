"""Damaged Parquet, Arrow and Feather files: refused in a sentence, or read as labeled rows."""

import io
import random
from functools import cache

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from campaign.batches import folder
from campaign.damage import mutated
from linsep import open_source
from linsep.errors import LinsepError

ROWS = 40


@cache
def _files() -> list[tuple[str, bytes]]:
    """Return the same table in every format, as (suffix, bytes)."""
    table = pa.table(
        {
            "x": [k / 2 for k in range(ROWS)],
            "word": [f"w{k % 3}" for k in range(ROWS)],
            "whole": [k if k % 7 else None for k in range(ROWS)],
            "kind": ["ab"[k % 2] for k in range(ROWS)],
        }
    )
    packed, plain, arrow, feather = (io.BytesIO() for _ in range(4))
    pa.parquet.write_table(table, packed)
    pa.parquet.write_table(table, plain, compression="none", use_dictionary=False)
    with pa.ipc.new_file(arrow, table.schema) as writer:
        writer.write_table(table)
    pa.feather.write_feather(table, feather, compression="lz4")
    endings = ("parquet", "parquet", "arrow", "feather")
    written = (packed, plain, arrow, feather)
    return [(end, file.getvalue()) for end, file in zip(endings, written, strict=True)]


def columnar(draw: random.Random) -> str | None:
    """Check that a damaged file is refused in a sentence or read."""
    ending, whole = draw.choice(_files())
    data = mutated(whole, draw) if draw.random() < 0.5 else _flipped(whole, draw)
    path = folder() / f"table.{ending}"
    path.write_bytes(data)
    try:
        for batch in open_source(path, target="kind", missing="drop").batches():
            if batch.y is None or len(batch.y) != batch.X.shape[0]:
                return f"rows without labels: {data!r}"
    except LinsepError:
        return None
    return None


def _flipped(data: bytes, draw: random.Random) -> bytes:
    """Flip a few bits, which keeps all other bytes in place."""
    out = bytearray(data)
    for _ in range(draw.choice((1, 2, 4))):
        out[draw.randrange(len(out))] ^= 1 << draw.randrange(8)
    return bytes(out)

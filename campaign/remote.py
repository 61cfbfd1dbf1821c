"""Files of a web server that fails at random: the rows of the local file, or one sentence."""

import gzip
import io
import random
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import scipy.sparse as sp

from campaign.batches import folder
from campaign.web_server import FAULTS, WebServer
from linsep import open_source
from linsep.errors import DataError
from linsep.sources.remote import file

ROWS = 300
#: faults but answers with other bytes than those asked for, which fsspec takes
HONEST = [fault for fault in FAULTS if fault != "other range"]
#: what no message may hold
SECRETS = ("pass1word", "h1dden")


def fetched(draw: random.Random) -> str | None:
    """Check that two passes over a file of a faulty server are those over the local file."""
    name = draw.choice(sorted(_files(0)))
    swapped_at = draw.choice((None, None, None, draw.randrange(12)))
    rate = draw.choice((0.0, 0.03, 0.1, 0.3, 1.0))
    kinds = draw.sample(HONEST, draw.choice((1, 3, len(HONEST))))
    server = WebServer(
        {f"/{name}": _files(0)[name]}, ranges=draw.random() < 0.8, lengths=draw.random() < 0.9,
        tags=draw.random() < 0.8, stall=0.05,
    )  # fmt: skip

    def fault(number: int, path: str) -> str | None:
        if number == swapped_at:
            server.files[path] = _files(1)[name]
        return draw.choice(kinds) if draw.random() < rate else None

    server.fault = fault
    with (
        server,
        patch.multiple(file, BLOCK=draw.randrange(300, 20_000), SILENCE=2),
    ):
        host = server.url.removeprefix("http://")
        return _judged(f"http://me:{SECRETS[0]}@{host}/{name}?key={SECRETS[1]}", name, swapped_at)


def _judged(address: str, name: str, swapped_at: int | None) -> str | None:
    """Return what is wrong with the rows of an address, or with what is said of it."""
    try:
        found = _rows(address, name)
    except DataError as refused:
        said = str(refused)
        one = said.endswith(".") and "\n" not in said and f"/{name}" in said
        hidden = not any(secret in said for secret in SECRETS)
        return None if one and hidden else f"{name}: {said}"
    # The first answer without a fault may be of the other file, but then all are.
    right = [_local(0, name)] + [_local(1, name)] * (swapped_at is not None)
    return None if found in right else f"{name}: other rows"


def _rows(data: Any, name: str) -> list[bytes]:
    """Return the bytes of all rows, read twice."""
    tables = ("csv", "gz", "jsonl", "parquet", "arrow")
    source = open_source(data, target="y" if name.endswith(tables) else None)
    bits: list[bytes] = []
    for _ in range(2):
        batches = list(source.batches())
        parts = [sp.csr_array(batch.X) for batch in batches]
        wide = max(part.shape[1] for part in parts)
        for part in parts:
            part.resize(part.shape[0], wide)
        X = sp.vstack(parts, format="csr")
        labels = np.concatenate([batch.y for batch in batches])
        bits += [X.data.tobytes(), X.indices.tobytes(), X.indptr.tobytes(), repr(labels).encode()]
    return bits


@cache
def _local(version: int, name: str) -> list[bytes]:
    path = folder() / f"local-{version}-{name}"
    path.write_bytes(_files(version)[name])
    return _rows(path, name)


@cache
def _files(version: int) -> dict[str, bytes]:
    """Return the same rows in every format; the two versions have files of other lengths or
    ETags.
    """
    rng = np.random.default_rng(version)
    a, b = rng.normal(size=(2, ROWS + version))
    y = (a > b).astype(int)
    table = pa.table({"a": a, "b": b, "y": y})
    files = {}
    csv, plain, packed, arrow, stream = (io.BytesIO() for _ in range(5))
    pa.csv.write_csv(table, csv)
    files["x.csv"], files["x.csv.gz"] = csv.getvalue(), gzip.compress(csv.getvalue(), mtime=0)
    pa.parquet.write_table(table, plain, compression="none", row_group_size=90)
    pa.parquet.write_table(table, packed, data_page_size=500)
    pa.feather.write_feather(table, arrow, compression="lz4", chunksize=70)
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table, max_chunksize=70)
    files |= {
        "plain.parquet": plain.getvalue(), "packed.parquet": packed.getvalue(),
        "x.arrow": arrow.getvalue(), "stream.arrow": stream.getvalue(),
    }  # fmt: skip
    rows = list(zip(y.tolist(), a.tolist(), b.tolist(), strict=True))
    lines = {
        "x.svm": (f"{2 * k - 1} 1:{u!r} 7:{v!r}" for k, u, v in rows),
        "x.vw": (f"{2 * k - 1} | a:{u!r} b:{v!r}" for k, u, v in rows),
        "x.jsonl": (f'{{"a":{u!r},"b":{v!r},"y":{k}}}' for k, u, v in rows),
    }
    return files | {name: ("\n".join(text) + "\n").encode() for name, text in lines.items()}

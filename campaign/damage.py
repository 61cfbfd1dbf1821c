"""Damaged files: each is refused in one sentence, or read as what it says; nothing else happens."""

import random
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import linsep
from linsep import Perceptron, open_source
from linsep.errors import LinsepError
from linsep.sources.base import Batch
from linsep.sources.chunks import Chunk
from linsep.sources.spool import Spool, SpoolDamaged
from linsep.sources.spool_writer import SpoolWriter
from linsep.sources.svmlight import PADDING, scan_chunk
from linsep.textbook.svmlight import LABELS_BELOW, parse_svmlight

KEY = {"files": [["rows", 1, 2]], "options": {}}
PIECES = (
    *("0", "1", "-1", "+2.5", "1e3", ".5", "1e400", "nan", "9007199254740993", "1:1", "2:0.5"),
    *("3:-.5e3", "0:1", "2147483647:1", "5:", ":1", "#", "qid:7", "9:1e39", "12345678:1"),
    *("99:0.1234567890123456789", "+", "-", ".", "e", "1,2"),
)


def mutated(data: bytes, draw: random.Random) -> bytes:
    """A few random edits: bits, bytes, cuts, copies, runs of one byte."""
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
            out[at:at] = bytes([draw.choice(b'[{"\\,:\n\r\0 -0')]) * draw.choice((1, 3, 300, 3000))
        else:
            out[at : at + size] = bytes(size)
    return bytes(out)


@cache
def folder() -> Path:
    """A folder for the files of this process."""
    return Path(tempfile.mkdtemp(prefix="linsep-campaign-"))


# svmlight text, against the plain parser.


def scanned(draw: random.Random) -> str | None:
    """Lines of odd pieces: the compiled scanner reads the very numbers of the plain parser."""
    ends = ("\n", "\n", " ", " ", " ", "\t", "\r\n", "")
    text = "".join(draw.choice(PIECES) + draw.choice(ends) for _ in range(draw.randrange(1, 12)))
    data = text.encode()
    base = draw.choice((0, 1))
    fast, plain = _scan(data, base), _parse(data, base)
    return None if fast == plain else f"{data!r} base {base}: {fast} against {plain}"


def _scan(data: bytes, base: int) -> Any:
    found = scan_chunk(Chunk(0, bytearray(data + b"\n" * PADDING), len(data)), base, np.float64)
    if found.refused is not None:
        return found.refused[0] + 1
    rows = np.diff(found.indptr).tolist()
    columns = (found.columns + base).tolist()
    return found.labels.tobytes(), rows, columns, found.values.tobytes()


def _parse(data: bytes, base: int) -> Any:
    try:
        labels, rows = parse_svmlight(data, base, np.float64)
    except LinsepError as refusal:
        return int(str(refusal).split("line ")[1].split(":")[0])
    assert all(abs(label) < LABELS_BELOW for label in labels)
    pairs = [pair for row in rows for pair in row]
    values = np.array([value for _, value in pairs], dtype=np.float64)
    sizes = [len(row) for row in rows]
    return (
        np.array(labels, dtype=np.float64).tobytes(),
        sizes,
        [k for k, _ in pairs],
        values.tobytes(),
    )


# Tables.


def table(ending: str, text: str) -> Callable[[random.Random], str | None]:
    """A case: a damaged table is read, or refused in a sentence."""

    def case(draw: random.Random) -> str | None:
        path = folder() / f"table.{ending}"
        path.write_bytes(mutated(text.encode(), draw))
        try:
            for batch in open_source(path, target="kind").batches():
                if batch.y is None or len(batch.y) != batch.X.shape[0]:
                    return "rows without labels"
                values = batch.X.data if hasattr(batch.X, "indptr") else batch.X
                if not np.isfinite(values).all():
                    return "values that are not finite"
        except LinsepError:
            return None
        except Exception as fault:
            return f"{fault!r} of {path.read_bytes()!r}"
        return None

    return case


CSV = "x,word,kind\n" + "".join(f'{k % 7}.5,"w{k % 3}, x",{"ab"[k % 2]}\n' for k in range(30))
JSONL = "".join(f'{{"x": {k}.5, "word": "w{k % 3}", "kind": "{"ab"[k % 2]}"}}\n' for k in range(30))


# What linsep wrote.


@cache
def model_bytes() -> bytes:
    """A saved model."""
    X = np.random.default_rng(0).normal(size=(40, 6))
    path = folder() / "whole.linsep"
    linsep.save(Perceptron(max_iter=3, keep="average").fit(X, X[:, 0] > X[:, 1]), path, force=True)
    return path.read_bytes()


def model(draw: random.Random) -> str | None:
    """A damaged model is refused in a sentence."""
    data = mutated(model_bytes(), draw)
    return _refused(data, "model.linsep", linsep.load, model_bytes())


@cache
def rows_bytes() -> bytes:
    """A row cache of 200 rows."""
    rng = np.random.default_rng(0)
    with SpoolWriter(folder() / "whole.spool", KEY) as writer:
        writer.write(Batch(rng.normal(size=(200, 4)), rng.integers(0, 2, 200), 0))
        writer.commit().close()
    return (folder() / "whole.spool").read_bytes()


def row_cache(draw: random.Random) -> str | None:
    """A damaged row cache is not learnt."""
    data = mutated(rows_bytes(), draw)
    return _refused(data, "rows.spool", _all_rows, rows_bytes())


def _all_rows(path: Path) -> Any:
    path.chmod(0o600)
    spool = Spool.open(path, KEY)
    if spool is None:
        raise SpoolDamaged("refused")
    return spool.read_blocks(np.arange(spool.n_blocks))


def _refused(data: bytes, name: str, read: Callable[[Path], Any], whole: bytes) -> str | None:
    path = folder() / name
    path.write_bytes(data)
    try:
        read(path)
    except LinsepError:
        return None
    except Exception as fault:
        return f"{fault!r} of {data!r}"
    return None if data == whole else f"accepted {data!r}"

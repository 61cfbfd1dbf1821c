"""Random and damaged CSV: read as Python's reader does, or refused."""

import csv
import gzip
import io
import random
from typing import Any

from campaign.batches import folder
from campaign.damage import mutated
from linsep import open_source
from linsep.errors import LinsepError

TABLES = (
    "x,word,kind\n" + "".join(f'{k}.5,"w{k % 3}, x",{"ab"[k % 2]}\n' for k in range(30)),
    "x,y,kind\n1,2,a\n3,4,b\n5,6,a\n",
    "word,kind\na,1\nb,2\nc,1\n",
    "x,kind\r\n1,true\r\n2,false\r\n",
)
#: pieces inserted into tables
PARTS = (
    *('"', ",", "\n", "\r\n", "\r", '""', '"a,b"', '"a\nb"', '"a\r\nb"', " ", "\t", ";", "\\"),
    *("1", "-", "+", ".5", "1e5", "0x1", "nan", "NA", "inf", "true", "é", "日", "\ufeff", "a"),
    *("0001", "1e400", "1e-400", "9007199254740993", '"1"', "'", "#", ",,", "1_000", "\u0663"),
)


def table(draw: random.Random) -> str | None:
    """Check that a damaged table is refused in a sentence, or read as Python's reader does."""
    data = _edited(draw)
    stored, path = data, folder() / "table.csv"
    if draw.random() < 0.05:
        path = folder() / "table.csv.gz"
        stored = mutated(gzip.compress(data, 1), draw) if draw.random() < 0.8 else stored
    path.write_bytes(stored)
    try:
        source = open_source(path, target="kind")
        batches = list(source.batches())
    except LinsepError:
        return None
    wrong = _differs(source.feature_names, batches, _plain_csv(data))
    return wrong and f"{wrong}: {data!r}"


def _edited(draw: random.Random) -> bytes:
    """Return a table with inserted pieces or damaged bytes."""
    text = draw.choice(TABLES)
    if draw.random() < 0.4:
        return mutated(text.encode(), draw)
    for _ in range(draw.choice((1, 1, 2, 3))):
        at = draw.randrange(len(text) + 1)
        gone = draw.choice((0, 0, 0, 1, 1, 2, 5))
        text = text[:at] + draw.choice(PARTS) + text[at + gone :]
    return text.encode()


def _plain_csv(data: bytes) -> list[dict[str, Any]]:
    text = io.StringIO(data.decode().removeprefix("\ufeff"), newline="")
    csv.field_size_limit(10_000_000)
    header, *rows = (fields for fields in csv.reader(text) if fields)
    return [dict(zip(header, fields, strict=True)) for fields in rows]


def _differs(names: Any, batches: list, expected: list[dict[str, Any]]) -> str | None:
    """Return where rows differ from the rows of a plain reader, or None."""
    labels = [label for batch in batches for label in batch.y.tolist()]
    if len(labels) != len(expected):
        return f"{len(labels)} rows for {len(expected)}"
    for label, row in zip(labels, expected, strict=True):
        if not _same(label, row.get("kind")):
            return f"label {label!r} for {row.get('kind')!r}"
    found = [values for batch in batches for values in batch.dense().tolist()]
    for values, row in zip(found, expected, strict=True):
        for name, value in zip(names, values, strict=False):
            if (wrong := _wrong_value(name, value, row)) is not None:
                return wrong
    return None


def _wrong_value(name: str, value: float, row: dict[str, Any]) -> str | None:
    if name in row:
        return None if _same(value, row[name]) else f"{name} {value!r} for {row[name]!r}"
    column, _, level = name.partition("=")
    if column in row and row[column] is not None:
        right = value == float(row[column] == level)
        return None if right else f"{name} {value!r} for {row[column]!r}"
    return None if value == 0 else f"{name} {value!r} of no cell"


def _same(found: Any, expected: Any) -> bool:
    """Whether a value equals a cell: text, a number, or a boolean."""
    if isinstance(found, str):
        return bool(found == expected)
    if isinstance(expected, str):
        word = expected.strip().lower()
        return bool(found == (word == "true" if word in ("true", "false") else float(word)))
    return expected is None or bool(found == float(expected))  # the nearest double

"""Random and damaged tables: read as the readers of Python read them, or refused."""

import csv
import gzip
import io
import json
import random
from collections.abc import Callable
from typing import Any

from campaign.batches import folder
from campaign.damage import mutated
from linsep import open_source
from linsep.errors import LinsepError

TABLES = {
    "csv": [
        "x,word,kind\n" + "".join(f'{k}.5,"w{k % 3}, x",{"ab"[k % 2]}\n' for k in range(30)),
        "x,y,kind\n1,2,a\n3,4,b\n5,6,a\n",
        "word,kind\na,1\nb,2\nc,1\n",
        "x,kind\r\n1,true\r\n2,false\r\n",
    ],
    "jsonl": [
        "".join(
            f'{{"x": {k}.5, "word": "w{k % 3}", "kind": "{"ab"[k % 2]}"}}\n' for k in range(30)
        ),
        '{"x":1,"kind":"a"}\n{"x":2,"kind":"b"}\n',
        '{"w":"p","kind":1}\n{"kind":2,"w":"q"}\n{"w":null,"kind":1}\n',
        '{"b":true,"kind":false}\n{"b":false,"kind":true}\n',
    ],
}
#: pieces inserted into tables
PARTS = {
    "csv": [
        *('"', ",", "\n", "\r\n", "\r", '""', '"a,b"', '"a\nb"', '"a\r\nb"', " ", "\t", ";", "\\"),
        *("1", "-", "+", ".5", "1e5", "0x1", "nan", "NA", "inf", "true", "é", "日", "\ufeff", "a"),
        *("0001", "1e400", "1e-400", "9007199254740993", '"1"', "'", "#", ",,", "1_000", "\u0663"),
    ],
    "jsonl": [
        *('"', '\\"', ",", "\n", "\r\n", "{", "}", "[", "]", ":", "null", "true", "1", "-1", "1.5"),
        *("1e5", "1e400", "-0", '"a"', '"x":', "\\u0041", "\\ud83d", "\\u0000", "é", "{}", "[]"),
        *(" ", "\t", "01", "+1", ".5", "NaN", '"kind": "a", ', '"new": 1, ', "9007199254740993"),
    ],
}


def table(ending: str) -> Callable[[random.Random], str | None]:
    """Return a case: a damaged table is refused in a sentence, or read as Python's reader does."""
    plain = {"csv": _plain_csv, "jsonl": _plain_jsonl}[ending]

    def case(draw: random.Random) -> str | None:
        data = _edited(ending, draw)
        squeezed = draw.random() < 0.05
        stored, path = data, folder() / f"table.{ending}"
        if squeezed:
            path = folder() / f"table.{ending}.gz"
            stored = mutated(gzip.compress(data, 1), draw) if draw.random() < 0.8 else stored
        path.write_bytes(stored)
        try:
            source = open_source(path, target="kind")
            batches = list(source.batches())
        except LinsepError:
            return None
        expected = plain(data)
        wrong = _differs(source.feature_names, batches, expected)
        return wrong and f"{wrong}: {data!r}"

    return case


def _edited(ending: str, draw: random.Random) -> bytes:
    """Return a table with inserted pieces or damaged bytes."""
    text = draw.choice(TABLES[ending])
    if draw.random() < 0.4:
        return mutated(text.encode(), draw)
    for _ in range(draw.choice((1, 1, 2, 3))):
        at = draw.randrange(len(text) + 1)
        gone = draw.choice((0, 0, 0, 1, 1, 2, 5))
        text = text[:at] + draw.choice(PARTS[ending]) + text[at + gone :]
    return text.encode()


def _plain_csv(data: bytes) -> list[dict[str, Any]]:
    text = io.StringIO(data.decode().removeprefix("\ufeff"), newline="")
    csv.field_size_limit(10_000_000)
    header, *rows = (fields for fields in csv.reader(text) if fields)
    return [dict(zip(header, fields, strict=True)) for fields in rows]


def _plain_jsonl(data: bytes) -> list[dict[str, Any]]:
    # A carriage return ends a line, too: none stands in a JSON string.
    return [json.loads(line) for line in data.replace(b"\r", b"\n").split(b"\n") if line.strip()]


def _differs(names: Any, batches: list, expected: list[dict[str, Any]]) -> str | None:
    """Return where rows differ from the rows of a plain reader, or None."""
    labels = [label for batch in batches for label in batch.y.tolist()]
    if len(labels) != len(expected):
        return f"{len(labels)} rows for {len(expected)}"
    for label, row in zip(labels, expected, strict=True):
        if not _same(label, row.get("kind")):
            return f"label {label!r} for {row.get('kind')!r}"
    first = 0
    for batch in batches:
        X = batch.X.toarray() if hasattr(batch.X, "indptr") else batch.X
        for values, row in zip(X.tolist(), expected[first:], strict=False):
            for name, value in zip(names, values, strict=False):
                if (wrong := _wrong_value(name, value, row)) is not None:
                    return wrong
        first += len(X)
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

"""Random and damaged text: read as a plain parser reads it, or refused."""

import csv
import gzip
import io
import json
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from campaign.batches import folder
from campaign.damage import mutated
from linsep import open_source
from linsep.errors import LinsepError
from linsep.sources.lines import Chunk
from linsep.sources.svmlight import PADDING, parse_line, scan_chunk
from linsep.sources.vw import Rules, parse_line as parse_vw, scan_chunk as scan_vw, summed

# svmlight text, against the plain parser.

PIECES = (
    *("0", "1", "-1", "+2.5", "1e3", ".5", "1e400", "nan", "9007199254740993", "1:1", "2:0.5"),
    *("3:-.5e3", "0:1", "2147483647:1", "5:", ":1", "#", "qid:7", "9:1e39", "12345678:1"),
    *("99:0.1234567890123456789", "+", "-", ".", "e", "1,2"),
)
DIGITS = "0123456789"


def scanned(draw: random.Random) -> str | None:
    """Check that the compiled scanner reads the same numbers as the plain parser."""
    data = _svmlight(draw).encode()
    base = draw.choice((0, 1))
    fast, plain = _scan(data, base), _parse(data, base)
    return None if fast == plain else f"{data!r} base {base}: {fast} against {plain}"


def _svmlight(draw: random.Random) -> str:
    """Return lines of pieces in any order, or valid lines with random numbers."""
    if draw.random() < 0.5:
        ends = ("\n", "\n", " ", " ", " ", "\t", "\r\n", "")
        pieces = (draw.choice(PIECES) + draw.choice(ends) for _ in range(draw.randrange(1, 12)))
        return "".join(pieces)
    text = ""
    for _ in range(draw.randrange(1, 4)):
        columns = sorted(draw.sample(range(12), draw.randrange(5)))
        text += " ".join([_number(draw), *(f"{j}:{_number(draw)}" for j in columns)]) + "\n"
    return text


def _number(draw: random.Random) -> str:
    """Return a decimal number of any length and size."""
    sizes = (1, 2, 3, 8, 15, 16, 17, 18, 19, 20, 21, 40)
    whole = "".join(draw.choices(DIGITS, k=draw.choice((0, *sizes))))
    part = "".join(draw.choices(DIGITS, k=draw.choice((0, *sizes))))
    point = "." * (part != "" or draw.random() < 0.1)
    power = draw.choice(("", "", "", "e", "E"))
    if power:
        power += draw.choice(("", "-", "+")) + str(draw.choice((0, 5, 22, 23, 37, 45, 300, 325)))
    return draw.choice(("", "", "-", "+")) + (whole + point + part or "0") + power


def _scan(data: bytes, base: int) -> Any:
    found = scan_chunk(Chunk(0, bytearray(data + b"\n" * PADDING), len(data)), base)
    if found.refused is not None:
        return found.refused[0] + 1
    rows, columns = np.diff(found.starts).tolist(), (found.columns + base).tolist()
    return found.labels.tobytes(), rows, columns, found.values.tobytes()


def _parse(data: bytes, base: int) -> Any:
    labels, rows = [], []
    for number, line in enumerate(data.split(b"\n"), start=1):
        try:
            parsed = parse_line(line, base)
        except LinsepError:
            return number
        if parsed is not None:
            labels.append(parsed[0])
            rows.append(parsed[1])
    pairs = [pair for row in rows for pair in row]
    values = np.array([value for _, value in pairs], float).tobytes()
    return np.array(labels, float).tobytes(), list(map(len, rows)), [c for c, _ in pairs], values


# Vowpal Wabbit's text, against the plain parser.

VW_PIECES = (
    *("1 |", "-1 2 'tag |a", "|", "1 1 0 |b:0.5", "shared |", "1,2 |", "1|", "|12", "|a", "|b:-2"),
    *("x", "x:0.5", "12", "007:2", "y:text", ":3", "z:", "x:nan", "x:1e400", "x:1e308", "x:1:2"),
    *("é", "x:0.1234567890123456789", "18446744073709551616", "x:1e-400", "\x01y", "|:2"),
)


def wabbit(draw: random.Random) -> str | None:
    """Check that the compiled scanner reads the same columns and values as the plain parser."""
    ends = ("\n", " ", " ", " ", " ", "\t", "\r\n", "")
    pieces = (draw.choice(VW_PIECES) + draw.choice(ends) for _ in range(draw.randrange(1, 16)))
    # Weights of namespaces that only Python can read are refused.
    data = re.sub(r"(\|[^\s|:]*):\S*(e-?\d{3}|\d{17})", r"\1 ", "".join(pieces)).encode()
    pairs = draw.choice(((), ((97, 98),), ((97, 97), (98, 32))))
    rules, labeled = Rules(draw.choice((1, 5, 18, 30)), pairs), draw.random() < 0.5
    chunk = Chunk(0, bytearray(data + b"\n" * PADDING), len(data))
    fast, plain = _scan_vw(chunk, rules, labeled), _parse_vw(data, rules, labeled)
    return None if fast == plain else f"{data!r} {rules}: {fast} against {plain}"


def _scan_vw(chunk: Chunk, rules: Rules, labeled: bool) -> Any:
    found = scan_vw(chunk, rules, labeled)
    if found.refused is not None:
        return found.refused[0] + 1
    X = found.columns.tolist(), found.values.tolist()
    return np.nan_to_num(found.labels).tolist(), found.importance.tolist(), [*zip(*X, strict=True)]


def _parse_vw(data: bytes, rules: Rules, labeled: bool) -> Any:
    labels, weights, pairs = [], [], list[Any]()
    for number, line in enumerate(data.split(b"\n"), start=1):
        try:
            if read := parse_vw(line, rules, labeled):
                pairs += summed(read.features).items()
                labels.append(read.label or 0.0)
                weights.append(read.importance)
        except LinsepError:
            return number
    return labels, weights, pairs


# Tables, against the readers of Python.

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

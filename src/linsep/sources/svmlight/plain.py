"""svmlight text read in plain Python, one line at a time.

Every line is a label and ``index:value`` pairs, blanks between them, and perhaps a comment::

    +1 qid:7 3:0.5 17:1e-3  # the features that are not 0

The format is that of T. Joachims' SVMlight (1999) and of LIBSVM's tools.
"""

import re
from math import isfinite
from typing import NoReturn

import numpy as np

from linsep.errors import DataError, hint

#: so that the number of features still fits into 32 bits
LARGEST_INDEX = 2**31 - 2

#: from here on, floats no longer tell whole numbers apart
LABELS_BELOW = 2.0**53

BLANKS = re.compile(rb"[ \t]+")
#: what Python's float() reads, without underscores, surrounding space, nan and inf
DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
NOT_FINITE = re.compile(rb"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
WHOLE = re.compile(rb"[0-9]+")
NEGATIVE = re.compile(rb"-[0-9]+")
QUERY = re.compile(rb"qid:[0-9]+")

Pairs = list[tuple[int, float]]


def parse_svmlight(
    text: bytes, index_base: int = 0, dtype: type = np.float64
) -> tuple[list[float], list[Pairs]]:
    """Read whole svmlight text.

    Parameters
    ----------
    text : bytes
        Lines; the last may lack its newline.
    index_base : int
        1 refuses the index 0.
    dtype : numpy float type
        In which every value must be finite.

    Returns
    -------
    labels : list of float
    rows : list of lists of (index, value)
        With the indices as they stand in the text.

    Raises
    ------
    DataError
        With the number of the first line that cannot be read, and why.
    """
    labels, rows = [], []
    for number, line in enumerate(text.split(b"\n"), start=1):
        try:
            parsed = parse_line(line, index_base, dtype)
        except DataError as error:
            raise error.at(f"line {number}: ") from None
        if parsed is not None:
            labels.append(parsed[0])
            rows.append(parsed[1])
    return labels, rows


def parse_line(
    line: bytes, index_base: int = 0, dtype: type = np.float64
) -> tuple[float, Pairs] | None:
    """Read one line without its newline: its label and pairs, or None when it holds no row."""
    content = line.removesuffix(b"\r").split(b"#")[0].strip(b" \t")
    if not content:
        return None
    try:
        label, *fields = BLANKS.split(content)
        parsed_label = parse_label(label)
        while fields and QUERY.fullmatch(fields[0]):
            del fields[0]
        pairs: Pairs = []
        for field in fields:
            index = parse_index(field, index_base, pairs[-1][0] if pairs else -1)
            pairs.append((index, parse_value(field, dtype)))
    except DataError:
        refuse_binary(line)
        raise
    return parsed_label, pairs


def parse_label(token: bytes) -> float:
    """Return the label, a finite number that a float holds to its last digit."""
    if b"," in token:
        refuse(f"the label {show(token)} lists several labels: keep one label a row")
    if NOT_FINITE.fullmatch(token) or (DECIMAL.fullmatch(token) and not isfinite(float(token))):
        refuse(f"the label {show(token)} is not finite: give a finite number, such as +1")
    if WHOLE.match(token) and b":" in token:
        refuse(f"the line has no label before {show(token)}: begin it with one, such as +1")
    if not DECIMAL.fullmatch(token):
        refuse(f"the label {show(token)} is not a number: begin the line with one, such as +1")
    if abs(float(token)) >= LABELS_BELOW:
        refuse(f"the label {show(token)} has too many digits: shorten the labels")
    return float(token)


def parse_index(field: bytes, index_base: int, previous: int) -> int:
    """Return the index of a pair, larger than the ``previous`` one of its row (-1: none)."""
    token, colon, _ = field.partition(b":")
    if not colon:
        refuse(f"{show(field)} is not an index:value pair: write it like 3:0.5")
    if NEGATIVE.fullmatch(token):
        refuse(f"the index {show(token)} is negative: number the features from 0 or 1")
    if not WHOLE.fullmatch(token):
        refuse(f"the index {show(token)} is not a whole number: number the features from 0 or 1")
    token = token.lstrip(b"0")
    if len(token) > 10 or int(token or b"0") > LARGEST_INDEX:
        refuse(
            f"the index {show(token)} is larger than {LARGEST_INDEX}, the largest allowed: "
            "renumber or hash the features"
        )
    index = int(token or b"0")
    if index < index_base:
        raise DataError(
            "the index is 0 where the features are taken to be numbered from 1",
            hint("count from 0 with {}", index_base=0),
        )
    if index == previous:
        refuse(f"the index {index} stands twice: keep one value for each feature")
    if index < previous:
        refuse(f"the index {index} comes after {previous}: sort each line by index")
    return index


def parse_value(field: bytes, dtype: type) -> float:
    """Return the value of a pair, finite in ``dtype``."""
    index, _, token = field.partition(b":")
    if not token:
        refuse(f"the value after {show(index + b':')} is missing: complete the line, it may be cut")
    if NOT_FINITE.fullmatch(token):
        refuse(f"the value {show(token)} is not finite: leave the pair out or give a number")
    if not DECIMAL.fullmatch(token):
        refuse(f"the value {show(token)} is not a number: write the pair like 3:0.5")
    value = float(token)
    with np.errstate(over="ignore"):
        if not np.isfinite(dtype(value)):
            refuse(f"the value {show(token)} is too large for {dtype.__name__}: scale the feature")
    return value


def refuse_binary(line: bytes) -> None:
    """Say so when a line that cannot be read is no text at all."""
    try:
        line.decode("utf-8")
        text = b"\0" not in line
    except UnicodeDecodeError:
        text = False
    if not text:
        refuse("this does not look like svmlight text: give lines such as '+1 3:0.5 17:1'")


def refuse(sentence: str) -> NoReturn:
    """Raise the DataError of one sentence; whoever knows the file and line puts them in front."""
    raise DataError(sentence + ".")


def show(token: bytes) -> str:
    """Return a token for a message: quoted, escaped, at most 40 characters."""
    text = token.decode("utf-8", "replace")
    return repr(text if len(text) <= 40 else text[:37] + "...")

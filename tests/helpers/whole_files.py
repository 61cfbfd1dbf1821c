"""Files read whole; and plain parsers of svmlight text and Vowpal Wabbit's."""

import re
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import murmurhash3_32

from linsep.batches import joined
from linsep.sources import SvmlightSource, TableSource


def load_svmlight(paths, **options):
    """Return X and y of svmlight files, with the options of SvmlightSource."""
    whole = joined(list(SvmlightSource(_listed(paths), **options).batches()))
    whole.X.has_canonical_format = True
    return whole.X, whole.y


def load_table(paths, *, target=None, **options):
    """Return X, y (None without labels) and the names of the features of tables, with the options
    of TableSource.
    """
    source = TableSource(_listed(paths), target=target, **options)
    batches = list(source.batches())
    labels = [batch.y for batch in batches if batch.y is not None]
    y = np.concatenate(labels) if len(labels) == len(batches) else None
    if not sp.issparse(batches[0].X):
        return np.concatenate([batch.X for batch in batches]), y, source.feature_names
    X = sp.vstack([batch.X for batch in batches], format="csr")
    X.has_canonical_format = True
    return X, y, source.feature_names


def _listed(paths):
    return list(paths) if isinstance(paths, list | tuple) else [paths]


_DECIMAL = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_BLANKS = re.compile(rb"[ \t]+")
_BLANK_VALUE = re.compile(rb"(?<=[0-9]):[ \t]+(?=[-+.0-9][^:\s]*(?:\s|$))")


def decimal(token, below=np.inf):
    if not _DECIMAL.fullmatch(token) or abs(float(token)) >= below:
        raise ValueError(token)
    return float(token)


def parse_svmlight(text, index_base=0):
    """Return the labels, and the (index, value) pairs of the rows, of whole svmlight text, read by
    a plain parser; ValueError with the number of the first line that cannot be read.
    """
    labels, rows = [], []
    for number, line in enumerate(text.split(b"\n"), start=1):
        content = line.removesuffix(b"\r").partition(b"#")[0].strip(b" \t")
        label, *fields = _BLANKS.split(_BLANK_VALUE.sub(b":", content))
        if not content:
            continue
        try:
            labels.append(decimal(label, 2.0**53))
            pairs = [field.split(b":") for field in fields]
            rows.append([(int(decimal(index)), decimal(value)) for index, value in pairs])
        except ValueError:
            raise ValueError(number) from None
        indices = [index_base - 1, *(index for index, _ in rows[-1]), 2**31 - 1]
        if indices != sorted({*indices}) or not all(index.isdigit() for index, _ in pairs):
            raise ValueError(number)
    return labels, rows


class Feature(NamedTuple):
    space: int
    column: int
    value: float


def parse_vw(line, rules, labeled=True):
    """Return label, importance, features (those of pairs last), and the sum of each column, of a
    line of Vowpal Wabbit's text, read by a plain parser; None if it is blank, ValueError if it
    cannot be read.
    """
    content = line.removesuffix(b"\r").strip(b" \t")
    content.decode()
    if not content:
        return None
    head, first, *others = content.split(b"|")
    tokens = [token for token in _BLANKS.split(head) if token]
    if tokens and (tokens[-1][:1] == b"'" or head[-1:] not in b" \t"):
        tokens.pop()
    label = decimal(tokens[0], 2.0**53) if tokens else np.nan
    importance, base, *more = *map(decimal, tokens[1:]), *[1.0, 0.0][len(tokens[1:3]) :]
    if importance < 0 or base or more or (labeled and not tokens):
        raise ValueError(line)
    features = [one for space in (first, *others) for one in _features(space, rules)]
    for pair in rules.pairs:
        left, right = ([one for one in features if one.space == space] for space in pair)
        for k, a in enumerate(left):
            for b in right[k:] if pair[0] == pair[1] else right:
                column = (16777619 * a.column ^ b.column) % 2**rules.bits
                features.append(Feature(-1, column, a.value * b.value))
    sums = {}
    for one in features:
        sums[one.column] = sums.get(one.column, 0.0) + one.value
    if not np.isfinite([*sums.values()]).all():
        raise ValueError(line)
    return label, importance, features, dict(sorted(sums.items()))


def _features(text, rules):
    start, *tokens = _BLANKS.split(text)
    name, colon, written = start.partition(b":")
    if colon and not name:
        raise ValueError(text)
    weight = decimal(written) if colon else 1.0
    space, seed, unnamed = ord(name[:1] or b" "), hash_name(name, 0) if name else 0, 0
    read = weight and space not in rules.left_out
    for token in filter(None, tokens):
        own, colon, written = token.partition(b":")
        value, place = weight, hash_name(own, seed) if own else seed + unnamed
        unnamed += not own
        if colon and re.fullmatch(rb"(?!nan$|inf$|infinity$)[^-+.0-9:][^:]*", written, re.I):
            if not own:
                raise ValueError(token)
            place, value = hash_name(written, place), 1.0
        elif colon:
            value *= decimal(written, np.inf if read else np.nan)
        if read and not np.isfinite(value):
            raise ValueError(token)
        if read and value:
            yield Feature(space, place % 2**rules.bits, value)


def hash_name(name, seed):
    """Return the hash of a name: MurmurHash3, and a whole number is added to the seed."""
    name = name.strip(bytes(range(33)))
    if not name.strip(b"0123456789"):
        return (int(name or b"0") + seed) % 2**64
    return murmurhash3_32(name, seed % 2**32, positive=True)

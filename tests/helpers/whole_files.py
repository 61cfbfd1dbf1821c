"""Files read whole, and svmlight text by the plain parser alone."""

import numpy as np
import scipy.sparse as sp

from linsep.batches import joined
from linsep.errors import DataError
from linsep.sources import SvmlightSource, TableSource
from linsep.sources.svmlight import parse_line


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


def parse_svmlight(text, index_base=0):
    """Return the labels, and the (index, value) pairs of the rows, of whole svmlight text.

    DataError has the number of the first line that cannot be read, and why.
    """
    labels, rows = [], []
    for number, line in enumerate(text.split(b"\n"), start=1):
        try:
            parsed = parse_line(line, index_base)
        except DataError as error:
            raise error.at(f"line {number}: ") from None
        if parsed is not None:
            labels.append(parsed[0])
            rows.append(parsed[1])
    return labels, rows

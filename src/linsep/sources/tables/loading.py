"""Read whole tables into memory."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.sources.remote.file import located
from linsep.sources.tables.table import TableSource


def load_table(
    paths: str | Path | Iterable[str | Path], *, target: str | None = None, **options: Any
) -> tuple[np.ndarray | sp.csr_matrix, np.ndarray | None, list[str] | None]:
    """Read whole tables into memory.

    Parameters
    ----------
    paths : one path or several
    target : str or None
        The label column; None needs ``require_target=False``.
    **options : the other parameters of :class:`TableSource`

    Returns
    -------
    X : array or csr_matrix of shape (rows, features)
    y : array of shape (rows,) or None
    feature_names : list of str, or None when text values are hashed

    Raises DataError as :class:`TableSource` does.
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    source = TableSource([located(path) for path in given], target=target, **options)
    batches = list(source.batches())
    labels = [batch.y for batch in batches if batch.y is not None]
    y = np.concatenate(labels) if len(labels) == len(batches) else None
    if not sp.issparse(batches[0].X):
        return np.concatenate([batch.X for batch in batches]), y, source.feature_names
    X = sp.vstack([batch.X for batch in batches], format="csr")
    X.has_canonical_format = True
    return X, y, source.feature_names

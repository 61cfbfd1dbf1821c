"""Scenes of files: their rows, read as other commands read them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.errors import DataError, hint
from linsep.lab.scene import (
    LONGEST_NAME,
    MOST_CLASSES,
    MOST_POINTS,
    Scene,
    checked_features,
    checked_labels,
    checked_point,
)
from linsep.sources.base import Source
from linsep.sources.opening import open_source


def scene_of_file(path: Path, **how: Any) -> Scene:
    """Return the first 500 rows of a file as points: the first two columns of numbers, and the
    labels.

    Parameters
    ----------
    path : Path
    how : arguments of :func:`linsep.open_source`; ``include`` chooses columns

    Raises
    ------
    DataError
        As that function does, and for fewer than two columns of numbers or too many classes.
    """
    source = open_source(path, **how)
    X, labels = _first_rows(source)
    names = _columns_of(source, X.shape[1])
    if len(names) < 2:
        raise DataError(
            f"{source.name} has fewer than two columns of numbers, which are the coordinates",
            hint("read more of them as numbers with {}", numeric=None),
        )
    if len(set(labels)) > MOST_CLASSES:
        raise DataError(
            f"{source.name} has {len(set(labels))} classes in its first {len(labels)} rows: at "
            f"most {MOST_CLASSES} can be shown."
        )
    classes = sorted(set(labels))
    points = tuple(
        checked_point(number, [float(x), float(y), classes.index(label)])
        for number, ((x, y), label) in enumerate(zip(X[:, :2], labels, strict=True), start=1)
    )
    shown = checked_labels([str(label)[:LONGEST_NAME] for label in classes])
    return replace(
        Scene(), points=points, labels=shown if len(shown) > 1 else (),
        features=checked_features((names[0], names[1])),
    )  # fmt: skip


def _first_rows(source: Source) -> tuple[np.ndarray, list[Any]]:
    """Return features and labels of as many rows as are shown."""
    parts: list[np.ndarray] = []
    labels: list[Any] = []
    for batch in source.batches():
        X = batch.X[: MOST_POINTS - len(labels)]
        parts.append(X.toarray() if sp.issparse(X) else X)
        labels += [] if batch.y is None else batch.y[: X.shape[0]].tolist()
        if len(labels) >= MOST_POINTS:
            break
    width = max(part.shape[1] for part in parts)
    return np.vstack([np.pad(p, ((0, 0), (0, width - p.shape[1]))) for p in parts]), labels


def _columns_of(source: Source, width: int) -> list[str]:
    """Return the names of the columns of numbers, which come first."""
    recipe = source.recipe()
    if "numeric" in recipe:
        return list(recipe["numeric"])
    first = recipe.get("index_base", 0)
    return [f"x{j + first}" for j in range(width)]

"""Pictures that commands write."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
import typer

from linsep.cli.progress import watching
from linsep.sources.base import Source
from linsep.written import written_whole

FORMATS = ("png", "svg", "pdf")
#: more rows would only make the same density take longer
MOST_ROWS = 200_000


def picture_file(path: Path | None) -> Path | None:
    """Return the path, or raise BadParameter for an ending of no format."""
    if path is not None and path.suffix.lower().lstrip(".") not in FORMATS:
        raise typer.BadParameter(f"must end in .png, .svg or .pdf, not {str(path)!r}.")
    return path


PlotFile = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        help="Draw the result in this file: .png, .svg or .pdf.",
        callback=picture_file,
        metavar="FILE",
        show_default=False,
    ),
]


def write_picture(display: Any, path: Path, force: bool) -> None:
    """Write a picture to a file, whole or not at all."""
    with written_whole(path, force=force) as file:
        display.save(file, format=path.suffix.lower().lstrip("."))


def picture_of(model: Any, source: Source) -> Any:
    """Return the picture of a model and the first rows of its source."""
    with warnings.catch_warnings():  # the columns are those of the recipe, in its order
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return model.plot(*rows_of(source, model.n_features_in_)[:2])


def rows_of(
    source: Source, width: int, most: int | None = MOST_ROWS
) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
    """Return the first rows of a source with so many features, and their labels and weights if
    any.
    """
    parts: list[Any] = []
    labels: list[np.ndarray] = []
    weights: list[np.ndarray] = []
    rows = 0
    with watching(source):
        for batch in source.batches():
            parts.append(_as_wide(batch.X, width))
            labels += [] if batch.y is None else [batch.y]
            weights += [] if batch.weights is None else [batch.weights]
            rows += batch.X.shape[0]
            if most is not None and rows >= most:
                break
    X = sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.vstack(parts)
    y, w = (np.concatenate(found)[:most] if found else None for found in (labels, weights))
    return X[:most], y, w


def _as_wide(X: Any, width: int) -> Any:
    """Return the rows with so many features; those not seen in training are ignored."""
    if not sp.issparse(X):
        return X
    X = X[:, :width]
    X.resize(X.shape[0], width)
    return X

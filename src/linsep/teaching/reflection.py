"""Sign-flipped rows: separating two classes as one inequality per row."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linsep.errors import DataError
from linsep.estimators.frames import in_memory
from linsep.estimators.labels import check_two_classes, is_turned, label_text
from linsep.estimators.showing import linear_sum
from linsep.layout import table_lines
from linsep.mistake_bounds.margins import checked_rows
from linsep.teaching.tables import short_number
from linsep.teaching.tracing import check_size, index_of, names_of
from linsep.validation.checks import labels_of

HEADS, INTERCEPT = ("row", "class"), "intercept"


class Reflection(NamedTuple):
    """The rows y z of two classes, with z = [1; x] if there is an intercept.

    Weights a, the intercept first, separate the classes if and only if <a, y z> > 0 for all rows.
    Each row allows a half-space of weights, and the solution region is the intersection of all
    half-spaces. ``print(reflection)`` shows a table with the half-space of every row.

    Attributes
    ----------
    rows : array of shape (rows, weights)
    weights : list of str, the names of the weights
    names, classes : list of str, of every row
    """

    rows: np.ndarray
    weights: list[str]
    names: list[str]
    classes: list[str]

    def __str__(self) -> str:
        lines = [(*HEADS, *self.weights, "allows")]
        first = 0 if self.weights[0] == INTERCEPT else 1
        symbols = [f"a{j + first}" for j in range(len(self.weights))]
        for row, name, label in zip(self.rows, self.names, self.classes, strict=True):
            allowed = f"{linear_sum(row, symbols)} > 0"
            lines.append((name, label, *map(short_number, row.tolist()), allowed))
        to_the_right = [False, False, *[True] * len(self.weights), False]
        return "\n".join(table_lines(lines, to_the_right, first=2, sentences=True))


def reflection(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    reference: Any = None,
    feature_names: Sequence[Any] | None = None,
    row_names: Sequence[Any] | None = None,
) -> Reflection:
    """Return the rows of two classes, each times its sign and with a constant feature 1.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (rows, features)
    y : array of shape (rows,)
    fit_intercept : bool, default=True
        Whether to add the constant feature, as the first.
    reference : the class with sign -1; default: the smaller
    feature_names : names of the columns; default: the columns of the data frame, or x0, x1, ...
    row_names : names of the rows; default: the index of the data frame, or 0, 1, ...

    Returns
    -------
    Reflection

    Raises
    ------
    ValueError
        For NaN, infinity, a number of classes other than two, X and y of different lengths, and
        more than two million numbers.

    Examples
    --------
    >>> from linsep import datasets, reflection
    >>> X, y = datasets.load_four_points(return_X_y=True)
    >>> print(reflection(X, y))
    row  class  intercept  x0  x1  allows
    0    1              1   4   0  a0 + 4 a1 > 0
    1    -1            -1  -1  -1  -a0 - a1 - a2 > 0
    2    -1            -1   0  -1  -a0 - a2 > 0
    3    1              1  -2  -2  a0 - 2 a1 - 2 a2 > 0
    """
    index = index_of(X, y)
    X, y, _, names = in_memory(X, y)
    columns, rows = names or [str(name) for name in getattr(X, "columns", [])], checked_rows(X)
    labels = labels_of(y)
    classes = np.unique(labels)
    check_two_classes(classes)
    if classes.size > 2:
        raise DataError(
            f"Rows can be reflected for two classes, but y has {classes.size}.", code="class-count"
        )
    if len(labels) != rows.shape[0]:
        raise DataError(
            f"X has {rows.shape[0]} rows, and y {len(labels)} labels: pass one label per row.",
            code="shape",
        )
    check_size(rows.shape, 1, 1)
    negative = classes[int(is_turned(reference, classes))]
    Z = rows.toarray() if hasattr(rows, "toarray") else rows
    if fit_intercept:
        Z = np.hstack([np.ones((len(Z), 1)), Z])
    signs = np.where(labels == negative, -1.0, 1.0)
    features = names_of(
        feature_names, columns or [f"x{j}" for j in range(rows.shape[1])], "feature_names"
    )
    return Reflection(
        signs[:, None] * Z + 0.0,
        [*[INTERCEPT] * bool(fit_intercept), *map(str, features)],
        [str(name) for name in names_of(row_names, index or range(len(Z)), "row_names")],
        [label_text(label) for label in labels],
    )

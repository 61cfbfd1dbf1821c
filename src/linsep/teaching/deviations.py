"""The table of deviations from the means, from which a line of least squares is calculated."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_X_y

from linsep.layout import table_lines
from linsep.teaching.tables import short_number
from linsep.validation.checks import faults_named

HEADS = ["x", "y", "x - mean", "y - mean", "product", "x squared", "y squared"]


class Deviations(NamedTuple):
    """The table of :func:`deviations`; ``print`` shows it.

    Attributes
    ----------
    rows : array of shape (rows, 7)
        x, y, their deviations from the means, the product of both deviations, and their squares.
    sums : array of shape (3,)
        Sums of the last three columns: Sxy, Sxx and Syy. The slope is Sxy / Sxx.
    spread : array of shape (2,)
        Standard deviations of x and y: sqrt(Sxx / (n - 1)) and sqrt(Syy / (n - 1)).
    """

    rows: np.ndarray
    sums: np.ndarray
    spread: np.ndarray

    def __str__(self) -> str:
        cells = [[short_number(round(v, 9)) for v in row] for row in self.rows.tolist()]
        cells.append(["", "", "", "sums", *(short_number(round(v, 9)) for v in self.sums.tolist())])
        s_x, s_y = self.spread
        table = table_lines([HEADS, *cells], [True] * len(HEADS))
        return "\n".join([*table, f"standard deviations {s_x:.4g} and {s_y:.4g}"])


def deviations(x: Any, y: Any) -> Deviations:
    """Return the table of deviations of two columns, as it is calculated by hand.

    Parameters
    ----------
    x, y : arrays of shape (rows,), or (rows, 1) for x
        Two or more numbers each; ValueError for others, NaN, infinity and different lengths.

    Examples
    --------
    >>> from linsep import datasets, deviations
    >>> print(deviations(*datasets.load_line(return_X_y=True)))
     x  y  x - mean  y - mean  product  x squared  y squared
     1  2      -0.8      -1.2     0.96       0.64       1.44
     2  4       0.2       0.8     0.16       0.04       0.64
    -1  0      -2.8      -3.2     8.96       7.84      10.24
     3  4       1.2       0.8     0.96       1.44       0.64
     4  6       2.2       2.8     6.16       4.84       7.84
                         sums     17.2       14.8       20.8
    standard deviations 1.924 and 2.28
    """
    column = np.reshape(x, (-1, 1))
    with faults_named(column):
        both = check_X_y(column, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
    columns = np.column_stack(both)
    dx, dy = (columns - columns.mean(axis=0)).T
    table = np.column_stack([columns, dx, dy, dx * dy, dx**2, dy**2])
    return Deviations(table, table[:, 4:].sum(axis=0), columns.std(axis=0, ddof=1))

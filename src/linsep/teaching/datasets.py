"""The small data sets of the lecture notes, in the format of scikit-learn's loaders."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch

from linsep.errors import LinsepError

__all__ = [
    "load_blood_pressure",
    "load_exclusive_or",
    "load_five_points",
    "load_four_points",
    "load_inseparable_points",
    "load_line",
    "load_students",
]


class _Table(NamedTuple):
    """Rows, the outcome of each, the names of the columns, and a description."""

    data: Any
    target: Any
    feature_names: list[str]
    target_name: str
    about: str


def load_four_points(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Return four points of two classes that a line through the origin separates.

    A perceptron without an intercept makes three mistakes on them: its weights are (4, 0), (3, -1),
    (3, -1) and (1, -3) after the four steps of the first pass, and the second pass has no mistakes.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return only (data, target).
    as_frame : bool, default=False
        Whether data and target are a pandas DataFrame and a Series; LinsepError without pandas.

    Returns
    -------
    sklearn.utils.Bunch, or a pair
        With ``data``, ``target``, ``feature_names``, ``frame`` and ``DESCR``.

    Examples
    --------
    >>> from linsep import Perceptron, datasets
    >>> X, y = datasets.load_four_points(return_X_y=True)
    >>> Perceptron(fit_intercept=False, shuffle=False).fit(X, y).coef_.tolist()
    [[1.0, -3.0]]
    """
    data = [[4, 0], [1, 1], [0, 1], [-2, -2]]
    about = "Four points in the plane; a line through the origin separates them."
    return _returned(_Table(data, [1, -1, -1, 1], ["x1", "x2"], "y", about), return_X_y, as_frame)


def load_exclusive_or(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Return the four points of exclusive or (XOR), which no line separates.

    The weights of a perceptron without an intercept recur after every pass: (1, 1), (0, 2), (1, 1),
    (0, 0). See :func:`load_four_points` for parameters and return values.
    """
    data = [[1, 1], [1, -1], [-1, 1], [-1, -1]]
    about = "Exclusive or: the class is the product of both signs; no line separates the classes."
    return _returned(_Table(data, [1, -1, -1, 1], ["x1", "x2"], "y", about), return_X_y, as_frame)


def load_five_points(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Return five points that a line separates, but not one through the origin.

    From intercept -1 and weights 0 a perceptron converges in pass 232, after 446 updates, at
    intercept -31 and weights (12, 2). See :func:`load_four_points` for parameters and return
    values.
    """
    data = [[1, 1], [3, 2], [2, 4], [3, 4], [2, 3]]
    about = "Five points in the plane that a line separates (CS188, note 9.4)."
    target = [-1, 1, 1, 1, -1]
    return _returned(_Table(data, target, ["x1", "x2"], "y", about), return_X_y, as_frame)


def load_inseparable_points(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Return five points of classes 1 and 2 that no line separates.

    A perceptron that starts with all weights 1, and adds the points of class 1, has the same
    weights at the start of passes 121 and 130, counted from 0. See :func:`load_four_points` for
    parameters and return values.
    """
    data = [[2, 1], [4, 3], [3, 5], [1, 3], [5, 6]]
    about = "Five points in the plane that no line separates (X. Wang, lecture 7)."
    target = [1, 1, 1, 2, 2]
    return _returned(_Table(data, target, ["x1", "x2"], "class", about), return_X_y, as_frame)


def load_students(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Return four students, with four properties as +1 and -1, and their grades, A or F.

    In linsep and scikit-learn the larger of two labels, F, is the positive class; in the notes it
    is A. See :func:`load_four_points` for parameters and return values.
    """
    data = [[1, 1, -1, -1], [1, 1, 1, 1], [-1, -1, -1, 1], [1, -1, -1, 1]]
    names = ["attendance", "tall", "sleeps", "gum"]
    about = "Jane, Steve, Mary and Peter (X. Wang, lecture 7): four features of +1 or -1, a grade."
    table = _Table(data, ["A", "F", "F", "A"], names, "grade", about)
    return _returned(table, return_X_y, as_frame)


def load_blood_pressure(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Return the ages of thirty people and their systolic blood pressures.

    The least-squares line is 98.71 + 0.9709 age; the second row is far from it. See
    :func:`load_four_points` for parameters and return values.
    """
    age = [39, 47, 45, 47, 65, 46, 67, 42, 67, 56, 64, 56, 59, 34, 42]
    age += [48, 45, 17, 20, 19, 36, 50, 39, 21, 44, 53, 63, 29, 25, 69]
    pressure = [144, 220, 138, 145, 162, 142, 170, 124, 158, 154, 162, 150, 140, 110, 128]
    pressure += [130, 135, 114, 116, 124, 136, 142, 120, 120, 160, 158, 144, 130, 125, 175]
    about = "Systolic blood pressure against age, 30 people (X. Wang, lecture 7)."
    table = _Table([[a] for a in age], pressure, ["age"], "pressure", about)
    return _returned(table, return_X_y, as_frame)


def load_line(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Return the five points of the worked least-squares example.

    The line is 1.10811 + 1.16216 x, with r = 0.98032 and a residual sum of squares of 0.81081. See
    :func:`load_four_points` for parameters and return values.
    """
    about = "Five points and their line of least squares (X. Wang, lecture 7)."
    table = _Table([[1], [2], [-1], [3], [4]], [2, 4, 0, 4, 6], ["x"], "y", about)
    return _returned(table, return_X_y, as_frame)


def _returned(table: _Table, return_X_y: bool, as_frame: bool) -> Any:
    """Return the table in the format of scikit-learn's loaders."""
    data: Any = np.array(table.data, dtype=np.float64)
    target: Any = np.array(table.target)
    frame = None
    if as_frame:
        try:
            import pandas as pd
        except ImportError:
            said = "as_frame=True needs pandas, which is not installed: pip install pandas."
            raise LinsepError(said, code="missing-package", option="as_frame") from None
        data = pd.DataFrame(data, columns=table.feature_names)
        target = pd.Series(target, name=table.target_name)
        frame = pd.concat([data, target], axis=1)
    if return_X_y:
        return data, target
    return Bunch(
        data=data, target=target, frame=frame, feature_names=table.feature_names, DESCR=table.about
    )

"""The perceptron criterion and the misclassified rows after every pass of a fit."""

from typing import Any

import numpy as np

from linsep.errors import DataError
from linsep.validation.checks import labels_of


class PerceptronCriterion:
    """A callback that measures the weights after every pass on the rows of the fit.

    The weights are the ones used for prediction: with ``keep="last"`` the last of the pass. For the
    batch rule, the estimator itself has ``criterion_`` and ``mistakes_``, at the start of every
    pass.

    Attributes
    ----------
    criterion_ : array of shape (passes,)
        J_p, the sum of -y (<w, x> + b) over the misclassified rows.
    misclassified_ : int array of shape (passes,)
        Number of rows with a score of zero or on the wrong side.

    Raises
    ------
    DataError
        In ``fit``: for more than two classes, and for rows of a source.

    References
    ----------
    R. Duda, P. Hart and D. Stork, Pattern Classification (2001), section 5.5.

    Examples
    --------
    >>> from linsep import Perceptron, PerceptronCriterion, datasets
    >>> X, y = datasets.load_inseparable_points(return_X_y=True)
    >>> measured = PerceptronCriterion()
    >>> _ = Perceptron(shuffle=False, max_iter=5).set_callbacks(measured).fit(X, y)
    >>> measured.criterion_.tolist(), measured.misclassified_.tolist()
    ([9.0, 18.0, 54.0, 11.0, 63.0], [3, 3, 3, 1, 3])
    """

    def __init__(self) -> None:
        self._values: list[float] = []
        self._counts: list[int] = []

    @property
    def criterion_(self) -> np.ndarray:
        """J_p after each pass."""
        return np.array(self._values)

    @property
    def misclassified_(self) -> np.ndarray:
        """Number of misclassified rows after each pass."""
        return np.array(self._counts, dtype=int)

    def setup(self, estimator: Any, context: Any) -> None:
        """Reset the measurements."""
        self._values, self._counts = [], []

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Do nothing."""

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, X: Any = None, y: Any = None,
        fitted_estimator: Any = None,
    ) -> None:  # fmt: skip
        """Measure the weights of a pass."""
        if context.parent is None:
            return
        if y is None or hasattr(X, "batches"):
            raise DataError(
                "J_p is measured on rows in memory: read the source into arrays.",
                code="unsupported",
            )
        if len(fitted_estimator.classes_) != 2:
            raise DataError(
                f"J_p is measured for two classes, but y has {len(fitted_estimator.classes_)}.",
                code="class-count",
            )
        signs = np.where(labels_of(y) == fitted_estimator.reference_, -1.0, 1.0)
        short = -signs * np.ravel(fitted_estimator.machine_scores(X, X))
        self._values.append(float(short[short > 0].sum()))
        self._counts.append(int((short >= 0).sum()))

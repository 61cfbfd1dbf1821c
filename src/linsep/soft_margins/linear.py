"""The soft margin of features, a linear support vector machine, as a scikit-learn estimator."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linsep.compiled.rows import as_rows
from linsep.errors import DataError
from linsep.estimators.labels import FLOATS
from linsep.estimators.showing import HasEquation
from linsep.soft_margins.classifier import Machine, SoftMarginClassifier
from linsep.soft_margins.problem import Certificate, Problem, row_squares
from linsep.soft_margins.solving import solve
from linsep.validation.checks import check_prepared, rows_to_fit
from linsep.words import row_text

#: squares of rows beyond this leave no room for sums of them
MOST_SQUARE = 1e280


class SoftMargin(HasEquation, SoftMarginClassifier):
    """Linear support vector machine, with a proof of how close its objective is to the optimum.

    Minimizes ``|w|^2 / 2 + C sum_i c_i loss(1 - y_i (<w, x_i> + b))``, where c_i is the weight of
    row i and loss(t) is max(0, t), or its square. Dual variables prove a lower bound on the
    objective of any weights (:attr:`lower_bound_`), so the fitted weights are within
    ``duality_gap_`` of the optimum.

    Up to 600 rows are solved by descent on pairs of rows and the equations of those on the margin.
    Otherwise coordinate descent on the dual runs first if there are more than a few hundred
    features; an interior point method finishes if that is faster, for up to 3,000 rows or features.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses in the objective. As C grows, the soft margin of separable classes
        becomes the widest margin, which :func:`linsep.separation` finds with ``margin="max"``.
    loss : {"hinge", "squared_hinge"}, default="hinge"
    fit_intercept : bool, default=True
    penalize_intercept : bool, default=False
        True adds b^2 / 2 to the objective, as LIBLINEAR and :class:`sklearn.svm.LinearSVC` do. The
        result then depends on the origin of the features.
    multiclass : {"ovr", "ovo"}, default="ovr"
        For more than two classes: one binary classifier per class against the rest, or one per
        pair.
    tol : float, default=1e-4
        Stop when the objective is proved to be within this relative distance of the optimum. Few
        rows are solved to 1e-9; the interior point method continues to 1e-8, and to 1e-12 if that
        costs nothing.
    max_iter : int, default=1000
        Maximum number of passes of coordinate descent over the rows.
    random_state : int, RandomState or None, default=0
        Seed of the order in which coordinate descent visits the rows.
    class_weight : dict {label: weight}, "balanced" or None, default=None
        Multiplies the weight of each row.
    reference : label or None, default=None
        The class with target -1 (two classes only). None: the smaller class.

    Attributes
    ----------
    classes_ : array of shape (classes,)
    coef_ : array of shape (1, features), (classes, features) or (pairs, features)
    intercept_ : array of shape (1,), (classes,) or (pairs,)
    objective_, lower_bound_ : float, summed over the binary classifiers of several classes
    duality_gap_ : float, (objective - bound) / objective rounded up, the largest over all binary
        classifiers
    support_ : array of shape (support vectors,), numbers, in the data as given, of the rows with a
        dual variable above zero; not in files
    dual_coef_ : array of shape (binary classifiers, support vectors), y_i a_i; not in files
    n_support_, n_bounded_ : arrays of shape (binary classifiers,), the numbers of support vectors,
        and of support vectors at their bound
    trace_ : array of shape (steps, 3): binary classifier, objective and bound at each step
    n_iter_, n_rows_, n_features_in_, feature_names_in_, stop_reason_, stop_sentence_, reference_,
    equation_, recipe_

    References
    ----------
    C. Cortes and V. Vapnik, Support-vector networks, Machine Learning 20 (1995). C. Hsieh and
    others, A dual coordinate descent method for large-scale linear SVM, ICML 2008. M. Ferris and
    T. Munson, Interior-point methods for massive support vector machines, SIAM J. Optim. 13 (2002).

    Examples
    --------
    >>> from linsep import SoftMargin
    >>> X, y = [[2, 1], [4, 3], [3, 5], [1, 3], [5, 6]], [1, 1, 1, -1, -1]
    >>> model = SoftMargin().fit(X, y)
    >>> model.coef_.round(4).tolist(), model.intercept_.round(4).tolist()
    ([[0.6667, -0.8889]], [1.0])
    >>> model.duality_gap_ < 1e-6, model.n_support_.tolist()
    (True, [4])
    """

    @property
    def coef_(self) -> np.ndarray:
        """Weights, one row per binary classifier."""
        return self.fitted_run().weights()[0]

    def _solver(self, X: Any) -> Callable[[Machine, Any], Certificate]:
        squares = row_squares(X)
        if not (squares < MOST_SQUARE).all():
            row = int(np.argmax(squares))
            raise DataError(
                f"The values of {row_text(row)} are too large for the squares of a margin; "
                "scale the features.", code="overflow", row=row + 1,
            )  # fmt: skip
        intercept = None
        if self.fit_intercept:
            intercept = "penalized" if self.penalize_intercept else "free"
        seed, known = self.seed(), getattr(self, "_start", None)  # which a path has

        def of(machine: Machine, told: Any) -> Certificate:
            rows = X if machine.rows.size == X.shape[0] else X[machine.rows]
            squared = self.loss != "hinge"
            problem = Problem(rows, machine.signs, machine.costs, squared, intercept)
            start = None if known is None else known[machine.rows]
            return solve(problem, self.tol, self.max_iter, start, told, seed)

        return of

    def _rows_to_score(self, X: Any) -> Any:
        check_prepared(self)
        return rows_to_fit(X, self, FLOATS, "C", checked=False, reset=False)

    def machine_scores(self, X: Any, whole: Any) -> np.ndarray:
        """Return the scores of every binary classifier."""
        return self._run.keeping.scores(self._run.state, as_rows(X), X.shape[0])

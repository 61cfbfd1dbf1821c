"""The soft margin in the space of a kernel, as a scikit-learn estimator."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from linsep.errors import warn_caller
from linsep.estimators.frames import source_of, to_learn
from linsep.kernels.base import Combined, Kernel
from linsep.kernels.foreign import (
    MOST_ROWS,
    Callable as OfFunction,
    NotPositiveSemidefiniteWarning,
    check_gram,
)
from linsep.kernels.naming import NAMES
from linsep.learners.support_vectors import HasSupportVectors, checked_for_kernel
from linsep.parameters import TwoSided, parameter
from linsep.soft_margins.classifier import Machine, SoftMarginClassifier
from linsep.soft_margins.decomposition import KernelRows, decomposition
from linsep.soft_margins.problem import Certificate, Problem


class KernelSoftMargin(HasSupportVectors, SoftMarginClassifier):
    """Kernel support vector machine, with a proof of how close its objective is to the optimum.

    Scores are f(x) = sum_i a_i y_i K(x_i, x) + b. The a_i minimize the objective of
    :class:`linsep.SoftMargin` in the feature space of the kernel, and prove how close it is to the
    optimum.

    Training uses working sets, each with its Gram matrix: all rows at once if their matrix fits in
    ``cache_mb``. Pairs of variables are updated greedily, and Newton's method finishes if that
    would take too long.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses in the objective.
    loss : {"hinge", "squared_hinge"}, default="hinge"
    kernel, degree, gamma, coef0
        As in :class:`linsep.KernelPerceptron`: a name, a function of two rows, a kernel of
        :mod:`linsep.kernels` on numbers or strings, or "precomputed".
    fit_intercept : bool, default=True
    penalize_intercept : bool, default=False
        True adds b^2 / 2 to the objective, as if the kernel were K + 1.
    multiclass : {"ovo", "ovr"}, default="ovo"
        For more than two classes: one binary classifier per pair, as in libsvm, or one per class
        against the rest.
    tol : float, default=1e-6
        Stop when the objective is proved to be within this relative distance of the optimum.
    max_iter : int, default=200
        Maximum number of times that the gap of each binary classifier is computed: after every
        working set, or after every descent if all rows form one set.
    cache_mb : float, default=200
        Memory for the Gram matrix of a working set (8 bytes per value, at least 8 MB).
    random_state : int, RandomState or None, default=0
        Seed of the initial sample of rows if not all fit in one working set.
    class_weight, reference
        As in :class:`linsep.SoftMargin`.

    Attributes
    ----------
    support_ : array of shape (support vectors,)
        Row numbers of the support vectors of any binary classifier in the data as given, ascending.
    bounded_support_ : array of row numbers
        Support vectors whose dual variable is at its bound, C times the weight of the row, in any
        binary classifier: they lie inside the margin or on the wrong side. None with the squared
        hinge loss.
    support_vectors_ : array, CSR matrix or array of objects
        The support vectors; empty for "precomputed".
    dual_coef_ : array of shape (binary classifiers, support vectors), y_i a_i
    intercept_ : array of shape (binary classifiers,)
    kernel_ : the kernel with the parameters computed from the data
    duality_gap_, lower_bound_ : float
        NaN if the kernel is known not to be positive semidefinite, which the proof requires: a Gram
        matrix or a function is checked on up to 2,000 rows.
    objective_, classes_, n_support_, n_bounded_, trace_, n_iter_, n_rows_, n_features_in_,
    feature_names_in_, stop_reason_, stop_sentence_, reference_, recipe_
        As in :class:`linsep.SoftMargin`.

    References
    ----------
    C. Cortes and V. Vapnik, Support-vector networks, Machine Learning 20 (1995). R. Fan, P. Chen
    and C. Lin, Working set selection using second order information for training support vector
    machines, JMLR 6 (2005). T. Joachims, Making large-scale SVM learning practical, in Advances in
    Kernel Methods (1999).

    Examples
    --------
    >>> from linsep import KernelSoftMargin
    >>> X = [[1, 1], [1, -1], [-1, 1], [-1, -1]]
    >>> model = KernelSoftMargin(kernel="poly", degree=2).fit(X, [1, 0, 0, 1])
    >>> model.predict(X).tolist(), model.duality_gap_ < 1e-6
    ([1, 0, 0, 1], True)
    """

    kernel: Any = parameter(
        default="rbf", choices=NAMES, called_with="two rows, or a kernel of linsep.kernels",
        help="kernel, the similarity of two rows",
    )  # fmt: skip
    degree: int = parameter(default=3, at_least=1, help="degree of the polynomial kernel")
    gamma: float | Literal["scale"] | None = parameter(
        default=None, above=0.0, help="factor of the product or distance in the kernel"
    )
    coef0: float = parameter(
        default=1.0, at_least=0.0, help="constant added to the product in the polynomial kernel"
    )
    multiclass: TwoSided = parameter(
        default="ovo", help="strategy for several classes: pairs, or one against the rest"
    )
    tol: float = parameter(
        default=1e-6, above=0.0,
        help="stop when the objective is within this relative gap of the optimum",
    )  # fmt: skip
    max_iter: int = parameter(
        default=200, at_least=1, help="maximum number of times that the gap is computed"
    )
    cache_mb: float = parameter(
        default=200.0, at_least=0.0, help="memory in MB for kernel values to reuse"
    )

    # Fits.

    def _to_learn(self, X: Any, y: Any, sample_weight: Any) -> Any:
        if self.chosen_kernel().takes != "vectors":
            return source_of(X, y=y, sample_weight=sample_weight)
        return to_learn(self, X, y, sample_weight)

    def _checked(self, X: Any) -> Any:
        kernel = self.chosen_kernel()
        rows = checked_for_kernel(self, kernel, X, reset=True)
        if rows.dtype == np.float32:  # kernel values of seven digits prove nothing
            rows = rows.astype(np.float64)
        self.kernel_, self._indefinite = kernel.fitted(rows), False
        if kernel.takes == "gram" or (_is_unknown(kernel) and rows.shape[0] <= MOST_ROWS):
            why = check_gram(rows if kernel.takes == "gram" else self.kernel_(rows))
            if why is not None:
                self._indefinite = True
                warn_caller(NotPositiveSemidefiniteWarning(why))
        return rows

    def _solver(self, X: Any) -> Callable[[Machine, Any], Certificate]:
        intercept = "free" if self.fit_intercept and not self.penalize_intercept else None
        shift = float(self.fit_intercept and self.penalize_intercept)
        rows = KernelRows(self.kernel_, self.kernel_.prepare(X), shift)
        cache, seed = self.cache_mb * 1e6, self.seed()
        if len(rows) ** 2 * 8 <= cache and self.classes_.size > 2:
            rows.whole()  # shared by the binary problems

        def of(machine: Machine, told: Any) -> Certificate:
            space, squared = rows.some(machine.rows), self.loss != "hinge"
            problem = Problem(space, machine.signs, machine.costs, squared, intercept)
            return decomposition(problem, self.tol, cache, self.max_iter, told, seed)

        return of

    def _take(self, X: Any, found: list[Certificate]) -> None:
        intercept = np.array([one.intercept for one in found])
        if self.fit_intercept and self.penalize_intercept:  # the weight of a constant feature
            intercept = self._dual_coef.sum(axis=1)
        self._hold(self._dual_coef, intercept)
        self.__dict__.update(self._support(X[self.support_], self.support_))

    # Files.

    def get_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the fitted state: of :class:`SoftMargin`, with the kernel and support vectors."""
        arrays, facts = super().get_state()
        facts["indefinite"] = self._indefinite
        return arrays | {"support.bounded": self.bounded_support_}, facts

    def set_state(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        """Set the state from :meth:`get_state`."""
        super().set_state(arrays, facts)
        self._indefinite, self._dual_coef = facts["indefinite"] is True, self._run.weights()[0]
        bounded = arrays["support.bounded"]
        if bounded.dtype != np.int64 or not np.isin(bounded, self.support_).all():
            raise ValueError("rows at their bound that are not support vectors")
        self.bounded_support_ = bounded


def _is_unknown(kernel: Kernel) -> bool:
    """Return whether a kernel may be invalid: a function."""
    if isinstance(kernel, Combined):
        return any(map(_is_unknown, kernel.inner.values()))
    return isinstance(kernel, OfFunction)

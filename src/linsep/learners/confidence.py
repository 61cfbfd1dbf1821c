"""Shared code of the learners with variances or covariances of their weights."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from linsep._system.threads import one_blas_thread
from linsep.compiled.rules.covariance import Diagonal, Full
from linsep.errors import DataError, Hint, hint
from linsep.learners.classifier import LinearClassifier
from linsep.learners.state import Arrays, Learner, State

CovarianceType = Literal["diagonal", "diagonal-drop", "full"]
#: the arrays of a state that say how well weights are known, and how they depend on each other
KNOWN, MIXED = "known", "mixed"
#: most features of a whole matrix, which takes 128 MB per machine then
MOST_IN_FULL = 4000
#: the inverse of a covariance matrix, to which observations add
PRECISION = "precision"


class ConfidenceLearner(Learner):
    """A learner with variances of its weights, or with full covariance matrices.

    Observations of shards add up: precisions (inverse variances) grow by the sum of their growth in
    the shards. The mean of a weight over shards is weighted by that growth, so a feature that only
    one shard has seen keeps its weight. With matrices P_k of the shards, P_0 before and P
    afterward, P w = P_0 w_0 + sum of (P_k w_k - P_0 w_0): the weights of a single learner that made
    the same updates. (This product of normal distributions is not used for variances without
    covariances: steps of shards along correlated features would add up, and grow from pass to
    pass.)

    Parameters
    ----------
    covariance_type : "diagonal", "diagonal-drop" or "full"
    make_rule : function from the covariances of the weights to the rule
    step : name of the parameter that limits updates, or ""
    """

    needs_lengths = True
    #: what to do with too many features
    instead: str | Hint = hint("choose {}", covariance_type="diagonal")

    def __init__(self, covariance_type: str, make_rule: Callable[[Any], Any], step: str = ""):
        super().__init__()
        self.drop = covariance_type == "diagonal-drop"
        self.moves_all_features = covariance_type == "full"
        self.beside = {KNOWN: "sum", MIXED: "sum"} if self.moves_all_features else {KNOWN: "sum"}
        self.of_weights = "sum" if self.moves_all_features else "mean"
        self.make_rule, self.step = make_rule, step

    def check_width(self, n_features: int) -> None:
        """Raise DataError if there are too many features for a matrix."""
        if self.moves_all_features and n_features > MOST_IN_FULL:
            raise DataError(
                f"A covariance matrix supports at most {MOST_IN_FULL:,} features, but there are "
                f"{n_features:,}",
                self.instead, code="too-large", option="covariance_type",
            )  # fmt: skip

    def rule(self, state: State) -> Any:
        """Return the rule with the covariances of the weights."""
        known = state.like_weights(KNOWN)
        if not self.moves_all_features:
            return self.make_rule(Diagonal(known, self.drop))
        room = np.empty((3, len(known)))
        return self.make_rule(Full(known, state.square(MIXED), room[:2], room[2]))

    def say(self, state: State, before: Arrays, after: Arrays) -> np.ndarray | None:
        """Return the growth of each precision in the pass; None for matrices, which add up."""
        return None if self.moves_all_features else after[KNOWN] - before[KNOWN]

    def to_mix(self, state: State, arrays: Arrays) -> Arrays:
        """Return precision matrices, and their products with the weights, in place of matrices."""
        if not self.moves_all_features:
            return arrays
        P = precisions(arrays[KNOWN], arrays[MIXED])
        weights = arrays.keys() - self.beside.keys()
        return {PRECISION: P} | {name: products(P, arrays[name]) for name in weights}

    def from_mix(self, state: State, arrays: Arrays) -> Arrays:
        """Return the factors of precision matrices, and the weights."""
        if not self.moves_all_features:
            return arrays
        found = factors(arrays.pop(PRECISION), arrays)
        if found is None:
            raise DataError(
                "The covariance matrices of shards cannot be added in floating point",
                "scale the features",
                self.instead,
                code="overflow",
            )
        return found


def precisions(known: np.ndarray, mixed: np.ndarray) -> np.ndarray:
    """Return the inverse of each covariance matrix, given as in :class:`Full`."""
    from scipy.linalg import solve_triangular

    found, identity = np.empty_like(mixed), np.eye(len(known))
    how: Any = {"lower": True, "unit_diagonal": True, "check_finite": False}
    with one_blas_thread, np.errstate(over="ignore", invalid="ignore"):  # refused when they add up
        for P, unit, own in zip(found, mixed, columns(known), strict=False):
            A = solve_triangular(unit, identity, **how)
            P[:] = (A * (1.0 + own)) @ A.T
    return found


def products(matrices: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the product of each matrix with its column of the weights."""
    found = np.zeros_like(weights)
    with one_blas_thread:
        for P, own, column in zip(matrices, columns(found), columns(weights), strict=False):
            own[:] = P @ column
    return found


def factors(matrices: np.ndarray, information: Arrays) -> Arrays | None:
    """Invert :func:`precisions`, and return weights instead of their products; None if a matrix is
    singular in floating point.
    """
    from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

    found = {name: np.zeros_like(array) for name, array in information.items()}
    known, mixed = np.zeros_like(found["W"]), np.zeros_like(matrices)
    identity = np.eye(len(known))
    with one_blas_thread:
        for k, P in enumerate(matrices):
            try:
                C = cholesky(P, lower=True)
            except (LinAlgError, ValueError):  # the second if it is not finite
                return None
            pivots = C.diagonal()
            if pivots.min() < 0.5:  # they are at least 1, but for rounding
                return None
            unit = solve_triangular(C / pivots, identity, lower=True, unit_diagonal=True)
            mixed[k] = np.tril(unit, -1)
            columns(known)[k] = np.maximum(pivots**2 - 1.0, 0.0)
            for name, array in found.items():
                columns(array)[k] = cho_solve((C, True), columns(information[name])[k])
    return found | {KNOWN: known, MIXED: mixed}


def columns(weights: np.ndarray) -> np.ndarray:
    """Return a view of an array like the weights, with one row for each of its columns."""
    return weights.reshape(len(weights), -1).T


class ConfidenceClassifier(LinearClassifier):
    """Base class of the learners with a :class:`ConfidenceLearner`."""

    mixable = True

    @property
    def variances_(self) -> np.ndarray:
        """Variances of the current weights, with the shape of ``coef_``."""
        return self._variances()[0]

    @property
    def intercept_variances_(self) -> np.ndarray:
        """Variances of the current intercepts, with the shape of ``intercept_``."""
        return self._variances()[1]

    def _variances(self) -> tuple[np.ndarray, np.ndarray]:
        state = self.fitted_run().state
        coef, intercept = state.split(1.0 / (1.0 + state.like_weights(KNOWN)))
        if MIXED not in state.shaped:
            return coef, intercept
        # The diagonal of U D U', where a square has row i of U in its column i.
        apart = np.column_stack([coef, intercept])
        mixed = state.trimmed(MIXED)
        apart = apart + np.einsum("kji,kji,kj->ki", mixed, mixed, apart)
        return apart[:, :-1], apart[:, -1]

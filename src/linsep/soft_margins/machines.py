"""The binary problems of several classes, and the results of solving them."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from linsep.estimators._common.labels import pairs
from linsep.soft_margins.problem import Certificate, relative_gap


class Machine(NamedTuple):
    """One problem of two classes.

    Attributes
    ----------
    rows : int64 array, its rows with weight above 0
    signs : float64 array, the side of each, 1 or -1
    """

    rows: np.ndarray
    signs: np.ndarray


def machines_of(
    codes: np.ndarray, n_classes: int, multiclass: str, weights: np.ndarray
) -> Iterator[Machine]:
    """Yield the binary problems of classes: one for two, else one for each class or pair of
    classes.
    """
    counted = np.flatnonzero(weights > 0) if weights.size else np.arange(codes.size)
    if n_classes == 2:
        yield Machine(counted, 2.0 * codes[counted] - 1.0)
    elif multiclass == "ovr":
        for k in range(n_classes):
            yield Machine(counted, np.where(codes[counted] == k, 1.0, -1.0))
    else:
        for a, b in pairs(n_classes):
            rows = counted[(codes[counted] == a) | (codes[counted] == b)]
            yield Machine(rows, np.where(codes[rows] == b, 1.0, -1.0))


class Solution(NamedTuple):
    """The results of solving the binary problems.

    Attributes
    ----------
    objectives, bounds : float64 arrays of shape (binary problems,)
    support, bounded : int64 arrays of shape (binary problems,), the numbers of support vectors, and
        of support vectors at their bound
    """

    objectives: np.ndarray
    bounds: np.ndarray
    support: np.ndarray
    bounded: np.ndarray

    @classmethod
    def of(cls, found: list[Certificate], costs: list[np.ndarray], squared: bool) -> "Solution":
        """Return the results for certificates of binary problems with these error costs."""
        bounded = [
            0 if squared else int(at_bound(one, cost).sum())
            for one, cost in zip(found, costs, strict=True)
        ]
        return cls(
            np.array([one.primal for one in found]), np.array([one.bound for one in found]),
            np.array([int((one.dual > 0).sum()) for one in found]), np.array(bounded),
        )  # fmt: skip

    @property
    def gaps(self) -> np.ndarray:
        """The gap of each binary problem."""
        return np.array([*map(relative_gap, self.objectives, self.bounds)])


def at_bound(found: Certificate, costs: np.ndarray) -> np.ndarray:
    """Return which dual variables of the hinge loss are at their bound, up to rounding."""
    return found.dual >= costs * (1 - 1e-9)


def signed_dual(
    machines: list[Machine], found: list[Certificate], n_rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the support vectors of any binary problem, and y a of each in every problem."""
    used = np.zeros(n_rows, bool)
    for machine, one in zip(machines, found, strict=True):
        used[machine.rows[one.dual > 0]] = True
    support = np.flatnonzero(used)
    coef = np.zeros((len(machines), support.size))
    for k, (machine, one) in enumerate(zip(machines, found, strict=True)):
        own = np.flatnonzero(one.dual > 0)
        places = np.searchsorted(support, machine.rows[own])
        coef[k, places] = machine.signs[own] * one.dual[own]
    return support, coef


def rows_of(X: Any, machine: Machine) -> Any:
    """Return the rows of a binary problem, without a copy if they are all rows."""
    return X if machine.rows.size == X.shape[0] else X[machine.rows]

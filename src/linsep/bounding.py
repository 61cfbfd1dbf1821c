"""Mistake bounds of all learners on given rows, computed before training."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.catalog import LINEAR
from linsep.errors import DataError
from linsep.estimators.frames import in_memory
from linsep.learners.perceptron import Perceptron
from linsep.learners.proofs import check_literals
from linsep.mistake_bounds.bounds import Bounds
from linsep.mistake_bounds.theorems import THEORIES, Case
from linsep.parameters import Parameter
from linsep.validation.checks import check_beside, labels_of, refuse_continuous


def bounds(
    X: Any, y: Any, *, fit_intercept: bool = True, multiclass: str = "native", weights: Any = None,
    mistakes: int | None = None, passes: int = 1, literals: int | None = None, majority: int = 1,
    gamma: float | None = None,
) -> Bounds:  # fmt: skip
    """Bound the number of mistakes of online learners on these rows, in any order.

    With an intercept, the theory applies to z = [x; 1]: R and the margin are measured in z. For a
    run of a fitted estimator use ``estimator.bounds(X, y)``.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (rows, features)
        Each value of a text or categorical column of a data frame is a feature.
    y : array of shape (rows,), labels of two or more classes
    fit_intercept : bool, default=True
    multiclass : {"native", "ovr", "ovo"}, default="native"
        The strategy for several classes. The bounds of several binary classifiers are added up; the
        native rule has the bound 2 R^2 / gamma^2 (Collins).
    weights : array of shape (features,), or with the intercept (features + 1,); default=None
        A separator or comparator, for two classes only; None searches for the best one. Any weights
        give valid bounds.
    mistakes : int, default=None
        The number of mistakes that a perceptron made, to compare with its bounds.
    passes : int, default=1
        For how many passes the hinge bounds are, whose loss counts once per pass; the others hold
        for any number.
    literals : int, default=None
        For multiplicative updates: the number of features in the disjunction, which is checked.
        None looks for the fewest.
    majority : int, default=1
        A row is positive if and only if at least this many of the ``literals`` are on, which is
        checked. Above 1 the bound is for ``promotion=1 + 1 / (2 * majority)``.
    gamma : float > 0, default=None
        For two classes: also bound the mistakes by R^2/gamma^2 + 2 TD/gamma, where TD is the total
        distance that the rows must move to have this margin; a local search finds the direction.

    Returns
    -------
    Bounds
        Bounds in real arithmetic, rounded up; each names its ``source``. For the perceptron (from
        zero weights, at a constant rate): ``Novikoff`` (R/gamma)^2 and, separable or not, ``hinge``
        ||w||^2 R^2 + 2 hinge(w) and the sharper ``hinge, sharp``, both at the w that minimizes
        ``hinge``. For MarginPerceptron ``8/gamma^2`` (updates, rows of length 1), for
        multiplicative updates ``disjunction`` or ``majority``, and ``L1 margin`` if weights may
        have either sign. With ``gamma`` also ``total distance``. The hinge bounds of two classes
        have the ``comparator`` w and its ``distance``. ``left_out`` holds the bounds that do not
        apply, with the reason.

    Raises
    ------
    ValueError
        For NaN, infinity, rows whose largest number is not between 1e-100 and 1e100, a single
        class, X and y of different lengths, and weights of the wrong shape.

    Examples
    --------
    >>> print(bounds([[4, 0], [1, 1], [0, 1], [-2, -2]], [1, 0, 0, 1], fit_intercept=False,
    ...              mistakes=3)["Novikoff"])
    kept: 3 of at most 26 mistakes in any number of passes (Novikoff)
    """
    for wanted, value in (
        (Parameter(name="multiclass", choices=("native", "ovr", "ovo")), multiclass),
        (Parameter(name="passes", kind=int, at_least=1), passes),
        (Parameter(name="gamma", kind=float, above=0.0, also=(None,)), gamma),
    ):
        wanted.check(value)
    check_literals(literals, majority)
    check_beside(X, y=y)
    X, y, *_ = in_memory(X, y)
    refuse_continuous(y := labels_of(y))
    classes = np.unique(y)
    if len(classes) < 2:
        raise DataError(
            f"All rows have the label {classes[0]!s}: bounds need two classes.",
            code="class-count", value=classes[0],
        )  # fmt: skip
    found = [
        Case(
            kind(), X, np.searchsorted(classes, y), len(classes), multiclass, fit_intercept,
            Bounds((), {}, mistakes=mistakes if kind is Perceptron else None, passes=passes),
            literals=literals, majority=majority, gamma=gamma, weights=weights, in_advance=True,
        ).bounds()
        for kind in LINEAR.values() if kind.__name__ in THEORIES
    ]  # fmt: skip
    return Bounds(
        tuple(bound for one in found for bound in one.bounds),
        {name: why for one in found for name, why in one.left_out.items()},
        found[0].longest,
        found[0].margin,
    )

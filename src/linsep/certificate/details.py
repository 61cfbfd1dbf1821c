"""Details of a verdict that are not part of the proof: deciding columns, and the size of an
overlap.

Both are computed from exact numbers, but are not stored in proof files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class DecidingColumns:
    """The columns that decide a separable or quasi-separable verdict, numbered from 0.

    Attributes
    ----------
    alone : tuple of int
        The columns that separate the classes alone.
    touching : tuple of int
        The columns that quasi-separate the classes alone.
    sufficient : tuple of int or None
        Some columns that suffice for the same verdict. None unless requested.
    minimal : bool
        Whether no column of ``sufficient`` can be left out: no proper subset has the same verdict.
        Other sets may be smaller.
    needed : tuple of int or None
        The columns that cannot be left out: the other columns have another verdict without them, so
        each has a nonzero weight in every separator. None unless requested, or if the time was up.
    n_features : int
    names : tuple of str or None
        The names of all columns.
    """

    alone: tuple[int, ...]
    touching: tuple[int, ...]
    n_features: int
    names: tuple[str, ...] | None = field(default=None, repr=False)
    sufficient: tuple[int, ...] | None = None
    minimal: bool = False
    needed: tuple[int, ...] | None = None

    def named(self, columns: tuple[int, ...]) -> list[str]:
        """Return the names of some columns; ``x3`` for column 3 if they have no names."""
        return [f"x{j}" if self.names is None else self.names[j] for j in columns]

    def lines(self, separates: str, some: Callable[[list[str]], str]) -> list[tuple[str, str]]:
        """Return the details as pairs of a heading and a text.

        Parameters
        ----------
        separates : the verdict as a verb, such as "separates"
        some : returns a few names as text
        """
        found = []
        alone = self.touching if separates == "quasi-separates" else self.alone
        if alone:
            each = "each " * (len(alone) > 1)
            text = f"{some(self.named(alone))}: {each}{separates} the classes without the others"
            found.append(("alone", text))
        if self.sufficient is None:
            return found
        n, names = len(self.sufficient), some(self.named(self.sufficient))
        give = "column gives" if self.n_features == 1 else "columns give" + "s" * (n == 1)
        how = ", and no column can be left out" * (n > 1)
        how = how if self.minimal else " (the time was up before smaller sets were tried)"
        text = f"{n:,} of {self.n_features:,} {give} the same verdict{how}: {names}"
        found.append(("sufficient", text))
        if self.needed:
            left = "if one of these" if len(self.needed) > 1 else "if it"
            others = f"{left} is left out, the verdict changes"
            found.append(("needed", f"{some(self.named(self.needed))}: {others}"))
        elif self.needed is not None:
            found.append(("needed", "none: any single column can be left out"))
        return found

    def plain(self) -> dict[str, Any]:
        """Return the details as a JSON object, with the names of columns."""

        found: dict[str, Any] = {
            "alone": self.named(self.alone),
            "touching": self.named(self.touching),
        }
        if self.sufficient is not None:
            found |= {"sufficient": self.named(self.sufficient), "minimal": self.minimal}
        if self.needed is not None:
            found["needed"] = self.named(self.needed)
        return found


@dataclass(frozen=True, eq=False)
class Overlap:
    """The size of the overlap of two classes, in rows, as an interval.

    It is the largest sum of multipliers, from 0 to 1 for each row, with which the sign-flipped rows
    add up to zero. With an intercept, these are equally many rows of both classes, in fractions of
    rows, with the same mean. By linear programming duality it is also the minimum over all weights
    w of the sum over the rows of max(0, 1 - y <w, z>). It is zero if and only if a hyperplane
    separates the classes.

    Attributes
    ----------
    low, high : float
        Ends of the interval, rounded outward: exact multipliers sum to at least ``low``, and the
        sum for ``weights`` is at most ``high``.
    most : int
        The largest possible overlap of classes of these sizes: twice the rows of the smaller class;
        without an intercept, all rows.
    weights : array of shape (features,) or (features + 1,)
        Weights with that sum, the intercept last.
    multipliers : array of shape (rows,)
        The multipliers of the lower end, rounded; 0 for rows of other classes.
    """

    low: float
    high: float
    most: int
    weights: np.ndarray = field(repr=False)
    multipliers: np.ndarray = field(repr=False)

    @property
    def share(self) -> float:
        """The upper end as a share of the largest overlap, from 0 to 1."""
        return self.high / self.most

    @property
    def most_errors(self) -> int:
        """Upper bound on the rows misclassified by ``weights``: each adds at least 1 to the sum."""
        return int(self.high)

    def __str__(self) -> str:
        low, high = f"{self.low:.4g}", f"{self.high:.4g}"
        ends = high if low == high else f"{low} to {high}"
        errors = "1 error" if self.most_errors == 1 else f"{self.most_errors:,} errors"
        return (
            f"{ends} rows, {self.share:.2g} of the largest possible overlap of classes of these "
            f"sizes; some hyperplane has at most {errors}"
        )

    def plain(self) -> dict[str, Any]:
        """Return the numbers as a JSON object."""
        names = ("low", "high", "most", "share", "most_errors")
        return {name: getattr(self, name) for name in names}

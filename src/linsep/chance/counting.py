"""The number of labelings that a hyperplane separates: Cover's function counting theorem."""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, islice
from numbers import Integral

from scipy.special import bdtr

from linsep._system.interrupts import cached_property
from linsep.errors import ParameterError
from linsep.words import counted

#: probabilities below are not told apart in words
LEAST = 1e-15


@dataclass(frozen=True)
class Dichotomies:
    """The labelings of rows with two classes, and the number that a hyperplane separates.

    ``float()`` gives the probability. The other attributes are the parameters of
    :func:`linsep.dichotomies`.
    """

    n_rows: int
    n_dimensions: int
    fit_intercept: bool = True

    @property
    def total(self) -> int:
        """The number of labelings, 2^n."""
        return 1 << self.n_rows

    @cached_property
    def separable(self) -> int:
        """The number of labelings that a hyperplane separates."""
        n, width = self.n_rows - 1, self.n_dimensions + self.fit_intercept
        if n < width:  # also of no rows, or no width
            return self.total
        binomials = accumulate(range(width), lambda c, k: c * (n - k) // (k + 1), initial=1)
        return 2 * sum(islice(binomials, width))

    @property
    def probability(self) -> Fraction:
        """The exact probability that a hyperplane separates labels drawn by a fair coin."""
        return Fraction(self.separable, self.total)

    @property
    def log_probability(self) -> float:
        """The natural logarithm of the probability, which does not underflow; -inf for 0."""
        if not self.separable:
            return -math.inf
        if 2 * self.separable > self.total:
            return math.log1p(-float(1 - self.probability))
        return math.log(self.separable) - self.n_rows * math.log(2)

    def __float__(self) -> float:
        return float(self.probability)


def dichotomies(n_rows: int, n_dimensions: int, *, fit_intercept: bool = True) -> Dichotomies:
    """Count the labelings of rows in general position that a hyperplane separates.

    Parameters
    ----------
    n_rows : int
        Number of distinct rows, n.
    n_dimensions : int
        Dimension d of the space that they span: with dependent columns, the rank of ``[X, 1]``
        minus 1; without an intercept, the rank of X.
    fit_intercept : bool, default=True
        Whether the hyperplane has an intercept.

    Returns
    -------
    Dichotomies

    Raises
    ------
    ParameterError
        If a number is not an integer of at least 0.

    Notes
    -----
    Of the 2^n labelings, 2 sum_{k=0..d} C(n - 1, k) are separable; without an intercept, the sum
    runs to d - 1 (Cover, Geometrical and statistical properties of systems of linear inequalities
    with applications in pattern recognition, IEEE Transactions on Electronic Computers EC-14, 1965,
    Theorem 1). In general position no d + 1 rows lie in a plane of dimension d - 1. For other rows
    the number is an upper bound, unless n is at most d + 1.

    Examples
    --------
    >>> found = dichotomies(5, 2)
    >>> found.separable, found.total, found.probability
    (22, 32, Fraction(11, 16))
    >>> round(float(dichotomies(100, 60)), 6)
    0.986737
    """
    for name, value in (("n_rows", n_rows), ("n_dimensions", n_dimensions)):
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
            raise ParameterError(
                f"{name} must be an integer of at least 0, got {value!r}.", option=name, value=value
            )
    return Dichotomies(int(n_rows), int(n_dimensions), bool(fit_intercept))


@dataclass(frozen=True)
class Chance:
    """Whether a hyperplane would separate rows with random labels; ``str`` returns a sentence.

    Attributes
    ----------
    n_distinct : int
        Number of distinct rows; if they are ``enough``, counting stopped.
    enough : bool
        Whether these rows suffice to show that the probability is nearly 0.
    n_dimensions : int
        Dimension of the space that they span; an upper bound if not ``known``.
    known : bool
    tied : bool
        Whether a column has equal values in several distinct rows (not in general position).
    fit_intercept : bool
    """

    n_distinct: int
    enough: bool
    n_dimensions: int
    known: bool
    tied: bool
    fit_intercept: bool

    @property
    def dichotomies(self) -> Dichotomies:
        """The labelings of equally many rows in general position in the same dimension."""
        return Dichotomies(self.n_distinct, self.n_dimensions, self.fit_intercept)

    @property
    def probability(self) -> float:
        """The probability that a hyperplane separates random labels of the distinct rows, by
        Cover's count: an upper bound if they are not in general position.
        """
        n_rows, n_weights = self.n_distinct, self.n_dimensions + self.fit_intercept
        if n_rows <= n_weights or not n_weights:
            return float(n_rows <= n_weights)
        # of fewer heads than weights in n - 1 coin tosses
        return float(bdtr(n_weights - 1, n_rows - 1, 0.5))

    def __str__(self) -> str:
        if (p := self.probability) < LEAST:
            return f"random labels would not be separable (probability below {LEAST:g})"
        shown = f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"
        if self.tied or not self.known:
            shown = f"at most {shown}"
        elif 0.9995 < p < 1.0:
            shown = "above 0.999"
        rows = counted(self.n_distinct, "distinct row")
        where = f"{rows}, {counted(self.n_dimensions, 'dimension')}"
        return f"random labels would be separable with probability {shown} ({where})"

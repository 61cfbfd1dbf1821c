"""Base class of kernels: inner products in an implicit feature space."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from linsep.errors import DataError, ParameterError
from linsep.kernels.exact import Ratio

#: exact values are between 2^-MOST_POWER and 2^MOST_POWER
MOST_POWER = 1000


@dataclass(frozen=True)
class Kernel:
    """K(x, y) = <phi(x), phi(y)>; a subclass defines phi, its fields are the parameters.

    A kernel is immutable. Parameters that depend on the data (``gamma="scale"``, an alphabet) are
    set in the kernel that :meth:`fitted` returns. Kernels can be added and multiplied, with each
    other and with positive numbers, stored as JSON by :meth:`to_dict`, and passed to scikit-learn's
    ``SVC(kernel=...)`` for rows of numbers.
    """

    #: "vectors" (dense or CSR), "strings", "gram" (rows of a Gram matrix) or "anything"
    takes: ClassVar[str] = "vectors"
    #: whether rows of numbers may be sparse
    sparse: ClassVar[bool] = True
    #: whether values must be at least 0
    positive_only: ClassVar[bool] = False
    #: rows that a learner scores at once: enough for fast products, but few enough that their own
    #: Gram matrix is cheap beside that with the support vectors
    rows_at_once: ClassVar[int] = 512
    #: advice if values overflow
    advice: ClassVar[str] = "scale the features, say to at most 1"

    def fitted(self, X: Any) -> Kernel:
        """Return the kernel with its data-dependent parameters computed from training rows X."""
        return self._fitted(X)

    def prepare(self, X: Any) -> Any:
        """Check X and convert it to the form this kernel works on.

        Parameters
        ----------
        X : rows of the type this kernel takes (``takes``)

        Returns
        -------
        rows
            Can be sliced: ``rows[i:j]``, ``rows[array of row numbers]``;
            :func:`linsep.kernels.rows.rows_of` counts them.

        Raises
        ------
        DataError, ValueError
            If rows are of another type or have NaN or infinity.
        """
        return self._prepare(X)

    def gram(self, A: Any, B: Any) -> np.ndarray:
        """Return K of every pair of prepared rows, float64 of shape (rows of A, rows of B).

        Raises
        ------
        DataError
            If A and B have different features, or a value overflows.
        """
        return self._finite(self._gram(A, B))

    def diagonal(self, A: Any) -> np.ndarray:
        """Return K(a, a) of every prepared row, float64 of shape (rows,)."""
        return self._finite(self._diagonal(A))

    def counts(self, A: Any) -> tuple[np.ndarray, Any, np.ndarray] | None:
        """Return the substrings in prepared rows, if the kernel is a product of their counts.

        Parameters
        ----------
        A : prepared rows

        Returns
        -------
        (substrings, counts, weights), or None for other kernels
            An array of str or bytes, a CSR matrix of shape (rows, substrings), and an array of
            shape (substrings,): K(x, y) is the sum of weight * count in x * count in y.
        """
        return None

    def __call__(self, X: Any, Y: Any = None) -> np.ndarray:
        """Return the Gram matrix of raw rows.

        Parameters
        ----------
        X, Y : rows of the type this kernel takes
            Y defaults to X. Data-dependent parameters (see :meth:`fitted`) are computed from Y (the
            training rows in scikit-learn's calls), else from X.

        Returns
        -------
        array of shape (rows of X, rows of Y), float64
        """
        kernel = self.fitted(X if Y is None else Y)
        A = kernel.prepare(X)
        return kernel.gram(A, A if Y is None or Y is X else kernel.prepare(Y))

    def exact(self, X: Any) -> np.ndarray | None:
        """Return the Gram matrix of raw rows without rounding, for :func:`linsep.separation`.

        Parameters
        ----------
        X : rows of the type this kernel takes
            Their numbers are used exactly, as :func:`linsep.separation` reads them. Parameters of
            the kernel count as the binary fractions they are stored as.

        Returns
        -------
        array of int or Fraction of shape (rows, rows), or None
            None for kernels whose values exist in floats only (radial, normalized, functions), and
            if a value would have more than 2^14 bits, or all together more than 2^32.

        Raises
        ------
        DataError
            If a value is outside 2^-1000 to 2^1000.
        """
        kernel = self.fitted(X)
        found = kernel._exact(X)
        if found is None:
            return None
        sizes = [abs(m) for m in found.above.ravel().tolist() if m]
        if max(sizes, default=1) > found.below << MOST_POWER:
            raise DataError(f"{self!r} is beyond floating point on these rows: {kernel._advice()}.")
        if min(sizes, default=1) << MOST_POWER < found.below and sizes:
            raise DataError(
                f"{self!r} is beyond floating point on these rows, which are too small: multiply "
                "the features by a large number."
            )
        return found.values()

    def to_dict(self) -> dict[str, Any]:
        """Return the kernel as plain JSON, for :func:`linsep.kernels.kernel_from_dict`.

        Raises
        ------
        ParameterError
            If the kernel is a function, which cannot be stored.
        """
        given = {field.name: plain(getattr(self, field.name)) for field in fields(self)}
        return {"kernel": type(self).__name__, "parameters": given}

    def __add__(self, other: Any) -> Kernel:
        from linsep.kernels.combined import Constant, Sum

        if isinstance(other, Kernel):
            return Sum(self, other)
        return Sum(self, Constant(float(other))) if isinstance(other, Real) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        from linsep.kernels.combined import Product, Scaled

        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, float(other)) if isinstance(other, Real) else NotImplemented

    __radd__, __rmul__ = __add__, __mul__

    def _fitted(self, X: Any) -> Kernel:
        return self

    def _exact(self, X: Any) -> Ratio | None:
        """Return the Gram matrix of raw rows as integers over a denominator, or None."""
        return None

    def _prepare(self, X: Any) -> Any:
        raise NotImplementedError

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        raise NotImplementedError

    def _diagonal(self, A: Any) -> np.ndarray:
        raise NotImplementedError

    def _advice(self) -> str:
        """Return what to do if values overflow."""
        return self.advice

    def _finite(self, values: np.ndarray) -> np.ndarray:
        # The sum is finite unless a value is NaN or infinite, or the sum itself overflows.
        with np.errstate(over="ignore", invalid="ignore"):
            quickly = np.isfinite(values.sum())
        if not quickly and not np.isfinite(values).all():
            raise DataError(f"{self!r} is beyond floating point on these rows: {self._advice()}.")
        return values


class BeyondFloats(Kernel):
    """A kernel whose values may overflow, and are available as m 2^e.

    :class:`linsep.kernels.Normalized` divides them in this form.
    """

    def scaled_gram(self, A: Any, B: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return every value m 2^e as (m, e), float64 arrays of shape (rows of A, rows of B)."""
        raise NotImplementedError

    def scaled_diagonal(self, A: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return K(a, a) of every row as (m, e), two arrays of shape (rows,)."""
        raise NotImplementedError

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        return _value(*self.scaled_gram(A, B))

    def _diagonal(self, A: Any) -> np.ndarray:
        return _value(*self.scaled_diagonal(A))


def _value(mantissas: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # the error names the kernel
        return np.ldexp(mantissas, np.clip(exponents, -5000, 5000).astype(np.int32))


def plain(value: Any) -> Any:
    """Return a parameter as a JSON value."""
    if isinstance(value, Kernel):
        return value.to_dict()
    if isinstance(value, Real):
        return int(value) if isinstance(value, Integral) else float(value)
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    if value is None or isinstance(value, str):
        return value
    raise ParameterError(
        f"A kernel with {value!r} cannot be stored, as code is never written to a file: use a "
        "kernel that is made of parameters only."
    )


#: the value of rows of length 1 above which the parameters of a kernel are what is too large
HUGE = 1e150
#: the largest float
LARGEST = float(np.finfo(np.float64).max)


def number(kernel: Any, name: str, low: float = 0.0, *, whole: bool = False) -> None:
    """Raise ParameterError unless a field of a kernel is a finite number above ``low``.

    With ``whole`` it must be a 64-bit integer of at least ``low``.
    """
    value = getattr(kernel, name)
    right = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
    if not (right and (low <= value < 2**63 if whole else low < value <= LARGEST)):
        kind = f"a number above {low:g}"
        if whole:
            kind = f"a whole number of at least {low:g}" + " and below 2^63" * (
                right and value >= low
            )
        raise ParameterError(f"{name} of {type(kernel).__name__} must be {kind}, not {value!r}.")

"""What every kernel is: a product of two rows in a space of features that is never written out."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from linsep.errors import DataError, ParameterError


@dataclass(frozen=True)
class Kernel:
    """K(x, y) = <phi(x), phi(y)>; a subclass is one phi, its fields are the numbers of it.

    A kernel never changes. What it has to know of the data (``gamma="scale"``, an alphabet) is in
    the kernel that :meth:`fitted` returns. Kernels can be added and multiplied, with one another
    and with positive numbers, stored as JSON by :meth:`to_dict`, and given to scikit-learn's
    ``SVC(kernel=...)`` for rows of numbers.
    """

    #: "vectors" (dense or CSR), "strings", "gram" (rows of a Gram matrix) or "anything"
    takes: ClassVar[str] = "vectors"
    #: whether rows of numbers may be sparse
    sparse: ClassVar[bool] = True
    #: whether no number may be below 0
    positive_only: ClassVar[bool] = False
    #: rows that a learner scores at once: enough for fast products, few enough that a Gram matrix
    #: among them costs little beside that with the support vectors
    rows_at_once: ClassVar[int] = 512
    #: what to do where values are beyond floating point
    advice: ClassVar[str] = "scale the features, say to at most 1"

    def fitted(self, X: Any) -> Kernel:
        """The same kernel with all that depends on data taken from the rows X to learn from."""
        return self._fitted(X)

    def prepare(self, X: Any) -> Any:
        """X, checked, in the form this kernel works on, once for a data set.

        Parameters
        ----------
        X : rows as this kernel takes them (``takes``)

        Returns
        -------
        rows
            Can be sliced: ``rows[i:j]``, ``rows[array of row numbers]``;
            :func:`linsep.kernels.rows.rows_of` counts them.

        Raises
        ------
        DataError, ValueError
            For rows of another kind, NaN, infinity.
        """
        return self._prepare(X)

    def gram(self, A: Any, B: Any) -> np.ndarray:
        """K of every pair of prepared rows: float64 of shape (rows of A, rows of B).

        Raises
        ------
        DataError
            Where features are not the same on both sides, or a value is beyond floating point.
        """
        return self._finite(self._gram(A, B))

    def diagonal(self, A: Any) -> np.ndarray:
        """K(a, a) of every prepared row: float64 of shape (rows,)."""
        return self._finite(self._diagonal(A))

    def __call__(self, X: Any, Y: Any = None) -> np.ndarray:
        """The Gram matrix of rows as they are.

        Parameters
        ----------
        X, Y : rows as this kernel takes them
            Without Y those of X on both sides. What depends on data (see :meth:`fitted`) is
            taken from Y, the rows learnt from where scikit-learn asks, or else from X.

        Returns
        -------
        array of shape (rows of X, rows of Y), float64
        """
        kernel = self.fitted(X if Y is None else Y)
        A = kernel.prepare(X)
        return kernel.gram(A, A if Y is None or Y is X else kernel.prepare(Y))

    def to_dict(self) -> dict[str, Any]:
        """The kernel as plain JSON, which :func:`linsep.kernels.kernel_from_dict` reads.

        Raises
        ------
        ParameterError
            For a function, which cannot be stored.
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

    def _prepare(self, X: Any) -> Any:
        raise NotImplementedError

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        raise NotImplementedError

    def _diagonal(self, A: Any) -> np.ndarray:
        raise NotImplementedError

    def _finite(self, values: np.ndarray) -> np.ndarray:
        # The sum is finite wherever no value is NaN or infinite, but for sums beyond floats.
        with np.errstate(over="ignore", invalid="ignore"):
            quickly = np.isfinite(values.sum())
        if not quickly and not np.isfinite(values).all():
            raise DataError(f"{self!r} is beyond floating point on these rows: {self.advice}.")
        return values


class BeyondFloats(Kernel):
    """A kernel of values that may be beyond floating point, and are right as m 2^e all the same.

    By these :class:`linsep.kernels.Normalized` divides them before they are numbers.
    """

    def scaled_gram(self, A: Any, B: Any) -> tuple[np.ndarray, np.ndarray]:
        """Every value as (m, e) for m 2^e: two float64 arrays of shape (rows of A, rows of B)."""
        raise NotImplementedError

    def scaled_diagonal(self, A: Any) -> tuple[np.ndarray, np.ndarray]:
        """K(a, a) of every row as :meth:`scaled_gram` has it: two arrays of shape (rows,)."""
        raise NotImplementedError

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        return _value(*self.scaled_gram(A, B))

    def _diagonal(self, A: Any) -> np.ndarray:
        return _value(*self.scaled_diagonal(A))


def _value(mantissas: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # the error names the kernel
        return np.ldexp(mantissas, np.clip(exponents, -5000, 5000).astype(np.int32))


def plain(value: Any) -> Any:
    """A parameter as JSON knows it."""
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


#: the largest number in floating point
LARGEST = float(np.finfo(np.float64).max)


def number(kernel: Any, name: str, low: float = 0.0, *, whole: bool = False) -> None:
    """Raise ParameterError unless that field of a kernel is a finite number above ``low``.

    A whole number may also be ``low`` itself, and is one that fits in 64 bits.
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

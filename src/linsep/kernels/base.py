"""Kernels: inner products in an implicit feature space; their sums, products and multiples."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from linsep.errors import DataError, ParameterError
from linsep.kernels.exact import Ratio, constant
from linsep.validation.checks import as_csr, faults_named

#: exact values are between 2^-MOST_POWER and 2^MOST_POWER
MOST_POWER = 1000
#: values of a Gram matrix that fit in the processor's cache
CACHED = 8192
#: the largest float
LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Kernel:
    """K(x, y) = <phi(x), phi(y)>; a subclass defines :meth:`prepare`, ``_gram`` and ``_diagonal``,
    and its fields are the parameters.

    A kernel is immutable. Parameters that depend on the data (``gamma="scale"``, an alphabet) are
    set in the kernel that :meth:`fitted` returns. Kernels can be added and multiplied, with each
    other and with positive numbers, stored as JSON by :meth:`to_dict`, and passed to scikit-learn's
    ``SVC(kernel=...)`` for rows of numbers.
    """

    #: "vectors" (dense or CSR), "strings", "gram" (rows of a Gram matrix) or "anything"
    takes: ClassVar[str] = "vectors"
    #: rows that a learner scores at once: enough for fast products, but few enough that their own
    #: Gram matrix is cheap beside that with the support vectors
    rows_at_once: ClassVar[int] = 512

    def fitted(self, X: Any) -> Kernel:
        """Return the kernel with its data-dependent parameters computed from training rows X."""
        return self

    def prepare(self, X: Any) -> Any:
        """Return rows, of the type that this kernel supports (``takes``), in the form it works on,
        which can be sliced: ``rows[i:j]``, ``rows[array of row numbers]``; DataError or ValueError
        if they have the wrong type, NaN or infinity.
        """
        raise NotImplementedError

    def gram(self, A: Any, B: Any) -> np.ndarray:
        """Return K of every pair of prepared rows, float64 of shape (rows of A, rows of B);
        DataError if A and B have different features, or a value overflows.
        """
        return self._finite(self._gram, A, B)

    def diagonal(self, A: Any) -> np.ndarray:
        """Return K(a, a) of every prepared row, float64 of shape (rows,)."""
        return self._finite(self._diagonal, A)

    def counts(self, A: Any) -> tuple[np.ndarray, Any, np.ndarray] | None:
        """Return the substrings in prepared rows, if K(x, y) is the sum of weight * count in x *
        count in y: an array of str or bytes, a CSR matrix of counts of shape (rows, substrings),
        and the weights; None for other kernels.
        """
        return None

    def __call__(self, X: Any, Y: Any = None) -> np.ndarray:
        """Return the Gram matrix of raw rows.

        Parameters
        ----------
        X, Y : rows of the type that this kernel supports
            Y defaults to X. Data-dependent parameters (see :meth:`fitted`) are computed from Y, the
            training rows in scikit-learn's calls.

        Returns
        -------
        array of shape (rows of X, rows of Y), float64
        """
        kernel = self.fitted(X if Y is None else Y)
        A = kernel.prepare(X)
        return kernel.gram(A, A if Y is None or Y is X else kernel.prepare(Y))

    def exact(self, X: Any) -> np.ndarray | None:
        """Return the Gram matrix of raw rows without rounding, for :func:`linsep.separation`: an
        array of int or Fraction of shape (rows, rows).

        Numbers of rows are used exactly, as in :func:`linsep.separation`, and parameters as the
        binary fractions in which they are stored. None for kernels with only floating-point values
        (radial, normalized, functions), and if a power or a product over features would have more
        than 2^14 bits; DataError if a value is outside 2^-1000 to 2^1000.
        """
        if self.takes == "vectors":
            refuse_text(X, self)
        found = self.fitted(X)._exact(X)
        if found is None:
            return None
        sizes = [abs(m) for m in found.above.ravel().tolist() if m] or [found.below]
        if max(sizes) > found.below << MOST_POWER or min(sizes) << MOST_POWER < found.below:
            raise self._overflow()
        return found.values()

    def to_dict(self) -> dict[str, Any]:
        """Return the kernel as plain JSON, for :func:`linsep.kernels.kernel_from_dict`;
        ParameterError for a function, which cannot be stored.
        """
        given = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        return {"kernel": type(self).__name__, "parameters": given}

    def __add__(self, other: Any) -> Kernel:
        other = Constant(float(other)) if isinstance(other, Real) else other
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, float(other)) if isinstance(other, Real) else NotImplemented

    __radd__, __rmul__ = __add__, __mul__

    def _exact(self, X: Any) -> Ratio | None:
        """Return the Gram matrix of raw rows as integers over a denominator, or None."""
        return None

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        raise NotImplementedError

    def _diagonal(self, A: Any) -> np.ndarray:
        raise NotImplementedError

    def _finite(self, compute: Any, *rows: Any) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            values: np.ndarray = compute(*rows)
        if not np.isfinite(values).all():
            raise self._overflow()
        return values

    def _overflow(self) -> DataError:
        return DataError(
            f"{self!r} overflows float64 on these rows, or underflows: scale the features, say to "
            "at most 1, or choose smaller parameters.", code="overflow",
        )  # fmt: skip


def _plain(value: Any) -> Any:
    """Return a parameter as a JSON value."""
    if isinstance(value, Kernel):
        return value.to_dict()
    if isinstance(value, Real):
        return int(value) if isinstance(value, Integral) else float(value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, str):
        return value
    raise ParameterError(
        f"A kernel with {value!r} cannot be stored, because code is never written to a file: use "
        "a kernel defined only by parameters.", code="unsupported", value=value,
    )  # fmt: skip


def number(kernel: Any, name: str, *, whole: bool = False) -> None:
    """Raise ParameterError unless a field of a kernel is a finite number above 0, or with ``whole``
    a 64-bit integer.
    """
    value = getattr(kernel, name)
    right = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
    if not (right and (1 <= value < 2**63 if whole else 0 < value <= LARGEST)):
        kind = "a whole number of at least 1" if whole else "a number above 0"
        raise ParameterError(
            f"{name} of {type(kernel).__name__} must be {kind}, not {value!r}.", option=name,
            value=value,
        )  # fmt: skip


@dataclass(frozen=True)
class Constant(Kernel):
    """The same value for every pair of rows of any type: an additional constant feature.

    ``kernel + 1`` gives the kernel perceptron an intercept.
    """

    value: float = 1.0
    takes = "anything"

    def __post_init__(self) -> None:
        number(self, "value")

    def prepare(self, X: Any) -> Any:
        """Return as many rows without features."""
        return np.empty((rows_of(X), 0))

    def _exact(self, X: Any) -> Ratio | None:
        return constant(rows_of(X), self.value)

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        return np.full((rows_of(A), rows_of(B)), float(self.value))

    def _diagonal(self, A: Any) -> np.ndarray:
        return np.full(rows_of(A), float(self.value))


class Combined(Kernel):
    """A kernel composed of the kernels in its fields, on the same rows."""

    def __post_init__(self) -> None:
        for value in self.inner.values():
            if not isinstance(value, Kernel):
                raise ParameterError(
                    f"{type(self).__name__} takes kernels of linsep.kernels, not {value!r}: wrap a "
                    "function as Callable(function).", code="bad-kernel", value=value,
                )  # fmt: skip
        taken = {one.takes for one in self.inner.values()} - {"anything"}
        if len(taken) > 1:
            raise ParameterError(
                f"{self!r} combines kernels of {' and '.join(sorted(taken))}: combine kernels on "
                "the same kind of rows.", code="bad-kernel",
            )  # fmt: skip
        object.__setattr__(self, "takes", "".join(taken) or "anything")

    @property
    def inner(self) -> dict[str, Any]:
        """The kernels that it is made of, by field."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.type == "Kernel"}

    @property
    def rows_at_once(self) -> int:  # type: ignore[override]
        """The smallest block of the inner kernels: a function computes no unneeded values."""
        return min(kernel.rows_at_once for kernel in self.inner.values())

    def fitted(self, X: Any) -> Kernel:
        """Return the kernel of fitted kernels."""
        return replace(self, **{name: kernel.fitted(X) for name, kernel in self.inner.items()})


class Pair(Combined):
    """Two kernels on the same rows, and the function of their values, also of exact ones."""

    left: Kernel
    right: Kernel
    _of_values: ClassVar[Any]
    of_ratios: ClassVar[str]

    def prepare(self, X: Any) -> Any:
        """Return the rows as both kernels have them."""
        return Parts(self.left.prepare(X), self.right.prepare(X))

    def _exact(self, X: Any) -> Ratio | None:
        left, right = self.left._exact(X), self.right._exact(X)
        return None if left is None or right is None else getattr(left, self.of_ratios)(right)

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        left, right = zip(A.parts, B.parts, strict=True)
        K = self.left.gram(*left)
        return self._of_values(K, self.right.gram(*right), out=K)

    def _diagonal(self, A: Any) -> np.ndarray:
        return self._of_values(*map(Kernel.diagonal, (self.left, self.right), A.parts))


@dataclass(frozen=True)
class Sum(Pair):
    """K1(x, y) + K2(x, y): the features of both, side by side."""

    left: Kernel
    right: Kernel
    _of_values, of_ratios = np.add, "plus"


@dataclass(frozen=True)
class Product(Pair):
    """K1(x, y) K2(x, y): the products of every feature of one with every feature of the other."""

    left: Kernel
    right: Kernel
    _of_values, of_ratios = np.multiply, "times"


@dataclass(frozen=True)
class Scaled(Pair):
    """``factor`` K(x, y), with a factor above 0."""

    kernel: Kernel
    factor: float
    _of_values, of_ratios = np.multiply, "times"

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self, "factor")

    @property
    def left(self) -> Kernel:  # type: ignore[override]
        """The kernel."""
        return self.kernel

    @property
    def right(self) -> Kernel:  # type: ignore[override]
        """The factor, as a kernel."""
        return Constant(self.factor)


class Parts:
    """Several forms of the same rows, sliced together, and what slices share."""

    def __init__(self, *parts: Any, shared: Any = None):
        self.parts, self.shared = parts, shared

    def __len__(self) -> int:
        return rows_of(self.parts[0])

    def __getitem__(self, key: Any) -> Parts:
        return Parts(*(part[key] for part in self.parts), shared=self.shared)


def rows_of(rows: Any) -> int:
    """Return the number of prepared rows."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def listed(X: Any) -> np.ndarray:
    """Return rows of any type as a one-dimensional array of objects, which can be sliced."""
    if isinstance(X, str | bytes) or getattr(X, "ndim", 1) != 1 or not hasattr(X, "__iter__"):
        raise DataError(f"X is {X!r:.40}, not a list of rows: pass a list.", code="bad-value")
    return np.fromiter(X, dtype=object)


def refuse_text(X: Any, kernel: Any) -> None:
    """Raise DataError if X has strings instead of numbers."""
    text = isinstance(X, str | bytes) or getattr(getattr(X, "dtype", 0), "kind", 0) in ("S", "U")
    rows = X if getattr(X, "ndim", 1) == 1 and hasattr(X, "__iter__") else ()
    if text or any(isinstance(row, str | bytes) for row in rows):
        raise DataError(
            f"X has strings, but {kernel!r} takes rows of numbers: choose a string kernel such as "
            "Spectrum(3), or convert the strings to numbers.", code="not-a-number",
        )  # fmt: skip


def vectors(X: Any, kernel: Any, dtype: Any = (np.float64, np.float32)) -> Any:
    """Return X as a C-contiguous array or canonical CSR matrix of finite floats, without a copy if
    possible; DataError or ValueError if X is not a table of such numbers.
    """
    refuse_text(X, kernel)
    with faults_named(X):
        X = check_array(as_csr(X), accept_sparse="csr", dtype=list(np.atleast_1d(dtype)), order="C")
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def same_width(A: Any, B: Any) -> None:
    """Raise DataError if rows have different numbers of features."""
    if A.shape[1] != B.shape[1]:
        raise DataError(
            f"Rows have {A.shape[1]} features on one side and {B.shape[1]} on the other: a kernel "
            "needs the same features on both sides.", code="shape",
        )  # fmt: skip

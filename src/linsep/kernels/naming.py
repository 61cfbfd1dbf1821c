"""Kernels by their names, in parameters and in model files."""

from __future__ import annotations

from typing import Any

from linsep import kernels
from linsep.errors import DataError, ParameterError
from linsep.kernels.base import MOST_NESTED, Kernel, unknown

#: name: (class, loaded at first use; which of gamma, degree and coef0 it takes)
NAMED: dict[str, tuple[str, tuple[str, ...]]] = {
    "linear": ("Linear", ()),
    "poly": ("Polynomial", ("gamma", "degree", "coef0")),
    "polynomial": ("Polynomial", ("gamma", "degree", "coef0")),
    "rbf": ("RBF", ("gamma",)),
    "laplacian": ("Laplacian", ("gamma",)),
    "all-subsets": ("AllSubsets", ()),
    "precomputed": ("Precomputed", ()),
}
#: all names: ours, and those that scikit-learn's ``kernel_metrics()`` adds
NAMES = (*NAMED, "additive_chi2", "chi2", "cosine", "sigmoid")
#: which of gamma and coef0 scikit-learn's other kernels take
THEIRS = {"chi2": ("gamma",), "sigmoid": ("gamma", "coef0")}
STORED = (
    "Linear", "Polynomial", "RBF", "Laplacian", "AllSubsets", "Constant", "Sum", "Product",
    "Scaled", "Normalized", "Pairwise", "Precomputed",
    "Spectrum", "BlendedSpectrum", "Mismatch", "Subsequence",
)  # fmt: skip


def as_kernel(
    kernel: Any, *, gamma: float | str | None = None, degree: int = 3, coef0: float = 1.0
) -> Kernel:
    """Return the kernel for a name, a function or a kernel.

    Parameters
    ----------
    kernel : str, callable of two rows, or Kernel
        "linear", "poly", "rbf", "laplacian", "all-subsets", "precomputed", or any name of
        ``sklearn.metrics.pairwise.kernel_metrics()``. A Kernel is returned unchanged.
    gamma, degree, coef0
        Parameters of named kernels that have them. ``gamma=None`` is the kernel's default.

    Returns
    -------
    Kernel

    Raises
    ------
    ParameterError
        If the name is unknown (the message suggests the nearest one) or a parameter is invalid.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        given = {"gamma": gamma, "degree": degree, "coef0": coef0}
        if gamma is None:
            del given["gamma"]
        if kernel in NAMED:
            of_class, takes = NAMED[kernel]
            chosen = {name: value for name, value in given.items() if name in takes}
            return getattr(kernels, of_class)(**chosen)
        if kernel not in NAMES:
            raise ParameterError(
                unknown(kernel, NAMES), code="bad-kernel", option="kernel", value=kernel
            )
        takes = THEIRS.get(kernel, ())
        return kernels.Pairwise(kernel, **{name: given[name] for name in takes if name in given})
    if isinstance(kernel, type) or not callable(kernel):
        raise ParameterError(
            f"kernel must be a name, a kernel of linsep.kernels or a function of two rows, not "
            f"{kernel!r}.",
            code="bad-kernel",
            option="kernel",
            value=kernel,
        )
    return kernels.Callable(kernel)


def described(kernel: Any) -> Kernel | type[Kernel]:
    """Return the kernel, or its class, for a name, a function or a kernel, to determine the
    supported rows; :class:`Kernel` for anything else.
    """
    if isinstance(kernel, str):
        kernel = kernel if kernel in NAMES else None
        return Kernel if kernel is None else as_kernel(kernel)
    is_one = isinstance(kernel, Kernel) or (callable(kernel) and not isinstance(kernel, type))
    return as_kernel(kernel) if is_one else Kernel


def kernel_from_dict(stored: dict[str, Any], outside: int = 0) -> Kernel:
    """Return the kernel that :meth:`Kernel.to_dict` stored; ``outside`` is its nesting depth.

    Raises
    ------
    DataError
        If ``stored`` is not a stored kernel.
    """
    try:
        if outside > MOST_NESTED:
            raise ValueError(f"more than {MOST_NESTED} kernels are nested")
        name, given = stored["kernel"], stored["parameters"]
        if name not in STORED:
            raise KeyError(name)
        values = {key: _value(value, outside) for key, value in given.items()}
        return getattr(kernels, name)(**values)
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        if isinstance(problem, DataError):  # of a kernel inside
            raise
        raise DataError(
            f"{str(stored)[:200]} is not a stored kernel: {problem}.", code="bad-kernel"
        ) from None


def _value(stored: Any, outside: int) -> Any:
    if isinstance(stored, dict):
        if "bytes" in stored:
            return stored["bytes"].encode("latin-1")
        return kernel_from_dict(stored, outside + 1)
    return tuple(_value(one, outside) for one in stored) if isinstance(stored, list) else stored

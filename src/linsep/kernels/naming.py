"""Kernels by their names, in parameters and in model files."""

from __future__ import annotations

import reprlib
from typing import Any

from linsep import kernels
from linsep.errors import DataError, ParameterError
from linsep.kernels.base import Kernel

#: name: (class, loaded at first use; which of gamma, degree and coef0 it takes)
NAMED: dict[str, tuple[str, tuple[str, ...]]] = {
    "linear": ("Linear", ()),
    "poly": ("Polynomial", ("gamma", "degree", "coef0")),
    "polynomial": ("Polynomial", ("gamma", "degree", "coef0")),
    "rbf": ("RBF", ("gamma",)),
    "all-subsets": ("AllSubsets", ()),
    "precomputed": ("Precomputed", ()),
}
NAMES = tuple(NAMED)
STORED = (
    "Linear", "Polynomial", "RBF", "AllSubsets", "Constant", "Sum", "Product", "Scaled",
    "Normalized", "Precomputed", "Spectrum", "BlendedSpectrum",
)  # fmt: skip


def as_kernel(
    kernel: Any, *, gamma: float | str | None = None, degree: int = 3, coef0: float = 1.0
) -> Kernel:
    """Return the kernel for a name, a function of two rows, or a kernel, unchanged; ParameterError
    if the name is unknown or a parameter is invalid.

    Parameters
    ----------
    kernel : "linear", "poly", "rbf", "all-subsets", "precomputed", a callable or a Kernel
    gamma, degree, coef0
        Parameters of named kernels that have them. ``gamma=None`` is the kernel's default.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        if kernel not in NAMES:
            raise ParameterError(
                f"There is no kernel {kernel!r}: choose one of {', '.join(sorted(NAMES))}.",
                code="bad-kernel", option="kernel", value=kernel,
            )  # fmt: skip
        of_class, takes = NAMED[kernel]
        given = {"gamma": gamma, "degree": degree, "coef0": coef0}
        chosen = {name: given[name] for name in takes if given[name] is not None}
        return getattr(kernels, of_class)(**chosen)
    if isinstance(kernel, type) or not callable(kernel):
        raise ParameterError(
            f"kernel must be a name, a kernel of linsep.kernels or a function of two rows, not "
            f"{kernel!r}.", code="bad-kernel", option="kernel", value=kernel,
        )  # fmt: skip
    return kernels.Callable(kernel)


def described(kernel: Any) -> Kernel | type[Kernel]:
    """Return the kernel for a name, a function or a kernel, to determine the supported rows;
    :class:`Kernel` for anything else.
    """
    try:
        return as_kernel(kernel)
    except ParameterError:
        return Kernel


def kernel_from_dict(stored: dict[str, Any]) -> Kernel:
    """Return the kernel that :meth:`Kernel.to_dict` stored; DataError for anything else."""
    try:
        if stored["kernel"] not in STORED:
            raise KeyError(stored["kernel"])
        values = {key: _value(value) for key, value in stored["parameters"].items()}
        return getattr(kernels, stored["kernel"])(**values)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as problem:
        if isinstance(problem, DataError):  # of a kernel inside
            raise
        raise DataError(
            f"{reprlib.repr(stored)} is not a stored kernel: {problem}.", code="bad-kernel"
        ) from None


def _value(stored: Any) -> Any:
    if isinstance(stored, dict):
        return kernel_from_dict(stored)
    return tuple(map(_value, stored)) if isinstance(stored, list) else stored

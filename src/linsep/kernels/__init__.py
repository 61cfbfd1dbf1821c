"""Kernels: on rows of numbers, on strings, of anything, and what can be said of them beforehand."""

from linsep.lazy import loader

_HOMES = {
    "AllSubsets": "linsep.kernels.vectors",
    "BlendedSpectrum": "linsep.kernels.strings",
    "Callable": "linsep.kernels.foreign",
    "Constant": "linsep.kernels.combined",
    "Kernel": "linsep.kernels.base",
    "Laplacian": "linsep.kernels.vectors",
    "Linear": "linsep.kernels.vectors",
    "Mismatch": "linsep.kernels.strings",
    "Normalized": "linsep.kernels.combined",
    "NotPositiveSemidefiniteWarning": "linsep.kernels.definite",
    "Pairwise": "linsep.kernels.foreign",
    "Polynomial": "linsep.kernels.vectors",
    "Precomputed": "linsep.kernels.foreign",
    "Product": "linsep.kernels.combined",
    "RBF": "linsep.kernels.vectors",
    "Scaled": "linsep.kernels.combined",
    "Spectrum": "linsep.kernels.strings",
    "Subsequence": "linsep.kernels.strings",
    "Sum": "linsep.kernels.combined",
    "alignment": "linsep.kernels.aligning",
    "as_kernel": "linsep.kernels.naming",
    "check_gram": "linsep.kernels.definite",
    "kernel_from_dict": "linsep.kernels.naming",
}
__all__ = list(_HOMES)
__getattr__ = loader(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__

"""Public names, as :mod:`lazy_loader` finds them at run time and type checkers read them."""

from .base import (
    Constant as Constant,
    Kernel as Kernel,
    Product as Product,
    Scaled as Scaled,
    Sum as Sum,
)
from .foreign import (
    Callable as Callable,
    NotPositiveSemidefiniteWarning as NotPositiveSemidefiniteWarning,
    Precomputed as Precomputed,
    check_gram as check_gram,
)
from .naming import as_kernel as as_kernel, kernel_from_dict as kernel_from_dict
from .strings import BlendedSpectrum as BlendedSpectrum, Spectrum as Spectrum
from .vectors import (
    RBF as RBF,
    AllSubsets as AllSubsets,
    Linear as Linear,
    Normalized as Normalized,
    Polynomial as Polynomial,
)

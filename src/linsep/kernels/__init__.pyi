"""Public names, as :mod:`lazy_loader` finds them at run time and type checkers read them."""

from .base import (
    Constant as Constant,
    Kernel as Kernel,
    Product as Product,
    Scaled as Scaled,
    Sum as Sum,
)
from .foreign import Callable as Callable, Precomputed as Precomputed
from .gram_matrices import (
    NotPositiveSemidefiniteWarning as NotPositiveSemidefiniteWarning,
    check_gram as check_gram,
)
from .naming import as_kernel as as_kernel, kernel_from_dict as kernel_from_dict
from .normalizing import Normalized as Normalized
from .strings import BlendedSpectrum as BlendedSpectrum, Spectrum as Spectrum
from .vectors import (
    RBF as RBF,
    AllSubsets as AllSubsets,
    Linear as Linear,
    Polynomial as Polynomial,
)

"""Public names, as :mod:`lazy_loader` finds them at run time and type checkers read them."""

from .base import (
    Constant as Constant,
    Kernel as Kernel,
    Normalized as Normalized,
    Product as Product,
    Scaled as Scaled,
    Sum as Sum,
)
from .foreign import Callable as Callable, Pairwise as Pairwise, Precomputed as Precomputed
from .gram_matrices import (
    NotPositiveSemidefiniteWarning as NotPositiveSemidefiniteWarning,
    alignment as alignment,
    check_gram as check_gram,
)
from .naming import as_kernel as as_kernel, kernel_from_dict as kernel_from_dict
from .strings import (
    BlendedSpectrum as BlendedSpectrum,
    Mismatch as Mismatch,
    Spectrum as Spectrum,
    Subsequence as Subsequence,
)
from .vectors import (
    RBF as RBF,
    AllSubsets as AllSubsets,
    Laplacian as Laplacian,
    Linear as Linear,
    Polynomial as Polynomial,
)

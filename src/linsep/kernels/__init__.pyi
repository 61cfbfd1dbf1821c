"""Public names, as :mod:`lazy_loader` finds them at run time and type checkers read them."""

from .aligning import alignment as alignment
from .base import Kernel as Kernel
from .combined import (
    Constant as Constant,
)
from .combined import (
    Normalized as Normalized,
)
from .combined import (
    Product as Product,
)
from .combined import (
    Scaled as Scaled,
)
from .combined import (
    Sum as Sum,
)
from .definite import (
    NotPositiveSemidefiniteWarning as NotPositiveSemidefiniteWarning,
)
from .definite import (
    check_gram as check_gram,
)
from .foreign import Callable as Callable
from .foreign import Pairwise as Pairwise
from .foreign import Precomputed as Precomputed
from .naming import as_kernel as as_kernel
from .naming import kernel_from_dict as kernel_from_dict
from .strings import (
    BlendedSpectrum as BlendedSpectrum,
)
from .strings import (
    Mismatch as Mismatch,
)
from .strings import (
    Spectrum as Spectrum,
)
from .strings import (
    Subsequence as Subsequence,
)
from .vectors import (
    RBF as RBF,
)
from .vectors import (
    AllSubsets as AllSubsets,
)
from .vectors import (
    Laplacian as Laplacian,
)
from .vectors import (
    Linear as Linear,
)
from .vectors import (
    Polynomial as Polynomial,
)

"""Pictures of models and proofs, following scikit-learn's Display convention.

One file per subject, using matplotlib without pyplot. ``display`` holds the shared parts, such as
rows drawn as points or as a density; ``planes`` chooses the two directions in which rows of many
features are drawn.
"""

from importlib.util import find_spec

import lazy_loader

from linsep.errors import LinsepError


class NoMatplotlib(LinsepError, ImportError):
    """matplotlib is not installed."""

    code = "missing-package"


if find_spec("matplotlib") is None:
    raise NoMatplotlib("Pictures need matplotlib, which is missing: pip install 'linsep[plot]'.")
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

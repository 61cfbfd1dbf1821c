"""Scores of predictions of labeled rows.

``rows`` collects predictions, ``metrics`` computes their metrics and a baseline's with
scikit-learn, ``intervals`` resamples rows or groups for intervals, and ``scores`` combines all for
:func:`linsep.score` and the commands.
"""

import lazy_loader

# The names and their modules are in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

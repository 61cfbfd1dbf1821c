"""What predictions of labeled rows are worth.

``rows`` collects what a model says of rows, ``metrics`` asks scikit-learn for their metrics and for
those of a baseline, ``intervals`` resamples rows or groups for their intervals, and ``scores``
puts all together, for :func:`linsep.score` and the commands.
"""

import lazy_loader

# The names and their modules are in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Kernels on rows of numbers, on strings and on other objects; alignment with labels.

``base`` has prepared rows, sums, products and multiples; ``vectors``, ``strings`` and ``foreign``
(of other libraries) the kernels; ``naming`` their names. ``exact`` computes values without
rounding; ``gram_matrices`` are checked and aligned; ``gram_cache`` has rows of one, computed when a
learner needs them.
"""

import lazy_loader

# The names and their modules are in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

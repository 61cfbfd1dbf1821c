"""Kernels on rows of numbers, on strings and on other objects; alignment with labels.

``base`` defines prepared rows, sums, products and multiples; ``vectors``, ``strings`` and
``foreign`` (of other libraries) define the kernels; ``naming`` their names. ``exact`` computes
values without rounding; ``gram_matrices`` checks and aligns Gram matrices; ``gram_cache`` computes
their rows when a learner needs them.
"""

import lazy_loader

# The names and their modules are in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

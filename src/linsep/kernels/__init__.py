"""Kernels on rows of numbers, on strings and on other objects.

``base`` defines prepared rows, sums, products and multiples; ``vectors``, ``strings`` and
``foreign`` (functions and Gram matrices) define the kernels, ``normalizing`` their cosines;
``naming`` their names. ``exact`` computes values without rounding; ``gram_matrices`` checks Gram
matrices; ``gram_cache`` computes their rows when a learner needs them.
"""

import lazy_loader

# The names and their modules are in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

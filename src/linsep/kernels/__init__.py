"""Kernels on rows of numbers, on strings and on other objects.

``base`` defines prepared rows, sums, products and multiples; ``vectors``, ``strings`` and
``foreign`` (functions and Gram matrices, with their check) define the kernels, ``naming`` their
names. ``exact`` computes values without rounding; ``gram_cache`` computes rows of a Gram matrix
when a learner needs them.
"""

import lazy_loader

# The names and their modules are in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""The algorithms in plain Python: to read, to trace, and as reference for tests of the compiled
ones.

A rule (:class:`Perceptron`, :class:`MarginPerceptron`, ...) handles one example, a scheme
("binary", "native", "ovr", "ovo") distributes examples over several binary classifiers, :func:`run`
is the loop, which yields every step, and :func:`kept` selects the weights for prediction.
"""

import lazy_loader

# The names and their modules are in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

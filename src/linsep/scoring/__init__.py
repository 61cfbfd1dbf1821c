"""Scores of predictions of labeled rows, by scikit-learn, with intervals by the bootstrap."""

import lazy_loader

# The names and their modules are in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

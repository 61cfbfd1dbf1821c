"""For teaching and testing: plain-Python reference implementations of the learners, and tables of
their steps.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

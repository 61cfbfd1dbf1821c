"""For teaching and testing: plain-Python twins of the learners, and tables of what a learner
does.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

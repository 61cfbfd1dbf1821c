"""Models to compare: many of one learner, trained side by side on one reading, or any in folds."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

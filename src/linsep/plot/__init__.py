"""Pictures of what was learnt and proved, in scikit-learn's Display convention."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

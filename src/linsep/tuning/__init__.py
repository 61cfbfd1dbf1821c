"""Model comparison: models of one learner, trained side by side in one reading, or any models in
folds."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

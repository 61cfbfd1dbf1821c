"""Many models of one learner, trained side by side; the file is parsed once for all of them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

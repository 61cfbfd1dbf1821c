"""Pictures of models and proofs, following scikit-learn's Display convention.

One file per subject, using matplotlib without pyplot. ``display`` holds the shared parts, such as
rows drawn as points or as a density; ``plane`` chooses the two directions in which rows of many
features are drawn.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Pictures of what was learned and proved, in scikit-learn's Display convention.

One file a subject, by matplotlib without pyplot. ``display`` has what all share, rows as points
or as a density among it; ``plane`` the two directions that rows of many features are drawn in.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Data rewritten in another format or in parts.

``converting`` writes svmlight text and Parquet; ``splitting`` assigns rows to parts.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

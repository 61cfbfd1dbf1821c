"""Tables: CSV, TSV, JSON lines, Parquet and Arrow as numbers, columns by columns."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

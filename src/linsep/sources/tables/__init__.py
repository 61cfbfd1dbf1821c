"""Tables: CSV, TSV, JSON lines, Parquet and Arrow as numbers, columns by columns."""

import lazy_loader

# The names and their modules are in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

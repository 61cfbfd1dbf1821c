"""linsep learns linear separators at memory speed and proves what it says about them."""

import lazy_loader

__version__ = "0.1.0"

# The names and their modules are in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

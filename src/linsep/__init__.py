"""linsep learns linear separators at memory speed and proves what it says about them."""

import lazy_loader

__version__ = "0.1.0"

#: The tools that methods of the core use, by what they do, each loaded when it is first used. This
#: is the only place that joins them, so that the core names none of its tools: without an entry,
#: such a method raises an error, and nothing else changes.
TOOLS = {
    "picture": "linsep.plot",
    "page": "linsep.lab.pages:page_of",
}

# The names and their modules are in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

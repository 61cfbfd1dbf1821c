"""Sources of rows: arrays, svmlight text and tables, read repeatedly in constant memory.

``opening`` turns names, folders and globs into a source, which ``base`` defines. ``lines`` reads
text in chunks, scanned by threads; ``svmlight`` and ``vw`` explain what their scanners refuse. In
``tables``, ``table`` is the source, ``files`` finds the columns of each file, ``reading_options``
has the options, ``columns`` the type and role of each column, ``spellings`` how its numbers and
dates are written, ``encoding`` its features, after a survey of all rows, and ``formulas`` those of
a formula; each format has its own module. ``text`` turns words into features. ``row_cache`` keeps
parsed rows on disk, and reads such a file as a source. ``formats`` has names, compressions and
opened files. ``remote`` reads files of servers through fsspec, and sees what changed.
"""

import lazy_loader

# The names and their modules are in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

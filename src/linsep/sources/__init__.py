"""Sources of rows: arrays, svmlight text and tables, read repeatedly in constant memory.

``opening`` makes names, folders and globs a source, ``base`` says what that is. ``lines`` are
text in chunks, scanned by threads; ``svmlight`` and ``vw`` have plain parsers beside their
scanners, which explain what these refuse. In ``tables``, ``table`` is the source, ``files`` says
which columns each file has, ``reading_options`` how text is read, ``column_types`` what type
each column has, ``columns`` what it is for, ``encoding`` its features, ``survey`` what all rows
tell first; each format is a file. ``text`` makes words features. ``row_cache`` has parsed rows
on disk, and such a file as a source. ``formats`` are names, compressions and opened files;
``fingerprints`` tell whether a file is as it was; ``exact`` are numbers that floats do not hold.
``remote`` reads files of servers through fsspec, with every answer checked.
"""

import lazy_loader

# The names and their modules are in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

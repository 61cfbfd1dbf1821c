"""Row streams: passes over arrays, sources, row caches and kernels, and the order of rows.

``arrays`` streams rows in memory and holds rows out; ``source_stream`` streams rows of a source, in
later passes from memory or the row cache; ``stored`` keeps the rows of a stream; ``label_book``
numbers labels as they come.
"""

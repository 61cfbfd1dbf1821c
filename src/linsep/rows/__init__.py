"""Row streams: passes over arrays, sources, row caches and kernels, and the order of rows.

``arrays`` streams rows in memory and holds rows out; ``source_stream`` those of a source, later
from memory or the row cache; ``stored`` are the rows that a stream keeps; ``label_book`` numbers
labels as they come.
"""

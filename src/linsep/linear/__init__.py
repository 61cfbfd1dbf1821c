"""Linear regression by least squares, with inference and tests of its assumptions.

``least_squares`` factors the rows (QR) in fixed-size blocks (``lanes``), whose factors are stacked
in a fixed reduction tree: the result is bit-identical for any number of threads and workers.
``solution`` is the result, with its tests and intervals; ``inference`` makes them attributes of the
estimator, and a summary; ``several`` has several targets; ``predictions`` the rows of sources.
"""

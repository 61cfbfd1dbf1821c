"""Linear regression by least squares, with inference and tests of its assumptions.

``least_squares`` factors the rows (QR) in fixed-size blocks (``lanes``), whose factors are stacked
in a fixed reduction tree: the result is bit-identical for any number of threads and workers.
``inference`` computes tests and intervals from it; ``diagnostics`` residuals, what the fit would be
without a row, and tests of the assumptions on the rows.
"""

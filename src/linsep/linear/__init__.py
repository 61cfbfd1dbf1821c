"""Linear regression by least squares, with inference and tests of its assumptions.

``linear/solving.py`` chooses among three methods. For few rows, ``extended_precision`` cuts columns
into slices that BLAS can multiply exactly, and solves the equations in ball arithmetic, which
proves the digits. For many rows, ``Moments`` sums products of shifted columns in floats and refines
the solution with the residuals, if a condition estimate allows it. Otherwise the first method runs
in pairs of floats, on columns centered without rounding (``columns``). Dependent columns are found
by exact ranks (``columns``) and rounding bounds. All three give the same numbers (``result``), from
which ``inference`` computes tests and intervals. ``influence`` computes residuals and what the fit
would be without a row; ``diagnostics`` tests the assumptions on the rows. Rows are summed in
fixed-size blocks (``lanes``), which are added in a fixed reduction tree: the result is
bit-identical for any number of threads and workers.
"""

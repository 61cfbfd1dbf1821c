"""Linear regression by least squares, with inference and tests of its assumptions.

``linear/solving.py`` chooses among three methods. For few rows, ``extended_precision`` cuts columns
into slices that BLAS can multiply exactly, and solves the equations in ball arithmetic, which
proves the digits. For many rows, ``Moments`` sums products of shifted columns in floats and refines
by residuals, if a condition estimate allows it. Otherwise the first method runs in pairs of
floats, on columns centered without rounding (``columns``). Dependent columns are found by exact
ranks (``columns``) and rounding bounds. All three give the same numbers (``result``), from which
``inference`` computes tests and intervals; ``influence`` residuals, and what the fit would be
without a row; ``diagnostics`` tests the assumptions on the rows. Rows are summed in ``lanes``: a
fixed number of rows each, added in a fixed tree, so that neither threads nor the workers of a
cluster change a bit.
"""

"""The fewest errors of any hyperplane: both ends of an interval, each with its proof.

::

  rows ── contradictions ── covers (lower end) ──┐
    └──── hyperplanes (upper end) ───────────────┴── search: until they meet, or the time is up

A *contradiction* is a set of rows that no hyperplane gets all right; each is proved by multipliers
whose combination of the rows vanishes (Gordan 1873). A hyperplane errs in each of them, so the
errors are a cover of all contradictions (Amaldi, Pfetsch and Trotter, On the maximum feasible
subsystem problem, 2003): a fractional packing of contradictions bounds them from below, and where
that is not enough a tree, which branches on whether a row is right, whose leaves are packings.
``certificate/errors.py`` has the claim and checks it.
"""

"""Mistake bounds, margins, and the adversary that makes the bounds tight.

``bounding`` asks the theorems of a run's learner; ``problems`` are reflected rows with
comparators; ``bounds`` are the results, rounded outward by ``rounding``.
"""

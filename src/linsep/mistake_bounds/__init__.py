"""Mistake bounds, margins, and the adversary that makes the bounds tight.

``theorems`` applies the theorems of a run's learner; ``problems`` are sign-flipped rows with
comparators; ``bounds`` are the results, rounded outward by ``rounding``.
"""

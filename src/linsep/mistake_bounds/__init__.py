"""Mistake bounds, margins, and the adversary that makes the bounds tight.

``theorems`` applies the theorems of a run's learner; ``bounds`` are the results.
"""

"""Mistake bounds (``bounds``, by ``theorems``), margins, and the adversary of tight bounds."""

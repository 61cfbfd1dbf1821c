"""Mistake bounds, margins, and the adversary that makes the bounds tight."""

"""Guesses in floats: working sets, nearest points, linear programs. Exact code checks them all."""

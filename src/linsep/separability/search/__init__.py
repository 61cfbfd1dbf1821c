"""Guesses in floats: working sets, nearest points, linear programs. Nothing here is believed."""

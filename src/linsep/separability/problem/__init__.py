"""Rows as constraints on a separator, in floats and in integers."""

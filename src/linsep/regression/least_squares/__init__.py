"""Least squares by three methods that give the same results."""

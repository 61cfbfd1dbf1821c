"""Least squares and what it lets one infer: estimates, tables of them, checks of assumptions."""

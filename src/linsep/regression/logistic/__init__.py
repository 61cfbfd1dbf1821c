"""Logistic regression: likelihood, maximisation, existence of a maximum, limits without one."""

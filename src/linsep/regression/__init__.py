"""Least squares and logistic regression: estimates, inference, summaries, diagnostics."""

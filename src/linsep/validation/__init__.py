"""Checks of X and y; errors name the row, the column and the remedy."""

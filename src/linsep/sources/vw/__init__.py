"""Vowpal Wabbit's text: the compiled scanner's source, and the plain parser for its errors."""

"""Scanners of text: svmlight, decimal numbers, the bracket structure of JSON lines."""

"""Text into numbers: svmlight, decimal numbers, the shape of JSON lines."""

"""The same algorithms in plain Python: to read, to trace, and to test the compiled ones against."""

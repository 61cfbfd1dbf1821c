"""The rules, one a file: a NamedTuple of numbers and a step of some ten lines."""

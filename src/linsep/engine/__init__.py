"""Passes until there is a reason to stop; it knows no rule, no storage and no file format."""

"""Exact proofs in integers: elimination, the simplex method, exact splits."""

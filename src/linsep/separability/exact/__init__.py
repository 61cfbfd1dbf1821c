"""Proofs in whole numbers: elimination, the simplex method, exact splits."""

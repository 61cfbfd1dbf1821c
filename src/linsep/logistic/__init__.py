"""Logistic regression by maximum likelihood, with proofs of whether there is a maximum."""

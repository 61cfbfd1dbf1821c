"""Columns of text: words and n-grams as features, hashed or with a vocabulary."""

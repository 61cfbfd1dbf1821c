"""A model over HTTP: predictions, explanations, and rows that it learns without losing any."""

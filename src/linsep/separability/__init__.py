"""Are the data linearly separable? The search for an answer, and its proof."""

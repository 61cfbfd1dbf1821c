"""The likelihood of logistic regression, ways up, and what is done where it has no maximum."""

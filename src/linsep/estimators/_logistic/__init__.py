"""How the logistic regression is fitted and what is inferred, for its estimator."""

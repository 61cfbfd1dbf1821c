"""The parts of the logistic regression estimator: rows, fitting, separation, profiles, results."""

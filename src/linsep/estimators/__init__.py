"""scikit-learn estimators, thin: parameters, checks, the engine, attributes."""

"""What estimators share: labels, frames, predicting, equations, explaining, thresholds, state."""

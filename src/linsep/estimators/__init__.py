"""What estimators share: labels, frames, predicting, reading, showing, thresholds, state."""

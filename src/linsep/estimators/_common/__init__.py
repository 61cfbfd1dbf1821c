"""What several estimators share: parameters, labels, fitting, predicting, proofs."""

"""Code shared by several estimators: parameters, labels, fitting, predicting, proofs."""

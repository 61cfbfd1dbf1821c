"""Inference from fitted regressions, shared by linear and logistic regression.

``results`` has the shared attributes, the signatures of rows and the distributions of statistics,
``table`` the tables. ``hypotheses`` tests linear functions of parameters, written as text or of the
levels of ``factors``, terms, additional columns and nested models. ``robust`` has covariances for
rows of unequal variance and clusters, ``diagnostics`` residuals and influences of rows,
collinearity of columns and tests of fit.
"""

"""Inference from fitted regressions, shared by linear and logistic regression.

``results`` has attributes, signatures of rows and distributions of statistics, ``hypotheses`` tests
of functions of parameters, levels of ``factors``, terms, columns and nested models, ``robust``
covariances for unequal variance and clusters, ``diagnostics`` residuals, influences, collinearity.
"""

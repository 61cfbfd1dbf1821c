"""Inference from fitted regressions, shared by linear and logistic regression.

``results`` has the shared attributes, ``summary`` the tables, ``tails`` the distributions of the
statistics. ``hypotheses`` tests linear functions of parameters, which ``restrictions`` reads from
text and ``factors`` derives from levels. ``refitting`` tests terms and additional columns on the
rows of the fit. ``comparing`` tests nested models fitted to rows with the same signature
(``signatures``). ``robust`` has covariances for rows of unequal variance and clusters.
``diagnostics`` has residuals and influences, ``collinearity`` the dependence of columns;
``linear.diagnostics`` and ``logistic.diagnostics`` compute them.
"""

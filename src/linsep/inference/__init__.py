"""Inference from fitted regressions, shared by linear and logistic regression.

``results`` has the shared attributes, ``summary`` the table, ``tails`` the distributions of the
statistics. ``hypotheses`` tests linear functions of parameters, which ``restrictions`` reads from
text and ``factors`` derives from levels. ``refitting`` tests terms and additional columns on the
rows of the fit. ``comparing`` tests nested models fitted to rows with the same signature
(``signatures``). ``tables`` prints tests. ``diagnostics`` has residuals and influences,
``collinearity`` the dependence of columns; ``linear.influence`` and ``logistic.diagnostics``
compute them.
"""

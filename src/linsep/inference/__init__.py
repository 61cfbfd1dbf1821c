"""What fitted regressions say of their parameters, the same for least squares and for logistic.

``results`` has the attributes that both share, ``summary`` their table, ``tails`` the distributions
of their statistics; ``hypotheses`` tests linear functions of parameters, which ``restrictions``
reads from text and ``factors`` makes of levels; ``refitting`` tests terms and more columns on the
rows of the fit; ``comparing`` has nested models, of rows with the same of ``signatures``;
``tables`` prints tests. ``diagnostics`` has what a fit says of its rows, ``collinearity`` of its
columns; ``linear.influence`` and ``logistic.diagnostics`` compute it.
"""

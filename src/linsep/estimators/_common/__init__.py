"""Code shared by several estimators.

``labels`` (and weights, names, the reference class), ``reading`` and ``predicting`` (of sources),
``fitted_state`` (why a fit ended, checks of a state), ``showing`` (equations, pictures),
``explaining``, ``calibration``.
"""

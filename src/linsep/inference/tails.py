"""Tail probabilities and quantiles of Student's t and Fisher's F, normal for infinite degrees of
freedom; NaN where they are undefined.
"""

from typing import Any

from scipy.special import fdtrc, stdtr, stdtrit


def t_tail(t: Any, df: float) -> Any:
    """Return P(|T| > |t|) of Student's t with ``df`` degrees of freedom."""
    return 2.0 * stdtr(df, -abs(t))


def f_tail(f: Any, a: float, b: float) -> Any:
    """Return P(F > f) of Fisher's F with ``a`` and ``b`` degrees of freedom."""
    return fdtrc(a, b, f)


def t_reach(level: float, df: float) -> float:
    """Return the t with P(|T| <= t) = level, the half-width of an interval in standard errors."""
    return float(-stdtrit(df, (1.0 - level) / 2.0))

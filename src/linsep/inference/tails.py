"""Tail probabilities and quantiles of t, F and the normal distribution, accurate to twelve digits
for any degrees of freedom.
"""

from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaincinv, ndtr, ndtri


def t_tail(t: Any, df: float) -> Any:
    """Return P(|T| > |t|) of Student's t with ``df`` degrees of freedom, normal if these are
    infinite; NaN for NaN.
    """
    if np.isinf(df):
        return 2.0 * ndtr(-np.abs(t))
    with np.errstate(over="ignore"):
        return f_tail(np.square(t), 1, df)


def f_tail(f: Any, a: float, b: float) -> Any:
    """Return P(F > f) of Fisher's F with ``a`` and ``b`` degrees of freedom; NaN for NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        part = a * np.asarray(f, dtype=np.float64)
        near, far = part / (b + part), b / (b + part)
    found = np.where(part < b, betaincc(a / 2, b / 2, near), betainc(b / 2, a / 2, far))
    return found[()]


def t_reach(level: float, df: float) -> float:
    """Return the t with P(|T| <= t) = level, the half-width of an interval in standard errors:
    normal if the degrees of freedom are infinite, NaN without any.
    """
    if np.isinf(df):
        return float(ndtri(0.5 + level / 2))
    if df <= 0:
        return float("nan")
    near, far = betaincinv(0.5, df / 2, level), betainccinv(df / 2, 0.5, level)
    return float(np.sqrt(df * near / far))

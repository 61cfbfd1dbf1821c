"""Tails and quantiles of Student's t and Fisher's F, right to twelve digits for any freedom.

Both are incomplete beta functions of a share of a whole. Where a share is near to 1, its complement
is passed instead: with ten million degrees of freedom the share itself has lost seven digits.
"""

from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaincinv


def t_tail(t: Any, df: float) -> Any:
    """P(|T| > |t|) of Student's t with ``df`` degrees of freedom; NaN for NaN."""
    with np.errstate(over="ignore"):
        return f_tail(np.square(t), 1, df)


def f_tail(f: Any, a: float, b: float) -> Any:
    """P(F > f) of Fisher's F with ``a`` and ``b`` degrees of freedom; NaN for NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        part = a * np.asarray(f, dtype=np.float64)
        near, far = part / (b + part), b / (b + part)
    found = np.where(part < b, betaincc(a / 2, b / 2, near), betainc(b / 2, a / 2, far))
    return found[()]


def t_reach(level: float, df: float) -> float:
    """The t with P(|T| <= t) = level: how many standard errors an interval reaches."""
    near, far = betaincinv(0.5, df / 2, level), betainccinv(df / 2, 0.5, level)
    return float(np.sqrt(df * near / far))

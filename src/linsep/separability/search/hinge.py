"""Quick separating weights for many features or classes, without the widest margin."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from linsep.separability.time_limit import check_time


def quick_weights(
    A: sp.csr_matrix, start: np.ndarray | None
) -> tuple[np.ndarray | None, np.ndarray]:
    """Return weights that are positive on all rows, or None, and each row's distance to 1.

    Minimises the squared hinge loss ``sum max(0, 1 - A w)^2`` over rows of length 1 by L-BFGS. Its
    minimum is zero if and only if the rows are separable.
    """
    lengths = np.sqrt(np.ravel(A.multiply(A).sum(axis=1)))
    if not lengths.all() or not np.isfinite(lengths).all():
        return None, np.zeros(len(lengths))
    rows = sp.csr_matrix(sp.diags(1 / lengths) @ A)
    turned = sp.csr_matrix(rows.T)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        short = np.maximum(0.0, 1.0 - rows @ w)
        return float(short @ short), -2.0 * (turned @ short)

    def enough(intermediate_result: Any) -> None:
        check_time()
        if (rows @ intermediate_result.x).min() > 0.25:
            raise StopIteration

    first = np.zeros(A.shape[1]) if start is None else start
    limits = {"maxiter": 500, "gtol": 1e-12, "ftol": 0.0}
    w = minimize(loss, first, jac=True, method="L-BFGS-B", callback=enough, options=limits).x
    values = rows @ w
    fine = values.min() > 1e-9 * np.abs(w).max(initial=1.0)
    return (w if fine else None), np.maximum(0.0, 1.0 - values) / lengths

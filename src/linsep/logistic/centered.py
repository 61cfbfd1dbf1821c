"""Linear scores around a centre, for columns of values that are large against their spread."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

#: a column is centred if rounding of its products, of this size at the centre, costs 1e-13 or more
FAR = 1024.0


class Centred(NamedTuple):
    """Scores <w, x - c> + b, the same as <w, x> + b0 but for rounding.

    Attributes
    ----------
    coef : array of shape (scores, features)
    columns : array of int, those in which the centre is not zero
    centre : array of shape (columns,)
    at : array of shape (scores,), the scores at the centre
    intercept : array of shape (scores,), b0
    """

    coef: np.ndarray
    columns: np.ndarray
    centre: np.ndarray
    at: np.ndarray
    intercept: np.ndarray

    def scores(self, X: Any) -> np.ndarray:
        """Return the scores of rows, an array or CSR matrix that may be narrower than the model."""
        coef, columns = self.coef[:, : X.shape[1]].copy(), self.columns
        inside = columns < X.shape[1]
        far = np.zeros((X.shape[0], columns.size))
        chosen = X[:, columns[inside]]
        far[:, inside] = chosen.toarray() if sp.issparse(chosen) else chosen
        far -= self.centre
        coef[:, columns[inside]] = 0.0
        return np.asarray(X @ coef.T) + (far @ self.coef[:, columns].T + self.at)

    def belongs_to(self, model: Any) -> bool:
        """Return whether a model still has the weights of the fit, which are its own to change."""
        mine = np.array_equal(self.coef, model.coef_)
        return mine and np.array_equal(self.intercept, model.intercept_)

    @property
    def wide(self) -> np.ndarray:
        """The centre of all columns."""
        found = np.zeros(self.coef.shape[1])
        found[self.columns] = self.centre
        return found


def centred(
    coef: np.ndarray, centre: np.ndarray, at: np.ndarray, intercept: np.ndarray | None = None
) -> Centred:
    """Return the scores around the centre of the columns that are far from zero for their weights.

    Parameters
    ----------
    coef : array of shape (scores, features)
    centre : array of shape (features,)
    at : array of shape (scores,), the scores at the centre
    intercept : array of shape (scores,), the scores at zero, if they are known better than from
        these
    """
    with np.errstate(over="ignore"):
        far = np.abs(coef * centre).max(axis=0, initial=0.0) > FAR
    if intercept is None:
        intercept = at - coef @ centre
    at = at - coef[:, ~far] @ centre[~far]
    columns = np.flatnonzero(far)
    return Centred(coef.copy(), columns, centre[columns], at, intercept.copy())


def in_use(model: Any) -> Centred | None:
    """Return the centred scores of a fitted logistic regression; None if its weights suffice, or
    were changed since the fit.
    """
    found = getattr(model, "_centred", None)
    return found if found is not None and found.belongs_to(model) else None

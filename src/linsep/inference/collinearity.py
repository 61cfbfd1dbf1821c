"""Collinearity of the columns of a regression, multiplied by the square roots of the weights of the
least squares that it solves: of the rows, or these times p (1 - p) at the maximum.
"""

from typing import Any, NamedTuple

import numpy as np

from linsep.estimators._common.labels import feature_names
from linsep.inference.factors import terms_of
from linsep.inference.table import number_text
from linsep.layout import elided, pair_lines, room, wrapped

#: share of the variance of an estimate that a dependence must have to degrade it; terms and
#: condition indices that are printed, and letters of the estimates beside one
MUCH, MOST_FEATURES, MOST_INDICES, MOST_LETTERS = 0.5, 5, 3, 150
#: share of a column that is rounding error, if this is all that columns before it leave, and a much
#: smaller one
REPEATED, NEGLIGIBLE = 2e-14, 1e-15


def triangle(Z: np.ndarray) -> np.ndarray:
    """Return the triangular factor R of Z = QR."""
    return np.asarray(np.linalg.qr(Z, mode="r"))


def orthonormal(
    X: np.ndarray, weights: np.ndarray, first: int, kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the columns of weighted least squares in an orthonormal basis Q: an intercept, if
    there is one (``first`` is 1, else 0), and the features, of those to be kept that do not repeat
    earlier ones.

    Returns Q and ``root``: the estimates are root' Q' y, and their covariance is root' root times
    the residual variance, with zeros for parameters left out. Then the lengths of the columns as
    they are, and about their means if there is an intercept.
    """
    roots, means = np.sqrt(weights), np.zeros(first + X.shape[1])
    if first:
        means[1:] = weights @ X / weights.sum()
    Z = np.column_stack([np.ones((len(X), first)), X - means[first:]]) * roots[:, None]
    spread = np.linalg.norm(Z, axis=0)
    lengths = np.hypot(spread, means * np.linalg.norm(roots))
    columns = np.flatnonzero(kept)
    R = triangle(Z[:, columns])
    # rows of its own keep a column that repeats others from taking a direction of the rest
    own = np.diag(NEGLIGIBLE * lengths[columns])
    left = np.abs(np.diag(triangle(np.vstack([R, own]))))
    new = left > REPEATED * lengths[columns]
    inverse = np.linalg.inv(triangle(R[:, new]))
    root = np.zeros((len(inverse), kept.size))
    root[:, columns[new]] = inverse.T
    root[:, 0] -= root @ means
    return Z[:, columns[new]] @ inverse, root, lengths, spread


class Inflation(NamedTuple):
    """Generalized variance inflation of the ``df`` estimated features of a term, such as a factor:
    the square of the factor by which collinearity enlarges their joint confidence region, and
    ``per_df`` = inflation^(1 / (2 df)), comparable between terms.
    """

    name: str
    df: int
    inflation: float
    per_df: float


class Collinearity:
    """Variance inflation and condition indices of a regression.

    Attributes
    ----------
    features, params : list of str, names of the features, and of the parameters
    vif : array of shape (features,)
        The variance of an estimate divided by that without correlations; NaN for features left out.
    terms : list of Inflation, of text columns and terms of a formula with several features
    condition_indices : array of shape (rank,), increasing, the first is 1
        The largest singular value divided by each singular value, of the columns scaled to length
        1, with the intercept and without centering.
    variance_proportions : array of shape (rank, parameters)
        The share of the variance of each estimate that is due to each singular value; columns add
        up to 1, NaN for features left out.
    inflated : list of (str, float)
        The terms and other features kept with their inflation per degree of freedom, squared, the
        largest first.

    References
    ----------
    D. Belsley, E. Kuh and R. Welsch, Regression Diagnostics, Wiley 1980, chapter 3. J. Fox and
    G. Monette, Journal of the American Statistical Association 87, 1992, 178-183.
    """

    def __init__(self, model: Any, root: np.ndarray, lengths: np.ndarray, spread: np.ndarray):
        """From what :func:`orthonormal` returns of the columns; no numbers if none are kept."""
        self.features, kept = feature_names(model), np.asarray(root.any(axis=0))
        first = kept.size - len(self.features)
        self.variance_proportions = shares = np.full(root.shape, np.nan)
        # the singular values of root times lengths are the inverses of those of the scaled columns
        _, inverse, V = np.linalg.svd(root[:, kept] * lengths[kept])
        parts = np.square(V.T * inverse)
        shares[:, kept] = (parts / parts.sum(axis=1, keepdims=True)).T[::-1]
        vif = np.where(kept, np.square(root * spread).sum(axis=0), np.nan)
        self.vif, self.params = vif[first:], model.param_names_
        self.terms, self.inflated = list[Inflation](), list[tuple[str, float]]()
        for term, numbers in terms_of(model).items():
            own = [first + j for j in numbers if kept[first + j]]
            if own and len(numbers) > 1:
                # det R_11 det R_22 / det R of the correlations of estimates, R_11 of the term's
                others = [j for j in np.flatnonzero(kept)[first:] if j not in own]
                alone, beside = (
                    triangle(root[:, some]).diagonal()[-len(own) :] for some in (own, others + own)
                )
                inflation = float(np.square(alone / beside).prod())
                per_df = inflation ** (0.5 / len(own))
                self.terms.append(Inflation(":".join(term), len(own), inflation, per_df))
                self.inflated.append((self.terms[-1].name, per_df**2))
            elif own:
                self.inflated.append((self.features[numbers[0]], float(vif[own[0]])))
        self.condition_indices = (inverse / inverse.min(initial=np.inf))[::-1]
        self.inflated.sort(key=lambda pair: -pair[1])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON; numbers may be NaN."""
        pairs = zip(
            self.condition_indices.tolist(), self.variance_proportions.tolist(), strict=True
        )
        return {
            "vif": dict(zip(self.features, self.vif.tolist(), strict=True)),
            "terms": [term._asdict() for term in self.terms],
            "condition_indices": [
                {"index": k, "variance_proportions": dict(zip(self.params, of, strict=True))}
                for k, of in pairs
            ],
        }

    def __str__(self) -> str:
        if not self.inflated:
            return ""
        lines = ["Variance inflation factors" + " (of factors: GVIF^(1/df))" * bool(self.terms)]
        lines += _indented([(name, number_text(x)) for name, x in self.inflated[:MOST_FEATURES]])
        if len(self.inflated) > MOST_FEATURES:
            lines.append(f"  ... and {len(self.inflated) - MOST_FEATURES:,} smaller")
        indices = list[tuple[str, str]]()
        pairs = zip(self.condition_indices, self.variance_proportions, strict=True)
        for index, shares in [*pairs][: -MOST_INDICES - 1 : -1]:
            order = [k for k in np.argsort(-shares, kind="stable") if shares[k] > MUCH]
            text = ", ".join(f"{self.params[k]} {shares[k]:.2f}" for k in order)
            if text or not indices:
                indices.append((number_text(index), elided(text, MOST_LETTERS) or "-"))
        about = "Condition indices, and estimates with more than half of the variance due to them"
        return "\n".join([*lines, *wrapped(about), *_indented(indices)])

    __repr__ = __str__


def _indented(pairs: list[tuple[str, str]]) -> list[str]:
    return [f"  {line}" for line in pair_lines(pairs, columns=room() - 2)]

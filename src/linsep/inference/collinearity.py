"""Collinearity of the columns of a regression, and its effect on the estimates.

Both regressions solve weighted least squares: the linear one with the weights of the rows, the
logistic one with these weights times p (1 - p) at the maximum. All numbers here refer to the
columns multiplied by the square roots of the weights.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linsep.estimators._common.labels import feature_names, with_intercept
from linsep.inference.factors import terms_of
from linsep.inference.table import number_text
from linsep.layout import elided, padded, wrapped
from linsep.words import escaped

#: share of the variance of an estimate that a dependence must have to degrade it
MUCH = 0.5
#: terms and condition indices that are printed, and letters of their names
MOST_FEATURES, MOST_INDICES, NAME = 5, 3, 28


class Inflation(NamedTuple):
    """Generalized variance inflation of the features of one term, such as a factor.

    Attributes
    ----------
    name : str
    df : int, number of estimated features
    inflation : float
        Square of the factor by which collinearity enlarges the joint confidence region.
    per_df : float
        inflation^(1 / (2 df)), comparable between terms; for a single feature, the square root of
        its variance inflation factor.
    """

    name: str
    df: int
    inflation: float
    per_df: float


@dataclass(frozen=True)
class Collinearity:
    """Variance inflation and condition indices of a regression.

    Attributes
    ----------
    features, params : list of str
        Names of the features, and of the parameters: the intercept first, if there is one.
    vif : array of shape (features,)
        Variance inflation factors: the variance of an estimate divided by its variance without
        correlations; NaN for features left out.
    terms : list of Inflation
        One entry for each text column, or term of a formula, with several features.
    condition_indices : array of shape (rank,), increasing, the first is 1
        The largest singular value divided by each singular value, of the columns scaled to length
        1, with the intercept and without centering.
    variance_proportions : array of shape (rank, parameters)
        The share of the variance of each estimate that is due to each singular value; columns add
        up to 1, NaN for features left out.

    References
    ----------
    D. Belsley, E. Kuh and R. Welsch, Regression Diagnostics, Wiley 1980, chapter 3. J. Fox and
    G. Monette, Generalized collinearity diagnostics, Journal of the American Statistical
    Association 87, 1992, 178-183.
    """

    features: list[str]
    params: list[str]
    vif: np.ndarray
    terms: list[Inflation]
    condition_indices: np.ndarray
    variance_proportions: np.ndarray
    _in_terms: frozenset[str] = frozenset()  # names of the features that terms have

    def strongest(self, most: int) -> list[tuple[float, list[tuple[str, float]]]]:
        """Return the largest condition indices, and the parameters that each degrades: the
        parameters with more than half of their variance due to it, with the shares.
        """
        found = []
        for index, shares in zip(self.condition_indices, self.variance_proportions, strict=True):
            shared = [(n, float(s)) for n, s in zip(self.params, shares, strict=True) if s > MUCH]
            found.append((float(index), sorted(shared, key=lambda pair: -pair[1])))
        return found[::-1][:most]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON; numbers may be NaN."""
        return {
            "vif": dict(zip(self.features, self.vif.tolist(), strict=True)),
            "terms": [term._asdict() for term in self.terms],
            "condition_indices": [
                {"index": index, "variance_proportions": dict(zip(self.params, row, strict=True))}
                for index, row in zip(
                    self.condition_indices.tolist(), self.variance_proportions.tolist(),
                    strict=True,
                )
            ],
        }  # fmt: skip

    def inflated(self) -> list[tuple[str, float]]:
        """Return the terms and other features with their inflation per degree of freedom, squared,
        the largest first; features left out are missing.
        """
        found = [(term.name, term.per_df**2) for term in self.terms]
        found += [
            (name, factor)
            for name, factor in zip(self.features, self.vif.tolist(), strict=True)
            if not np.isnan(factor) and name not in self._in_terms
        ]
        return sorted(found, key=lambda pair: -pair[1])

    def lines(self) -> list[str]:
        """Return the largest variance inflation factors and condition indices as lines of text."""
        inflated, width, most = self.inflated(), NAME, MOST_FEATURES
        if not inflated:
            return []
        lines = ["Variance inflation factors" + " (of factors: GVIF^(1/df))" * bool(self.terms)]
        lines += [
            f"  {padded(elided(escaped(name), width), width)}  {number_text(v)}"
            for name, v in inflated[:most]
        ]
        if len(inflated) > most:
            lines.append(f"  ... and {len(inflated) - most:,} smaller")
        about = "Condition indices, and estimates with more than half of the variance due to them"
        lines += wrapped(about)
        for index, shares in self.strongest(MOST_INDICES):
            if not shares and index < self.condition_indices[-1]:
                continue
            named, text = 0, ""
            for name, share in shares:
                more = f"{elided(escaped(name), width)} {share:.2f}"
                if text and len(text) + len(more) > 50:
                    text += f", and {len(shares) - named} more"
                    break
                text, named = f"{text}, {more}" if text else more, named + 1
            lines += wrapped(f"  {number_text(index):>12}  {text or '-'}", indent=" " * 16)
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__


def collinearity_of(model: Any, fit: Any) -> Collinearity:
    """Return the collinearity of the columns of weighted least squares, ``fit``, which a regression
    solves; without numbers if that is None.
    """
    features = feature_names(model)
    first = model._params.size - len(features)
    params = with_intercept(features) if first else list(features)
    if fit is None:
        nothing = np.full(len(features), np.nan)
        return Collinearity(features, params, nothing, [], np.zeros(0), np.zeros((0, len(params))))
    # root' root is the inverse of the sums of the columns' products
    root, ones = fit.root[:, 1 - first :], np.sqrt(fit.total_weight)
    lengths = np.concatenate([[ones] * first, np.hypot(fit.spread, ones * fit.means)])
    kept = np.concatenate([[True] * first, ~np.isnan(fit.inflation)]).astype(bool)
    indices, shares = np.zeros(0), np.full((len(root), len(params)), np.nan)
    if len(root):
        # the singular values of root times lengths are the inverses of the scaled columns' singular
        # values
        _, inverse, V = np.linalg.svd(root[:, kept] * lengths[kept])
        parts = np.square(V.T * inverse)
        indices = (inverse / inverse.min())[::-1]
        shares[:, kept] = (parts / parts.sum(axis=1, keepdims=True)).T[::-1]
    found, members = [], set()
    for name, numbers, _ in terms_of(model):
        some = [j for j in numbers if kept[first + j]] if len(numbers) > 1 else []
        members |= {features[j] for j in numbers if len(numbers) > 1}
        if some:
            inflation = _generalized(root[:, kept], kept, [first + j for j in some], first)
            found.append(Inflation(name, len(some), inflation, inflation ** (0.5 / len(some))))
    return Collinearity(
        features, params, fit.inflation, found, indices, shares, frozenset(members)
    )  # fmt: skip


def _generalized(root: np.ndarray, kept: np.ndarray, group: list[int], first: int) -> float:
    """Return det R_11 det R_22 / det R, R the correlations of all estimates but the intercept's,
    R_11 within a group: the determinant of its covariance times the determinant of its centered
    products.

    The latter are the inverse of what other columns leave of ``root``: a QR factor has their roots.
    """
    places = np.cumsum(kept) - 1
    own = [int(places[j]) for j in group]
    others = [j for j in range(first, root.shape[1]) if j not in own]
    scaled = root / np.sqrt(np.square(root).sum(axis=0))
    left = np.diag(np.linalg.qr(scaled[:, own], "r"))
    rest = np.diag(np.linalg.qr(scaled[:, others + own], "r"))[len(others) :]
    return float(np.exp(2.0 * (np.log(np.abs(left)).sum() - np.log(np.abs(rest)).sum())))

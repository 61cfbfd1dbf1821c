"""Covariances of estimates that hold where rows differ in variance, or depend within clusters.

With the scores s of the rows (e x, or (y - p) x) and A the inverse of X'X or of the information,
the covariance is A M A. M is the sum of s s' over the rows, each times a factor (H. White,
Econometrica 48, 1980, 817-838; J. MacKinnon and H. White, Journal of Econometrics 29, 1985,
305-325), or over the sums of clusters (K.-Y. Liang and S. Zeger, Biometrika 73, 1986, 13-22). It is
never formed: the triangular factor R of the scores, with R'R = M, has twice as many digits.
"""

from collections.abc import Hashable
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch
from linsep.errors import DataError, ParameterError, hint, refuse
from linsep.estimators.fitted_state import count
from linsep.sources.base import Source
from linsep.validation.checks import check_beside, is_missing
from linsep.words import counted, row_text

#: names of covariances of least squares, and of logistic regression
OfLinear = Literal["HC0", "HC1", "HC2", "HC3", "CR1"]
OfLogistic = Literal["HC0", "HC1", "CR1"]
CLUSTERED = "CR1"
#: what help says of the parameter
HELP = (
    "robust standard errors: for rows of unequal variance, or logistic regressions with weights "
    "that are not numbers of rows (HC), or for rows dependent within clusters (CR1)"
)
#: values of rows whose scores are computed at a time; smallest 1 - leverage that keeps eight of
#: sixteen digits; share of a standard error below which the robust one is rounding error
VALUES, LEAST_FREE, NOISE = 1 << 18, 1e-8, 1e-7
#: what is said of standard errors of zero
NOTHING = "A standard error is 0 where scores cancel; it does not measure precision."


#: scores of some rows: without clusters any rows with the same sum of products, and None; else the
#: sums of the clusters and their numbers, in the order of their first rows
Scores = tuple[np.ndarray, np.ndarray | None]


def triangle(Z: np.ndarray) -> np.ndarray:
    """Return the triangular factor R of Z = QR."""
    return np.asarray(np.linalg.qr(Z, mode="r"))


def added_scores(*parts: Scores) -> Scores:
    """Return the scores of all rows, summed by their clusters if there are any."""
    rows, clusters = (list[Any](of) for of in zip(*parts, strict=True))
    if clusters[0] is None:
        return triangle(np.concatenate(rows)), None
    found, first, codes = np.unique(
        np.concatenate(clusters), return_index=True, return_inverse=True
    )
    members = sp.csc_array((np.ones(codes.size), codes, np.arange(codes.size + 1)))
    order = np.argsort(first)
    return np.asarray(members @ np.concatenate(rows))[order], found[order]


def linear_scores(lane: Batch, fit: Any, name: str, frequency: bool) -> Scores:
    """Return the scores of the rows of a lane in orthonormal columns, with residuals divided by
    their norm; with ``frequency`` a weight is a number of rows.
    """
    found = list[Scores]()
    for part in lane.cut(1 + VALUES // (1 + fit.coef.size)):
        X, roots = part.X, 1.0 if part.weights is None else np.sqrt(part.weights)
        if X.shape[1] < fit.coef.size:  # rows of a sparse source may be narrower
            X = sp.csr_matrix((X.data, X.indices, X.indptr), (part.size, fit.coef.size))
        V = fit.orthonormal(X) * (1.0 if frequency else np.reshape(roots, (-1, 1)))
        e = roots * fit.residuals(X, part.y) / (fit.residual_norm or np.inf)
        if name in ("HC2", "HC3"):
            free = 1.0 - np.square(V).sum(axis=1)
            if (free <= LEAST_FREE).any():
                raise DataError(
                    f"The leverage of a row is 1, by which {name} cannot divide",
                    hint("use {}", covariance="HC1"), code="undefined", option="covariance",
                    value=name,
                )  # fmt: skip
            e = e / (free if name == "HC3" else np.sqrt(free))
        found.append(added_scores((V * e[:, None], part.groups if name == CLUSTERED else None)))
    return added_scores(*found)


class Robust(NamedTuple):
    """The inner part M of a robust covariance times the small-sample factor: R'R of ``root`` R, of
    shape (estimates, estimates); ``clusters`` is their number, or None.
    """

    name: str
    root: np.ndarray
    clusters: int | None = None

    @classmethod
    def of(cls, name: str, found: Scores, n_rows: float, rank: int) -> "Robust":
        """Return the robust covariance for the scores of all rows and ``rank`` estimates."""
        (rows, clusters), left = found, n_rows - rank
        many, scale = None, n_rows if name == "HC1" else left
        if clusters is not None:
            many = int(clusters.size)
            if many == 1:
                raise DataError("All rows are in one cluster: CR1 needs two.", code="too-few-rows")
            scale = many / (many - 1) * (n_rows - 1)
        root = np.zeros((rows.shape[1],) * 2)
        if root.size and left > 0:  # else standard errors are not defined
            factor = triangle(rows)
            root[: len(factor)] = factor * np.sqrt(scale / left)
        return cls(name, root, many)

    @classmethod
    def stored(cls, name: str | None, root: np.ndarray | None, clusters: Any) -> "Robust | None":
        """Return the robust covariance of a model file, whose parameter is ``name``, or None."""
        if (root is None, clusters is None) != (name is None, name != CLUSTERED):
            raise ValueError("another robust covariance than the parameters name")
        many = None if clusters is None else count(clusters, 2)
        return None if name is None or root is None else cls(name, root, many)


def without_noise(robust: np.ndarray, plain: np.ndarray) -> np.ndarray:
    """Return a robust covariance with zeros for estimates whose scores cancel in every cluster."""
    nothing = np.diag(robust) <= NOISE**2 * np.diag(plain)
    robust[nothing] = robust[:, nothing] = 0.0
    return robust


def robust_words(
    name: str, clusters: int | None, of_rows: str = "for rows of unequal variance"
) -> str:
    """Return the sentence of a summary about a robust covariance."""
    if clusters is not None:
        of_rows = (
            f"for rows that depend on each other within {clusters:,} clusters; t has "
            f"{counted(clusters - 1, 'degree')} of freedom"
        )
    return f"Standard errors, tests and intervals: {name}, {of_rows}."


def refuse_weights(covariance: str | None, weights: Any) -> None:
    """Raise ParameterError for weights, unless None, with clusters."""
    told = "CR1 does not support weights: leave them out, or use another covariance."
    both = covariance == CLUSTERED and weights is not None
    refuse(ParameterError, (both, told, "conflict", "covariance"))


def check_clusters(
    model: Any, X: Any, clusters: Any, weights: Any = None, several: bool = False
) -> None:
    """Raise ParameterError for clusters, or other arguments, that the covariance excludes."""
    covariance, given = getattr(model, "covariance", None), clusters is not None
    source = isinstance(X, Source)
    needed = covariance == CLUSTERED and not (X.grouped if source else given)
    why = ("CR1, and no other covariance, needs clusters=labels with arrays, or their column: "
           "group= of linsep.fit and open_source, or --cluster-by.")  # fmt: skip
    refuse(
        ParameterError,
        (covariance and several, "A robust covariance needs one target.", "conflict", "covariance"),
        (given and (source or covariance != CLUSTERED), why, "conflict", "clusters"),
        (needed, why, "needs-option", "clusters"),
    )
    refuse_weights(covariance, weights)


def cluster_numbers(X: Any, clusters: Any, hashed: bool = False) -> np.ndarray:
    """Return a number for the cluster of every row of X, whose labels can be hashed; ``hashed``: of
    64 bits, equal for equal labels of other rows, too.
    """
    check_beside(X, clusters=clusters)
    if isinstance(clusters, list | tuple):  # numpy would make text of numbers beside text
        clusters = np.fromiter(clusters, dtype=object, count=len(clusters))
    labels, n_rows = np.asarray(clusters), X.shape[0] if hasattr(X, "shape") else len(X)
    if labels.shape not in ((n_rows,), (n_rows, 1)):
        raise DataError(
            f"clusters has the shape {labels.shape}: give one label for each of {n_rows:,} rows.",
            code="shape", option="clusters",
        )  # fmt: skip
    values = labels.ravel().tolist()
    for row, label in enumerate(values if labels.dtype.kind not in "biuUS" else ()):
        if (missing := is_missing(label)) or not isinstance(label, Hashable):
            raise DataError(
                f"The cluster of {row_text(row)} is missing, or no number or text.",
                code="missing-value" if missing else "bad-value", option="clusters", row=row + 1,
            )  # fmt: skip
    numbers = {label: number for number, label in enumerate(dict.fromkeys(values))}
    codes = np.array([numbers[label] for label in values], dtype=np.uint64)
    if hashed:
        texts = [repr(label + 0.0 if isinstance(label, float) else label) for label in numbers]
        digests = b"".join(blake2b(text.encode(), digest_size=8).digest() for text in texts)
        codes = np.frombuffer(digests, "<u8")[codes]
    return codes


def pairs_joined(batch: Batch, positive: Any = 1) -> Batch:
    """Return rows of counts, two rows each, as single rows: y are successes, weights trials."""
    if batch.weights is None:
        raise DataError("Pass successes and trials.", code="needs-option", option="successes")
    half, (first, second) = batch.rows(slice(None, None, 2)), batch.weights.reshape(-1, 2).T
    successes = np.where(half.y == positive, first, second)
    return half._replace(y=successes, weights=first + second)

"""Covariances of estimates that hold where rows differ in variance, or depend within clusters.

With the scores s of the rows (least squares: e x, logistic regression: (y - p) x) and A the inverse
of X'X or of the information, the covariance of the estimates is A M A. M is the sum of s s' over
the rows, each times a factor (H. White, Econometrica 48, 1980, 817-838; J. MacKinnon and H. White,
Journal of Econometrics 29, 1985, 305-325), or over the sums of the scores of each cluster
(K.-Y. Liang and S. Zeger, Biometrika 73, 1986, 13-22).

M is never formed: the triangular factor R of a QR factorization of the scores has R'R = M and twice
as many digits. Factors of fixed-size blocks (lanes) are stacked and factored again in the reduction
tree of the lanes.
"""

from collections.abc import Hashable
from functools import reduce
from hashlib import blake2b
from math import isnan
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch
from linsep.errors import DataError, LinsepError, ParameterError, hint
from linsep.estimators._common.fitted_state import count
from linsep.sources.base import Source
from linsep.validation.labels import MISSING_TYPES, check_beside
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
#: rows, per column, that are stacked before they are factored; smallest 1 - leverage that keeps
#: eight of sixteen digits; share of a standard error below which the robust one is rounding error
STACKED, LEAST_FREE, NOISE = 4, 1e-8, 1e-7
#: what is said of standard errors of zero
NOTHING = "A standard error is 0 where scores cancel; it does not measure precision."


class Scores(NamedTuple):
    """Scores of some rows: without clusters any rows with the same sum of products, else the sums
    of the clusters and their numbers, in the order of their first rows; and how many rows are
    ``decided`` by leverages of 1, by which HC2 and HC3 divide.
    """

    rows: np.ndarray
    clusters: np.ndarray | None = None
    decided: int = 0


def scores_of(rows: np.ndarray, clusters: np.ndarray | None, decided: int = 0) -> Scores:
    """Return the scores of rows, summed by their clusters if there are any."""
    if clusters is None:
        many = len(rows) > STACKED * rows.shape[1]
        return Scores(np.asarray(np.linalg.qr(rows, mode="r")) if many else rows, None, decided)
    found, first, codes = np.unique(clusters, return_index=True, return_inverse=True)
    order = np.argsort(first)
    places = np.argsort(order)[codes.ravel()]
    ends = np.arange(len(rows) + 1)  # one place a row
    members = sp.csc_array((np.ones(len(rows)), places, ends), (found.size, len(rows)))
    return Scores(np.asarray(members @ rows), found[order], decided)


def added_scores(one: Scores, other: Scores) -> Scores:
    """Return the scores of the rows of both."""
    both: list[Any] = [one.clusters, other.clusters]
    clusters = None if one.clusters is None else np.concatenate(both)
    return scores_of(np.concatenate([one.rows, other.rows]), clusters, one.decided + other.decided)


class Robust(NamedTuple):
    """The inner part of a robust covariance: ``root`` R of shape (estimates, estimates) has R'R = M
    times the small-sample factor; ``clusters`` is their number, or None.
    """

    name: str
    root: np.ndarray
    clusters: int | None = None

    @classmethod
    def of(cls, name: str, found: Scores, n_rows: float, rank: int) -> "Robust":
        """Return the robust covariance for the scores of all rows and ``rank`` estimates."""
        if found.decided:
            raise DataError(
                f"The leverage of {found.decided:,} rows is 1, by which {name} cannot divide",
                hint("use {}", covariance="HC1"), code="undefined", option="covariance", value=name,
            )  # fmt: skip
        many = None if found.clusters is None else int(found.clusters.size)
        if many == 1:
            raise DataError("All rows are in one cluster: CR1 needs two.", code="too-few-rows")
        root, left = np.zeros((found.rows.shape[1],) * 2), n_rows - rank
        if not root.size or left <= 0:  # standard errors are not defined without these
            return cls(name, root, many)
        factor = np.linalg.qr(found.rows, mode="r")
        root[: len(factor)] = factor
        scale = n_rows / left if name == "HC1" else 1.0
        if many is not None:
            scale = many / (many - 1) * ((n_rows - 1) / left)
        return cls(name, root * np.sqrt(scale), many)

    @classmethod
    def stored(cls, name: str | None, root: np.ndarray | None, clusters: Any) -> "Robust | None":
        """Return the robust covariance of a model file, whose parameter is ``name``, or None."""
        if (name is None) != (root is None):
            raise ValueError("a robust covariance that the parameters do not name, or none")
        clusters = stored_clusters(name, clusters)
        return None if name is None or root is None else cls(name, root, clusters)


def without_noise(robust: np.ndarray, plain: np.ndarray) -> np.ndarray:
    """Return a robust covariance with zeros for estimates whose scores cancel in every cluster, on
    the scale of the model-based covariance.
    """
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


def stored_clusters(name: str | None, clusters: Any) -> int | None:
    """Return the number of clusters in a model file, None unless the covariance needs them."""
    if (name == CLUSTERED) != (clusters is not None):
        raise ValueError("clusters without CR1, or none")
    return None if clusters is None else count(clusters, 2)


def check_length(clusters: np.ndarray | None, n_rows: int) -> None:
    """Raise DataError unless clusters, if any, are one per row."""
    if clusters is not None and clusters.size != n_rows:
        raise DataError(
            f"clusters has {clusters.size:,} labels for {n_rows:,} rows: give one label per row.",
            code="shape", option="clusters",
        )  # fmt: skip


def check_clusters(covariance: str | None, X: Any, clusters: Any, weights: Any = None) -> None:
    """Raise ParameterError for clusters that cannot be combined with the covariance of a
    regression, with rows or a Source, or with weights.
    """
    source, given = isinstance(X, Source), clusters is not None
    needed = covariance == CLUSTERED and not (X.grouped if source else given)
    refuse(
        ParameterError,
        (source and given, "A source has its own clusters: name their column with "
         "open_source(group=...), and leave clusters out", "conflict", "clusters"),
        (needed, "CR1 needs the cluster of every row: name the cluster column (--cluster-by, in "
         "Python open_source(group=...)), or pass clusters=labels to fit with arrays",
         "needs-option", "clusters"),
        (covariance != CLUSTERED and given, "Clusters have no effect without CR1", "conflict",
         "clusters", hint("use {}", covariance=CLUSTERED), "leave the clusters out"),
    )  # fmt: skip
    refuse_weights(covariance, weights)


def refuse_robust(model: Any, columns: Any = None) -> None:
    """Raise ParameterError for parameters that cannot be combined with a robust covariance, and for
    several ``columns`` of targets, unless None.
    """
    if model.covariance is not None:
        leave = hint("leave {} out", covariance=None)
        refuse(
            ParameterError,
            (model.l2, "Robust standard errors are not known with l2", "conflict", "l2", leave),
            (getattr(model, "penalty", None), "Firth's penalty changes the score of every row, so "
             "it has no robust standard errors", "conflict", "penalty", leave),
            (getattr(model, "intervals", None) == "profile", "Profile intervals come from the "
             "likelihood, not from a covariance", "conflict", "intervals", leave),
            (columns is not None, "A robust covariance needs a single target", "conflict",
             "covariance", leave),
        )  # fmt: skip
        refuse_weights(model.covariance, getattr(model, "class_weight", None))


def refuse_dispersion(model: Any, counts: bool) -> None:
    """Raise ParameterError for an estimated dispersion without counts, or beside what assumes that
    it is 1.
    """
    if model.dispersion is not None:
        leave = hint("leave {} out", dispersion=None)
        refuse(
            ParameterError,
            (not counts, "A dispersion is estimated from counts: pass successes and trials",
             "needs-option", "dispersion", leave),
            *(
                (given, "Robust errors, penalties and profiles assume no estimated dispersion",
                 "conflict", name, leave)
                for name, given in (
                    ("covariance", model.covariance), ("penalty", model.penalty), ("l2", model.l2),
                    ("intervals", model.intervals == "profile"),
                )
            ),
        )  # fmt: skip


def refuse_weights(covariance: str | None, weights: Any) -> None:
    """Raise ParameterError for weights, unless None, with clusters."""
    refuse(ParameterError, (
        covariance == CLUSTERED and weights is not None, "CR1 does not support row or class "
        "weights: leave the weights out, or use another covariance", "conflict", "covariance",
    ))  # fmt: skip


def refuse(kind: type[LinsepError], *cases: tuple[Any, ...]) -> None:
    """Raise an error for the first case that is true; each has a sentence, a code, an option and
    remedies.
    """
    for wrong, why, code, option, *remedies in cases:
        if wrong:
            raise kind(why, *remedies, code=code, option=option)


def cluster_numbers(X: Any, clusters: Any) -> np.ndarray | None:
    """Return a number for the cluster of every row, shape (rows,); None for None.

    Labels are numbers, text, dates, categories or other values that can be hashed; the index of
    pandas is compared with that of the rows X.
    """
    return None if clusters is None else _coded(X, clusters)[1]


def hashed_clusters(labels: Any) -> np.ndarray:
    """Return numbers of 64 bits for the labels of some rows, equal for equal labels."""
    found, codes = _coded(None, labels)
    texts = [str(label + 0.0 if isinstance(label, float) else label) for label in found]
    digests = b"".join(blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, "<u8").astype(np.uint64)[codes]


def _coded(X: Any, clusters: Any) -> tuple[list[Any], np.ndarray]:
    """Return the different labels, and the number of that of each row."""
    check_beside(X, clusters=clusters)
    if isinstance(clusters, list | tuple):  # numpy would make text of numbers beside text
        clusters = np.fromiter(clusters, dtype=object, count=len(clusters))
    labels = np.asarray(clusters)
    labels = labels[:, 0] if labels.shape[1:] == (1,) else labels
    if labels.ndim != 1:
        raise DataError("Give one label per row, in one column.", code="shape", option="clusters")
    if labels.dtype.kind in "biuUS":  # at once
        found, inverse = np.unique(labels, return_inverse=True)
        return found.tolist(), inverse.astype(np.uint64)
    numbers, values = dict[Any, int](), labels.tolist()
    for row, label in enumerate(values):
        nan = isinstance(label, float) and isnan(label)
        missing = nan or label is None or type(label).__name__ in MISSING_TYPES
        if missing or not isinstance(label, Hashable):
            kind = "missing" if missing else f"a {type(label).__name__}"
            raise DataError(
                f"The cluster of {row_text(row)} is {kind}: give numbers or text.",
                code="missing-value" if missing else "bad-value", option="clusters", row=row + 1,
            )  # fmt: skip
        numbers.setdefault(label, len(numbers))
    return list(numbers), np.array([numbers[label] for label in values], dtype=np.uint64)


def clusters_in(part: Batch, covariance: str) -> np.ndarray | None:
    """Return the numbers of the clusters of some rows; None for a covariance without clusters."""
    return part.groups if covariance == CLUSTERED else None


def without_clusters(model: Any) -> Any:
    """Return an unfitted model without a robust covariance, which predictions do not need."""
    if getattr(model, "covariance", None) is not None:
        model.set_params(covariance=None)
    return model


def block_rows(width: int) -> int:
    """Return the number of rows whose scores are computed at a time."""
    return max(256, (1 << 18) // (width + 1))


class LinearScores(NamedTuple):
    """The scores of the rows of a lane, in the space of orthonormal columns: a row is v = root [1,
    x - means], and its leverage w |v|^2. Residuals are divided by their norm. With ``frequency`` a
    weight is a number of rows, not a precision.
    """

    fit: Any
    name: str
    frequency: bool

    def __call__(self, lane: Batch) -> Scores:
        """Return the sum of a lane."""
        return reduce(added_scores, map(self._of, lane.cut(block_rows(self.fit.coef.size))))

    def _of(self, part: Batch) -> Scores:
        X, fit = part.X, self.fit
        if X.shape[1] < fit.coef.size:  # rows of a sparse source may be narrower
            X = sp.csr_matrix((X.data, X.indices, X.indptr), (part.size, fit.coef.size))
        V, decided = fit.orthonormal(X), 0
        weights = np.ones(part.size) if part.weights is None else part.weights
        e = np.sqrt(weights) if self.frequency else weights
        free = 1.0 - np.square(V).sum(axis=1) * (1.0 if self.frequency else weights)
        e = e * (0.0 if fit.perfect else fit.residuals(X, part.y) / fit.residual_norm)
        if self.name in ("HC2", "HC3"):
            decided = int((free <= LEAST_FREE).sum())
            free = np.maximum(free, LEAST_FREE)
            e = e / (free if self.name == "HC3" else np.sqrt(free))
        return scores_of(V * e[:, None], clusters_in(part, self.name), decided)


def pairs_joined(batch: Batch, positive: Any = 1) -> Batch:
    """Return rows of counts, which come as two rows each, as single rows: y has the successes, and
    weights are the trials.
    """
    assert batch.weights is not None
    first, second = batch.weights[::2], batch.weights[1::2]
    offset = None if batch.offset is None else batch.offset[::2]
    successes = np.where(batch.y[::2] == positive, first, second)
    return Batch(batch.X[::2], successes, weights=first + second, offset=offset)


def no_counts() -> DataError:
    """Return the error for rows without the counts that a model was fitted to."""
    return DataError("Pass successes and trials.", code="needs-option", option="successes")

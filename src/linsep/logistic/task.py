"""Rows of a logistic regression: batches and their classes, the task of fitting them, and sums over
fixed-size blocks (lanes).

A lane is a fixed-size block of rows, counted from the first row of the data. It depends neither on
the batches that the rows are read in nor on the process that sums them.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from linsep._system.interrupts import interruption_point
from linsep._system.threads import map_in_order
from linsep.batches import Batch, joined, weight_totals
from linsep.errors import DataError
from linsep.estimators._common.labels import check_two_classes, encode_with
from linsep.inference.robust import CLUSTERED, refuse_weights
from linsep.inference.signatures import Signature, of_lane
from linsep.lanes import Add, Tree, in_lanes
from linsep.logistic.counts import Groups
from linsep.rows.arrays import summed
from linsep.sources.base import Source

if TYPE_CHECKING:
    from linsep.logistic.checkpointing import Journal
    from linsep.rows.source_stream import SourceStream

#: half a unit in the last place of 1.0
UNIT = 2.0**-53
#: most weights for a Hessian, which inference needs
MOST_WEIGHTS = 2500
#: default tolerances: with inference, and without
WITH_INFERENCE, WITHOUT = 1e-8, 1e-3
#: values in a block of dense rows, which fits in the cache
BLOCK_VALUES = 1 << 16
#: fewest and most rows in a lane of dense rows, and values in between: short lanes cost threads
#: more than they share out
LEAST_LANE_ROWS, MOST_LANE_ROWS, LANE_VALUES = 1 << 10, 1 << 15, 1 << 21
#: fewest rows and values in the first batch of a stream, of which a sample is taken
HEAD_ROWS, HEAD_VALUES = 20_000, 1 << 21
#: dense rows with a smaller share of nonzeros are copied into a CSR matrix
SPARSE = 0.3
#: what the weights of all rows add up to at least, so that curvatures and their inverses are finite
LEAST_WEIGHT = 1e-200
#: value of ``limits_`` for the weights of a class without weight
NO_WEIGHT = "no weight"

#: a function that returns an iterator over all batches, or a list of them: rows in memory
Batches: TypeAlias = Callable[[], Iterable[Batch]]
#: from a lane to its sum, or from a lane and what was kept of it
Work: TypeAlias = Callable[..., Any]


def has_hessian(n_weights: int) -> bool:
    """Return whether so many weights are few enough for a Hessian."""
    return n_weights <= MOST_WEIGHTS


def block_rows(n_features: int) -> int:
    """Return the number of dense rows in a block."""
    return max(64, min(2048, BLOCK_VALUES // (n_features + 1)))


def lane_rows(n_features: int) -> int:
    """Return the number of dense rows in a lane, a multiple of those in a block."""
    most = min(MOST_LANE_ROWS, LANE_VALUES // (n_features + 1))
    rows = block_rows(n_features)
    return rows * -(-max(LEAST_LANE_ROWS, most) // rows)


def with_head(given: Iterable[Batch], n_features: int) -> Iterator[Batch]:
    """Yield the batches of a stream, the first with a number of rows that does not depend on how
    they were read.
    """
    return in_lanes(given, max(HEAD_ROWS, HEAD_VALUES // (n_features + 1)))


class RowLanes:
    """Sums over the rows of batches, by threads.

    Parameters
    ----------
    batches : function that returns an iterator over all batches, always in the same order
    """

    def __init__(self, batches: Batches):
        self.batches = batches

    def sum(self, work: Work, add: Add, size: int) -> Any:
        """Return the sum of ``work(lane)`` over all lanes, of ``size`` rows each."""
        lanes = in_lanes(self.batches(), size)
        first = list(islice(lanes, 2))
        if len(first) == 1:
            interruption_point()
            return work(first[0])
        return _added(map_in_order(work, chain(first, lanes)), add)

    def sum_and_keep(self, work: Work, add: Add, size: int) -> tuple[Any, list[Any]]:
        """Return the sum of the first of two results of ``work(lane)``, and the others, for
        :meth:`sum_with`.
        """
        kept: list[Any] = []

        def values() -> Iterator[Any]:
            for value, other in map_in_order(work, in_lanes(self.batches(), size)):
                kept.append(other)
                yield value

        return _added(values(), add), kept

    def sum_with(self, kept: list[Any], work: Work, add: Add, size: int) -> Any:
        """Return the sum of ``work(lane, what was kept of it)``."""
        pairs = zip(in_lanes(self.batches(), size), kept, strict=True)
        return _added(map_in_order(lambda pair: work(*pair), pairs), add)


def _added(values: Iterator[Any], add: Add) -> Any:
    tree = Tree(add)
    for value in values:
        interruption_point()
        tree.push(value)
    return tree.total()


class FittedClasses:
    """Classes with weight, in the order of a logistic regression; the others stay among the labels,
    with probability 0.

    Parameters
    ----------
    classes : all labels, sorted
    order : the codes of all classes, the reference last
    totals : array of shape (classes,), the summed row weights of each

    Attributes
    ----------
    order : as given; with several classes, a reference without weight is replaced by the last class
        with weight
    codes : list of the codes with weight, in this order
    labels, totals : arrays of their labels and of their weights
    places : int32 array of shape (classes,), the place of a class among those with weight
    """

    def __init__(self, classes: np.ndarray, order: list[int], totals: np.ndarray):
        counted = totals > 0
        if not counted.any():
            raise DataError("No row is left for training: all rows have weight 0.", code="no-rows")
        if totals.sum() < LEAST_WEIGHT:
            raise DataError(
                f"The weights of all rows add up to only {totals.sum():.3g}, which underflows "
                "float64: divide the weights by the largest.",
                code="overflow", option="sample_weight",
            )  # fmt: skip
        if len(order) > 2 and not counted[order[-1]]:
            last = int(np.flatnonzero(counted)[-1])
            order = [*(code for code in sorted(order) if code != last), last]
        self.classes, self.order = classes, order
        self.codes = [code for code in order if counted[code]]
        self.labels, self.totals = classes[self.codes], totals[self.codes]
        self.places = np.zeros(classes.size, dtype=np.int32)
        self.places[self.codes] = np.arange(len(self.codes))

    @property
    def complete(self) -> bool:
        """Whether every class has weight."""
        return len(self.codes) == len(self.order)

    @property
    def ranks(self) -> list[int]:
        """The codes, renumbered among the classes with weight."""
        return np.argsort(np.argsort(self.codes)).tolist()

    @property
    def fitted(self) -> list[int]:
        """Indices of the fitted rows of weights in a model of all classes."""
        known = set(self.codes)
        return [r for r, code in enumerate(self.order[:-1]) if {code, self.order[-1]} <= known]

    def wide(self, part: np.ndarray, rest: Any) -> np.ndarray:
        """Return ``part``, shape (fitted rows, width), with ``rest`` in all other rows."""
        found = np.full((len(self.order) - 1, part.shape[1]), rest, dtype=part.dtype)
        found[self.fitted] = part
        return found

    def wide_square(self, part: np.ndarray, width: int) -> np.ndarray:
        """Return a covariance of the fitted weights, with zeros for all other weights."""
        q, rows = len(self.order) - 1, self.fitted
        found = np.zeros((q, width, q, width))
        shape = len(rows), width, len(rows), width
        found[np.ix_(rows, range(width), rows, range(width))] = part.reshape(shape)
        return found.reshape(q * width, q * width)

    def intercepts(self, fitted: np.ndarray) -> np.ndarray:
        """Return the intercepts of all classes: -inf for a class without weight, +inf against a
        reference without weight (of two classes).
        """
        rest = -np.inf if self.order[-1] in self.codes else np.inf
        return self.wide(fitted[:, None], rest)[:, 0]


class Null(NamedTuple):
    """A logistic regression without features, but with the offsets of the rows.

    Attributes
    ----------
    intercepts : array of shape (classes - 1,), zeros without an intercept
    log_likelihood : float
    """

    intercepts: np.ndarray
    log_likelihood: float


def null_of(
    totals: np.ndarray, intercept: bool, with_offsets: Iterable[Batch] | None = None
) -> Null:
    """Return the model without features: of class frequencies with an intercept, else of equal
    probabilities; of rows of two classes with offsets, whose log-likelihood is a concave function
    of the intercept.

    Parameters
    ----------
    totals : array of shape (classes,), summed row weights of each class, the reference last
    intercept : bool
    with_offsets : the rows, or None without offsets
    """
    total, others = totals.sum(), totals[:-1]
    if with_offsets is None and not intercept:
        return Null(np.zeros(len(others)), -float(total) * float(np.log(len(totals))))
    if with_offsets is None:
        value = float((totals * np.log(totals / total)).sum())
        return Null(np.log(others / totals[-1]), value)
    from scipy.optimize import brentq
    from scipy.special import expit

    parts = [(b.y == 0, np.ones(b.size) if b.weights is None else b.weights, b.offset)
             for b in with_offsets]  # fmt: skip
    own, weights, offsets = (np.concatenate(part) for part in zip(*parts, strict=True))
    own, weights, offsets = (part[weights > 0] for part in (own, weights, offsets))

    def slope(b: float) -> float:
        return float((weights * (own - expit(b + offsets))).sum())

    b = 0.0
    if intercept:  # between the log-odds of all rows less the largest offset, and the smallest
        odds = float(np.log(totals[0] / totals[1]))
        b, high = odds - float(offsets.max()), odds - float(offsets.min())
        if slope(b) > 0.0:  # but for rounding it is zero at the other end
            b = brentq(slope, b, high, xtol=1e-14, maxiter=2_000) if slope(high) < 0.0 else high
    scores = np.where(own, 1.0, -1.0) * (b + offsets)
    return Null(np.array([b]), -float((weights * np.logaddexp(0.0, -scores)).sum()))


@dataclass(frozen=True)
class Task:
    """A logistic regression to fit.

    Attributes
    ----------
    batches : function that returns the batches; the code of the reference is ``q``
    n_features, q : int, numbers of features, and of classes without the reference
    totals : array of shape (q + 1,), summed row weights of each class, the reference last
    null : Null, the model without features
    n_rows : int, number of rows with nonzero weight
    intercept : bool
    l2 : float
    given_tol : float or None, distance to the maximum from which the last step may begin, in
        standard errors
    max_iter : int
    several : bool, whether there are more than two classes, including those without weight
    journal : Journal of the passes over the rows, or None
    lanes : RowLanes that others than this process sum, or None
    levels : column numbers of the levels of each text column that has a reference level
    start : weights of the raw features to start from, or None
    covariance : "HC0", "HC1", "CR1" or None, for the inverse information
    clustered : function that returns the batches with the numbers of the clusters, for "CR1"
    groups : Groups of rows that are two each, None if rows are single
    """

    batches: Batches
    n_features: int
    q: int
    totals: np.ndarray
    null: Null
    n_rows: int
    intercept: bool
    l2: float
    given_tol: float | None
    max_iter: int
    several: bool
    journal: "Journal | None" = None
    lanes: RowLanes | None = None
    levels: tuple[tuple[int, ...], ...] = ()
    start: np.ndarray | None = None
    covariance: str | None = None
    clustered: Batches | None = None
    groups: Groups | None = None

    @property
    def width(self) -> int:
        """Number of weights per class."""
        return self.n_features + self.intercept

    @property
    def factored(self) -> bool:
        """Whether there are few enough weights for a Hessian."""
        return has_hessian(self.q * self.width)

    @property
    def tol(self) -> float:
        """Distance to the maximum from which the last step may begin, in standard errors."""
        default = WITH_INFERENCE if self.factored else WITHOUT
        return default if self.given_tol is None else self.given_tol

    @property
    def share(self) -> float:
        """Share of a class in the sum of all, for :class:`linsep.logistic.objective.Penalty`."""
        return 1.0 / (self.q + 1) if self.several and self.l2 else 0.0

    @property
    def row_lanes(self) -> RowLanes:
        """The rows in lanes."""
        return self.lanes or RowLanes(self.batches)

    def signature(self) -> Signature:
        """Return the signature of the rows with weight."""
        found: Signature = self.row_lanes.sum(of_lane, add, lane_rows(self.n_features))
        return found


def task_of(
    model: Any, known: FittedClasses, batches: Batches, n_features: int, n_rows: int,
    offsets: bool = False, groups: Groups | None = None, clustered: Batches | None = None,
) -> Task:  # fmt: skip
    """Return the task of fitting the batches of ``n_rows`` rows with weight by a model;
    ``offsets``: whether the rows have offsets; ``clustered``: batches with clusters, if they
    differ.
    """
    recipe = getattr(model, "recipe_", None) or {}
    texts, references = recipe.get("text") or {}, recipe.get("reference") or {}
    levels = tuple(tuple(of.values()) for name, of in texts.items() if name in references)
    intercept, q = bool(model.fit_intercept), len(known.codes) - 1
    return Task(
        batches, n_features, q, known.totals,
        null_of(known.totals, intercept, batches() if offsets and q else None), n_rows, intercept,
        float(model.l2), model.tol, int(model.max_iter), len(known.order) > 2, levels=levels,
        groups=groups, covariance=model.covariance, clustered=clustered or batches,
    )  # fmt: skip


@dataclass
class Rows:
    """Rows in memory.

    Attributes
    ----------
    given : X as passed to fit, with its names
    batch : Batch, whose y are the places of the classes
    known : FittedClasses
    groups : Groups or None, see :class:`Task`
    steps : Steps of the fit, None before it
    """

    given: Any
    batch: Batch
    known: FittedClasses
    groups: Groups | None = None
    steps: Any = None

    def task(self, model: Any) -> Task:
        """Return the task of fitting these rows."""
        batch, (_, d) = self.batch, self.batch.X.shape
        many = not has_hessian((len(self.known.codes) - 1) * (d + bool(model.fit_intercept)))
        if many and not sp.issparse(batch.X) and np.count_nonzero(batch.X) < SPARSE * batch.X.size:
            batch = batch._replace(X=sp.csr_matrix(batch.X))  # such as images, faster so
        n_rows, offsets = self.counted().size, batch.offset is not None
        return task_of(model, self.known, lambda: [batch], d, n_rows, offsets, self.groups)

    def in_memory(self, task: Task) -> "Rows | None":
        """Return self."""
        return self

    def counted(self) -> Batch:
        """Return the rows with nonzero weight."""
        weights = self.batch.importance
        return self.batch if (weights > 0).all() else self.batch.rows(weights > 0)


def order_of_classes(model: Any) -> list[int]:
    """Return the codes of the classes in the order of the weights, the reference last."""
    classes = model.classes_.tolist()
    return sorted(range(len(classes)), key=lambda code: classes[code] == model.reference_)


def order_of(reference: Any, classes: np.ndarray) -> list[int]:
    """Return the codes of the classes, the reference last."""
    codes = list(range(classes.size))
    if reference is None:
        return [1, 0] if classes.size == 2 else codes
    found = np.flatnonzero(classes == reference)
    if not found.size:
        known = ", ".join(map(repr, classes.tolist()[:8]))
        raise DataError(
            f"reference is {reference!r}, which is not a class of y: {known}.",
            code="unknown-label", option="reference", value=reference,
        )  # fmt: skip
    return [code for code in codes if code != found[0]] + [int(found[0])]


class BatchRows:
    """Base class of rows that are read batch by batch, with the interface of :class:`Rows`.

    Attributes
    ----------
    steps : Steps of the fit to these rows, None before the fit
    known : FittedClasses
    n_features : int
    source : Source that can be read again, or None
    memory_bytes : largest size of rows that may be kept in memory
    offsets : bool, whether the rows have offsets
    groups : Groups or None, see :class:`Task`
    """

    offsets = False
    groups: Groups | None = None
    steps: Any = None
    known: FittedClasses
    n_features: int
    memory_bytes: int
    _n_rows: int

    def __init__(self, model: Any, source: Source | None):
        self._max_iter, self.source = int(model.max_iter), source
        self.memory_bytes = Source.memory_bytes if source is None else source.memory_bytes

    def doing(self) -> str:
        """Return the current stage of the fit."""
        return "fitting" if self.steps is None else self.steps.doing(self._max_iter)

    def batches(self) -> Iterator[Batch]:
        """Yield all rows in their order."""
        raise NotImplementedError

    def clustered(self) -> Iterator[Batch]:
        """Yield all rows with the numbers of their clusters, if they have any."""
        return self.batches()

    def task(self, model: Any) -> Task:
        """Return the task of fitting these rows."""
        form = self.n_features, self._n_rows, self.offsets, self.groups, self.clustered
        return task_of(model, self.known, self.batches, *form)

    def in_memory(self, task: Task) -> Rows | None:
        """Return the rows in memory; None if they need more than may be kept there."""
        if 8 * task.n_rows * task.width > self.memory_bytes:
            return None
        read = self.clustered if task.covariance == CLUSTERED else self.batches
        whole = joined(list(read()), task.n_features)
        return Rows(whole.X, whole, self.known)


class StreamRows(BatchRows):
    """Rows of a stream.

    Parameters
    ----------
    model : LogisticRegression
    stream : SourceStream, already started
    """

    def __init__(self, model: Any, stream: "SourceStream"):
        super().__init__(model, stream.source)
        self.stream, self._covariance = stream, model.covariance
        self._count()
        classes = stream.classes
        check_two_classes(classes, stream.source.name)
        self.known = FittedClasses(classes, order_of(model.reference, classes), self.totals)
        self.n_features = max(stream.n_features, len(stream.feature_names or []))
        self.offsets = stream.offsets is not None

    def _count(self) -> None:
        """Read all rows once to sum the weights of each class and count the rows with weight."""
        self.totals, self._n_rows = np.zeros(self.stream.classes.size), 0
        groups = Groups() if self.stream.source.counts else None
        for row_batch in self.stream.row_batches(0):
            weights, codes = row_batch.importance, row_batch.codes
            if groups is None:
                refuse_weights(self._covariance, weights if weights.size else None)
            self.totals = weight_totals(self.totals, codes, weights)
            self._n_rows += int((weights > 0).sum()) if weights.size else len(codes)
            groups = groups and groups.and_more(weights[::2], weights[1::2])
        self.groups = groups

    def batches(self) -> Iterator[Batch]:
        """Yield all rows in their order."""
        return with_head(self._in_order(), self.n_features)

    def _in_order(self) -> Iterator[Batch]:
        places, offsets, first = self.known.places, self.stream.offsets, 0
        for row_batch in self.stream.row_batches(1):
            batch = row_batch.as_batch()
            own = None if offsets is None else offsets[first : first + batch.size]
            yield batch._replace(y=places[batch.y], offset=own)
            first += batch.size

    def clustered(self) -> Iterator[Batch]:
        """Yield all rows with the numbers of their clusters, which the stream does not keep."""
        for batch in self.stream.source.batches():
            if batch.size:
                codes = encode_with(batch.y, self.stream.classes)
                assert codes is not None
                beside = {"groups": batch.groups, "offset": batch.offset, "weights": batch.weights}
                yield Batch(summed(batch.X), self.known.places[codes], batch.first, **beside)

"""Rows of a logistic regression: batches and their classes, the task of fitting them, and sums over
fixed-size blocks (lanes).

A lane is a fixed-size block of rows, counted from the first row of the data. It depends neither on
the batches that the rows are read in nor on the process that sums them.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass
from itertools import chain, islice
from operator import add
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from linsep._system.interrupts import interruption_point
from linsep._system.threads import thread_count, thread_pool
from linsep.batches import Batch, joined, weight_totals
from linsep.errors import DataError
from linsep.estimators._common.labels import check_two_classes, encode_with
from linsep.inference.robust import CLUSTERED, refuse_weights
from linsep.inference.signatures import Signature, of_lane
from linsep.lanes import Add, Tree, in_lanes
from linsep.logistic.groups import Groups
from linsep.logistic.null_model import Null, null_of_offsets, null_of_totals
from linsep.rows.arrays import summed
from linsep.sources.base import Source

if TYPE_CHECKING:
    from linsep.logistic.checkpointing import Journal
    from linsep.rows.source_stream import SourceStream

#: most weights for a Hessian, which inference needs
MOST_WEIGHTS = 2500
#: default tolerances: with inference, and without
WITH_INFERENCE, WITHOUT = 1e-8, 1e-3
#: longest time before a Ctrl-C is noticed while lanes are processed
SECONDS = 0.1
#: values in a block of dense rows, which fits in the cache
BLOCK_VALUES = 1 << 16
#: fewest and most rows in a lane of dense rows, and values in between: short lanes cost threads
#: more than they share out
LEAST_LANE_ROWS, MOST_LANE_ROWS, LANE_VALUES = 1 << 10, 1 << 15, 1 << 21
#: fewest rows and values in the first batch of a stream, of which a sample is taken
HEAD_ROWS, HEAD_VALUES = 20_000, 1 << 21


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
    most = max(HEAD_ROWS, HEAD_VALUES // (n_features + 1))
    held: list[Batch] = []
    count = 0
    for batch in given:
        if count == most:
            yield batch
            continue
        taken = min(batch.size, most - count)
        held.append(batch.between(0, taken))
        count += taken
        if count == most:
            yield joined(held)
            if taken < batch.size:
                yield batch.between(taken, batch.size)
    if held and count < most:
        yield joined(held)


class RowLanes:
    """Sums over the rows of batches, by threads.

    Parameters
    ----------
    batches : function that returns an iterator over all batches, always in the same order
    """

    def __init__(self, batches: Batches):
        self.batches = batches

    def replaced(self, how: Any) -> "RowLanes":
        """Return the lanes with the columns that a standardization replaces."""
        return RowLanes(how.batches(self.batches))

    def sum(self, work: Work, add: Add, size: int) -> Any:
        """Return the sum of ``work(lane)`` over all lanes, of ``size`` rows each."""
        lanes = self._lanes(size)
        first = list(islice(lanes, 2))
        if len(first) == 1:
            interruption_point()
            return work(first[0])
        return self._added(self._done((work, lane) for lane in chain(first, lanes)), add)

    def sum_and_keep(self, work: Work, add: Add, size: int) -> tuple[Any, list[Any]]:
        """Return the sum of the first of two results of ``work(lane)``, and the others, for
        :meth:`sum_with`.
        """
        kept: list[Any] = []

        def values() -> Iterator[Any]:
            for value, other in self._done((work, lane) for lane in self._lanes(size)):
                kept.append(other)
                yield value

        return self._added(values(), add), kept

    def sum_with(self, kept: list[Any], work: Work, add: Add, size: int) -> Any:
        """Return the sum of ``work(lane, what was kept of it)``."""
        pairs = zip(self._lanes(size), kept, strict=True)
        return self._added(self._done((work, *pair) for pair in pairs), add)

    def _lanes(self, size: int) -> Iterator[Batch]:
        return in_lanes(self.batches(), size)

    def _added(self, values: Iterator[Any], add: Add) -> Any:
        tree = Tree(add)
        for value in values:
            tree.push(value)
        return tree.total()

    def _done(self, calls: Iterator[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield the results of calls, in order; Ctrl-C takes effect between waits and ends them."""
        first = list(islice(calls, 2))  # to start threads takes longer than one short lane
        if len(first) == 1:  # too few rows for threads
            interruption_point()
            yield first[0][0](*first[0][1:])
            return
        running: deque[Future[Any]] = deque()
        with thread_pool() as pool:
            try:
                for call in chain(first, calls):
                    running.append(pool.submit(*call))
                    if len(running) > 2 * thread_count():  # few lanes in memory at a time
                        yield _result(running.popleft())
                while running:
                    yield _result(running.popleft())
            finally:
                for left in running:
                    left.cancel()


def _result(call: "Future[Any]") -> Any:
    interruption_point()
    while not call.done():
        wait([call], SECONDS)
        interruption_point()
    return call.result()


#: value of ``limits_`` where the existence of a maximum, or a limit, was not checked
UNKNOWN = "not checked"
#: value of ``limits_`` for the weights of a class without weight
NO_WEIGHT = "no weight"
#: limit of a coefficient that diverges, if the work limit ended before its sign was found
UNSIGNED = "sign not checked"
#: what the weights of all rows add up to at least, so that curvatures and their inverses are finite
LEAST_WEIGHT = 1e-200


class FittedClasses:
    """Classes with weight, in the order of a logistic regression.

    The others stay among the labels, with probability 0.

    Parameters
    ----------
    classes : all labels, sorted
    order : the codes of all classes, the reference last
    totals : array of shape (classes,), the summed row weights of each

    Attributes
    ----------
    order : as given; with several classes, a reference without weight is replaced by the last class
        with weight
    codes : the codes of the classes with weight, the reference last
    labels, totals : labels and summed weights of these, in this order
    places : int32 array of shape (classes,), the index of each class in ``codes``; 0 for a class
        without weight, whose rows are ignored
    """

    def __init__(self, classes: np.ndarray, order: list[int], totals: np.ndarray):
        counted = totals > 0
        if not counted.any():
            raise DataError("No row is left for training: all rows have weight 0.", code="no-rows")
        if totals.sum() < LEAST_WEIGHT:
            raise DataError(
                f"The weights of all rows add up to only {totals.sum():.3g}, which underflows "
                "float64: divide the weights by the largest.",
                code="overflow",
            )
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
        """Return the intercepts of all classes, infinite for classes of probability 0.

        Parameters
        ----------
        fitted : array of shape (fitted rows,)

        Returns
        -------
        array of shape (classes - 1,): -inf for a class without weight, +inf against a reference
        without weight (of two classes)
        """
        rest = -np.inf if self.order[-1] in self.codes else np.inf
        return self.wide(fitted[:, None], rest)[:, 0]


@dataclass(frozen=True)
class Task:
    """A logistic regression to fit.

    Attributes
    ----------
    batches : function that returns the batches; the code of the reference is ``q``
    n_features, q : int, numbers of features, and of classes without the reference
    totals : array of shape (q + 1,), summed row weights of each class, the reference last
    n_rows : int, number of rows with nonzero weight
    intercept : bool
    l2 : float
    solver : "newton" or "lbfgs"
    given_tol : float or None, distance to the maximum from which the last step may begin, in
        standard errors
    max_iter : int
    several : bool, whether there are more than two classes, including those without weight
    journal : Journal of the passes over the rows, or None
    lanes : RowLanes that others than this process sum, or None
    levels : column numbers of the levels of each text column that has a reference level
    start : weights of the raw features to start from, and their scores at a center, or None
    covariance : "HC0", "HC1", "CR1" or None, for the inverse information
    clustered : function that returns the batches with the numbers of the clusters, for "CR1"
    null : Null, the model without features
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
    solver: str
    given_tol: float | None
    max_iter: int
    several: bool
    journal: "Journal | None" = None
    lanes: RowLanes | None = None
    levels: tuple[tuple[int, ...], ...] = ()
    start: tuple[np.ndarray, tuple[np.ndarray, np.ndarray] | None] | None = None
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
        """Share of a class in the sum of all, for :class:`linsep.logistic.ascent.Penalty`."""
        return 1.0 / (self.q + 1) if self.several and self.l2 else 0.0


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
    if offsets and q:
        null = null_of_offsets(batches(), known.totals, intercept)
    else:
        null = null_of_totals(known.totals, intercept)
    return Task(
        batches, n_features, q, known.totals, null, n_rows,
        intercept, float(model.l2), model.solver, model.tol, int(model.max_iter),
        len(known.order) > 2, levels=levels, groups=groups,
        covariance=getattr(model, "covariance", None), clustered=clustered or batches,
    )  # fmt: skip


def signature_of(task: Task) -> Signature:
    """Return the signature of the rows with weight."""
    lanes = task.lanes or RowLanes(task.batches)
    found: Signature = lanes.sum(of_lane, add, lane_rows(task.n_features))
    return found


#: dense rows with a smaller share of nonzeros are copied into a CSR matrix
SPARSE = 0.3


class Rows:
    """Rows in memory with their classes and weights.

    Parameters
    ----------
    given : X as passed to fit, with its names
    X : array or CSR matrix
    known : FittedClasses
    places : array of shape (rows,), the place of the class of each row
    weights : array of shape (rows,), empty where all are 1
    offset : array of shape (rows,) or None
    groups : Groups or None, see :class:`Task`
    clusters : uint64 array of shape (rows,), their numbers, or None
    """

    steps: Any = None

    def __init__(
        self, given: Any, X: Any, known: FittedClasses, places: np.ndarray, weights: np.ndarray,
        offset: np.ndarray | None = None, groups: Groups | None = None,
        clusters: np.ndarray | None = None,
    ):  # fmt: skip
        self.given, self.X, self.known, self.weights = given, X, known, weights
        self.places, self.offset, self.groups, self.clusters = places, offset, groups, clusters

    def task(self, model: Any) -> Task:
        """Return the task of fitting these rows."""
        q, width = len(self.known.codes) - 1, self.X.shape[1] + bool(model.fit_intercept)
        many = not has_hessian(q * width)
        X = sp.csr_matrix(self.X) if many and _mostly_zeros(self.X) else self.X
        weights = self.weights if self.weights.size else None
        batch = Batch(X, self.places, weights=weights, offset=self.offset, groups=self.clusters)
        n_rows = int((self.weights > 0).sum()) if self.weights.size else len(self.places)
        form = self.X.shape[1], n_rows, self.offset is not None, self.groups
        return task_of(model, self.known, lambda: [batch], *form)

    def in_memory(self, task: Task) -> "Rows | None":
        """Return self."""
        return self

    def counted(self) -> np.ndarray:
        """Return the indices of the rows with nonzero weight."""
        return np.flatnonzero(self.weights) if self.weights.size else np.arange(len(self.places))

    def augmented(self, rows: np.ndarray, kept: np.ndarray, intercept: bool) -> np.ndarray:
        """Return some columns of some rows as float64, with a column of ones for an intercept."""
        X = self.X[rows][:, kept]
        X = X.toarray() if sp.issparse(X) else X
        X = X.astype(np.float64)
        return np.column_stack([X, np.ones(len(X))]) if intercept else X


def _mostly_zeros(X: Any) -> bool:
    """Return whether dense rows, such as images, are processed faster as CSR."""
    return not sp.issparse(X) and np.count_nonzero(X) < SPARSE * X.size


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
        clustered = task.covariance == CLUSTERED
        whole = joined(list((self.clustered if clustered else self.batches)()), task.n_features)
        form = whole.X, whole.X, self.known, whole.y, whole.importance
        return Rows(*form, offset=whole.offset, clusters=whole.groups)


class StreamRows(BatchRows):
    """Rows of a stream.

    Parameters
    ----------
    model : LogisticRegression
    stream : SourceStream, already begun
    """

    def __init__(self, model: Any, stream: "SourceStream"):
        from linsep.rows.stored import StartAgain

        super().__init__(model, stream.source)
        self.stream, self._covariance = stream, model.covariance
        while True:
            try:
                stream.start()
                self._count()
                break
            except StartAgain:  # a class turned up late, or a cache was damaged
                continue
        check_two_classes(stream.classes, stream.source.name)
        self.known = FittedClasses(
            stream.classes, order_of(model.reference, stream.classes), self._totals
        )
        self.n_features = max(stream.n_features, len(stream.feature_names or []))
        self.offsets = stream.offsets is not None

    @property
    def totals(self) -> np.ndarray:
        """The summed weights of the rows of each class, in the order of the labels."""
        return self._totals

    def _count(self) -> None:
        """Read all rows once to sum the weights of each class and count the rows with weight."""
        self._totals, self._n_rows = np.zeros(self.stream.classes.size), 0
        counted: list[Groups] = [Groups()] * self.stream.source.counts
        for row_batch in self.stream.row_batches(0):
            weights, codes = row_batch.importance, row_batch.codes
            refuse_weights(self._covariance, weights if weights.size else None)
            self._totals = weight_totals(self._totals, codes, weights)
            self._n_rows += int((weights > 0).sum()) if weights.size else len(codes)
            counted = [groups.and_more(weights[::2], weights[1::2]) for groups in counted]
        self.groups = next(iter(counted), None)

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
        classes, places = self.stream.classes, self.known.places
        for batch in self.stream.source.batches():
            if batch.size:
                codes = encode_with(batch.y, classes)
                assert codes is not None
                beside = {"groups": batch.groups, "offset": batch.offset}
                yield Batch(summed(batch.X), places[codes], batch.first, **beside)

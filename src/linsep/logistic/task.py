"""What a logistic regression is fitted to, and its solution: rows and classes, sums over fixed-size
blocks of the rows (lanes), the progress of a fit step by step, and sentences about its end. A lane
is counted from the first row: neither batches nor processes matter.
"""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from enum import StrEnum
from itertools import chain, islice
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.special import betaln, xlogy
from sklearn.exceptions import ConvergenceWarning

from linsep._system.interrupts import cached_property, interruption_point, interrupts_allowed
from linsep._system.threads import map_in_order
from linsep.batches import Batch, joined, weight_totals
from linsep.errors import DataError, LinsepError, hint, refuse
from linsep.estimators import labels
from linsep.inference.robust import CLUSTERED, refuse_weights
from linsep.lanes import Add, Tree, Work, in_lanes, no_weight
from linsep.sources.base import Source
from linsep.validation.checks import check_counts, tidy
from linsep.words import row_text

if TYPE_CHECKING:
    from linsep.rows.source_stream import SourceStream

UNIT = 2.0**-53  #: half a unit in the last place of 1.0
MOST_WEIGHTS = 2500  #: most weights for a Hessian, which inference needs
WITH_INFERENCE, WITHOUT = 1e-8, 1e-3  #: default tolerances: with inference, and without
BLOCK_VALUES = 1 << 16  #: values in a block of dense rows, which fits in the cache
#: fewest and most rows in a lane of dense rows, and values in between: short lanes cost threads
#: more than they share out
LEAST_LANE_ROWS, MOST_LANE_ROWS, LANE_VALUES = 1 << 10, 1 << 15, 1 << 21
#: fewest rows and values in the first batch of a stream, of which a sample is taken
HEAD_ROWS, HEAD_VALUES = 20_000, 1 << 21
SPARSE = 0.3  #: dense rows with a smaller share of nonzeros are copied into a CSR matrix

#: a function that returns an iterator over all batches, or a list of them: rows in memory
Batches: TypeAlias = Callable[[], Iterable[Batch]]


def binomial(successes: np.ndarray, failures: np.ndarray) -> np.ndarray:
    """Return of rows of counts, each fitted as two: the number of rows with trials, the sum of the
    logarithms of binomial coefficients, and the log-likelihood with a probability for each row.
    """
    s, f = (part[successes + failures > 0] for part in (successes, failures))
    own = (-np.log1p(s + f) - betaln(s + 1.0, f + 1.0)).sum()
    return np.array([len(s), own, own + (xlogy(s, s / (s + f)) + xlogy(f, f / (s + f))).sum()])


def block_rows(n_features: int) -> int:
    """Return the number of dense rows in a block, which is even: counts are pairs of rows."""
    return 2 * max(32, min(1024, BLOCK_VALUES // (2 * n_features + 2)))


def lane_rows(n_features: int) -> int:
    """Return the number of dense rows in a lane, a multiple of those in a block."""
    most = min(MOST_LANE_ROWS, LANE_VALUES // (n_features + 1))
    rows = block_rows(n_features)
    return rows * -(-max(LEAST_LANE_ROWS, most) // rows)


def with_head(given: Iterable[Batch], n_features: int) -> Iterator[Batch]:
    """Yield batches, the first with a number of rows that does not depend on the reading."""
    return in_lanes(given, max(HEAD_ROWS, HEAD_VALUES // (n_features + 1)))


class RowLanes:
    """Sums over the rows of batches, always in the same order, by threads."""

    def __init__(self, batches: Batches):
        self.batches = batches

    def sum(self, work: Work, add: Add, size: int, kept: list[Any] | None = None) -> Any:
        """Return the sum of ``work(lane)``, or ``work(lane, what was kept)``, over lanes."""
        lanes = in_lanes(self.batches(), size)
        given = zip(lanes) if kept is None else zip(lanes, kept, strict=True)
        first, tree = list(islice(given, 2)), Tree(add)
        if len(first) == 1:  # of few rows, where threads would cost more
            interruption_point()
            return work(*first[0])
        for value in map_in_order(lambda parts: work(*parts), chain(first, given)):
            interruption_point()
            tree.push(value)
        return tree.total()

    def sum_and_keep(self, work: Work, add: Add, size: int) -> tuple[Any, list[Any]]:
        """Return the sum of the first result of ``work(lane)``, and the others for ``sum``."""

        def one(lane: Batch) -> tuple[Any, list[Any]]:
            value, other = work(lane)
            return value, [other]

        found: Any = self.sum(one, lambda a, b: (add(a[0], b[0]), a[1] + b[1]), size)
        return found


class FittedClasses:
    """The classes of a logistic regression, all of which have weight; ``reference``: the label
    whose weights are zero, or None. ``order`` are the codes, the reference last, ``labels`` and
    ``totals`` arrays of labels and of weights in this order, ``places`` the place of each code.
    """

    def __init__(self, classes: np.ndarray, reference: Any, totals: np.ndarray):
        without = classes[totals == 0].tolist()
        if len(without) == len(classes):
            raise no_weight()
        if without:
            raise DataError(
                f"Every class needs rows with weight, but {labels.listed(without)} has none: leave "
                "its rows out.", code="class-count",
            )  # fmt: skip
        self.classes, self.order = classes, order_of(reference, classes)
        self.labels, self.totals = classes[self.order], totals[self.order]
        self.places = np.argsort(self.order).astype(np.int32)


def order_of(reference: Any, classes: np.ndarray) -> list[int]:
    """Return the codes of the classes in the order of the weights, the reference last."""
    if reference is None:
        return [1, 0] if classes.size == 2 else list(range(classes.size))
    found = np.flatnonzero(classes == reference)
    if not found.size:
        raise DataError(
            f"reference is {reference!r}, which is not a class of y: "
            f"{labels.listed(classes.tolist())}.",
            code="unknown-label", option="reference", value=reference,
        )  # fmt: skip
    return sorted(range(classes.size), key=lambda code: code == found[0])


class Task:
    """A logistic regression to fit: its rows, and the model that has the parameters.

    ``batches()`` are the rows, with the places of the classes as y, ``clustered()`` those with
    numbers of clusters, if these have none, and ``lanes`` their sums. ``given`` is X of rows in
    memory, with its names; ``n_rows`` counts rows with weight, ``n_counted`` two of counts as one;
    ``groups`` is what :func:`binomial` returns of counts. There are ``q`` classes with weight
    beside the reference, with ``width`` weights each, ``factored`` if there are few enough for a
    Hessian; ``share`` is that of a class in the sum of all, for a Penalty; ``constant`` what the
    log-likelihood has beside the sum over the rows; ``start`` the weights to start from, or None.
    """

    journal: Any = None
    start: np.ndarray | None = None

    def __init__(
        self, model: Any, known: FittedClasses, batches: Batches, n_features: int, n_rows: int,
        *, offsets: bool = False, groups: np.ndarray | None = None, given: Any = None,
        source: Source | None = None, clustered: Batches | None = None,
        lanes: RowLanes | None = None,
    ):  # fmt: skip
        self.model, self.known, self.batches = model, known, batches
        self.n_features, self.n_rows, self.offsets = n_features, n_rows, offsets
        self.groups, self.given, self.source = groups, given, source
        self.clustered, self.lanes = clustered, lanes or RowLanes(batches)
        self.q, self.intercept = len(known.order) - 1, bool(model.fit_intercept)
        labels.refuse_offset(self.q > 1 and offsets, "y has several classes", "class-count")
        self.width = n_features + self.intercept
        self.factored = self.q * self.width <= MOST_WEIGHTS
        default = WITH_INFERENCE if self.factored else WITHOUT
        self.tol = default if model.tol is None else float(model.tol)
        self.total = float(known.totals.sum())
        self.share = 1.0 / (self.q + 1) if self.q > 1 else 0.0
        self.constant = 0.0 if groups is None else float(groups[1])
        self.n_counted = n_rows if groups is None else int(groups[0])

    def of(self, batches: Batches, given: Any = None) -> "Task":
        """Return the same task for other rows, in memory."""
        found = copy(self)
        found.batches, found.given, found.clustered = batches, given, None
        found.lanes = RowLanes(batches)
        return found

    @cached_property
    def sample(self) -> Batch | None:
        """Evenly spread rows of the first batch, enough for a start; None if they are all rows."""
        batches = iter(self.batches())
        first = next(batches)
        step = first.size // max(20_000, 20 * self.q * self.width)
        if step >= 4:
            return first.rows(np.arange(0, first.size, step))
        return None if next(batches, None) is None else first

    def in_memory(self) -> "Task | None":
        """Return the task with its rows in memory; None if they need more than may be kept."""
        if self.given is not None:
            return self
        if 8 * self.n_rows * self.width > (self.source or Source).memory_bytes:
            return None
        whole = joined(list((self.clustered or self.batches)()), self.n_features)
        return self.of(lambda: [whole], whole.X)

    def counted(self) -> Batch:
        """Return the rows with nonzero weight, of rows in memory."""
        (batch,) = self.batches()
        weights = batch.importance
        return batch if (weights > 0).all() else batch.rows(weights > 0)


def task_of_arrays(
    model: Any, X: Any, y: Any, sample_weight: Any = None, offset: Any = None,
    clusters: np.ndarray | None = None, *, counted: bool = False, saving: Any = None,
) -> tuple[Task, np.ndarray]:  # fmt: skip
    """Return the task of fitting rows in memory, and their labels, checked; ``counted``: successes
    and failures in turn, whose features are checked.
    """
    given = X
    if not counted:
        X, y = labels.checked_rows(model, X, y)
    classes, codes = labels.encode(y)
    weights = labels.check_sample_weight(sample_weight, len(y))
    weights = labels.importance(model.class_weight, classes, codes, weights)
    totals = np.bincount(codes, weights if weights.size else None, classes.size)
    known = FittedClasses(classes, model.reference, totals)
    offset = labels.check_offset(offset, len(y))
    if saving is not None:
        saving.check_arrays(X, classes, codes, weights, *([] if offset is None else [offset]))
    n_rows = int(np.count_nonzero(weights)) if weights.size else len(y)
    groups = binomial(weights[::2], weights[1::2]) if counted else None
    weighted = weights if weights.size else None
    batch = Batch(X, known.places[codes], 0, weighted, groups=clusters, offset=offset)
    task = Task(
        model, known, lambda: [batch], X.shape[1], n_rows, offsets=offset is not None,
        groups=groups, given=given,
    )  # fmt: skip
    if not task.factored and not sp.issparse(X) and np.count_nonzero(X) < SPARSE * X.size:
        batch = batch._replace(X=sp.csr_matrix(X))  # such as images, faster so
    return task, y


def task_of_stream(model: Any, stream: "SourceStream") -> Task:
    """Return the task of fitting a stream, read once for the weight of each class."""
    source, classes = stream.source, stream.classes
    if source.counts:
        refuse_beside_counts(model, None, None, {})
    totals, n_rows, groups = np.zeros(classes.size), 0, np.zeros(3) if source.counts else None
    for row_batch in stream.row_batches(0):
        weights, codes = row_batch.importance, row_batch.codes
        if groups is None:
            refuse_weights(model.covariance, weights if weights.size else None)
        else:
            groups += binomial(weights[::2], weights[1::2])
        totals = weight_totals(totals, codes, weights)
        n_rows += int((weights > 0).sum()) if weights.size else len(codes)
    classes = stream.classes
    labels.check_two_classes(classes, source.name)
    known = FittedClasses(classes, model.reference, totals)
    n_features = max(stream.n_features, len(stream.feature_names or []))

    def in_order() -> Iterator[Batch]:
        first, offsets = 0, stream.offsets
        for row_batch in stream.row_batches(1):
            batch = row_batch.as_batch()
            own = None if offsets is None else offsets[first : first + batch.size]
            yield batch._replace(y=known.places[batch.y], offset=own)
            first += batch.size

    def with_clusters() -> Iterator[Batch]:  # whose numbers the stream does not keep
        for batch in source.batches():
            if batch.size:
                codes = labels.codes_in(classes, batch.y)
                yield batch._replace(X=tidy(batch.X), y=known.places[codes])

    return Task(
        model, known, lambda: with_head(in_order(), n_features), n_features, n_rows,
        offsets=stream.offsets is not None, groups=groups, source=source,
        clustered=with_clusters if model.covariance == CLUSTERED else None,
    )  # fmt: skip


def refuse_beside_counts(model: Any, y: Any, sample_weight: Any, counts: dict[str, Any]) -> None:
    """Raise DataError for counts of one kind only, or beside labels or (class) weights."""
    refuse(
        DataError,
        *((values is None, f"Counts need both successes and trials: pass {name}, too.",
           "needs-option", name) for name, values in counts.items()),
        *((value is not None, f"Successes and trials take the place of {name}: leave it out.",
           "conflict", name) for name, value in (("y", y), ("sample_weight", sample_weight))),
        (model.class_weight is not None, "Successes and trials are counts, which class weights "
         "would change", "conflict", "class_weight", hint("leave out {}", class_weight=None)),
    )  # fmt: skip


def given_counts(successes: Any, trials: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts in float64 arrays of shape (rows,); raise DataError for other values."""
    found = []
    for name, values in (("successes", successes), ("trials", trials)):
        given = np.asarray(values)
        shaped = given.shape == (n_rows,) or (given.ndim == 0 and name == "trials")
        refuse(DataError, (
            not shaped, f"{name} has shape {given.shape}, but X has {n_rows} rows: pass one number "
            "per row.", "shape", name,
        ))  # fmt: skip
        if given.dtype.kind not in "biuf":  # text, or missing values of pandas
            given = np.vectorize(lambda x: x if isinstance(x, Real) else np.nan, [float])(given)
        found.append(np.broadcast_to(given, n_rows).astype(np.float64))
    check_counts(found[0], found[1], lambda row: row_text(row).capitalize())
    return found[0], found[1]


def pairs_of(X: Any, successes: Any, trials: Any, offset: Any, clusters: Any) -> tuple[Any, ...]:
    """Return rows, labels, weights, offsets and clusters: two rows of each, one per class."""
    n_rows = X.shape[0]
    successes, trials = given_counts(successes, trials, n_rows)
    weights = np.column_stack([successes, trials - successes])
    twice, y = np.repeat(np.arange(n_rows), 2), np.tile([1, 0], n_rows)
    beside = (labels.check_offset(offset, n_rows), clusters)
    return X[twice], y, weights.ravel(), *(None if of is None else of[twice] for of in beside)


#: value of ``limits_`` where the existence of a maximum, or a limit, was not checked
UNKNOWN = "not checked"
#: limit of a coefficient that diverges, if the work limit ended before its sign was found
UNSIGNED = "sign not checked"
DIVERGING = ("+inf", "-inf", "infinite", UNSIGNED)  #: limits of coefficients that diverge
ENOUGH_DIGITS = 4  #: digits of standard errors that are enough to say nothing
NEAR = 10.0  #: distance, in standard errors, beyond which the Newton decrement says nothing


class State(StrEnum):
    """How a fit ended; equal to its name."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    STUCK = "stuck"
    SEPARABLE = "separable"
    QUASI_SEPARABLE = "quasi-separable"
    UNDECIDED = "undecided"
    SUSPECT = "suspect"
    INTERRUPTED = "interrupted"
    EARLY_STOP = "early_stop"
    IMPLIED = "implied"


#: all states without inference, and those that cause a warning
UNINFERRED = (State.INTERRUPTED, State.EARLY_STOP, State.SUSPECT, State.UNDECIDED)
UNFINISHED = (State.MAX_ITER, State.STUCK, State.SUSPECT, State.UNDECIDED)

#: hints to get finite estimates although there is no maximum
BY_L2 = hint("use {} for finite estimates", l2=None)
FINITE = (hint("use {}", l2=None), hint("{} for finite estimates", penalty="firth"))
#: how fits end, with what to do
ENDINGS: dict[str, tuple[Any, ...]] = {
    State.MAX_ITER: ("The fit reached the iteration limit before the maximum{near}",
                     hint("raise {}", max_iter=None)),
    State.STUCK: ("The fit stopped before the maximum{near}: rounding errors exceed the gain of "
                  "another step", "scale the features"),
    State.SUSPECT: ("The likelihood probably has no maximum, but this was not checked",),
    State.UNDECIDED: ("Whether the likelihood has a maximum is undecided",),
    State.SEPARABLE: ("The classes are separable: no coefficient has a finite estimate",),
    State.QUASI_SEPARABLE: ("The classes are quasi-separable: coefficients shown as +inf, -inf or "
                            "infinite have no finite estimate; the others {others}",),
    State.IMPLIED: ("The weights come from {method}: standard errors and tests are not known",),
    "digits": ("A maximum exists, but float64 determines hardly a digit of the estimates and "
               "standard errors", *FINITE),
    "ascent": ("{who} before the maximum was reached{near}: nothing can be inferred from the "
               "weights",),
    "verdict": ("{who} before it was decided whether the likelihood has a maximum",),
    "intervals": ("{who} while computing intervals",),
}  # fmt: skip
#: what a fit does, by its stage
DOING = {"ascent": "iteration {:,}", "verdict": "deciding whether there is a maximum",
         "intervals": "profile interval {:,}"}  # fmt: skip


class Stopped(Exception):
    """A callback has asked the fit to stop."""


class Solution(NamedTuple):
    """Weights of standardized features, and what is known of them in the raw features.

    ``point`` is at B, or just before the last step, with the value after it; ``distance`` that to
    the maximum from where the last step began, in standard errors; ``bend`` what the negative
    Hessian is beside the information. ``weights`` and ``limits`` have shape (q, width), the
    intercept last; ``covariance`` is 0 for features left out; ``profile`` are the ends of intervals
    and p; ``log_likelihood`` is without the penalty, or the supremum; ``penalized`` Firth's, and
    ``gained`` twice what features add to it; ``digits`` are those of standard errors that floats
    determine; ``stopped_in`` is a stage, or empty.
    """

    B: np.ndarray | Any
    point: Any
    state: State
    n_iter: int
    distance: float = np.nan
    proved: bool = True
    bend: Any = None
    terms: Any = None
    weights: Any = None
    limits: Any = None
    log_likelihood: float = np.nan
    covariance: Any = None
    verdict: Any = None
    profile: np.ndarray | None = None
    gained: float = np.nan
    penalized: float = np.nan
    digits: int = 16
    stopped_in: str = ""
    clusters: int | None = None

    def unproved(self) -> "Solution":
        """Return the solution if its likelihood may have no maximum: nothing can be inferred."""
        limits = np.where(self.limits == "finite", UNKNOWN, self.limits)
        return self._replace(limits=limits, covariance=None)

    def ending(self, model: Any) -> tuple[str, Warning | None]:
        """Return a sentence on how the fit ended, and a warning if not at a maximum."""
        few, stopped = self.digits < ENOUGH_DIGITS, self.state is State.EARLY_STOP
        named = self.stopped_in or ("digits" if few else self.state)
        if named not in ENDINGS:
            return "", None
        message, *hints = ENDINGS[named]
        ascent = model.solver == "gradient_ascent" and not isinstance(model.learning_rate, str)
        if named is State.MAX_ITER and ascent:
            hints, said = [], model.ascent_.sentence
            message = f"Gradient ascent ended before the maximum{{near}}: {said}"
        near = f", about {self.distance:.2g} standard errors away from it"
        limit = "are estimated in the limit", "come from a very small ridge"
        message = message.format(
            near=near if self.distance <= NEAR else "", others=limit[self.covariance is None],
            method=model.method_,
            who="A callback stopped the fit" if stopped else "The fit was interrupted",
        )  # fmt: skip
        sentence = f"{message}."
        if not (self.stopped_in or self.state in UNFINISHED or few):
            return sentence, None
        said = LinsepError(message, *hints, code="not-converged") if hints else sentence
        return sentence, UnfinishedWarning(str(said))


def limits_without(terms: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return the limits of weights that are finite, except for dependent features."""
    limits = np.full(shape, "finite", dtype="U16")
    limits[:, list(terms.dependent)] = "dependent"
    return limits


class Steps:
    """The progress of one fit: ``known`` is the Solution so far, in the stage "ascent", "verdict"
    or "intervals", of which some were ``made``; ``after_step()`` may raise :class:`Stopped`.
    """

    def __init__(self, after_step: Callable[[], None] = lambda: None) -> None:
        self.after_step, self.stage, self.made = after_step, "ascent", 0
        self.known: Solution | None = None

    def report(
        self, raw: Callable[[np.ndarray], np.ndarray], terms: Any, B: np.ndarray,
        log_likelihood: float, distance: float = np.nan,
    ) -> None:  # fmt: skip
        """Take in a step of an ascent to weights that ``raw`` converts to the raw features."""
        self.made, here = self.made + 1, B.copy()
        self.known = Solution(
            here, None, State.MAX_ITER, self.made, distance, terms=terms, weights=raw(here),
            log_likelihood=float(log_likelihood),
        )  # fmt: skip
        self.after_step()

    def begin(self, stage: str, found: Solution) -> None:
        """Begin a stage, with the solution if it is stopped."""
        self.stage, self.known, self.made = stage, found, found.n_iter * (stage != "intervals")

    def outcome(self, model: Any, state: State) -> Solution | None:
        """Return the result of a model whose fit is stopped now; None before the first step."""
        if self.known is None:
            return None
        found = self.known._replace(stopped_in=self.stage)
        if self.stage == "intervals":
            return found
        if found.limits is None:
            found = found._replace(limits=limits_without(found.terms, found.weights.shape))
        # With a penalty there is a maximum, without the proof that was not reached.
        return (found if model.l2 or model.penalty else found.unproved())._replace(state=state)


class UnfinishedWarning(ConvergenceWarning):
    """The fit stopped before a maximum, or floats do not determine its digits."""


class Callbacks:
    """scikit-learn's callbacks of one fit and its iterations; ``known``: X, y and metadata."""

    def __init__(self, model: Any, known: dict[str, Any]) -> None:
        self.model, self.known = model, {"estimator": model} | known
        # the number of iterations is unknown, and max_iter alone does not bound it
        self.root = model._init_callback_context(max_subtasks=None)
        with interrupts_allowed():
            self.root.call_on_fit_task_begin(**self.known)

    def iterated(self, snapshot: Callable[[], dict[str, Any]]) -> None:
        """Report one iteration; raise Stopped if a callback asks to stop."""
        if not hasattr(self.model, "_skl_callbacks"):
            interruption_point()
            return
        task = self.root.subcontext(task_name="iteration")
        with interrupts_allowed():
            task.call_on_fit_task_begin(**self.known)
            if task.call_on_fit_task_end(**self.known, reconstruction_attributes=snapshot):
                raise Stopped

    def ended(self, snapshot: Callable[[], dict[str, Any]]) -> None:
        """Report the end of the fit."""
        self.root.call_on_fit_task_end(**self.known, reconstruction_attributes=snapshot)

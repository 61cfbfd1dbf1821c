"""Tracing an estimator step by step with its textbook reference implementation."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from linsep import textbook
from linsep.catalog import LINEAR
from linsep.errors import ArgumentError, DataError, ParameterError, hint
from linsep.estimators import labels
from linsep.estimators.frames import in_memory
from linsep.estimators.labels import is_turned
from linsep.learners.cycle_detection import cycle_detection_for
from linsep.learners.kernel import KernelPerceptron
from linsep.learners.online import LinearClassifier
from linsep.learners.state import State, decision, predicted
from linsep.parameters import check_parameters
from linsep.rows.arrays import ArrayStream
from linsep.teaching.rounds import Ending, trace_rows, vector_names, vectors_of
from linsep.teaching.trace_table import Trace
from linsep.validation.checks import check_beside, labels_of

#: most numbers in a trace, or in its rows
MOST_NUMBERS = 2_000_000


def trace(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    coef_init: Any = None,
    intercept_init: Any = None,
    max_rounds: int = 1000,
    rounds: int | None = None,
    reference: Any = None,
    feature_names: Sequence[Any] | None = None,
    row_names: Sequence[Any] | None = None,
) -> Trace:
    """Return a table of a fit: every step with its score, mistake, update and new weights.

    Only the parameters of the estimator are used; it is not changed. Every number comes from the
    plain-Python reference implementation in :mod:`linsep.textbook`, which is slow: use small data.

    Parameters
    ----------
    estimator : a linear online learner of this library, or a KernelPerceptron
        The weights of a kernel belong to rows, a(row); initial weights, ``rounds``, ``reference``
        and a ``budget`` are of linear learners.
    X : array, data frame or sparse matrix of shape (rows, features)
    y : array of shape (rows,)
    sample_weight, coef_init, intercept_init : as for the ``fit`` of the estimator
    max_rounds : number of examples after which the trace is truncated
    rounds : number of examples to process, regardless of ``max_iter`` and ``max_rounds``, and also
        beyond a cycle; a run that converges ends earlier. Every step then has its ``errors``, and
        the table a column of them
    reference : the class of two with target -1; default: as in the estimator, or the smaller class
    feature_names : names of the columns; default: the columns of the data frame, or x0, x1, ...
    row_names : names of the rows; default: the index of the data frame, or 0, 1, ...

    Returns
    -------
    Trace

    Raises
    ------
    ValueError
        If the rows, or the steps times the weights, exceed two million numbers; for invalid
        parameters, rows, labels or weights; and with early stopping, which trains on a part of the
        rows.
    TypeError
        If the estimator is not one of these learners.
    """
    if isinstance(estimator, KernelPerceptron):
        others = coef_init, intercept_init, rounds, reference, estimator.budget
        if any(value is not None for value in others):
            raise ParameterError(
                "A kernel is traced from zero weights, to where its fit ends, without a budget.",
                code="unsupported",
            )
        model = checked(estimator, max_rounds, None).fit(X, y, sample_weight)
        return kernel_trace(model, X, y, sample_weight, row_names, max_rounds)
    rule, model = rule_of(estimator), checked(estimator, max_rounds, rounds)
    index, learner, data = index_of(X, y, sample_weight), model.learner(), (X, y)
    X, y, sample_weight, names = in_memory(X, y, sample_weight)
    given = {"estimator": estimator, "X": X, "y": y, "feature_names": feature_names or names}
    X, y = model.checked_rows(X, y, learner, reset=True, checked=True)
    classes, codes = labels.encode(y)
    model.reference = model.reference if reference is None else reference
    given["estimator"] = clone(model)
    if is_turned(model.reference, classes):
        classes, codes = classes[::-1], 1 - codes
    most = max_rounds if rounds is None else rounds
    texts = [labels.label_text(label) for label in classes]
    vectors = vector_names(texts, model.multiclass)
    check_size(X.shape, max(1, len(vectors)), most)
    weights = labels.check_sample_weight(sample_weight, len(y))
    importance = labels.importance(model.class_weight, classes, codes, weights)
    scheme, learned = model.multiclass if vectors else "binary", bool(model.fit_intercept)
    run = model.start_run(learner, classes, X.shape[1], coef_init, intercept_init)
    begun = run.state
    coef, intercept = (array.tolist() for array in begun.split(begun.W))
    start = (coef, intercept) if vectors else (coef[0], intercept[0])
    names = names or getattr(model, "feature_names_in_", [f"x{j}" for j in range(X.shape[1])])
    features = names_of(feature_names, names, "feature_names")
    rows = names_of(row_names, index or range(len(y)), "row_names")
    stream = ArrayStream(X, codes, importance, model.draw_seed(), bool(model.shuffle))
    ending = _ending(model, run, stream, rounds is not None, scheme)
    examples = plain_rows(X, model.normalize)
    steps = ending.before(textbook.run(
        rule, scheme, examples, codes.tolist(), classes.size,
        fit_intercept=learned, max_iter=rounds or model.max_iter, tie=model.tie,
        orders=visiting_orders(stream), weights=start[0], intercept=start[1],
        row_weights=importance.tolist() if importance.size else None,
    ))  # fmt: skip
    try:
        taken = list(islice(steps, most))
    except ValueError:
        model.fit(*data)  # which names the row that it refuses
        raise
    shown = [labels.label_text(label) for label in y]
    counts = None if rounds is None else _errors(begun, X, codes, importance, taken, model)
    if not taken:
        raise DataError("No row is left for training: all rows have weight 0.", code="no-rows")
    return Trace(
        list(trace_rows(taken, start, rows, shown, counts)), features, texts, vectors,
        learned or not rule.learns_intercept,
        *ending.reason(taken, cut=next(steps, None) is not None), given=given, steps=taken,
        start=vectors_of(*start), examples=examples,
    )  # fmt: skip


def kernel_trace(
    model: Any, X: Any, y: Any, sample_weight: Any = None,
    row_names: Sequence[Any] | None = None, max_rounds: int | None = None,
) -> Trace:  # fmt: skip
    """Return the trace of a fitted kernel perceptron, whose examples are kernel values."""
    given = {"estimator": model, "X": X, "y": y, "feature_names": None}
    index, n = index_of(X, y, sample_weight), len(y)
    X, labels_, weights, _ = in_memory(X, labels_of(y), sample_weight)
    classes, codes, importance = labels.labeled(model, labels_, weights)
    texts = [labels.label_text(label) for label in classes]
    vectors = vector_names(texts, model.multiclass)
    check_size((n, n), max(1, len(vectors)), max_rounds or 1)
    gram = model.kernel_(X).tolist()
    no_rows = np.zeros((n, 1))  # only their order is asked for
    stream = ArrayStream(no_rows, codes, importance, model.draw_seed(), bool(model.shuffle))
    steps = textbook.run(
        textbook.KernelPerceptron(n), model.multiclass if vectors else "binary",
        textbook.dual_rows(lambda i, j: gram[i][j], range(n)), codes.tolist(), classes.size,
        fit_intercept=False, max_iter=model.n_iter_, tie=model.tie,
        orders=visiting_orders(stream),
        row_weights=importance.tolist() if importance.size else None,
    )  # fmt: skip
    taken = [  # without the weights of the unit vectors that name the rows, which stay 0
        step._replace(weights=[w[:n] for w in step.weights] if vectors else step.weights[:n])
        for step in islice(steps, max_rounds)
    ]
    rows = names_of(row_names, index or range(n), "row_names")
    cut, many = next(steps, None) is not None, len(vectors)
    start = ([[0.0] * n] * many, [0.0] * many) if vectors else ([0.0] * n, 0.0)
    made = trace_rows(taken, start, rows, [labels.label_text(label) for label in labels_])
    return Trace(
        list(made), [f"a({name})" for name in rows], texts, vectors, False,
        None if cut else model.stop_reason_, None if cut else model.stop_sentence_, given, taken,
        vectors_of(*start), gram,
    )  # fmt: skip


def _ending(model: Any, run: Any, stream: ArrayStream, beyond: bool, scheme: str) -> Ending:
    """Return the end of the passes, which stop when weights recur if that is a proof."""
    detection, begun = cycle_detection_for(run, stream, model.tie), run.state

    def recurs(last: textbook.Step) -> Any:
        assert detection is not None
        begun.set_weights(np.atleast_2d(last.weights), np.atleast_1d(last.intercept))
        return detection.after(begun, stream, last.pass_number + 1)

    return Ending(
        recurs if detection else None, beyond, getattr(model, "zero", "mistake") != "mistake",
        scheme == "native", model.tie,
    )  # fmt: skip


def _errors(
    state: State, X: Any, codes: np.ndarray, importance: np.ndarray, steps: list[textbook.Step],
    model: Any,
) -> list[int]:  # fmt: skip
    """Return how many rows that were learned the weights after each step misclassify."""
    rows, found, before = np.array(plain_rows(X, model.normalize)), [], None
    learned = importance != 0 if importance.size else True
    for step in steps:
        if before is None or (step.weights, step.intercept) != before[:2]:
            scores = rows @ np.atleast_2d(step.weights).T + step.intercept
            scores = scores[:, 0] if state.n_classes == 2 else scores
            wrong = predicted(decision(state, scores, model.tie), model.tie) != codes
            before = step.weights, step.intercept, int(np.count_nonzero(wrong & learned))
        found.append(before[2])
    return found


def rule_of(estimator: Any) -> textbook.Rule:
    """Return the textbook rule with an estimator's parameters; TypeError without such a rule."""
    if isinstance(estimator, LinearClassifier) and hasattr(textbook, type(estimator).__name__):
        batch = getattr(estimator, "update", "") == "batch"
        rule = getattr(textbook, "BatchPerceptron" if batch else type(estimator).__name__)
        names = {field.name: field.name for field in fields(rule)} | {"normalized": "rescale"}
        own = {name: getattr(estimator, parameter, None) for name, parameter in names.items()}
        # floats, as in the loops: fractions of whole numbers would be rounded elsewhere
        return rule(
            **{k: float(v) if type(v) is int else v for k, v in own.items() if v is not None}
        )
    known = ", ".join(kind.__name__ for kind in (*LINEAR.values(), KernelPerceptron))
    raise ArgumentError(f"{type(estimator).__name__} cannot be traced; these can: {known}.")


def checked(estimator: Any, max_rounds: int, rounds: int | None) -> Any:
    """Return an unfitted copy, after a check of its parameters."""
    model = clone(estimator)
    check_parameters(model)
    if model.early_stopping:
        raise ParameterError(
            "A trace uses all rows, without holding any out",
            hint("leave out {}", early_stopping=None),
            option="early_stopping",
        )
    for name, value in (("max_rounds", max_rounds), ("rounds", 1 if rounds is None else rounds)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ParameterError(
                f"{name} must be a whole number of at least 1, got {value!r}.",
                code="bad-option", option=name, value=value,
            )  # fmt: skip
    return model


def check_size(shape: tuple[int, int], vectors: int, max_rounds: int) -> None:
    """Raise DataError if a trace would be too large."""
    for count, what, advice in (
        (shape[0] * shape[1], f"{shape[0]:,} rows of {shape[1]:,} features", "use fewer"),
        (
            max_rounds * vectors * (shape[1] + 1),
            f"{max_rounds:,} steps of {vectors * (shape[1] + 1):,} weights",
            hint("lower {}", max_rounds=None),
        ),
    ):
        if count > MOST_NUMBERS:
            raise DataError(
                f"{what} exceed the limit of a trace, {MOST_NUMBERS:,} numbers",
                advice,
                code="too-large",
            )


def index_of(X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Return the index of a data frame, else None; DataError if y or weights have another."""
    check_beside(X, y=y, sample_weight=sample_weight)
    return list(X.index) if hasattr(X, "columns") and hasattr(X, "index") else None


def names_of(given: Sequence[Any] | None, default: Sequence[Any], what: str) -> Sequence[Any]:
    """Return the given names, or the default; ValueError if their number is wrong."""
    if given is None:
        return default
    if len(given) != len(default):
        raise DataError(
            f"{what} has {len(given)} names, but the data need {len(default)}.",
            code="shape", option=what,
        )  # fmt: skip
    return given


def plain_rows(X: Any, normalize: bool) -> list[list[float]]:
    """Return rows as Python numbers, scaled to length 1 with ``normalize``."""
    rows = (X.toarray() if sp.issparse(X) else X).tolist()
    return textbook.unit_rows(rows) if normalize else rows


def visiting_orders(stream: ArrayStream) -> Callable[[int], list[int]]:
    """Return the function from passes to the estimator's visiting orders."""
    return lambda number: [
        int(row) for row_batch in stream.row_batches(number) for row in row_batch.order
    ]

"""The frames of a run: its trace, checked against the model, with a frame for every update."""

from collections.abc import Callable, Iterator
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np

from linsep import textbook, trace as traced
from linsep.errors import DataError, Hint
from linsep.estimators._common.labels import is_turned, label_text, labeled
from linsep.learners.proofs import why_not_again
from linsep.learners.state import decision, predicted
from linsep.plot.display import shortened, with_minus
from linsep.plot.plane import numbers_of
from linsep.rows.arrays import ArrayStream
from linsep.teaching import (
    MOST_NUMBERS,
    Trace,
    TraceRow,
    index_of,
    trace_rows,
    vector_names,
    vectors_of,
    visiting_orders,
)
from linsep.validation.labels import labels_of

#: characters in a line of the text above a picture, and in a name in it
LINE, NAME = 76, 24
ARROW = "\N{RIGHTWARDS ARROW}"
#: weights that a sentence lists; of more it gives the length
MOST_LISTED = 4
#: relative difference of weights that are computed in another order
ROUNDING = 1e-9


class Frame(NamedTuple):
    """One frame of a run.

    Attributes
    ----------
    round : int
        Number of examples processed when the frame ends; 0 at the start.
    rows : list of int
        The rows that correct the weights; empty in the first and the last frame.
    before, after : arrays of shape (weight vectors, weights)
        The weights, the intercept first.
    said : tuple of str
        The position in the run, what happened, and what changed.
    """

    round: int
    rows: list[int]
    before: np.ndarray
    after: np.ndarray
    said: tuple[str, ...]


class Story:
    """The frames of a run, one for every update.

    Parameters
    ----------
    trace : Trace
    width : int
        The number of weights besides the intercept; any others are always zero.
    classes : array of the sorted labels
    decide : function from scores to class indices, as returned by :func:`deciding`
    """

    def __init__(
        self, trace: Trace, width: int, classes: np.ndarray,
        decide: Callable[[np.ndarray], np.ndarray],
    ):  # fmt: skip
        self.trace, self.width, self.decide = trace, width, decide
        self.classes = [_name(label_text(label)) for label in classes]
        model = trace.estimator
        self.vectors = vector_names(self.classes, model.multiclass)
        self.batch = getattr(model, "update", "single") == "batch"
        self.listed = slice(0 if self._learns_intercept() else 1, None)

    def _learns_intercept(self) -> bool:
        ends = *self.trace.start, *self.trace[-1].weights
        return bool(getattr(self.trace.estimator, "fit_intercept", False)) or any(
            vector[0] for vector in ends
        )

    def frames(self, most: int) -> Iterator[Frame]:
        """Yield the start, at most this many updates, and the end."""
        updates = [k for k, one in enumerate(self.trace) if one.updates]
        chosen = np.unique(np.linspace(1, len(updates), min(most, len(updates))).round())
        shown = f" ({len(chosen):,} drawn)" if len(chosen) < len(updates) else ""
        first, end = self._weights(self.trace.start), len(self.trace) - 1
        of = f" of {len(updates):,}{shown}"
        yield Frame(0, [], first, first, self._said(0, of, -1, *self._begin(first)))
        for number in chosen.astype(int).tolist():
            k = updates[number - 1]
            before, after = self._before(k), self._weights(self.trace[k].weights)
            what = self._batch(k) if self.batch else self._what(k, before, after)
            rows = self._rows(k) if self.batch else [self.trace.steps[k].row]
            yield Frame(k + 1, rows, before, after, self._said(number, of, k, *what))
        last = self._weights(self.trace[end].weights)
        lines = wrap(f"The end: {self.trace.stopped}.", LINE, max_lines=2, placeholder=" ...")
        yield Frame(end + 1, [], last, last, self._said(len(updates), of, end, *lines, ""))

    def _weights(self, vectors: Any) -> np.ndarray:
        return np.array(vectors, dtype=np.float64)[:, : self.width + 1]

    def _before(self, k: int) -> np.ndarray:
        """The weights before a round; zeros if the rule has restarted."""
        attempt = self.trace.steps[k - 1].attempt if k else 0
        vectors = self.trace[k - 1].weights if k else self.trace.start
        found = self._weights(vectors)
        return found if self.trace.steps[k].attempt == attempt else np.zeros_like(found)

    def _said(self, number: int, of: str, k: int, *lines: str) -> tuple[str, ...]:
        """Three lines: the position in the run, and at most two on what happened."""
        pass_number = self.trace[k].pass_number if k >= 0 else 1
        where = f"Update {number:,}{of} \N{MIDDLE DOT} pass {pass_number:,}"
        where += f" \N{MIDDLE DOT} step {k + 1:,} of {len(self.trace):,}"
        return where, *lines[:2]

    def _begin(self, first: np.ndarray) -> tuple[str, str]:
        if first[:, 1:].any():
            return "The start: the initial weights.", self._listed(first[0])
        if first.any():
            return "The start: only the intercept is not zero, so there is no boundary yet.", ""
        return "The start: all weights are zero, so there is no boundary yet.", ""

    def _rows(self, k: int) -> list[int]:
        """The mistakes of the pass that ends with a round."""
        number = self.trace[k].pass_number
        pairs = zip(self.trace, self.trace.steps, strict=True)
        return [step.row for row, step in pairs if row.pass_number == number and row.mistakes]

    def _batch(self, k: int) -> tuple[str, str]:
        before, after = self._before(k), self._weights(self.trace[k].weights)
        count, number = len(self._rows(k)), self.trace[k].pass_number
        said = f"Pass {number:,} ends: its mistakes ({count:,}) are corrected together."
        return said, self._change(before, after)

    def _what(self, k: int, before: np.ndarray, after: np.ndarray) -> tuple[str, str]:
        """What happened in a round with an update, and what changed."""
        one, step = self.trace[k], self.trace.steps[k]
        name = f"row {one.row}" if one.row.lstrip("-").isdigit() else _name(one.row)
        who = f"{name} (class {_name(one.label)})"
        if self.vectors:
            said = self._of_several(who, one, step)
        elif one.mistakes and not one.scores[0]:
            said = f"Mistake: {who} has the score 0."
        elif step.error:
            said = f"Mistake: {who} is on the wrong side, with the score {_short(one.scores[0])}."
        else:
            tested = _tested(one) or f"with the score {_short(one.scores[0])}"
            said = f"Update: {who} is on the right side, {tested}."
        return said, self._change(before, after)

    def _of_several(self, who: str, one: TraceRow, step: Any) -> str:
        code = int(self.decide(np.array([one.scores]))[0])
        if not step.error:
            why = _tested(one) or "not by every weight vector, or by too little"
            return f"Update: {who} is predicted right, but {why}."
        taken = "has equal scores" if code < 0 else f"is predicted as {self.classes[code]}"
        return f"Mistake: {who} {taken}."

    def _change(self, before: np.ndarray, after: np.ndarray) -> str:
        changed = np.flatnonzero((before != after).any(axis=1))
        if self.vectors:
            names = [self.vectors[v] for v in changed.tolist()]
            first = f"{', '.join(names[:-1])} and " if len(names) > 1 else ""
            return f"The weights of {first}{names[-1]} change."
        old, new = before[0, self.listed], after[0, self.listed]
        if is_kernel(self.trace.estimator):
            return f"Support vectors: {np.count_nonzero(new):,}."
        if len(new) > MOST_LISTED:
            lengths = " \N{RIGHTWARDS ARROW} ".join(
                _short(float(np.linalg.norm(w))) for w in (old, new)
            )
            return f"{np.count_nonzero(old != new):,} weights change; their norm: {lengths}."
        arrow = "\N{RIGHTWARDS ARROW}"
        return f"{self._listed(before[0])} {arrow} {_vector(new)}."

    def _listed(self, weights: np.ndarray) -> str:
        named = "Intercept and weights" if self.listed.start == 0 else "Weights"
        return (
            f"{named}: {_vector(weights[self.listed])}" if len(weights) - 1 <= MOST_LISTED else ""
        )


def _tested(one: TraceRow) -> str:
    """What the rule tested, and the least value that needs no update; empty for the score."""
    return "with a margin of {}, below {}".format(*map(_short, one.margin)) if one.margin else ""


def _name(text: str) -> str:
    return with_minus(shortened(text, NAME))


def _short(value: float) -> str:
    return with_minus(f"{value + 0.0:.3g}")


def _vector(weights: np.ndarray) -> str:
    return f"[{', '.join(map(_short, weights.tolist()))}]"


def deciding(model: Any, classes: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from scores to class indices: -1 if a score of zero is always a mistake,
    and if all scores of several classes are equal.
    """
    if len(classes) == 2:
        turned = is_turned(model.reference, classes)
        no_side = getattr(model, "zero", "mistake") == "mistake"

        def side(scores: np.ndarray) -> np.ndarray:
            codes = predicted(scores, model.tie).astype(int)
            codes = 1 - codes if turned else codes
            return np.where(no_side & (scores == 0), -1, codes)

        return side
    state = model.new_state(model.learner(), len(classes), 1)

    def best(scores: np.ndarray) -> np.ndarray:
        values = decision(state, scores, model.tie)
        same = (scores == scores[:, :1]).all(axis=1)
        return np.where(same, -1, predicted(values, model.tie))

    return best


def is_kernel(model: Any) -> bool:
    """Return whether the weights of a model belong to examples."""
    return hasattr(model, "kernel_")


def check_repeatable(model: Any) -> None:
    """Raise DataError if the run of a model cannot be repeated row by row."""
    why = why_not_again(model)
    if model.early_stopping:
        why = "rows were held out"
    elif model.fitted_run().mixture is not None:
        why = "several workers were trained, each on a part of the rows"
    elif is_kernel(model) and model.kernel_.takes != "vectors":
        why = "its kernel does not apply to rows of numbers"
    elif getattr(model, "budget", None) is not None:
        why = "support vectors were dropped to stay within the budget"
    if why is not None:
        raise DataError(f"This run cannot be drawn row by row, because {why}.", code="unsupported")


def run_of(model: Any, X: Any, y: Any, given: dict[str, Any]) -> Trace:
    """Return the trace of the run that trained a model; DataError unless it is the same run.

    ``given`` are further arguments of :func:`linsep.trace`.
    """
    rounds = len(y) * model.n_iter_
    made = model.fitted_run().state.n_columns * (
        1 + (len(y) if is_kernel(model) else model.n_features_in_)
    )
    if rounds * made > MOST_NUMBERS:
        raise DataError(
            f"{rounds:,} rounds of {made:,} weights exceed the limit of an animation, "
            f"{MOST_NUMBERS:,} numbers",
            Hint("fit with a smaller {}", {"max_iter": None}, again=True),
            "fit on fewer rows",
            code="too-large",
        )
    if is_kernel(model):
        found = _kernel_trace(model, X, y, given["sample_weight"], given["row_names"])
    else:
        found = traced(model, X, y, max_rounds=rounds, **given)
    _refuse_another(model, found)
    return found


def _kernel_trace(model: Any, X: Any, y: Any, sample_weight: Any, row_names: Any) -> Trace:
    """Return the run of a kernel perceptron; its weights are the rows' coefficients, then zeros."""
    rows, n = numbers_of(X), len(y)
    classes, codes, importance = labeled(model, labels_of(y), sample_weight)
    stream = ArrayStream(rows, codes, importance, model.draw_seed(), bool(model.shuffle))
    gram, texts = model.kernel_(rows).tolist(), [label_text(label) for label in classes]
    vectors = vector_names(texts, model.multiclass)
    shown = textbook.dual_rows(lambda i, j: gram[i][j], range(n))
    steps = list(textbook.run(
        textbook.KernelPerceptron(n), model.multiclass if vectors else "binary", shown,
        codes.tolist(), classes.size, fit_intercept=False, max_iter=model.n_iter_, tie=model.tie,
        orders=visiting_orders(stream),
        row_weights=importance.tolist() if importance.size else None,
    ))  # fmt: skip
    width, many = 2 * n, max(1, len(vectors))
    start = ([[0.0] * width] * many, [0.0] * many) if vectors else ([0.0] * width, 0.0)
    names = row_names or index_of(X, y) or range(n)
    given = {"estimator": model, "X": X, "y": y}
    return Trace(
        list(trace_rows(steps, start, names, [label_text(label) for label in labels_of(y)])),
        range(width), texts, vectors, False, model.stop_reason_, model.stop_sentence_, given, steps,
        vectors_of(*start),
    )  # fmt: skip


def _refuse_another(model: Any, made: Trace) -> None:
    """Raise DataError unless a trace reproduces the mistakes and the weights of a model."""
    mistakes, passes = np.array([(one.mistakes, one.pass_number) for one in made]).T
    found = np.bincount(passes, mistakes)[1:]
    state = model.fitted_run().state
    coef, intercept = state.split(state.W)
    last = np.array(made[-1].weights)
    if is_kernel(model):  # whose rows without a weight are dropped
        whole = np.zeros((len(coef), last.shape[1] - 1))
        whole[:, getattr(model, "support_positions_", model.support_)] = coef
        coef = whole
    kept = np.column_stack([intercept.ravel(), coef])
    scale = np.abs(last).max() or 1.0
    if not np.array_equal(found, model.mistakes_) or np.abs(last - kept).max() > ROUNDING * scale:
        raise DataError(
            "These are not the rows that the model learned, in their order: learning from them "
            f"makes {int(found.sum()):,} mistakes in {len(found):,} passes and other weights, the "
            f"fit made {int(model.mistakes_.sum()):,} in {model.n_iter_:,}. Give the rows of the "
            "fit; a run from initial weights, or with random_state=None, can be drawn from its "
            "trace only.",
            code="other-rows",
        )

"""The steps of a textbook run: lines of a table, and why the passes end.

Only the standard library is imported, so this runs in a browser.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from linsep.estimators.reading import StopReason, stop_sentence
from linsep.teaching.textbook.running import Step
from linsep.teaching.textbook.schemes import pairs
from linsep.teaching.trace_table import TraceRow


def vector_names(texts: list[str], multiclass: str) -> list[str]:
    """Return names of the weight vectors: classes, or pairs of classes; [] for two classes."""
    if len(texts) == 2:
        return []
    if multiclass == "ovo":
        return [f"{texts[b]} vs {texts[a]}" for a, b in pairs(len(texts))]
    return texts


def trace_rows(
    steps: list[Step], start: Any, names: Sequence[Any], labels: Sequence[str],
    errors: Sequence[int] | None = None,
) -> Iterator[TraceRow]:  # fmt: skip
    """Yield steps as rows of the table; ``start`` are the initial weights."""
    before, attempt = vectors_of(*start), 0
    for number, step in enumerate(steps, start=1):
        if step.attempt > attempt:
            before, attempt = tuple((0.0,) * len(v) for v in before), step.attempt
        after = vectors_of(step.weights, step.intercept)
        change = tuple(
            tuple(p - q for p, q in zip(new, old, strict=True))
            for new, old in zip(after, before, strict=True)
        )
        yield TraceRow(
            number, step.pass_number + 1, str(names[step.row]), labels[step.row],
            tuple(listed(step.score)), step.mistakes, step.updates, change, after,
            None if errors is None else errors[number - 1], step.margin,
        )  # fmt: skip
        before = after


def listed(score: Any) -> list[Any]:
    """Return the scores of a step as a list: of one or several binary classifiers."""
    return score if isinstance(score, list) else [score]


def vectors_of(weights: Any, intercept: Any) -> tuple[tuple[float, ...], ...]:
    """Return each intercept followed by its weights."""
    if not isinstance(intercept, list):
        weights, intercept = [weights], [intercept]
    return tuple((b, *w) for b, w in zip(intercept, weights, strict=True))


class Ending:
    """The end of the passes: like the estimator, the steps stop when weights recur, or continue
    ``beyond`` the cycle. ``recurs`` returns the cycle that the last step of a pass ends; it is None
    if that proves nothing. ``spares``: some scores of zero are correct; ``native``: one joint rule.
    """

    def __init__(
        self, recurs: Callable[[Step], Any] | None, beyond: bool, spares: bool, native: bool,
        tie: str,
    ):  # fmt: skip
        self._recurs, self._beyond, self._spares = recurs, beyond, spares
        self._native, self._tie = native, tie
        self._cycle: Any = None

    def before(self, steps: Iterator[Step]) -> Iterator[Step]:
        """Yield the steps up to the end of a cycle, or all steps."""
        last = mistakes = None
        for step in steps:
            if last is not None and step.pass_number != last.pass_number:
                if self._closed(last) and not self._beyond:
                    return
                mistakes = None
            mistakes = mistakes or step.mistakes
            yield step
            last = step
        if last is not None and mistakes:
            self._closed(last)

    def _closed(self, last: Step) -> bool:
        if self._recurs is not None and self._cycle is None:
            self._cycle = self._recurs(last)
        return self._cycle is not None

    def reason(self, steps: list[Step], cut: bool) -> tuple[StopReason | None, str | None]:
        """Return why the passes ended, or None if the trace was cut; and the sentence."""
        if self._cycle is not None:
            return StopReason.CYCLE, self._cycle.sentence
        if cut:
            return None, None
        last = [step for step in steps if step.pass_number == steps[-1].pass_number]
        if any(step.mistakes for step in last):
            return StopReason.MAX_ITER, None
        zeros = self._spares and any(
            not listed(step.score)[machine] for step in last for machine in step.seen
        )
        changed = any(step.updates for step in last)
        reason = StopReason.CLEAN if zeros or changed else StopReason.CONVERGED
        return reason, stop_sentence(reason, self._native, self._tie, changed)

"""Run the passes of an online classifier, with scikit-learn's callbacks, and learn rows once."""

import copy
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from sklearn.utils.validation import assert_all_finite

from linsep.checkpoints.saving import Saving
from linsep.compiled.core.loop import UPDATES
from linsep.errors import LinsepError
from linsep.estimators._common.stop_reasons import StopReason
from linsep.interrupts import held, window
from linsep.learners.keeping import KeepBest
from linsep.learners.passes import PassReport, Plan, Progress, Run, close_pass, learn_batch, passes
from linsep.learners.state import Unlearnable
from linsep.rows.arrays import RowStream
from linsep.sparse_rows import as_csr
from linsep.value_faults import faults_named


class Runs:
    """Part of an online classifier: its passes over rows."""

    stop_reason_: StopReason | None

    def _learn_once(self: Any, run: Run, stream: RowStream) -> None:
        """Learn the rows in an open pass, which the next call to partial_fit continues."""
        progress, scheme = Progress(), self._state.scheme(self.tie, count_errors=False)
        self._forget_calibration()
        if isinstance(run.keeping, KeepBest):
            run.keeping.open_pocket(run.state)
        with held():
            try:
                for row_batch in stream.row_batches(0):
                    learn_batch(run, scheme, row_batch, progress)
                progress.tally[UPDATES] += close_pass(run, scheme)
            except Unlearnable as problem:
                raise ValueError(
                    f"Row {problem.row}: {problem} (the rows before it were learnt)."
                ) from None
            finally:
                self._state.n_updates += progress.updates
                self._open_mistakes = (self._open_mistakes or 0) + progress.mistakes
            self.stop_reason_ = None

    def _fit(
        self: Any, run: Run, stream: RowStream, X: Any, y: Any, sample_weight: Any, saving: Saving
    ) -> None:
        """Learn from rows in memory until a stopping criterion holds."""
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        try:
            self._run(
                lambda plan: passes(run, stream, plan, self.progress_, saving), X, y, metadata
            )
        except Unlearnable as problem:
            as_csr(X)
            if problem.not_finite:
                with faults_named(X, self):
                    assert_all_finite(X, input_name="X")
            raise self._refusal(problem.row, problem.bad or problem) from None
        if self._cycle is not None:
            self._cycle.remember(X, y)

    def _run(
        self: Any, start: Callable[[Plan], Iterator[PassReport]], X: Any, y: Any, metadata: Any
    ) -> None:
        """Run the passes that ``start`` yields and call scikit-learn's callbacks for each.

        Ctrl-C takes effect only while waiting for rows, between slices of rows and in callbacks, so
        that weights, counts and reports stay consistent.
        """
        self.progress_ = Progress()
        plan = Plan(self.max_iter, self.n_iter_no_change if self.early_stopping else None, self.tie)
        known = {"estimator": self, "X": X, "y": y, "metadata": metadata}
        try:
            with held(), closing(start(plan)) as run:  # type: ignore[type-var]
                root = self._init_callback_context(max_subtasks=self.max_iter)
                with window():
                    root.call_on_fit_task_begin(**known)
                while self.stop_reason_ is None:
                    self._one_pass(run, root, known)
        except KeyboardInterrupt:
            self.stop_reason_ = self.stop_reason_ or StopReason.INTERRUPTED
            raise
        except LinsepError:  # bad data: the weights learnt so far are not usable
            del self._state
            raise
        root.call_on_fit_task_end(**known, reconstruction_attributes=self._snapshot)

    def _one_pass(self: Any, run: Iterator[PassReport], root: Any, known: dict[str, Any]) -> None:
        """Run the next pass, with callbacks before and after."""
        task = root.subcontext(task_name="pass")
        with window():
            task.call_on_fit_task_begin(**known)
        self._note(next(run))
        if self.stop_reason_ == StopReason.INTERRUPTED:
            next(run)  # raises the KeyboardInterrupt that ended the pass
        with window():
            if task.call_on_fit_task_end(**known, reconstruction_attributes=self._snapshot):
                self.stop_reason_ = self.stop_reason_ or StopReason.EARLY_STOP

    def _note(self: Any, report: PassReport) -> None:
        """Store and print the report of a pass."""
        self.stop_reason_ = report.stop_reason
        self._cycle = self._cycle_turned(self.progress_.cycle)
        if self.verbose:
            held_out = report.validation_score
            print(
                f"pass {report.number + 1}: {report.mistakes:,} mistakes in {report.rows:,} rows"
                + ("" if held_out is None else f", held-out accuracy {held_out:.4f}")
            )

    def _snapshot(self: Any) -> dict[str, Any]:
        """Return the attributes of a copy that predicts as if fit had ended here."""
        copied = {name: copy.deepcopy(getattr(self, name)) for name in ("_state", "_keeping")}
        return copied | {"_learnt_with": self._learnt_with, "_passes": list(self._passes)}

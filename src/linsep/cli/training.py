"""What the command ``fit`` does: train on files, print a summary, save the model."""

import inspect
import os
from collections.abc import Callable
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import click
import numpy as np

from linsep import fitting, model_files
from linsep._system.interrupts import interrupts_allowed, interrupts_deferred
from linsep.catalog import REGRESSIONS, USUAL_LEARNER
from linsep.checkpoints.saving import Checkpoint
from linsep.cli import learner_options as learners, report
from linsep.cli.errors import NAME, interrupted_code, note
from linsep.cli.options import FILES, as_typed
from linsep.cli.output import check_outputs, tell, watching
from linsep.cli.predict import score_source
from linsep.cli.reading import Reading, lacks
from linsep.compiled import WORK
from linsep.errors import DataError, LinsepError
from linsep.estimators.labels import has_offset
from linsep.estimators.thresholds import Rule
from linsep.inference.robust import CLUSTERED
from linsep.scoring import gaps_of
from linsep.sources.remote.address import is_remote, normal, shown
from linsep.steps import learner_of
from linsep.words import counted

#: what goes with --continue, whose model has all other options
KEPT = {"data", "continued", "model", "test", "force", "as_json", *FILES.names}
#: tolerance for rounding
ROUNDING = 1e-9


class Training(SimpleNamespace):
    """A run of ``fit``, with its options as attributes; an error or Ctrl-C after the training is
    reported when the model is saved.
    """

    def run(self) -> None:
        self.typed = click.get_current_context().meta["arguments"]
        self.started, self.compiled = perf_counter(), WORK.seconds
        self.error: LinsepError | None = None
        self.whole: Any = None
        self.calibrated: dict[str, Any] | None = None
        self.folds: Any = None
        if self.cv is not None:
            from linsep.cross_validation import Folds

            seed = self.random_state
            self.folds = Folds(self.cv, self.repeats or 1, self.by_time, random_state=seed)
        if self.continued:
            return self.go_on()
        for word in self.typed if self.checkpoint is not None else ():
            address = word.partition("=")[2] if word.startswith("--") else word
            if is_remote(address) and shown(address) != normal(address):
                told = f"{shown(address)} has a user, password or query: configure them in fsspec."
                raise click.BadParameter(f"--checkpoint stores the command, but {told}")
        first, group = self.learner or USUAL_LEARNER, self.columns["group"]
        self.reader = Reading(self.reading, group)
        self.given = fitting.with_intercept(first, self.reading["formula"], self.parameters)
        rule = None if self.threshold is None else Rule.of(self.threshold)
        self.rule = fitting.decision_rule(rule, first, self.given)
        if self.cluster_by is not None and self.given.get("covariance") != CLUSTERED:
            raise click.BadParameter(f"--cluster-by needs --covariance {CLUSTERED}.")
        if self.calibrate and first in REGRESSIONS:
            raise click.BadParameter(f"--calibrate is for online classifiers, not for {first}.")
        columns = self.columns | {"group": self.cluster_by or group}
        self.source = self.reader.source(self.data, first, columns, self.given)
        # What exists beside a checkpoint may be what an earlier process of this command wrote.
        resumed = self.checkpoint is not None and self.checkpoint.exists()
        check_outputs(self.force or resumed, self.source.paths, self.model)
        check_outputs(True, self.source.paths, self.model, self.checkpoint)
        self.reader.check(self.source, test=self.test, calibrate=self.calibrate)
        learner, self.chosen_for = self.learner, None
        if learner is None:
            learner, self.chosen_for = fitting.chosen_learner(self.source, self.given)
        self.estimator = learners.make_learner(
            "fit", learner, self.given,
            **learners.common_parameters(
                self.source, self.class_weight, self.reference, self.random_state
            ),
        )  # fmt: skip
        self.in_folds = self._folds_of_threshold()
        start = learners.initial_weights(self.init_weights, learner, self.estimator)
        self.saved = None if self.checkpoint is None else self._checkpoint()
        self.rows: Any = None
        if self.folds or self.in_folds:
            from linsep.cross_validation import kept

            with watching(self.source):
                self.source, self.rows = kept(self.source)
        self.interrupted = not self._train(start)
        self._finish()
        if self.saved is not None:  # now that all is written
            self.saved.remove()

    def go_on(self) -> None:
        """Train a saved model on the rows, once and in their order, and save it as another."""
        context = click.get_current_context()
        if typed := as_typed({str(one.name) for one in context.command.get_params(context)} - KEPT):
            raise click.BadParameter(f"--continue keeps the model's options: leave out {typed[0]}.")
        self.reader = Reading(self.reading)
        self.whole = model_files.load(self.continued)
        self.estimator = model = learner_of(self.whole)
        if not hasattr(model, "partial_fit"):
            told = "which needs all rows at once: fit it to all of them."
            raise lacks(model, self.continued, told, option="continued")
        self.source = source = self.reader.like(model, self.data)
        check_outputs(self.force, source.paths, self.model)
        self.reader.check(source, test=self.test)
        self.rule, self.chosen_for, self.saved = None, None, None
        model.training_accuracy_ = None  # of other rows
        self.interrupted = not self._train({})
        self._finish()

    def _folds_of_threshold(self) -> Any:
        """Return the folds in which the threshold is chosen, or None; check these options."""
        chosen_in: Any = None
        if self.rule is not None and self.rule.name != "fixed" and not self.calibrate:
            from linsep.cross_validation import Folds

            if self.dask or self.checkpoint:
                told = "cannot be combined with --dask and --checkpoint: add --calibrate."
                raise click.BadParameter(f"--threshold chosen in folds {told}")
            chosen_in = self.folds or Folds(random_state=self.random_state)
            fitting.check_in_folds(self.estimator)
        learners.check_effects(self.estimator, self.given)
        held_out = getattr(self.estimator, "early_stopping", False)
        if (folds := self.folds or chosen_in) is not None:
            folds.check(self.source.grouped)
        if self.reader.group and not folds and not held_out:
            raise click.BadParameter("--group needs --early-stopping, which holds rows out.")
        return chosen_in

    def _checkpoint(self) -> Checkpoint:
        why = ""
        if "checkpoint" not in inspect.signature(self.estimator.fit).parameters:
            why = "is for learners that make several passes; this one reads the rows once"
        elif any(file.name == NAME for file in self.source.paths):
            why = "needs a file: standard input cannot be read again"
        if why:
            raise click.BadParameter(f"--checkpoint {why}.")
        saved = Checkpoint(self.checkpoint, self.every or "60s", keep=True)
        saved.command = {"folder": os.getcwd(), "arguments": self.typed}
        saved.on_resume = lambda place: note(f"resuming from {self.checkpoint}: {place}.")
        return saved

    def _train(self, start: dict[str, Any]) -> bool:
        """Train; return False if Ctrl-C ended it after some training, without a checkpoint."""
        estimator = self.estimator
        arguments = start | ({} if self.saved is None else {"checkpoint": self.saved})
        try:
            with watching(self.source, estimator):
                if self.continued:
                    for batch in self.source.batches():
                        estimator.partial_fit(batch)
                elif self.dask is None:
                    estimator.fit(self.source, **arguments)
                else:
                    self._train_on_cluster(arguments)
                if start and len(start["coef_init"][0]) != (width := estimator.n_features_in_):
                    why = f"coef_init needs the shape {(len(start['coef_init']), width)}."
                    raise DataError(why, code="shape", option="coef_init")  # of later rows
        except KeyboardInterrupt:
            learned = self.whole or getattr(estimator, "stop_reason_", None) is not None
            if self.saved is not None or not learned or not hasattr(estimator, "recipe_"):
                raise
            return False
        return True

    def _train_on_cluster(self, arguments: dict[str, Any]) -> None:
        try:
            from linsep.distributed import check, connected, fit
        except ImportError as problem:
            raise DataError(str(problem), code="missing-package") from None
        given = {"mixing": self.mixing, "shard_mb": self.shard_mb}
        how = {name: value for name, value in given.items() if value is not None}
        check(self.estimator, self.source, **how)
        with connected(self.dask) as client:
            workers = len(client.scheduler_info(n_workers=-1)["workers"])
            note(f"{counted(workers, 'worker')}; dashboard at {client.dashboard_link}")
            fit(self.estimator, self.source, client=client, **how, **arguments)

    def _step(self, work: Callable[[], Any]) -> Any:
        try:
            with interrupts_allowed():
                return work()
        except LinsepError as problem:
            self.error = self.error or problem
        except KeyboardInterrupt:
            self.interrupted = True
        return None

    def _finish(self) -> None:
        estimator, validated = self.estimator, None
        with interrupts_deferred() as pressed:  # if Ctrl-C is pressed again, too
            if not self.interrupted:
                self._step(self._calibrate)
                if self.saved is not None and (self.interrupted or self.error):
                    raise self.error or KeyboardInterrupt  # it resumes from the checkpoint
                if self.folds is not None and not (self.interrupted or self.error):
                    from linsep.cross_validation import cross_validated

                    with interrupts_allowed(), watching(self.source):
                        scores = cross_validated(estimator, self.source, self.rows, self.folds)
                    estimator.cv_scores_ = scores
                    validated = report.validation(scores, *self.folds[:3])
            undone = self.error is None
            # the process that this one resumes may have saved it already
            again = self.saved is not None and not self.force
            if self.model:
                whole = self.whole or fitting.as_pipeline(estimator, self.source)
                if not (again and model_files.holds(self.model, whole)):
                    model_files.save(whole, self.model, force=self.force)
            phases = estimator.progress_.seconds if hasattr(estimator, "progress_") else {}
            seconds = {"total": perf_counter() - self.started} | phases
            if WORK.seconds > self.compiled:
                seconds["compile"] = WORK.seconds - self.compiled
            tested = self._step(self._score) if self.test and not self.interrupted else None
            if self.saved is not None and self.interrupted:
                raise KeyboardInterrupt
            why = report.interruption(estimator)
            cache = self.source.kept
            summary = report.training_summary(estimator) | gaps_of(self.source) | {
                "scale": "standard" if getattr(estimator, "recipe_", {}).get("scale") else "none",
                "test": tested, "seconds": {name: round(x, 4) for name, x in seconds.items()},
                "model": self.model and str(self.model), "cache": cache and str(cache),
                "interrupted": self.interrupted, "calibration": self.calibrated,
                "chosen_for": self.chosen_for, "cross_validation": validated,
            }  # fmt: skip
            if self.whole:  # its first pass was over other rows
                summary |= {"rows": self.source.n_rows, "progressive_accuracy": None}
            summary["warnings"] = _worse_than_baseline(estimator, summary)
            untested = f"not scored: {why if self.interrupted else 'there was an error'}"
            scored = tested is not None or not self.test
            tell(
                report.Report(_model=estimator, _untested="" if scored else untested, **summary),
                self.as_json,
            )
            for message in summary["warnings"]:
                note(message, "warning")
            if self.calibrate and not self.calibrated and undone:
                note(f"the model is not calibrated: {why}.", "warning")
            if self.rule is not None and not hasattr(estimator, "threshold_") and undone:
                note(f"the model has no threshold: {why}.", "warning")
            code = interrupted_code()
            pressed.forget()
        if self.error is not None:
            raise self.error
        if self.interrupted:
            raise click.exceptions.Exit(code)

    def _calibrate(self) -> None:
        estimator, source = self.estimator, self.source
        if self.calibrate:
            from linsep.estimators.thresholds import calibrate

            source = self.reader.like(estimator, self.calibrate)
            with watching(source):
                calibrate(estimator, source, method=self.calibration or "sigmoid")
            self.calibrated = {
                "method": estimator.calibration_.method, "rows": source.n_rows,
                "data": [shown(name) for name in self.calibrate],
            }  # fmt: skip
        if self.rule is not None:
            with watching(source):
                fitting.decide(estimator, self.rule, source, self.in_folds, self.source)

    def _score(self) -> dict[str, Any]:
        groups = self.reader.group  # for intervals
        return score_source(self.estimator, self.reader.like(self.estimator, self.test, groups))


def _worse_than_baseline(model: Any, summary: dict[str, Any]) -> list[str]:
    """Return a warning if the accuracy or rms error, if it matters, is worse than the baseline."""
    weighted = getattr(model, "class_weight", None) is not None
    if hasattr(model, "threshold_") or weighted or has_offset(model):
        return []
    name, sign = ("accuracy", 1.0) if hasattr(model, "classes_") else ("rmse", -1.0)
    each: Any = [("training", summary.get("training_accuracy"), summary.get("training_baseline"))]
    if name == "rmse":
        rms = np.sqrt(model.solution_.rss / model.solution_.total_weight)
        each = [("training", rms, model.training_deviation_)]
    if summary["test"] is not None:
        metric = summary["test"]["metrics"][name]
        each.append(("test", metric["value"], metric["baseline"]))
    worse = [
        rows
        for rows, found, baseline in each
        if found is not None and sign * (baseline - found) > ROUNDING * baseline
    ]
    told = f"the model predicts worse than the baseline: {' and '.join(worse)} rows"
    ways = ", or for a rare class --class-weight or --threshold" * (name == "accuracy")
    return [f"{told}; choose another --learner{ways}."] if worse else []

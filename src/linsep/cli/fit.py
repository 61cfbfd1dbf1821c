"""The command ``fit``: train on files, print a summary, save the model."""

import inspect
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from linsep import model_files
from linsep._system.interrupts import interrupts_allowed, interrupts_deferred
from linsep.batches import Batch
from linsep.catalog import REGRESSIONS
from linsep.checkpoints.saving import Checkpoint
from linsep.cli import (
    learner_options as learners,
    options,
    report,
)
from linsep.cli.baselines import worse_than_baseline
from linsep.cli.errors import interrupted_code, note, told_once
from linsep.cli.learner_options import LearningCommand, initial_weights, told_by_option
from linsep.cli.options import Option, Repeatable, choice, command
from linsep.cli.output import check_all_free, never_overwrite, print_json, watching
from linsep.cli.predict import score_source
from linsep.cli.reading import READING, Reading, connected_to, dask_needed
from linsep.cli.standard_input import NAME
from linsep.cli.validating import FOLDS, described
from linsep.errors import CheckpointError, LinsepError, ParameterError
from linsep.estimators._common.labels import InitialShape
from linsep.estimators._common.thresholds import Rule
from linsep.fitting import (
    USUAL_LEARNER,
    Chosen,
    check_in_folds,
    chosen_learner,
    decide,
    decision_rule,
    with_intercept,
)
from linsep.inference.robust import CLUSTERED
from linsep.sources.base import Source
from linsep.sources.remote.address import is_remote, normal, shown

if TYPE_CHECKING:  # what cross-validates, which most fits do not
    from linsep.cross_validation import Folds

CALIBRATE = Repeatable(
    "--calibrate", section="Data", metavar="DATA",
    help="Held-out data on which to calibrate probabilities; repeatable.",
)  # fmt: skip
CALIBRATION = Option(
    "--calibration", section="Data", **choice(("sigmoid", "isotonic")),
    help="Calibration method.  [default: sigmoid]",
)  # fmt: skip


def _rule(text: Any) -> Rule:
    """Return the rule of an option."""
    try:
        return Rule.of(text)
    except ParameterError as problem:
        raise click.BadParameter(str(problem).removeprefix("threshold ")) from None


THRESHOLD = Option(
    "--threshold", section="Data", type=_rule, metavar="RULE",
    help="Threshold that the model stores, from which on it predicts the positive of two "
    "classes. A rule: recall=0.9, precision=0.8, cost=10:1 (a missed positive : a false "
    "alarm), f1 or balanced_accuracy, applied to the rows of --calibrate, else in the "
    "folds of --cv (5). Or a number: a probability, or a score for learners without "
    "probabilities. For winnow and balanced-winnow, a number is the score that positive "
    "rows exceed, in training, too.",
)  # fmt: skip
CLUSTER_BY = Option(
    "--cluster-by", section="Learner", metavar="COLUMN",
    help="Column of clusters for --covariance CR1, not a feature (tables only).",
)  # fmt: skip
CHECKPOINT = Option(
    "--checkpoint", section="Checkpoints", type=options.LocalPath(), metavar="FILE",
    help="Save the state of training regularly; repeating the command resumes from it.",
)  # fmt: skip
EVERY = Option(
    "--every", section="Checkpoints", metavar="INTERVAL",
    help="Time between checkpoints: 90s, 10m, 2h.  [default: 60s]",
)  # fmt: skip
RESUME = Option(
    "--resume", section="Checkpoints", type=options.LocalPath(), metavar="FILE",
    help="Resume the fit of this checkpoint in its original folder; takes no other arguments.",
)  # fmt: skip


class Place:
    """Where a fit runs: here, or on the cluster at an address."""

    def __init__(self, address: str | None, mixing: str | None, shard_mb: float | None):
        self.address = address
        given: dict[str, Any] = {"mixing": mixing, "shard_mb": shard_mb}
        self._how = {name: value for name, value in given.items() if value is not None}
        if self._how and address is None:
            name = next(iter(self._how)).replace("_", "-")
            raise click.BadParameter(f"--{name} needs --dask: only a cluster uses shards.")

    def fit(self, estimator: Any, source: Source, arguments: dict[str, Any]) -> None:
        """Fit the estimator to the source."""
        if self.address is None:
            estimator.fit(source, **arguments)
            return
        with dask_needed():
            from linsep.distributed import check, fit
        check(estimator, source, **self._how)
        with connected_to(self.address) as client:
            fit(estimator, source, client=client, **self._how, **arguments)


class Resumable(LearningCommand):
    """A command that ``--resume FILE`` repeats with the arguments stored in a checkpoint."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Replace ``--resume FILE`` by the stored arguments; remember them."""
        if any(arg.split("=")[0] == "--resume" for arg in args):
            args = _stored(args)
        ctx.meta["arguments"] = list(args)
        rest = super().parse_args(ctx, args)
        path = ctx.params.get("checkpoint")  # older releases of typer convert it later
        ctx.meta["checkpoint"] = None if path is None else Path(path)
        return rest


def _stored(args: list[str]) -> list[str]:
    """Return the arguments of the command that wrote the checkpoint; go to its folder."""
    words = args[0].split("=", 1) if len(args) == 1 else args
    if words in (["--resume"], ["--resume", ""]):
        raise click.BadParameter("--resume needs a checkpoint FILE.")
    if len(words) != 2 or words[0] != "--resume":
        raise click.BadParameter(
            "--resume FILE takes no other arguments: the file contains all of them."
        )
    path = Path(words[1]).absolute()
    found = Checkpoint(path).read()
    if found is None:
        raise CheckpointError(f"There is no checkpoint {words[1]}.", code="no-file", path=words[1])
    command = found[1].get("command")
    if not isinstance(command, dict) or not all(
        isinstance(arg, str) for arg in [command.get("folder"), *command.get("arguments", [None])]
    ):
        raise CheckpointError(
            f"{words[1]} does not store a command: repeat the command that wrote it, or call fit "
            "in Python.",
            code="unsupported",
            path=words[1],
        )
    try:
        os.chdir(command["folder"])
    except OSError as problem:
        raise CheckpointError(
            f"The folder {command['folder']}, where this fit began, cannot be entered: "
            f"{problem.strerror}.",
            code="cannot-read",
            path=command["folder"],
        ) from None
    return ["--checkpoint", str(path), *command["arguments"]]


@command(
    options.DATA, READING, options.MODEL_OUT, options.FORCE, options.TEST, CALIBRATE, CALIBRATION,
    THRESHOLD, options.LEARNER, options.AS_JSON, options.CURVE, options.RANDOM_STATE,
    options.CLASS_WEIGHT, options.INIT_WEIGHTS, options.REFERENCE, CLUSTER_BY,
    options.FIT_COLUMNS, FOLDS, options.DASK, options.MIXING, options.SHARD_MB, CHECKPOINT, EVERY,
    RESUME,
    cls=Resumable,
)  # fmt: skip
def fit(
    data: list[str], *, reading: Reading, model: Path | None, force: bool, test: list[str] | None,
    calibrate: list[str] | None, calibration: str | None, threshold: Rule | None,
    learner: str | None, as_json: bool, curve: bool, random_state: int,
    class_weight: list[str] | None, init_weights: Any, reference: str | None,
    cluster_by: str | None, columns: dict[str, Any], folds: "Folds | None", dask: str | None,
    mixing: str | None, shard_mb: float | None, checkpoint: Path | None, every: str | None,
    resume: Path | None, parameters: dict[str, Any],
) -> None:  # fmt: skip
    """Train a model on DATA and save it.

    Example: linsep fit train.csv --target species --test test.csv --model species.linsep
    """
    # What exists beside a checkpoint may be what an earlier process of this command has written.
    check_all_free(force or (checkpoint is not None and checkpoint.exists()), model)
    _check_checkpoint(checkpoint, every, model)
    started, place = perf_counter(), Place(dask, mixing, shard_mb)
    reading, first = reading._replace(group=columns["group"]), learner or USUAL_LEARNER
    parameters = with_intercept(first, reading.given["formula"], parameters)
    threshold = decision_rule(threshold, first, parameters)
    roles = _with_clusters(cluster_by, columns, parameters)
    source = reading.source(data, first, roles, parameters)
    never_overwrite(source.paths, model, checkpoint)
    _check_calibration(calibrate, calibration, first)
    reading.check(source, test=test, calibrate=calibrate)
    learner, chosen_for = Chosen(learner) if learner else chosen_learner(source, parameters)
    estimator = learners.make_learner(
        "fit", learner, parameters, random_state=random_state,
        class_weight=learners.class_weights(class_weight, source),
        reference=learners.reference_class(reference, source),
    )  # fmt: skip
    choice = Choice.of(threshold, calibrate, folds, random_state)
    divided = folds is not None or choice.folds is not None
    _check_held_out(curve, reading.group is not None and not divided, estimator, parameters)
    choice.check(estimator, source.grouped, dask, checkpoint)
    folds = _checked_folds(folds, random_state, source.grouped, dask, checkpoint)
    start = initial_weights(init_weights, learner, estimator)
    saved = _opened(checkpoint, every, source, estimator)
    rows = None
    if divided:
        from linsep.cross_validation import kept

        with watching(source):
            source, rows = kept(source)
    whole = _fitted(estimator, source, start, place, saved)
    _finish(
        estimator, source, whole, started, reading, saved, model=model, force=force, test=test,
        calibrate=calibrate, calibration=calibration, as_json=as_json, curve=curve,
        rows=rows, folds=folds, choice=choice, chosen_for=chosen_for,
    )  # fmt: skip
    if saved is not None:  # now that all is written
        saved.remove()


def _with_clusters(
    column: str | None, columns: dict[str, Any], parameters: dict[str, Any]
) -> dict[str, Any]:
    """Return the columns with the clusters as groups."""
    if column is None:
        return columns
    if parameters.get("covariance") != CLUSTERED:
        raise click.BadParameter(f"--cluster-by needs --covariance {CLUSTERED}.")
    if columns["group"] not in (None, column):
        raise click.BadParameter("--group and --cluster-by cannot be combined: give one of them.")
    return columns | {"group": column}


def _validated(
    estimator: Any, source: Source, rows: Batch | None, folds: "Folds | None"
) -> dict[str, Any] | None:
    """Cross-validate a fitted estimator if requested; return what is printed."""
    if rows is None or folds is None:
        return None
    from linsep.cross_validation import cross_validated

    with watching(source):
        estimator.cv_scores_ = cross_validated(estimator, source, rows, folds)
    return described(estimator.cv_scores_, folds)


def _finish(
    estimator: Any, source: Source, whole: bool, started: float, reading: Reading,
    saved: Checkpoint | None, *, model: Path | None, force: bool, test: list[str] | None,
    calibrate: list[str] | None, calibration: Any, as_json: bool, curve: bool,
    rows: Batch | None, folds: "Folds | None", choice: "Choice", chosen_for: str | None,
) -> None:  # fmt: skip
    """Calibrate, choose a threshold, cross-validate, save, test and print the summary."""
    # Save and report what was learned, even if Ctrl-C is pressed again.
    with interrupts_deferred() as pressed:
        made, validated = Calibrated(), None
        if whole:
            made = _calibrated(estimator, calibrate, calibration, reading, choice, source)
        if whole and not made.missing:
            with interrupts_allowed():
                validated = _validated(estimator, source, rows, folds)
        if saved is not None and made.missing:  # it resumes from the checkpoint
            raise made.error or KeyboardInterrupt
        # the process that this one resumes may have saved it already
        if model and (force or saved is None or not model_files.holds(model, estimator)):
            model_files.save(estimator, model, force=force)
        phases = estimator.progress_.seconds if hasattr(estimator, "progress_") else {}
        seconds = {"total": perf_counter() - started} | phases
        tested = _tested(estimator, model, test, reading, not whole or made.interrupted)
        if saved is not None and tested.interrupted:
            raise KeyboardInterrupt
        _print_summary(
            estimator, source, seconds, model, tested, made, as_json=as_json, curve=curve,
            validated=validated, chosen_for=chosen_for,
        )  # fmt: skip
        if calibrate and not made.told and not made.error:
            note(f"the model is not calibrated: {report.interruption(estimator)}.", "warning")
        if choice.rule is not None and not hasattr(estimator, "threshold_") and not made.error:
            note(f"the model has no threshold: {report.interruption(estimator)}.", "warning")
        code = interrupted_code()
        pressed.forget()
    for error in filter(None, (made.error, tested.error)):
        raise error
    if tested.interrupted or made.interrupted:
        raise click.exceptions.Exit(code)


def _check_held_out(curve: bool, grouped: bool, estimator: Any, parameters: dict[str, Any]) -> None:
    """Raise BadParameter for options that have no effect, such as options about held-out rows
    without any.
    """
    learners.check_effects(estimator, parameters)
    for wanted, name in ((curve, "--curve"), (grouped, "--group")):
        if wanted and not getattr(estimator, "early_stopping", False):
            or_folds = ", or --cv" * (name == "--group")
            raise click.BadParameter(
                f"{name} needs --early-stopping, which holds rows out{or_folds}."
            )


def _checked_folds(
    folds: "Folds | None", seed: int, grouped: bool, dask: str | None, checkpoint: Path | None
) -> "Folds | None":
    """Return the folds with their seed; raise an error for options that cannot be combined with
    them."""
    if folds is None:
        return None
    for flag, given in (("--dask", dask), ("--checkpoint", checkpoint)):
        if given is not None:
            raise click.BadParameter(
                f"--cv cannot be combined with {flag}: it needs the rows in local memory."
            )
    folds.check(grouped)
    return folds._replace(random_state=seed)


class Calibrated(NamedTuple):
    """What was calibrated; or the error, or whether Ctrl-C ended it."""

    told: dict[str, Any] | None = None
    error: LinsepError | None = None
    interrupted: bool = False

    @property
    def missing(self) -> bool:
        """Return whether a requested calibration is missing from the model."""
        return self.interrupted or self.error is not None


class _Tested(NamedTuple):
    """The score of test data; or why it is missing, and the error."""

    score: dict[str, Any] | None = None
    untested: str | None = None
    error: LinsepError | None = None
    interrupted: bool = False


def _tested(
    estimator: Any, model: Any, test: list[str] | None, reading: Reading, interrupted: bool
) -> _Tested:
    """Score the test data, if given."""
    if not test or interrupted:
        untested = report.interruption(estimator) if test else None
        return _Tested(untested=untested, interrupted=interrupted)
    try:
        with interrupts_allowed():
            source = reading.tested(estimator, model, test)
            return _Tested(score_source(estimator, source))
    except LinsepError as problem:
        return _Tested(untested="there was an error", error=problem)
    except KeyboardInterrupt:
        return _Tested(untested=report.interruption(estimator), interrupted=True)


def _print_summary(
    estimator: Any, source: Source, seconds: dict[str, float], model: Path | None,
    tested: _Tested, made: Calibrated, *, as_json: bool, curve: bool,
    validated: dict[str, Any] | None, chosen_for: str | None,
) -> None:  # fmt: skip
    """Print the summary of a fit."""
    summary = report.fit_summary(estimator, seconds, source, model) | {"test": tested.score}
    summary |= {"interrupted": tested.interrupted, "calibration": made.told}
    summary |= {} if chosen_for is None else {"chosen_for": chosen_for}
    summary |= {} if validated is None else {"cross_validation": validated}
    summary["warnings"] = worse_than_baseline(estimator, summary)
    if as_json:
        print_json(summary)
    else:
        report.print_fit(estimator, summary, tested.untested)
        if curve:
            report.print_curve(summary)
    for message in summary["warnings"]:
        note(message, "warning")


def _fitted(
    estimator: Any, source: Source, start: dict[str, Any], place: Place, saved: Checkpoint | None
) -> bool:
    """Train; return False if Ctrl-C ended it after some training, unless a checkpoint holds the
    result.
    """
    arguments = start | ({} if saved is None else {"checkpoint": saved})
    # --verbose prints to stdout, which is for results.
    results = redirect_stdout(sys.stderr or sys.stdout)
    try:
        with watching(source, estimator), results, told_once():
            place.fit(estimator, source, arguments)
            if start and len(start["coef_init"][0]) != (width := estimator.n_features_in_):
                shape = len(start["coef_init"]), width  # later rows have more features
                raise InitialShape("coef_init", (), shape)
    except InitialShape as problem:
        raise told_by_option(problem) from None
    except KeyboardInterrupt:
        learned = getattr(estimator, "stop_reason_", None) is not None
        if saved is not None or not learned or not hasattr(estimator, "recipe_"):
            raise
        return False
    return True


def _check_calibration(data: list[str] | None, method: str | None, learner: str) -> None:
    """Raise BadParameter for calibration options that do not apply."""
    if method is not None and not data:
        raise click.BadParameter("--calibration needs --calibrate FILE.")
    if data and learner in REGRESSIONS:
        raise click.BadParameter(
            f"--calibrate applies to online classifiers only, not to {learner}."
        )


def _calibrated(
    estimator: Any, data: list[str] | None, method: str | None, reading: Reading,
    choice: "Choice", learned: Source,
) -> Calibrated:  # fmt: skip
    """Calibrate a fitted model and choose its threshold, if requested."""
    told, source = None, learned
    try:
        with interrupts_allowed():
            if data:
                from linsep.estimators._common.calibration import calibrate

                source = reading.like(estimator, None, data)
                with watching(source):
                    calibrate(estimator, source, method=method or "sigmoid")
                kind, names = estimator.calibration_.method, [shown(name) for name in data]
                told = {"method": kind, "rows": source.n_rows, "data": names}
            with watching(source):
                choice.make(estimator, source, learned)
    except LinsepError as problem:
        return Calibrated(told, error=problem)
    except KeyboardInterrupt:
        return Calibrated(told, interrupted=True)
    return Calibrated(told)


class Choice(NamedTuple):
    """The requested threshold, and the folds in which it is chosen, or None."""

    rule: Rule | None = None
    folds: "Folds | None" = None

    @classmethod
    def of(
        cls, rule: Rule | None, calibrate: list[str] | None, folds: "Folds | None", seed: int
    ) -> "Choice":
        """Return the choice that the options make."""
        if rule is None or not rule.needs_rows or calibrate:
            return cls(rule)
        from linsep.cross_validation import Folds

        return cls(rule, (folds or Folds())._replace(random_state=seed))

    def check(
        self, estimator: Any, grouped: bool, dask: str | None, checkpoint: Path | None
    ) -> None:
        """Raise an error for options that cannot be combined with folds."""
        if self.folds is None:
            return
        for flag, given in (("--dask", dask), ("--checkpoint", checkpoint)):
            if given is not None:
                raise click.BadParameter(
                    f"--threshold {self.rule} is chosen in folds of the rows, which cannot be "
                    f"combined with {flag}: choose it on other rows with --calibrate, or give a "
                    "number."
                )
        self.folds.check(grouped)
        check_in_folds(estimator)

    def make(self, estimator: Any, source: Source, learned: Source) -> None:
        """Give a fitted model its threshold, chosen on a source or in folds of it."""
        if self.rule is not None:
            decide(estimator, self.rule, source, self.folds, learned)


def _check_checkpoint(path: Path | None, every: str | None, model: Path | None) -> None:
    """Raise BadParameter for options that cannot be combined."""
    if path is None and every is not None:
        raise click.BadParameter("--every needs --checkpoint FILE.")
    if path is not None and model is None:
        raise click.BadParameter(
            "--checkpoint needs --model FILE, which the finished fit is saved to."
        )
    if path is not None:
        _check_secrets(click.get_current_context().meta["arguments"])


def _opened(
    path: Path | None, every: str | None, source: Source, estimator: Any
) -> Checkpoint | None:
    """Return the checkpoint of these options, or None; it reports where its fit resumes."""
    if path is None:
        return None
    if "checkpoint" not in inspect.signature(estimator.fit).parameters:
        raise click.BadParameter(
            "--checkpoint is for learners that make several passes; this learner reads the rows "
            "once."
        )
    for file in source.paths:
        if file.name == NAME:
            raise click.BadParameter(
                "--checkpoint needs a file: standard input cannot be read again."
            )
    try:
        checkpoint = Checkpoint(path, every or "60s", keep=True)
    except ValueError as problem:
        raise click.BadParameter(str(problem).replace("every=", "--every ")) from None
    arguments = click.get_current_context().meta["arguments"]
    checkpoint.command = {"folder": os.getcwd(), "arguments": _without(arguments)}
    checkpoint.on_resume = lambda place: note(f"resuming from {path}: {place}.")
    return checkpoint


def _check_secrets(args: list[str]) -> None:
    """Raise BadParameter for a URL with credentials among arguments that will be stored."""
    for word in args:
        address = word.partition("=")[2] if word.startswith("--") else word
        if is_remote(address) and shown(address) != normal(address):
            raise click.BadParameter(
                f"--checkpoint stores the command, so {shown(address)} must be a URL without "
                "user, password and query: configure the credentials in fsspec."
            )


def _without(args: list[str]) -> list[str]:
    """Return the arguments without ``--checkpoint FILE``, which may have been moved."""
    kept, words = [], iter(args)
    for word in words:
        if word == "--checkpoint":
            next(words, None)
        elif not word.startswith("--checkpoint="):
            kept.append(word)
    return kept

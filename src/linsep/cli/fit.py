"""The command ``fit``: learn from files, print a summary, save the model."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import typer

from linsep.checkpoints.file import Checkpoint
from linsep.cli import (
    calibrating,
    checkpointing,
    cluster as clusters,
    column_options,
    learners,
    options,
    regressions,
    report,
)
from linsep.cli.baseline import worse_than_baseline
from linsep.cli.failures import fail, interrupted_code, note, told_once
from linsep.cli.initial_weights import InitialWeights
from linsep.cli.output import check_all_free, never_overwrite
from linsep.cli.pictures import PlotFile, picture_of, write_picture
from linsep.cli.progress import watching
from linsep.cli.reading import Reading, added
from linsep.cli.score import score_source
from linsep.cli.standard_input import reads_data
from linsep.errors import LinsepError
from linsep.interrupts import held, window
from linsep.model_files import format as model_file
from linsep.sources.base import Source

COMMAND = checkpointing.Resumable


@reads_data
@column_options.added
@learners.options_of(learners.ALL)
@added
def fit(
    context: typer.Context,
    data: options.Data,
    *,
    reading: Reading,
    model: options.ModelOut = None,
    force: options.Force = False,
    test: options.Test = None,
    calibrate: calibrating.Calibrate = None,
    calibration: calibrating.Method = None,
    learner: options.Learner = "perceptron",
    as_json: options.AsJson = False,
    curve: options.Curve = False,
    plot: PlotFile = None,
    random_state: options.RandomState = 0,
    class_weight: options.ClassWeight = None,
    init_weights: options.InitWeights = None,
    reference: options.Reference = None,
    cluster: clusters.Address = None,
    mixing: clusters.Mixing = None,
    shard_mb: clusters.ShardSize = None,
    checkpoint: checkpointing.CheckpointFile = None,
    every: checkpointing.Every = None,
    resume: checkpointing.Resume = None,
    **parameters: Any,
) -> None:
    """Learn from DATA and save a model.

    Example: linsep fit train.csv --target species --test test.csv --model species.linsep
    """
    # What exists beside a checkpoint may be what an earlier process of this command has written.
    check_all_free(force or checkpointing.goes_on(checkpoint), model, plot)
    checkpointing.check(checkpoint, every, model, context)
    started, place = perf_counter(), clusters.Place(cluster, mixing, shard_mb)
    source = reading.source(data, learner, parameters)
    never_overwrite(source.paths, model, plot, checkpoint)
    calibrating.check_calibration(calibrate, calibration, learner)
    reading.check(source, test=test, calibrate=calibrate)
    estimator = learners.make_learner(
        "fit", learner, parameters, random_state=random_state,
        class_weight=learners.class_weights(class_weight, source),
        reference=learners.reference_class(reference, source),
    )  # fmt: skip
    _check_held_out(curve, source.grouped, estimator, parameters)
    start = InitialWeights(init_weights, learner, estimator, source)
    saved = checkpointing.opened(checkpoint, every, context, source, estimator)
    whole = _fitted(estimator, source, start, place, saved)
    again = _finish(
        estimator, source, whole, started, reading, saved, model=model, force=force, test=test,
        calibrate=calibrate, calibration=calibration, as_json=as_json, curve=curve,
    )  # fmt: skip
    if plot is not None:
        _draw(estimator, source, plot, force or again, None if saved else model)
    checkpointing.remove(saved)


def _finish(
    estimator: Any, source: Source, whole: bool, started: float, reading: Reading,
    saved: Checkpoint | None, *, model: Path | None, force: bool, test: list[str] | None,
    calibrate: list[str] | None, calibration: Any, as_json: bool, curve: bool,
) -> bool:  # fmt: skip
    """Calibrate, save, test and print the summary; return whether the model was saved before, as
    :func:`_saved` does.
    """
    with held() as pressed:  # save and report what was learnt, even if Ctrl-C is pressed again
        made = calibrating.calibrated(estimator, calibrate if whole else None, calibration, reading)
        if saved is not None and made.missing:  # it goes on from the checkpoint
            raise made.error or KeyboardInterrupt
        again = _saved(estimator, model, force, saved)
        seconds = {"total": perf_counter() - started} | _phases(estimator)
        tested = _tested(estimator, model, test, reading, not whole or made.interrupted)
        if saved is not None and tested.interrupted:
            raise KeyboardInterrupt
        _print_summary(
            estimator, source, seconds, model, tested, made, as_json=as_json, curve=curve
        )
        if calibrate and not made.told and not made.error:
            note(f"the model is not calibrated: {report.interruption(estimator)}.")
        code = interrupted_code()
        pressed.forget()
    for error in filter(None, (made.error, tested.error)):
        raise error
    if tested.interrupted or made.interrupted:
        raise typer.Exit(code)
    return again


def _saved(estimator: Any, model: Path | None, force: bool, saved: Checkpoint | None) -> bool:
    """Save the model, if asked for; return True if an earlier process had saved it, which this one
    goes on from.
    """
    if model is None:
        return False
    if saved is not None and not force and model_file.holds(model, estimator):
        return True
    model_file.save(estimator, model, force=force)
    return False


def _draw(estimator: Any, source: Source, plot: Path, force: bool, model: Path | None) -> None:
    """Draw the model; after Ctrl-C, say that ``model`` is saved."""
    try:
        write_picture(picture_of(estimator, source), plot, force)
    except KeyboardInterrupt:
        if model is None:
            raise
        fail(f"interrupted; {model} is saved, {plot} is not.", interrupted_code())


def _check_held_out(curve: bool, grouped: bool, estimator: Any, parameters: dict[str, Any]) -> None:
    """Raise BadParameter for options about held-out rows if there will be none, or without effect
    for other reasons.
    """
    learners.check_effects(estimator, parameters)
    for wanted, name in ((curve, "--curve"), (grouped, "--group")):
        if wanted and not getattr(estimator, "early_stopping", False):
            raise typer.BadParameter(f"{name} needs --early-stopping, which holds rows out.")


def _phases(estimator: Any) -> dict[str, float]:
    """Return the seconds of the phases of learning, if it was done in passes."""
    return estimator.progress_.seconds if hasattr(estimator, "progress_") else {}


class _Tested(NamedTuple):
    """The score of test data; or why there is none, and the error."""

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
        with window():
            source = reading.like(estimator, model, test)
            return _Tested(score_source(estimator, source))
    except LinsepError as problem:
        return _Tested(untested="there was an error", error=problem)
    except KeyboardInterrupt:
        return _Tested(untested=report.interruption(estimator), interrupted=True)


def _print_summary(
    estimator: Any, source: Source, seconds: dict[str, float], model: Path | None,
    tested: _Tested, made: calibrating.Calibrated, *, as_json: bool, curve: bool,
) -> None:  # fmt: skip
    """Print the summary of a fit."""
    screen: Any = regressions if regressions.is_regression(estimator) else report
    summary = screen.fit_summary(estimator, seconds, source, model) | {"test": tested.score}
    summary |= {"interrupted": tested.interrupted, "calibration": made.told}
    summary["warnings"] = worse_than_baseline(estimator, summary)
    if as_json:
        report.print_json(summary)
    else:
        screen.print_fit(estimator, summary, tested.untested)
        if curve:
            report.print_curve(summary)
    for message in summary["warnings"]:
        note(message)


def _fitted(
    estimator: Any, source: Source, start: InitialWeights, place: clusters.Place,
    saved: Checkpoint | None,
) -> bool:  # fmt: skip
    """Learn; return False if Ctrl-C ended it after something was learnt, unless that is saved in a
    checkpoint.
    """
    arguments = start.arguments | ({} if saved is None else {"checkpoint": saved})
    # --verbose prints to stdout, which is for results.
    results = redirect_stdout(sys.stderr or sys.stdout)
    try:
        with watching(source, estimator), results, told_once(), start.checked():
            place.fit(estimator, source, arguments)
            start.check_width(estimator.n_features_in_)
    except KeyboardInterrupt:
        learnt = getattr(estimator, "stop_reason_", None) is not None
        if saved is not None or not learnt or not hasattr(estimator, "recipe_"):
            raise
        return False
    return True

"""The command ``fit``: learn from files, say how it went, save the model."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import typer

from linsep.cli import learners, options, regressions, report
from linsep.cli.baseline import worse_than_baseline
from linsep.cli.failures import interrupted_code, listed, note, note_warning
from linsep.cli.output import never_overwrite
from linsep.cli.progress import watching
from linsep.cli.score import open_like, score_source
from linsep.cli.standard_input import reads_data
from linsep.errors import LinsepError
from linsep.interrupts import held, window
from linsep.model_files import format as model_file
from linsep.paths import cache_folder
from linsep.sources.base import Source
from linsep.sources.opening import find_files, kind_of, open_source


@reads_data
@learners.options_of(learners.ALL)
def fit(
    data: options.Data,
    *,
    target: options.Target = None,
    model: options.ModelOut = None,
    force: options.Force = False,
    test: options.Test = None,
    learner: options.Learner = "perceptron",
    missing: options.Missing = "error",
    hash_bits: options.HashBits = None,
    exclude: options.Exclude = None,
    scale: options.Scale = None,
    reference_level: options.ReferenceLevel = None,
    index_base: options.IndexBase = None,
    format: options.DataFormat = None,
    delimiter: options.Delimiter = None,
    max_line: options.MaxLine = None,
    cache: options.CacheFolder = None,
    no_cache: options.NoCache = False,
    as_json: options.AsJson = False,
    curve: options.Curve = False,
    random_state: options.RandomState = 0,
    class_weight: options.ClassWeight = None,
    reference: options.Reference = None,
    **parameters: Any,
) -> None:
    """Learn from DATA and save a model.

    Example: linsep fit train.csv --target species --test test.csv --model species.linsep
    """
    if model is not None:
        model_file.check_free(model, force)
    started = perf_counter()
    files = {"format": format, "delimiter": delimiter, "max_line": max_line}
    kept = None if no_cache else cache or cache_folder()
    intercept = parameters.get("fit_intercept") is not False
    source = open_source(
        data, target=target, missing=missing, hash_bits=hash_bits, exclude=exclude,
        index_base=index_base, cache=kept, **files,
        **_columns(data, format, scale, reference_level, learner, intercept),
    )  # fmt: skip
    never_overwrite(model, source.paths)
    if test:  # what shows at once that it cannot be scored should not wait for the learning
        open_source(test, recipe=source.layout(), **files)
    estimator = learners.make_learner(
        "fit", learner, parameters, random_state=random_state,
        class_weight=learners.class_weights(class_weight, source),
        reference=learners.reference_class(reference, source),
    )  # fmt: skip
    if curve and not getattr(estimator, "early_stopping", False):
        raise typer.BadParameter("--curve needs --early-stopping, which holds rows out.")
    whole = _fitted(estimator, source)
    with held() as pressed:  # what was learnt is kept and told, whoever presses Ctrl-C once more
        if model is not None:
            model_file.save(estimator, model, force=force)
        seconds = {"total": perf_counter() - started} | _phases(estimator)
        tested = _tested(estimator, model, test, files, not whole)
        _tell(estimator, source, seconds, model, tested, as_json=as_json, curve=curve)
        code = interrupted_code()
        pressed.forget()
    if tested.trouble is not None:
        raise tested.trouble
    if tested.interrupted:
        raise typer.Exit(code)


def _columns(
    data: list[str], format: str | None, scale: str | None, levels: list[str] | None, learner: str,
    intercept: bool,
) -> dict[str, Any]:  # fmt: skip
    """How the columns of DATA become features: as was said, else as serves the learner.

    svmlight text has no columns, and is left as it is.
    """
    table = kind_of(find_files(list(data), format), format) == "table"
    return {
        "scale": learners.scaling(scale, learner, table),
        "reference_level": learners.reference_levels(levels, learner, intercept, table),
    }


def _phases(estimator: Any) -> dict[str, float]:
    """How long parts of the learning took, where it was done in passes."""
    return estimator.progress_.seconds if hasattr(estimator, "progress_") else {}


class _Tested(NamedTuple):
    """The score of test data; or none, why, and the error: what was learnt is told anyhow."""

    score: dict[str, Any] | None = None
    untested: str | None = None
    trouble: LinsepError | None = None
    interrupted: bool = False


def _tested(
    estimator: Any, model: Any, test: list[str] | None, files: dict[str, Any], interrupted: bool
) -> _Tested:
    """Score the test data, if there are any."""
    if not test or interrupted:
        untested = report.interruption(estimator) if test else None
        return _Tested(untested=untested, interrupted=interrupted)
    try:
        with window():
            source = open_like(estimator, model, test, **files)
            return _Tested(score_source(estimator, source))
    except LinsepError as problem:
        return _Tested(untested="there was an error", trouble=problem)
    except KeyboardInterrupt:
        return _Tested(untested=report.interruption(estimator), interrupted=True)


def _tell(
    estimator: Any, source: Source, seconds: dict[str, float], model: Path | None,
    tested: _Tested, *, as_json: bool, curve: bool,
) -> None:  # fmt: skip
    """Print how the fit went."""
    screen: Any = regressions if regressions.is_regression(estimator) else report
    summary = screen.fit_summary(estimator, seconds, source, model) | {"test": tested.score}
    summary["interrupted"] = tested.interrupted
    summary["warnings"] = worse_than_baseline(estimator, summary)
    if as_json:
        report.print_json(summary)
    else:
        screen.print_fit(estimator, summary, tested.untested)
        if curve:
            report.print_curve(summary)
    for said in summary["warnings"]:
        note(said)


def _fitted(estimator: Any, source: Source) -> bool:
    """Learn; False when Ctrl-C ended it with something learnt."""
    # --verbose prints to stdout, which is for results.
    results = redirect_stdout(sys.stderr or sys.stdout)
    said: list[Any] = []
    try:
        with watching(source, estimator), results, listed() as said:
            estimator.fit(source)
    except KeyboardInterrupt:
        if getattr(estimator, "stop_reason_", None) is None or not hasattr(estimator, "recipe_"):
            raise
        return False
    finally:
        for warning in said:
            note_warning(warning.message)
    return True

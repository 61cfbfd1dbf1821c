"""The commands: fit, predict, score, summary, inspect, trace, separate, verify."""

from contextlib import nullcontext
from typing import Annotated, Any

import typer

import linsep
from linsep import model_file
from linsep.cli import learners, options, proofs, regressions, report
from linsep.cli.failures import Commands, note
from linsep.cli.fitting import fit
from linsep.cli.inspection import model_summary, print_model
from linsep.cli.output import never_overwrite, open_output
from linsep.cli.predicting import one_of, refuse_beside, write_classes, write_numbers
from linsep.cli.progress import watching
from linsep.cli.scoring import open_like
from linsep.cli.screen import on_terminal
from linsep.cli.standard_input import reads_data
from linsep.estimators.learners import LEARNERS

app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"linsep {linsep.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Learn linear separators from files of any size.

    Example: linsep fit train.svm --model m.linsep; linsep COMMAND --help says more.
    """


app.command()(fit)


@app.command()
@reads_data
def predict(
    model: options.ModelIn,
    data: options.Data,
    *,
    format: options.DataFormat = None,
    delimiter: options.Delimiter = None,
    max_line: options.MaxLine = None,
    output: options.Output = None,
    scores: options.Scores = False,
    probabilities: options.Probabilities = False,
    interval: options.Interval = None,
    level: options.Level = 0.95,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Predict the class of every row of DATA, or its number where the model is linear regression.

    Example: linsep predict species.linsep new.csv --output species.txt
    """
    estimator = model_file.load(model)
    beside = one_of(scores, probabilities)
    refuse_beside(estimator, model, beside, interval)
    source = open_like(
        estimator,
        model,
        data,
        labelled=False,
        format=format,
        delimiter=delimiter,
        max_line=max_line,
    )
    never_overwrite(output, [*source.paths, model])
    # A bar would be drawn into predictions that go to the same terminal.
    seen = nullcontext() if output is None and on_terminal() else watching(source)
    prediction = estimator._prediction(source)
    with open_output(output, force) as out, seen:
        if not hasattr(estimator, "classes_"):
            write_numbers(out, prediction.bands(interval, level), as_json=as_json)
        else:
            write_classes(out, estimator.classes_, prediction.codes(), beside, as_json=as_json)
    if prediction.unknown:
        note(f"{report.unknown_text(prediction.unknown)}.")


@app.command()
@reads_data
def score(
    model: options.ModelIn,
    data: options.Data,
    *,
    format: options.DataFormat = None,
    delimiter: options.Delimiter = None,
    max_line: options.MaxLine = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare predictions with the labels in DATA.

    Example: linsep score species.linsep test.csv
    """
    estimator = model_file.load(model)
    source = open_like(
        estimator, model, data, format=format, delimiter=delimiter, max_line=max_line
    )
    result = regressions.score_source(estimator, source)
    if as_json:
        report.print_json(result)
    elif "accuracy" in result:
        report.print_score(result)
    else:
        regressions.print_residuals(result)


@app.command()
@reads_data
@learners.options_of(LEARNERS, learners.PASSES)
def trace(
    data: options.Data,
    *,
    target: options.Target = None,
    learner: options.TraceLearner = "perceptron",
    written: options.TraceFormat = "text",
    output: options.Output = None,
    force: options.Force = False,
    max_rounds: options.MaxRounds = 1000,
    row_names: options.RowNames = None,
    missing: options.Missing = "error",
    hash_bits: options.HashBits = None,
    exclude: options.Exclude = None,
    index_base: options.IndexBase = None,
    format: options.TraceDataFormat = None,
    delimiter: options.Delimiter = None,
    max_line: options.MaxLine = None,
    random_state: options.RandomState = 0,
    class_weight: options.ClassWeight = None,
    **parameters: Any,
) -> None:
    """Show every round of learning from a small DATA: score, mistake, update, weights afterwards.

    Example: linsep trace students.csv --target grade --row-names name --no-shuffle
    """
    from linsep.cli.tracing import feature_names, read_rows, write_trace  # other commands need none

    if output is not None:
        model_file.check_free(output, force)
    source, X, y, names = read_rows(
        data, row_names, target=target, missing=missing, hash_bits=hash_bits, exclude=exclude,
        index_base=index_base, format=format, delimiter=delimiter, max_line=max_line,
    )  # fmt: skip
    never_overwrite(output, source.paths)
    estimator = learners.make_learner(
        learner, parameters, learners.PASSES, random_state=random_state,
        class_weight=learners.class_weights(class_weight, source),
    )  # fmt: skip
    made = linsep.trace(
        estimator, X, y, max_rounds=max_rounds, row_names=names,
        feature_names=feature_names(source, X.shape[1]),
    )  # fmt: skip
    with open_output(output, force) as out:
        write_trace(out, made, written, to_screen=output is None)


@app.command()
def summary(
    model: options.ModelIn,
    *,
    top: options.TopWeights = None,
    as_json: options.AsJson = False,
) -> None:
    """Show what a regression infers: estimates, standard errors, tests, intervals.

    Example: linsep summary pressure.linsep
    """
    regressions.show(model_file.load(model), model, top, as_json)


@app.command()
def inspect(
    model: options.ModelIn,
    *,
    top: options.Top = None,
    as_json: options.AsJson = False,
) -> None:
    """Say how a model was trained and what weighs most.

    Example: linsep inspect species.linsep --top 5
    """
    estimator = model_file.load(model)
    summary = model_summary(estimator, top)
    if as_json:
        report.print_json(summary)
    else:
        print_model(estimator, summary)


app.command()(proofs.separate)
app.command()(proofs.verify)

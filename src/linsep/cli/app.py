"""The commands: fit, predict, score, inspect."""

from time import perf_counter
from typing import Annotated, Any

import typer

import linsep
from linsep import model_file
from linsep.cli import options, report
from linsep.cli.output import open_output, print_rows
from linsep.cli.progress import watching
from linsep.cli.scoring import open_like, score_source
from linsep.estimators.from_source import decisions
from linsep.paths import cache_folder
from linsep.sources.opening import open_source

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
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
    """Learn linear separators from files of any size."""


@app.command()
@options.learner_options
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
    index_base: options.IndexBase = None,
    cache: options.CacheFolder = None,
    no_cache: options.NoCache = False,
    as_json: options.AsJson = False,
    random_state: options.RandomState = 0,
    class_weight: options.ClassWeight = None,
    **parameters: Any,
) -> None:
    """Learn from DATA, say what was learnt and why it stopped, save the model.

    Example: linsep fit train.csv --target species --test test.csv --model species.linsep
    """
    if model is not None:
        model_file.check_free(model, force)
    weights = options.class_weights(class_weight)
    started = perf_counter()
    source = open_source(
        data, target=target, missing=missing, hash_bits=hash_bits, exclude=exclude,
        index_base=index_base, cache=None if no_cache else cache or cache_folder() / "rows",
    )  # fmt: skip
    estimator = options.LEARNERS[learner](
        random_state=random_state, class_weight=weights, **parameters
    )
    interrupted = False
    try:
        with watching(source, estimator):
            estimator.fit(source)
    except KeyboardInterrupt:
        if not hasattr(estimator, "recipe_"):
            raise
        interrupted = True
    if model is not None:
        model_file.save(estimator, model, force=force)
    seconds = {"total": perf_counter() - started} | estimator.progress_.seconds
    tested = None
    if test and not interrupted:
        tested = score_source(estimator, open_like(estimator, model, test, labelled=True))
    summary = report.fit_summary(estimator, seconds, tested)
    summary["model"] = None if model is None else str(model)
    summary["cache"] = None if source.kept is None else str(source.kept)
    if as_json:
        report.print_json(summary)
    else:
        report.print_fit(estimator, summary)
    if interrupted:
        raise typer.Exit(130)


@app.command()
def predict(
    model: options.ModelIn,
    data: options.Data,
    *,
    output: options.Output = None,
    scores: options.Scores = False,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Predict the class of every row of DATA, one line a row.

    Example: linsep predict species.linsep new.csv --output species.txt
    """
    estimator = model_file.load(model)
    source = open_like(estimator, model, data, labelled=False)
    with open_output(output, force) as out, watching(source):
        for _, values in decisions(estimator, source):
            print_rows(out, estimator, values, scores, as_json)


@app.command()
def score(model: options.ModelIn, data: options.Data, *, as_json: options.AsJson = False) -> None:
    """Compare the model's predictions with the labels in DATA.

    Example: linsep score species.linsep test.csv
    """
    estimator = model_file.load(model)
    result = score_source(estimator, open_like(estimator, model, data, labelled=True))
    if as_json:
        report.print_json(result)
    else:
        report.print_score(result)


@app.command()
def inspect(
    model: options.ModelIn,
    *,
    top: options.Top = 10,
    as_json: options.AsJson = False,
) -> None:
    """Say what a model is, how it was trained, and which features weigh most.

    Example: linsep inspect species.linsep --top 5
    """
    summary = report.model_summary(model_file.load(model), top)
    if as_json:
        report.print_json(summary)
    else:
        report.print_model(summary)

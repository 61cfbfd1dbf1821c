"""The commands ``predict`` and ``score``: predictions, and their accuracy."""

from collections.abc import Iterator
from contextlib import nullcontext
from math import isnan
from pathlib import Path
from typing import Any

import click
import numpy as np

from linsep import model_files
from linsep.catalog import is_regression
from linsep.cli import options
from linsep.cli.errors import note
from linsep.cli.options import Option, command
from linsep.cli.output import (
    label_text,
    never_overwrite,
    on_terminal,
    print_json,
    print_pairs,
    print_table,
    watching,
)
from linsep.cli.predictions import Answers, Form, KeptColumns, writing
from linsep.cli.reading import lacks, open_like, tell_unknown
from linsep.cli.report import (
    baseline_text,
    gap_pairs,
    metric_text,
    right_text,
    rows_text,
    unscored_pairs,
)
from linsep.errors import DataError
from linsep.estimators.labels import plain_labels
from linsep.estimators.predicting import probabilities_of
from linsep.estimators.thresholds import Rule, Threshold, given_threshold
from linsep.layout import elided, room, table_width, width_of
from linsep.scoring import gaps_of, scores_of
from linsep.scoring.metrics import METRICS
from linsep.sources.base import Source
from linsep.words import counted, percent

#: names of the columns of an interval
ENDS = ("low", "high")
MISSING = Option(
    "--missing", options.choice(("error", "skip")),
    "Raise an error for rows with a missing value, or give them an empty prediction "
    "(tables only).",
    default="error",
)  # fmt: skip
KEEP_COLUMNS = Option(
    "--keep-columns", "COLUMN",
    "Column of DATA to copy before each prediction, such as an id, or a glob; separate "
    "several by commas; repeatable (tables only).",
    many=True,
)  # fmt: skip
THRESHOLD = Option(
    "--threshold", options.number(float),
    "Predict the positive of two classes where its probability, or its score for "
    "learners without probabilities, is at least X; overrides the threshold of MODEL.",
)  # fmt: skip


@command(
    options.MODEL, options.DATA, options.FILES, options.OUTPUT, options.SCORES,
    options.PROBABILITIES, THRESHOLD, options.INTERVAL, options.LEVEL, MISSING, KEEP_COLUMNS,
    options.FORCE, options.AS_JSON,
)  # fmt: skip
def predict(
    model: Path, data: list[str], *, files: dict[str, Any], output: Path | None, scores: bool,
    probabilities: bool, threshold: float | None, interval: str | None, level: float,
    missing: str, keep_columns: list[str] | None, force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Predict the class of every row of DATA, or a number if the model is a linear regression.

    Output that ends in .csv, .tsv or .parquet is a table with column names; other output has one
    line per row.

    Example: linsep predict species.linsep new.csv --output species.txt
    """
    estimator = model_files.load(model)
    beside = "scores" if scores else "probabilities" if probabilities else None
    _refuse_beside(estimator, model, beside, interval)
    cut = None if threshold is None else _threshold_given(estimator, model, threshold)
    source = open_like(estimator, model, data, **files, labeled=False, missing=missing)
    never_overwrite([*source.paths, model], output)
    # A progress bar would mix with predictions on the same terminal.
    seen = nullcontext() if output is None and on_terminal() else watching(source)
    kept, prediction = KeptColumns(source, keep_columns), estimator.predictions(source)
    if hasattr(estimator, "classes_"):
        bands = None if interval is None else level
        form, found = _classes_predicted(prediction, kept, beside, cut, as_json, bands)
    else:
        form, found = _numbers_predicted(prediction, kept, interval, level)
    with writing(output, form, force=force, as_json=as_json) as out, seen:
        for answers in found:
            out.write(answers)
    unread = [estimator.recipe_.get(name) for name in ("target", "weight")]
    for heading, text in gap_pairs(gaps_of(source, unread), estimator.recipe_):
        note(f"{heading} {text}.", "warning")
    if source.skipped:
        note(f"no prediction for {counted(source.skipped, 'row')} with missing values.", "warning")
    tell_unknown(prediction.unknown, estimator.recipe_)


def _refuse_beside(model: Any, path: Path, beside: str | None, interval: str | None) -> None:
    """Raise DataError if ``model`` cannot give what was requested in addition to predictions.

    ``beside`` is "scores", "probabilities" or None.
    """
    classes = hasattr(model, "classes_")
    if beside is not None and not classes:
        raise lacks(model, path, f"which predicts numbers and has no {beside}.")
    if interval is not None and classes:
        if not is_regression(model) or not hasattr(model, "marginal_effects"):
            raise lacks(
                model, path,
                "whose predictions have no intervals: --interval applies to linear and logistic "
                "regression.",
                option="interval",
            )  # fmt: skip
        if interval != "confidence":
            raise lacks(
                model, path,
                "which predicts classes: use --interval confidence, an interval for the "
                "probabilities.",
                option="interval", value=interval,
            )  # fmt: skip
        if beside == "scores":
            raise DataError(
                "--interval applies to probabilities: leave out --scores.",
                code="conflict",
                option="interval",
            )
    if beside == "probabilities" and not hasattr(model, "predict_proba"):
        raise lacks(
            model, path,
            "which has no probabilities: print its scores with --scores, calibrate it with "
            "`linsep fit --calibrate`, or train --learner logistic.",
        )  # fmt: skip


def _threshold_given(model: Any, path: Path, least: float) -> Threshold:
    if not hasattr(model, "classes_"):
        raise lacks(
            model, path, "which predicts numbers: --threshold applies to two classes.",
            option="threshold",
        )  # fmt: skip
    if len(model.classes_) != 2:
        raise DataError(
            f"{path} has {len(model.classes_)} classes, but --threshold decides between two: "
            "leave it out, or decide from the --probabilities or --scores.",
            code="class-count",
            path=path,
            option="threshold",
        )
    has_probabilities = hasattr(model, "predict_proba")
    if has_probabilities and not 0 <= least <= 1:
        raise click.BadParameter(
            f"--threshold is {least:g}, but {path} has probabilities: choose one from 0 to 1."
        )
    found = given_threshold(model, Rule("fixed", least))
    label = label_text(model.classes_[found.positive])
    what = "probability" if has_probabilities else "score"
    note(f"{label} is predicted where its {what} is at least {least:g}.")
    return found


def _numbers_predicted(
    prediction: Any, kept: KeptColumns, interval: str | None, level: float
) -> tuple[Form, Iterator[Answers]]:

    def found() -> Iterator[Answers]:
        for predicted in prediction.bands(interval, level):
            values, *ends = predicted if isinstance(predicted, tuple) else (predicted,)
            numbers = [None if isnan(value) else value for value in values.tolist()]
            beside = np.column_stack(ends).tolist() if ends else []
            yield Answers(kept.take(len(numbers)), numbers, beside)

    return Form(None, [*ENDS] if interval else []), found()


def _classes_predicted(
    prediction: Any, kept: KeptColumns, beside: str | None, threshold: Threshold | None,
    as_json: bool, level: float | None = None,
) -> tuple[Form, Iterator[Answers]]:  # fmt: skip
    """Return the output columns of predicted classes, and the answers in batches; ``level`` is the
    level of intervals of their probabilities.
    """
    model = prediction.model
    labels = plain_labels(model.classes_)
    beside = "scores" if as_json and beside is None and level is None else beside

    def found() -> Iterator[Answers]:
        rows = prediction.codes() if level is None else prediction.with_bands(level)
        for batch, scores, codes, *bands in rows:
            chosen = codes if threshold is None else threshold.codes(scores)
            predicted = [labels[code] for code in chosen.tolist()]
            if batch.unanswered is not None:
                for row in np.flatnonzero(batch.unanswered).tolist():
                    predicted[row] = None
            values = scores if beside == "scores" else np.zeros((len(predicted), 0))
            if bands:
                values = np.stack(bands[0], axis=-1)
            elif beside == "probabilities":
                values = probabilities_of(model, scores)
            yield Answers(
                kept.take(len(predicted)), predicted, values.reshape(len(predicted), -1).tolist()
            )

    if level is not None:
        each_of = [f"{what} {label_text(x)}" for x in labels for what in ("probability", *ENDS)]
        return Form(labels, each_of), found()
    each = "probability" if beside == "probabilities" else "score"
    several = [f"{each} {label_text(label)}" for label in labels]
    names = several if each == "probability" or len(labels) > 2 else [each]
    return Form(labels, names if beside else [], beside), found()


#: lines of a screen
LINES = 24
#: classes up to which the confusion matrix is printed, if it fits with names cut to so many letters
MOST_PREDICTED, MOST_LETTERS = 12, 12
#: minimum number of classes to print if there are more
FEWEST_CLASSES = 5
WANTED = Option(
    "--metrics", "NAME",
    "Metric to print, such as roc_auc; separate several by commas; repeatable.  [default: all]",
    many=True,
)  # fmt: skip
GROUP = Option(
    "--group", "COLUMN", "Column of groups: intervals resample whole groups (tables only)."
)


@command(
    options.MODEL, options.DATA, options.FILES, WANTED, GROUP, options.AS_JSON
)  # fmt: skip
def score(
    model: Path, data: list[str], *, files: dict[str, Any], metrics: list[str] | None,
    group: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Compare predictions with the labels in DATA.

    Example: linsep score species.linsep test.csv
    """
    estimator = model_files.load(model)
    source = open_like(estimator, model, data, **files, group=group)
    names = metrics and [name.strip() for one in metrics for name in one.split(",")]
    result = score_source(estimator, source, names)
    if as_json:
        print_json(result)
    else:
        _print_score(result, estimator)


def score_source(model: Any, source: Source, metrics: list[str] | None = None) -> dict[str, Any]:
    """Return scores of the predictions of a source, with a progress bar."""
    with watching(source):
        return scores_of(model, source, metrics)


def _print_score(result: dict[str, Any], model: Any) -> None:
    name = "accuracy" if "accuracy" in result else "r2"
    if name == "accuracy":
        first, baseline = ("accuracy", right_text(result)), baseline_text(result)
    else:
        first = ("R^2", f"{result['r_squared']:.6g} of {rows_text(result)}")
        baseline = f"{result['standard_deviation']:.6g} rms, always the mean"
    # other undefined metrics are left out silently
    names = ("roc_auc", "average_precision", "r2")
    undefined = [result["undefined"][one] for one in names if one in result["undefined"]]
    pairs = [
        first,
        *_interval_pairs(result, name),
        ("baseline", baseline),
        *unscored_pairs(result, model),
        *[("note", sentence) for sentence in undefined[:1]],
    ]
    print_pairs(pairs)
    lines = len(pairs) + _print_metrics(result, name)
    if name == "accuracy":
        print()
        table = _classes_with_predictions(result)
        if table is None:
            _print_classes(result, LINES - lines - 4)
        else:
            print_table(*table)


def _interval_pairs(result: dict[str, Any], name: str) -> list[tuple[str, str]]:
    about = result["intervals"]
    ends = result["metrics"].get(name, {}).get("interval")
    units, resamples = about["of"], f"{about['resamples']:,}"
    if ends is None:
        return []
    what = counted(about[units], units.removesuffix("s")) if units == "groups" else "the rows"
    drawn = (
        f"; metrics are computed on every {about['every']:,}th row" if about["every"] > 1 else ""
    )
    low, high = (metric_text(name, end) for end in ends)
    return [
        (
            "interval",
            f"{low} to {high} ({100 * about['level']:g}% interval, {resamples} resamples of "
            f"{what}){drawn}",
        )
    ]


def _print_metrics(result: dict[str, Any], without: str) -> int:
    """Print a line for each metric but one; return how many lines."""
    rows = []
    for name, found in result["metrics"].items():
        if name == without or found["value"] is None:
            continue
        title = METRICS[name].title
        if name == "f1":
            title += f" of {label_text(result['positive_class'])}"
        ends = found["interval"]
        between = "-" if ends is None else " to ".join(metric_text(name, end) for end in ends)
        value, baseline = (metric_text(name, found[key]) for key in ("value", "baseline"))
        rows.append([title, value, between, baseline])
    if not rows:
        return 0
    level = f"{100 * result['intervals']['level']:g}% interval"
    print()
    print_table(["metric", "value", level, "baseline"], rows)
    return len(rows) + 2


def _classes_with_predictions(result: dict[str, Any]) -> tuple[list[str], list[list[str]]] | None:
    """Return header and rows of a table of the classes with the confusion matrix beside them, None
    if it does not fit.
    """
    confusion, classes = result["confusion"], result["classes"]
    if len(classes) > MOST_PREDICTED:
        return None
    labels = [label_text(c["label"]) for c in classes]
    rows = [
        [label, f"{c['rows']:,}", _percent(c["recall"]), _percent(c["precision"]), "",
         *(f"{value:,.6g}" for value in line)]
        for label, c, line in zip(labels, classes, confusion["matrix"], strict=True)
    ]  # fmt: skip
    if result["unknown_labels"]:
        counts = [f"{value:,.6g}" for value in confusion["unknown"]]
        rows.append(["(unknown)", f"{result['unknown_labels']:,}", "-", "-", "", *counts])
    header = ["class", "rows", "recall", "precision", "as", *labels]
    short = [[elided(cell, MOST_LETTERS) for cell in line] for line in (header, *rows)]
    return (header, rows) if table_width(short) <= room() else None


def _percent(share: float | None) -> str:
    return "-" if share is None else percent(share)


def _print_classes(result: dict[str, Any], most: int) -> None:
    """Print the classes, or the most frequent of them, and the most frequent confusions."""
    classes = result["classes"]
    if len(classes) > max(most, FEWEST_CLASSES) + 1:  # a line for one class would hide nothing
        classes = sorted(classes, key=lambda c: -c["rows"])[: max(most, FEWEST_CLASSES)]
    print_table(
        ["class", "rows", "right", "recall", "precision"],
        [
            [label_text(c["label"]), f"{c['rows']:,}", f"{c['right']:,}",
             _percent(c["recall"]), _percent(c["precision"])]
            for c in classes
        ],
    )  # fmt: skip
    if len(result["classes"]) > len(classes):
        print(f"... and {len(result['classes']) - len(classes):,} rarer classes; --json has all")
    if confusions := result["confusion"]["most_frequent"]:
        first, *more = [
            f"{elided(label_text(c['label']), 24)} as {elided(label_text(c['predicted']), 24)} "
            f"({c.get('rows', c.get('weight')):,.6g})"
            for c in confusions
        ]
        for one in more:
            if width_of(f"confused  {first}, {one}") > room():
                break
            first += f", {one}"
        print_pairs([("confused", first)])

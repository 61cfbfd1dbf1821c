"""The commands ``predict`` and ``score``: predictions in several formats, and their accuracy."""

import csv
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from math import isfinite, isnan
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
import pyarrow as pa

from linsep import model_files
from linsep._system.files import written_whole
from linsep.cli import options, report
from linsep.cli.errors import note
from linsep.cli.options import command, option
from linsep.cli.output import (
    check_outputs,
    finishing,
    label_text,
    on_terminal,
    open_output,
    print_json,
    print_pairs,
    print_table,
    watching,
)
from linsep.cli.reading import lacks, open_like, tell_unknown
from linsep.errors import DataError
from linsep.estimators.labels import plain_labels
from linsep.estimators.predicting import probabilities_of
from linsep.estimators.thresholds import Rule, Threshold, given_threshold
from linsep.layout import elided, room, table_width, width_of
from linsep.parameters import INTERVALS
from linsep.scoring import gaps_of, scores_of
from linsep.scoring.metrics import METRICS
from linsep.sources.base import Source
from linsep.words import counted, escaped, percent

#: endings of text with column names, with their delimiters, and of Parquet
DELIMITERS, PARQUET = {".csv": ",", ".tsv": "\t"}, (".parquet", ".pq")


class Form(NamedTuple):
    """What is predicted: ``labels`` of classes, None for numbers; the ``names`` of the columns
    beside each prediction, and the name of their list in JSON, ``together``, if they have one.
    """

    labels: list[Any] | None
    names: list[str]
    together: str | None = None


class Answers(NamedTuple):
    """Predictions of some rows: columns of the input by name; the label or number of each row, None
    if it has no prediction; and an array with a column for everything beside it.
    """

    kept: dict[str, pa.ChunkedArray]
    predicted: list[Any]
    beside: np.ndarray

    def columns(self) -> list[Any]:
        """Return all columns: None where a row has no prediction, or an interval no end."""
        beside = [
            [
                None if label is None or not isfinite(value) else value
                for label, value in zip(self.predicted, column, strict=True)
            ]
            for column in self.beside.T.tolist()
        ]
        return [*self.kept.values(), self.predicted, *beside]


class KeptColumns:
    """Columns of the input, taken in the order of its rows."""

    def __init__(self, source: Source, patterns: list[str] | None):
        self._tables = source.cells(patterns) if patterns else None
        self._held: list[pa.Table] = []

    def take(self, rows: int) -> dict[str, pa.ChunkedArray]:
        if self._tables is None:
            return {}
        while sum(table.num_rows for table in self._held) < rows:
            self._held.append(next(self._tables))
        try:
            whole = pa.concat_tables(self._held, promote_options="permissive")
        except pa.ArrowException:  # some have numbers and some text
            whole = pa.concat_tables(map(_as_text, self._held), promote_options="permissive")
        self._held = [whole.slice(rows)]
        some = whole.slice(0, rows)
        return dict(zip(some.column_names, some.columns, strict=True))


def _as_text(table: pa.Table) -> pa.Table:
    cells = [[None if x is None else _cell(x) for x in c.to_pylist()] for c in table.columns]
    return pa.table([pa.array(column, pa.string()) for column in cells], table.column_names)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _texts(answers: Answers, form: Form, cell: Callable[[Any], str]) -> Iterator[tuple[str, ...]]:
    known: dict[Any, str] = {None: ""}
    if form.labels is not None:
        known |= {label: label_text(label) for label in form.labels}
    columns = answers.columns()
    columns[len(answers.kept)] = [known.get(x, x) for x in answers.predicted]
    lists = [column if isinstance(column, list) else column.to_pylist() for column in columns]
    return zip(*[map(cell, values) for values in lists], strict=True)


def write_lines(out: TextIO, form: Form, answers: Answers) -> None:
    """Write tab-separated lines without a header; a text with tabs or line breaks is written as a
    JSON string.
    """
    harmless = escaped if out is sys.stdout and on_terminal() else str

    def cell(value: Any) -> str:
        text = _cell(value)
        broken = not text.isprintable() and set(text) & set("\t\n\r\v\f")
        return harmless(json.dumps(text, ensure_ascii=False) if broken else text)

    out.writelines("\t".join(row) + "\n" for row in _texts(answers, form, cell))


def _write_json(out: TextIO, form: Form, answers: Answers) -> None:
    *kept, predicted = answers.columns()[: len(answers.kept) + 1]
    lists = [*(column.to_pylist() for column in kept), predicted]
    names = [*answers.kept, "prediction"]
    values = [[x if isfinite(x) else None for x in row] for row in answers.beside.tolist()]
    for beside, *cells in zip(values, *lists, strict=True):
        line = dict(zip(names, cells, strict=True))
        if form.together is None:
            line |= dict(zip(form.names, beside, strict=True))
        else:
            together = beside[0] if len(beside) == 1 else beside
            line[form.together] = None if line["prediction"] is None else together
        out.write(json.dumps(line, default=str) + "\n")


def _named(answers: Answers, form: Form) -> list[str]:
    """Return the names of all columns; DataError if two have the same."""
    own = ["prediction", *form.names]
    for name in answers.kept:
        if name in own:
            raise DataError(
                f"--keep-columns names '{name}', which is also a column of the output: leave "
                "it out, or rename it in the input.",
                code="duplicate-name", column=name, option="keep_columns",
            )  # fmt: skip
    return [*answers.kept, *own]


@contextmanager
def _parquet(path: Path, form: Form, force: bool) -> Iterator[Callable[[Answers], None]]:
    """Yield the function that writes answers as row groups of a Parquet file, with the types that
    the columns have in the input.
    """
    import pyarrow.parquet as pq

    label = pa.float64() if form.labels is None else pa.array(form.labels).type
    kinds, writer = [label, *[pa.float64()] * len(form.names)], None
    with finishing(written_whole(path, force=force)) as (file,), ExitStack() as stack:

        def write(answers: Answers) -> None:
            nonlocal writer
            kept, columns = len(answers.kept), answers.columns()
            own = map(pa.array, columns[kept:], kinds)
            table = pa.table([*columns[:kept], *own], _named(answers, form))
            if writer is None:
                writer = stack.enter_context(pq.ParquetWriter(file, table.schema))
            try:
                writer.write_table(table.cast(writer.schema))
            except (pa.ArrowException, ValueError):
                raise DataError(
                    "Columns of --keep-columns hold numbers in some rows and text in others: write "
                    "a .csv file.",
                    code="column-type", option="keep_columns",
                ) from None  # fmt: skip

        yield write


@contextmanager
def writing(
    path: Path | None, form: Form, *, force: bool, as_json: bool
) -> Iterator[Callable[[Answers], None]]:
    """Yield the function that writes answers in the format of a file name, or to stdout."""
    ending = "" if path is None or as_json else path.suffix.lower()
    if path is not None and ending in PARQUET:
        with _parquet(path, form, force) as write_rows:
            yield write_rows
        return
    with open_output(path, force) as out:
        if ending not in DELIMITERS:
            yield partial(_write_json if as_json else write_lines, out, form)
            return
        lines, begun = csv.writer(out, delimiter=DELIMITERS[ending], lineterminator="\n"), False

        def write(answers: Answers) -> None:
            nonlocal begun
            lines.writerows([] if begun else [_named(answers, form)])
            begun = True
            lines.writerows(_texts(answers, form, _cell))

        yield write


#: names of the columns of an interval
ENDS = ("low", "high")


@command()
def predict(
    model: Path = options.MODEL, data: list[str] = options.DATA,
    files: dict[str, Any] = options.FILES, output: Path | None = options.OUTPUT,
    scores: bool = option(
        "--scores", None, "Add the scores, separated by tabs.", excludes=["probabilities"]
    ),
    probabilities: bool = option(
        "--probabilities", None, "Add the probability of each class, separated by tabs."
    ),
    threshold: float | None = option(
        "--threshold", options.number(float),
        "Predict the positive of two classes where its probability, or its score for "
        "learners without probabilities, is at least X; overrides the threshold of MODEL.",
    ),
    interval: str | None = option(
        "--interval", options.choice(INTERVALS),
        "Add a confidence interval for the mean (linear) or the probabilities (logistic), "
        "or a prediction interval (linear), separated by tabs.",
        excludes=["scores"],
    ),
    level: float = options.LEVEL,
    missing: str = option(
        "--missing", options.choice(("error", "skip")),
        "Raise an error for rows with a missing value, or give them an empty prediction "
        "(tables only).",
        default="error",
    ),
    keep_columns: list[str] | None = option(
        "--keep-columns", "COLUMN",
        "Column of DATA to copy before each prediction, such as an id, or a glob; separate "
        "several by commas; repeatable (tables only).",
        many=True,
    ),
    force: bool = options.FORCE, as_json: bool = options.AS_JSON,
) -> None:  # fmt: skip
    """Predict the class of every row of DATA, or a number if the model is a linear regression.

    Output that ends in .csv, .tsv or .parquet is a table with column names; other output has one
    line per row.

    Example: linsep predict species.linsep new.csv --output species.txt
    """
    estimator = model_files.loaded(model)
    beside = "scores" if scores else "probabilities" if probabilities else None
    _check(estimator, model, beside, interval)
    cut = None
    if threshold is not None:
        cut = given_threshold(estimator, Rule("fixed", threshold))
        label = label_text(estimator.classes_[cut.positive])
        what = "probability" if hasattr(estimator, "predict_proba") else "score"
        note(f"{label} is predicted where its {what} is at least {threshold:g}.")
    source = open_like(estimator, model, data, **files, labeled=False, missing=missing)
    check_outputs(force, [*source.paths, model], output)
    # A progress bar would mix with predictions on the same terminal.
    seen = nullcontext() if output is None and on_terminal() else watching(source)
    kept, prediction = KeptColumns(source, keep_columns), estimator.predictions(source)
    form = _form(estimator, "scores" if as_json and beside is None else beside, interval)
    with writing(output, form, force=force, as_json=as_json) as write, seen:
        for answers in _answers(prediction, kept, form, cut, interval, level):
            write(answers)
    unread = [estimator.recipe_.get(name) for name in ("target", "weight")]
    for heading, text in report.gap_pairs(gaps_of(source, unread), estimator.recipe_):
        note(f"{heading} {text}.", "warning")
    if source.skipped:
        note(f"no prediction for {counted(source.skipped, 'row')} with missing values.", "warning")
    tell_unknown(prediction.unknown, estimator.recipe_)


def _check(model: Any, path: Path, beside: str | None, interval: str | None) -> None:
    """Raise DataError if ``model`` cannot give what was requested in addition to predictions."""
    classes, why, fields = hasattr(model, "classes_"), "", {}
    if beside is not None and not classes:
        why = f"which predicts numbers and has no {beside}."
    elif interval is not None and classes:
        fields = {"option": "interval", "value": interval}
        if not hasattr(model, "marginal_effects"):
            why = "whose predictions have no intervals: only linear and logistic regressions have."
        elif interval != "confidence":
            why = "which predicts classes: use --interval confidence, for their probabilities."
    elif beside == "probabilities" and not hasattr(model, "predict_proba"):
        why = (
            "which has no probabilities: print its scores with --scores, calibrate it with "
            "`linsep fit --calibrate`, or train --learner logistic."
        )
    if why:
        raise lacks(model, path, why, **fields)


def _form(model: Any, beside: str | None, interval: str | None) -> Form:
    ends = [] if interval is None else [*ENDS]
    if not hasattr(model, "classes_"):
        return Form(None, ends)
    labels = plain_labels(model.classes_)
    names = [label_text(label) for label in labels]
    if ends:
        return Form(labels, [f"{x} {name}" for name in names for x in ("probability", *ENDS)])
    if beside == "scores":
        return Form(labels, [f"score {n}" for n in names] if len(names) > 2 else ["score"], beside)
    return Form(labels, [f"probability {name}" for name in names] if beside else [], beside)


def _answers(
    prediction: Any, kept: KeptColumns, form: Form, threshold: Threshold | None,
    interval: str | None, level: float,
) -> Iterator[Answers]:  # fmt: skip
    if form.labels is None:
        for predicted in prediction.bands(interval, level):
            values, *ends = predicted if isinstance(predicted, tuple) else (predicted,)
            numbers = [None if isnan(value) else value for value in values.tolist()]
            yield Answers(kept.take(len(numbers)), numbers, np.column_stack([values, *ends])[:, 1:])
        return
    for batch, scores, codes, *bands in (
        prediction.codes() if interval is None else prediction.with_bands(level)
    ):
        chosen = codes if threshold is None else threshold.codes(scores)
        labels = [form.labels[code] for code in chosen.tolist()]
        if batch.unanswered is not None:
            for row in np.flatnonzero(batch.unanswered).tolist():
                labels[row] = None
        beside: Any = np.stack(bands[0], axis=-1) if bands else scores
        if form.together == "probabilities":
            beside = probabilities_of(prediction.model, scores)
        beside = np.reshape(beside, (len(labels), -1))[:, : len(form.names)]
        yield Answers(kept.take(len(labels)), labels, beside)


#: classes up to which the confusion matrix is printed, if it fits with names cut to so many letters
MOST_PREDICTED, MOST_LETTERS = 12, 12
#: classes that are printed without the matrix
MOST_CLASSES = 10


@command()
def score(
    model: Path = options.MODEL, data: list[str] = options.DATA,
    files: dict[str, Any] = options.FILES,
    metrics: list[str] | None = option(
        "--metrics", "NAME",
        "Metric to print, such as roc_auc; separate several by commas; repeatable.  [default: all]",
        many=True,
    ),
    group: str | None = option(
        "--group", "COLUMN", "Column of groups: intervals resample whole groups (tables only)."
    ),
    as_json: bool = options.AS_JSON,
) -> None:  # fmt: skip
    """Compare predictions with the labels in DATA.

    Example: linsep score species.linsep test.csv
    """
    estimator = model_files.loaded(model)
    source = open_like(estimator, model, data, **files, group=group)
    names = metrics and [name.strip() for one in metrics for name in one.split(",")]
    result = score_source(estimator, source, names)
    if as_json:
        print_json(result)
    else:
        _print_score(result, estimator)


def score_source(model: Any, source: Source, metrics: list[str] | None = None) -> dict[str, Any]:
    with watching(source):
        return scores_of(model, source, metrics)


def _print_score(result: dict[str, Any], model: Any) -> None:
    metrics, about = result["metrics"], result["intervals"]
    level = f"{100 * about['level']:g}% interval"
    if "accuracy" in result:
        name, first, baseline = "accuracy", report.right_text(result), report.baseline_text(result)
    else:
        name, first = "r2", f"{result['r_squared']:.6g} of {report.rows_text(result)}"
        baseline = f"{result['standard_deviation']:.6g} rms, always the mean"
    interval = metrics.get(name, {}).get("interval")
    of = "the rows" if about["of"] == "rows" else counted(about["groups"], "group")
    every = f"; metrics are computed on every {about['every']:,}th row" * (about["every"] > 1)
    drawn = f"({level}, {about['resamples']:,} resamples of {of}){every}"
    # other undefined metrics are left out silently
    undefined = [
        result["undefined"][one]
        for one in ("roc_auc", "average_precision", "r2")
        if one in result["undefined"]
    ]
    print_pairs([
        ("accuracy" if name == "accuracy" else "R^2", first),
        *report.shown(("interval", interval and f"{_between(name, interval)} {drawn}")),
        ("baseline", baseline),
        *report.unscored_pairs(result, model),
        *[("note", sentence) for sentence in undefined[:1]],
    ])  # fmt: skip
    rows = []
    for one, found in metrics.items():
        if one != name and found["value"] is not None:
            of = f" of {label_text(result['positive_class'])}" if one == "f1" else ""
            value, usual = (report.metric_text(one, found[key]) for key in ("value", "baseline"))
            rows.append([METRICS[one].title + of, value, _between(one, found["interval"]), usual])
    if rows:
        print()
        print_table(["metric", "value", level, "baseline"], rows)
    if name == "accuracy":
        print()
        _print_classes(result)


def _between(name: str, ends: Sequence[float] | None) -> str:
    return "-" if ends is None else " to ".join(report.metric_text(name, end) for end in ends)


def _print_classes(result: dict[str, Any]) -> None:
    """Print the classes with the confusion matrix beside them, or, if it does not fit, the most
    frequent classes and confusions.
    """
    confusion = result["confusion"]
    classes = [
        [label_text(c["label"]), f"{c['rows']:,}",
         *("-" if c[n] is None else percent(c[n]) for n in ("recall", "precision"))]
        for c in result["classes"]
    ]  # fmt: skip
    header = ["class", "rows", "recall", "precision"]
    if len(classes) <= MOST_PREDICTED:
        counts = [*confusion["matrix"], confusion["unknown"]]
        others = [["(unknown)", f"{result['unknown_labels']:,}", "-", "-"]]
        wide = [[*header, "as", *(name for name, *_ in classes)]]
        wide += [
            [*line, "", *(f"{value:,.6g}" for value in row)]
            for line, row in zip(classes + others, counts, strict=True)
        ][: len(classes) + bool(result["unknown_labels"])]
        short = [[elided(cell, MOST_LETTERS) for cell in line] for line in wide]
        if table_width(short) <= room():
            print_table(wide[0], wide[1:])
            return
    lines = classes
    if len(classes) > MOST_CLASSES + 1:  # a line for one class would hide nothing
        order = sorted(range(len(classes)), key=lambda k: -result["classes"][k]["rows"])
        lines = [classes[k] for k in order[:MOST_CLASSES]]
    print_table(header, lines)
    if rest := len(classes) - len(lines):
        print(f"... and {rest:,} rarer classes; --json has all")
    confused = [
        f"{elided(label_text(c['label']), 24)} as {elided(label_text(c['predicted']), 24)} "
        f"({c['weight']:,.6g})"
        for c in confusion["most_frequent"]
    ]
    while len(confused) > 1 and width_of(f"confused  {', '.join(confused)}") > room():
        confused.pop()
    print_pairs(report.shown(("confused", ", ".join(confused))))

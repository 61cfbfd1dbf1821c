"""The commands ``predict`` and ``score``: predictions in several formats, and their accuracy."""

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain
from math import isnan, nan
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
import pyarrow as pa

from linsep import model_files
from linsep._system.files import written_whole
from linsep.cli import options, output, report
from linsep.cli.errors import note
from linsep.cli.options import command, option
from linsep.cli.reading import lacks, open_like, tell_unknown
from linsep.errors import DataError
from linsep.estimators.labels import plain_labels
from linsep.estimators.predicting import probabilities_of
from linsep.estimators.thresholds import Rule, Threshold, given_threshold
from linsep.layout import elided
from linsep.parameters import INTERVALS
from linsep.scoring import gaps_of, scores_of
from linsep.scoring.metrics import METRICS
from linsep.sources.base import Source
from linsep.words import counted, escaped, percent

#: endings of text with column names, with their delimiters, and of Parquet
DELIMITERS, PARQUET = {".csv": ",", ".tsv": "\t"}, (".parquet", ".pq")


class Form(NamedTuple):
    """The labels of classes, None for numbers, the names of the columns beside each prediction, and
    that of their list in JSON, if they have one.
    """

    labels: list[Any] | None
    names: list[str]
    together: str | None = None

    def table(self, kept: dict[str, Any], predicted: list[Any], beside: np.ndarray) -> pa.Table:
        names = ["prediction", *self.names]
        for name in kept:
            if name in names:
                told = f"--keep-columns names '{name}', which is also a column of the output: "
                raise DataError(
                    f"{told}leave it out, or rename it in the input.", code="duplicate-name",
                    column=name, option="keep_columns",
                )  # fmt: skip
        known = np.array([[label is not None] for label in predicted]) & np.isfinite(beside)
        numbers = np.where(known, beside, nan).T
        kind = pa.float64() if self.labels is None else pa.array(self.labels).type
        own = [pa.array(predicted, kind), *(pa.array(x, from_pandas=True) for x in numbers)]
        return pa.table([*kept.values(), *own], [*kept, *names])

    def texts(self, table: pa.Table) -> Iterator[tuple[str, ...]]:
        columns, labels = table.to_pydict(), {}
        if self.labels is not None:
            labels = {label: output.label_text(label) for label in self.labels}
        columns["prediction"] = [labels.get(label, label) for label in columns["prediction"]]
        return zip(*(map(_cell, values) for values in columns.values()), strict=True)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


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
            text = pa.schema([(name, pa.string()) for name in self._held[0].column_names])
            whole = pa.concat_tables([table.cast(text) for table in self._held])
        self._held = [whole.slice(rows)]
        some = whole.slice(0, rows)
        return dict(zip(some.column_names, some.columns, strict=True))


def write_lines(out: TextIO, form: Form, tables: Iterable[pa.Table]) -> None:
    """Write tab-separated lines without a header; text with tabs or line breaks is JSON."""
    harmless = escaped if out is sys.stdout and output.on_terminal() else str

    def line(cells: tuple[str, ...]) -> str:
        return "\t".join(harmless(one_line(cell)) for cell in cells) + "\n"

    def one_line(cell: str) -> str:
        broken = not cell.isprintable() and set(cell) & set("\t\n\r\v\f")
        return json.dumps(cell, ensure_ascii=False) if broken else cell

    for table in tables:
        out.writelines(map(line, form.texts(table)))


def _write_json(out: TextIO, form: Form, tables: Iterable[pa.Table]) -> None:
    for row in (row for table in tables for row in table.to_pylist()):
        if form.together is not None:
            beside = [row.pop(name) for name in form.names]
            together = beside[0] if len(beside) == 1 else beside
            row[form.together] = None if row["prediction"] is None else together
        out.write(json.dumps(row, default=str) + "\n")


def _write_csv(out: TextIO, form: Form, tables: Iterable[pa.Table], delimiter: str) -> None:
    lines = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    for k, table in enumerate(tables):
        lines.writerows([] if k else [table.column_names])
        lines.writerows(form.texts(table))


def _write_parquet(file: Any, tables: Iterator[pa.Table]) -> None:
    import pyarrow.parquet as pq

    first = next(tables)
    with pq.ParquetWriter(file, first.schema) as writer:
        for table in chain([first], tables):
            try:
                writer.write_table(table.cast(first.schema))
            except (pa.ArrowException, ValueError):
                told = "--keep-columns has numbers in some rows and text in others: write a .csv."
                raise DataError(told, code="column-type", option="keep_columns") from None


def write(
    path: Path | None, form: Form, tables: Iterator[pa.Table], *, force: bool, as_json: bool
) -> None:
    ending = "" if path is None or as_json else path.suffix.lower()
    if path is not None and ending in PARQUET:
        with output.finishing(written_whole(path, force=force)) as (file,):
            _write_parquet(file, tables)
        return
    with output.open_output(path, force) as out:
        if ending in DELIMITERS:
            _write_csv(out, form, tables, DELIMITERS[ending])
        else:
            (_write_json if as_json else write_lines)(out, form, tables)


@command()
def predict(
    model: Path = options.MODEL, data: list[str] = options.DATA,
    files: dict[str, Any] = options.FILES, to: Path | None = options.OUTPUT,
    scores: bool = option("--scores", None, "Add the scores.", excludes=["probabilities"]),
    probabilities: bool = option("--probabilities", None, "Add the probability of each class."),
    threshold: float | None = option(
        "--threshold", options.number(float), "Predict the positive of two classes where its "
        "probability, or the score without probabilities, is at least X.",
    ),
    interval: str | None = option(
        "--interval", options.choice(INTERVALS),
        "Add an interval for the mean (linear) or probabilities (logistic): confidence; or for a "
        "new row (linear): prediction.", excludes=["scores"],
    ),
    level: float = options.LEVEL,
    missing: str | None = option(
        "--missing", options.choice(("error", "skip")),
        "Whether a row with a missing value is an error or gets an empty prediction.  "
        "[default: filled as in training, else an error]",
    ),
    keep_columns: list[str] | None = option(
        "--keep-columns", "COLUMN", "Column to copy before each prediction, such as an id, or a "
        "glob; separate several by commas; repeatable.", many=True,
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
        label = output.label_text(estimator.classes_[cut.positive])
        what = "probability" if hasattr(estimator, "predict_proba") else "score"
        note(f"{label} is predicted where its {what} is at least {threshold:g}.")
    source = open_like(estimator, model, data, **files, labeled=False, missing=missing)
    output.check_outputs(force, [*source.paths, model], to)
    # A progress bar would mix with predictions on the same terminal.
    seen = nullcontext() if to is None and output.on_terminal() else output.watching(source)
    kept, prediction = KeptColumns(source, keep_columns), estimator.predictions(source)
    form = _form(estimator, "scores" if as_json and beside is None else beside, interval)
    with seen:
        tables = _answers(prediction, kept, form, cut, interval, level)
        write(to, form, tables, force=force, as_json=as_json)
    unread = [estimator.recipe_.get(name) for name in ("target", "weight")]
    for heading, text in report.gap_pairs(gaps_of(source, unread), estimator.recipe_):
        if text:
            note(f"{heading} {text}.", "warning")
    if source.skipped:
        note(f"no prediction for {counted(source.skipped, 'row')} with missing values.", "warning")
    tell_unknown(prediction.unknown, estimator.recipe_)


def _check(model: Any, path: Path, beside: str | None, interval: str | None) -> None:
    classes, why, fields = hasattr(model, "classes_"), "", {}
    if beside is not None and not classes:
        why = f"which predicts numbers and has no {beside}."
    elif interval is not None and classes:
        fields = {"option": "interval", "value": interval}
        if not hasattr(model, "marginal_effects"):
            why = "which has no intervals: only linear and logistic regressions have."
        elif interval != "confidence":
            why = "which predicts classes: use --interval confidence, for their probabilities."
    elif beside == "probabilities" and not hasattr(model, "predict_proba"):
        why = "which has no probabilities: use --scores, or `linsep fit --calibrate`."
    if why:
        raise lacks(model, path, why, **fields)


def _form(model: Any, beside: str | None, interval: str | None) -> Form:
    ends = [] if interval is None else ["low", "high"]
    if not hasattr(model, "classes_"):
        return Form(None, ends)
    labels = plain_labels(model.classes_)
    names = [output.label_text(label) for label in labels]
    if ends:
        return Form(labels, [f"{x} {name}" for name in names for x in ("probability", *ends)])
    if beside == "scores":
        return Form(labels, [f"score {n}" for n in names] if len(names) > 2 else ["score"], beside)
    return Form(labels, [f"probability {name}" for name in names] if beside else [], beside)


def _answers(
    prediction: Any, kept: KeptColumns, form: Form, threshold: Threshold | None,
    interval: str | None, level: float,
) -> Iterator[pa.Table]:  # fmt: skip
    if form.labels is None:
        for predicted in prediction.bands(interval, level):
            values, *ends = predicted if isinstance(predicted, tuple) else (predicted,)
            numbers = [None if isnan(value) else value for value in values.tolist()]
            beside: Any = np.column_stack([values, *ends])[:, 1:]
            yield form.table(kept.take(len(numbers)), numbers, beside)
        return
    for batch, scores, codes, *bands in (
        prediction.codes() if interval is None else prediction.with_bands(level)
    ):
        chosen = (codes if threshold is None else threshold.codes(scores)).tolist()
        without = [False] * len(chosen) if batch.unanswered is None else batch.unanswered.tolist()
        labels = [None if x else form.labels[code] for code, x in zip(chosen, without, strict=True)]
        beside = np.stack(bands[0], axis=-1) if bands else scores
        if form.together == "probabilities":
            beside = probabilities_of(prediction.model, scores)
        beside = np.reshape(beside, (len(labels), -1))[:, : len(form.names)]
        yield form.table(kept.take(len(labels)), labels, beside)


#: classes up to which the confusion matrix is printed; of more, so many classes and confusions
MOST_CLASSES, MOST_CONFUSIONS = 12, 5


@command()
def score(
    model: Path = options.MODEL, data: list[str] = options.DATA,
    files: dict[str, Any] = options.FILES,
    metrics: list[str] | None = option(
        "--metrics", "NAME,...", "Metrics to print, such as roc_auc; repeatable.  [default: all]",
        many=True,
    ),
    group: str | None = option("--group", "COLUMN", "Groups that intervals resample whole."),
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
        output.print_json(result)
    else:
        _print_score(result, estimator)


def score_source(model: Any, source: Source, metrics: list[str] | None = None) -> dict[str, Any]:
    with output.watching(source):
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
    every = f"; metrics are of one in {about['every']:,} rows" * (about["every"] > 1)
    drawn = f"({level}, {about['resamples']:,} resamples of {of}){every}"
    # other undefined metrics are left out silently
    important = ("roc_auc", "average_precision", "r2")
    undefined = [result["undefined"][one] for one in important if one in result["undefined"]]
    output.print_pairs([
        ("accuracy" if name == "accuracy" else "R^2", first),
        ("interval", interval and f"{_between(name, interval)} {drawn}"),
        ("baseline", baseline),
        *report.unscored_pairs(result, model),
        *[("note", sentence) for sentence in undefined[:1]],
    ])  # fmt: skip
    rows = []
    for one, found in metrics.items():
        if one != name and found["value"] is not None:
            of = f" of {output.label_text(result['positive_class'])}" if one == "f1" else ""
            value, usual = (report.metric_text(one, found[key]) for key in ("value", "baseline"))
            rows.append([METRICS[one].title + of, value, _between(one, found["interval"]), usual])
    if rows:
        print()
        output.show(*output.table(["metric", "value", level, "baseline"], rows))
    if name == "accuracy":
        print()
        _print_classes(result)


def _between(name: str, ends: Sequence[float] | None) -> str:
    return "-" if ends is None else " to ".join(report.metric_text(name, end) for end in ends)


def _print_classes(result: dict[str, Any]) -> None:
    classes, confusion = result["classes"], result["confusion"]
    header, lines = ["class", "rows", "recall", "precision"], []
    for one in classes:
        shares = ("-" if one[n] is None else percent(one[n]) for n in ("recall", "precision"))
        lines.append([output.label_text(one["label"]), f"{one['rows']:,}", *shares])
    if many := len(classes) > MOST_CLASSES:
        order = sorted(range(len(classes)), key=lambda k: -classes[k]["rows"])
        output.show(*output.table(header, [lines[k] for k in order], most=MOST_CLASSES))
    else:
        counts = [*confusion["matrix"], confusion["unknown"]]
        names = [name for name, *_ in lines]
        if result["unknown_labels"]:
            lines.append(["(unknown)", f"{result['unknown_labels']:,}", "-", "-"])
        rows = [
            [*line, "", *(f"{value:,.6g}" for value in row)]
            for line, row in zip(lines, counts, strict=False)
        ]
        output.show(*output.table([*header, "as", *names], rows))
    confused = []
    for one in confusion["most_frequent"][: MOST_CONFUSIONS * many]:
        true, wrong = (elided(output.label_text(one[of]), 24) for of in ("label", "predicted"))
        confused.append(f"{true} as {wrong} ({one.get('rows', one.get('weight')):,.6g})")
    output.print_pairs([("confused", ", ".join(confused))])

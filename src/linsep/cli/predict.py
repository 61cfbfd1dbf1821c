"""The commands ``predict`` and ``score``: classes or numbers, and whether they are right."""

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TextIO

import click
import numpy as np

from linsep import model_files
from linsep.cli import options, report
from linsep.cli.errors import note
from linsep.cli.options import command
from linsep.cli.output import (
    label_text,
    never_overwrite,
    on_terminal,
    open_output,
    print_json,
    print_pairs,
    watching,
)
from linsep.cli.reading import open_like
from linsep.cli.report import gap_pairs, unknown_text, unscored_pairs
from linsep.errors import DataError
from linsep.estimators._common.labels import plain_labels
from linsep.estimators._common.predicting import probabilities_of
from linsep.fitting import gaps_of, scores_of
from linsep.sources.base import Source
from linsep.words import escaped


@command(
    options.MODEL, options.DATA, options.FILES, options.OUTPUT, options.SCORES,
    options.PROBABILITIES, options.INTERVAL, options.LEVEL, options.FORCE, options.AS_JSON,
)  # fmt: skip
def predict(
    model: Path, data: list[str], *, files: dict[str, Any], output: Path | None, scores: bool,
    probabilities: bool, interval: str | None, level: float, force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Predict the class of every row of DATA, or its number if the model is a linear regression.

    Example: linsep predict species.linsep new.csv --output species.txt
    """
    estimator = model_files.load(model)
    beside = one_of(scores, probabilities)
    refuse_beside(estimator, model, beside, interval)
    source = open_like(estimator, model, data, **files, labelled=False)
    never_overwrite([*source.paths, model], output)
    # A progress bar would mix with predictions on the same terminal.
    seen = nullcontext() if output is None and on_terminal() else watching(source)
    prediction = estimator.predictions(source)
    with open_output(output, force) as out, seen:
        if not hasattr(estimator, "classes_"):
            write_numbers(out, prediction.bands(interval, level), as_json=as_json)
        else:
            write_classes(out, estimator, prediction.codes(), beside, as_json=as_json)
    unread = [estimator.recipe_.get(name) for name in ("target", "weight")]
    for heading, text in gap_pairs(gaps_of(source, unread), estimator.recipe_):
        note(f"{heading} {text}.")
    if prediction.unknown:
        note(f"{unknown_text(prediction.unknown, estimator)}.")


def refuse_beside(model: Any, path: Path, beside: str | None, interval: str | None) -> None:
    """Raise DataError if ``model`` cannot give what was requested beside its predictions.

    ``beside`` is "scores", "probabilities" or None.
    """
    kind, classes = type(model).__name__, hasattr(model, "classes_")
    if beside is not None and not classes:
        raise DataError(f"{path} is a {kind}, which predicts numbers and has no {beside}.")
    if interval is not None and classes:
        raise DataError(f"{path} is a {kind}, which predicts classes: --interval is for numbers.")
    if beside == "probabilities" and not hasattr(model, "predict_proba"):
        raise DataError(
            f"{path} is a {kind}, which has no probabilities: --scores prints its scores, linsep "
            "fit --calibrate learns probabilities from them, and --learner logistic has its own."
        )


def one_of(scores: bool, probabilities: bool) -> str | None:
    """Return "scores", "probabilities" or None, as requested."""
    if scores and probabilities:
        raise click.BadParameter("--scores and --probabilities exclude each other.")
    return "scores" if scores else "probabilities" if probabilities else None


def write_numbers(out: TextIO, predictions: Any, *, as_json: bool) -> None:
    """Write one line per row: the number and the ends of its interval if any, tab separated, or a
    JSON object.
    """
    names = ("prediction", "low", "high")
    for predicted in predictions:
        parts = predicted if isinstance(predicted, tuple) else (predicted,)
        for values in zip(*(part.tolist() for part in parts), strict=True):
            if as_json:
                # no end if no degrees of freedom were left
                known = [value if np.isfinite(value) else None for value in values]
                out.write(json.dumps(dict(zip(names, known, strict=False))) + "\n")
            else:
                out.write("\t".join(map(repr, values)) + "\n")


def write_classes(
    out: TextIO, model: Any, predictions: Any, beside: str | None, *, as_json: bool
) -> None:
    """Write one line per row: the label, with ``beside`` if requested, or a JSON object."""
    labels = plain_labels(model.classes_)
    texts = [_one_line(label_text(label)) for label in labels]
    if out is sys.stdout and on_terminal():
        texts = [escaped(text) for text in texts]
    for _, scores, codes in predictions:
        chosen = codes.tolist()
        if beside is None and not as_json:
            out.write("".join(f"{texts[code]}\n" for code in chosen))
            continue
        values = probabilities_of(model, scores) if beside == "probabilities" else scores
        if as_json:
            for code, value in zip(chosen, values.tolist(), strict=True):
                line = {"prediction": labels[code], beside or "scores": value}
                out.write(json.dumps(line) + "\n")
            continue
        for code, row in zip(chosen, values.reshape(len(chosen), -1).tolist(), strict=True):
            out.write("\t".join([texts[code], *map(repr, row)]) + "\n")


def _one_line(text: str) -> str:
    """Return a label unchanged, or as a JSON string if it contains tabs or line breaks."""
    return json.dumps(text, ensure_ascii=False) if set(text) & set("\t\n\r\v\f") else text


@command(options.MODEL, options.DATA, options.FILES, options.AS_JSON)
def score(model: Path, data: list[str], *, files: dict[str, Any], as_json: bool) -> None:
    """Compare predictions with the labels in DATA.

    Example: linsep score species.linsep test.csv
    """
    estimator = model_files.load(model)
    source = open_like(estimator, model, data, **files)
    result = score_source(estimator, source)
    if as_json:
        print_json(result)
    elif "accuracy" in result:
        report.print_score(result, estimator)
    else:
        print_residuals(result, estimator)


def score_source(model: Any, source: Source) -> dict[str, Any]:
    """Return scores of the predictions of a source, with a progress bar."""
    with watching(source):
        return scores_of(model, source)


def print_residuals(result: dict[str, Any], model: Any) -> None:
    """Print the output of ``linsep score`` for predictions of numbers."""
    print_pairs(
        [
            ("R^2", f"{result['r_squared']:.6g} of {report.rows_text(result)}"),
            ("rms error", f"{result['root_mean_squared_error']:.6g}"),
            ("mean error", f"{result['mean_absolute_error']:.6g}, without sign"),
            ("largest", f"{result['largest_error']:.6g}"),
            ("baseline", f"{result['standard_deviation']:.6g} rms, always the mean"),
            *unscored_pairs(result, model),
        ]
    )

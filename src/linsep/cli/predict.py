"""The command ``predict``: classes or numbers row by row, with scores or intervals."""

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import typer

from linsep.cli import file_options, options
from linsep.cli.failures import note
from linsep.cli.file_options import Files
from linsep.cli.gaps import gap_pairs, gaps_of, unknown_text
from linsep.cli.output import never_overwrite, open_output
from linsep.cli.progress import watching
from linsep.cli.score import open_like
from linsep.cli.screen import label_text, on_terminal
from linsep.cli.standard_input import reads_data
from linsep.errors import DataError
from linsep.escaping import escaped
from linsep.estimators._common.checking import plain_labels
from linsep.estimators._common.predicting_sources import probabilities_of
from linsep.model_files import format as model_file


@reads_data
@file_options.added
def predict(
    model: options.ModelIn,
    data: options.Data,
    *,
    files: Files,
    output: options.Output = None,
    scores: options.Scores = False,
    probabilities: options.Probabilities = False,
    interval: options.Interval = None,
    level: options.Level = 0.95,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Predict the class of every row of DATA, or its number if the model is a linear regression.

    Example: linsep predict species.linsep new.csv --output species.txt
    """
    estimator = model_file.load(model)
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
        raise typer.BadParameter("--scores and --probabilities exclude each other.")
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

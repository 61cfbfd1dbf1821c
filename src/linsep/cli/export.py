"""The command ``export``: a model for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from linsep.cli import options
from linsep.cli.failures import note
from linsep.cli.output import check_all_free, never_overwrite
from linsep.cli.screen import print_pairs
from linsep.exports.exporting import export as write, format_of
from linsep.exports.scoring import fitted, rule_of
from linsep.interrupts import held, window
from linsep.model_files import format as model_file

Out = Annotated[
    Path,
    typer.Argument(
        help="The file to write: .onnx, .json, .csv, .sql (SQLite, DuckDB) or .py (imports "
        "nothing).",
        callback=options.no_screen,
        metavar="FILE",
        show_default=False,
    ),
]


def export(model: options.ModelIn, file: Out, *, force: options.Force = False) -> None:
    """Write a model for other programs: ONNX, JSON, CSV, SQL or Python.

    Example: linsep export species.linsep species.sql
    """
    made = format_of(file)
    check_all_free(force, file)
    never_overwrite([model], file)
    estimator = model_file.load(model)
    with held() as pressed:
        with window():
            write(estimator, file, force=force)
        pressed.forget()  # it came after everything was done
    rule = rule_of(fitted(estimator))
    print_pairs(
        [
            ("written", f"{file}, {made.name}, {file.stat().st_size:,} bytes"),
            ("rule", rule.sentence()),
        ]
    )
    if hasattr(estimator, "predict_proba") and not rule.probabilities:
        note("Calibrated probabilities are not exported; labels are the same.")

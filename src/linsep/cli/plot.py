"""The command ``plot``: a picture of a model, or of a model and data."""

import warnings
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from linsep.cli import file_options, options
from linsep.cli.file_options import Files
from linsep.cli.output import check_all_free, never_overwrite
from linsep.cli.pictures import MOST_ROWS, picture_file, rows_of, write_picture
from linsep.cli.score import open_like
from linsep.cli.standard_input import reads_data
from linsep.drawing import display
from linsep.errors import DataError
from linsep.model_files import format as model_file
from linsep.parameters import Parameter


class Picture(NamedTuple):
    """A kind of picture.

    ``rows`` says which rows of DATA it shows: "" for none, "some", or "all" those of the fit.
    ``of`` says what it is of: "classifier", "regression" or "" for any model.
    """

    display: str
    help: str
    rows: str = ""
    of: str = ""


#: kinds that take the weights of rows
WEIGHED = ("assumptions", "reliability")
KINDS = {
    "decision": Picture("DecisionDisplay", "regions of the classes", "some", "classifier"),
    "probability": Picture("LogisticDisplay", "of one or two features", "some", "classifier"),
    "margins": Picture("MarginDisplay", "distance from the boundary", "some", "classifier"),
    "augmentation": Picture("AugmentationDisplay", "the constant feature", "some", "classifier"),
    "kernel": Picture("KernelDisplay", "Gram matrix and spectrum", "some", "classifier"),
    "reliability": Picture("ReliabilityDisplay", "of probabilities", "some", "classifier"),
    "updates": Picture("UpdateDisplay", "the first mistakes", "all", "classifier"),
    "bounds": Picture("BoundDisplay", "mistakes and their bounds", "all", "classifier"),
    "cycle": Picture("CycleDisplay", "weights that recur", "all", "classifier"),
    "regression": Picture("RegressionDisplay", "line and bands", "some", "regression"),
    "assumptions": Picture("AssumptionsDisplay", "residuals and tests", "all", "regression"),
    "curve": Picture("LearningCurveDisplay", "mistakes by pass"),
    "coefficients": Picture("CoefficientDisplay", "estimates with intervals"),
    "images": Picture("WeightImageDisplay", "weights of pixels"),
}

Kind = Annotated[
    Any,
    typer.Argument(
        help="; ".join(f"{name}: {kind.help}" for name, kind in KINDS.items()) + ".",
        parser=options.reader(Parameter(name="kind", kind=str, choices=tuple(KINDS))),
        metavar="KIND",
    ),
]
MaybeData = Annotated[
    list[str] | None,
    typer.Argument(
        help="Rows to draw: the training rows for updates, bounds, cycle and assumptions, none for "
        "curve, coefficients and images.",
        metavar="[DATA]...",
    ),
]
PictureFile = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        help="Write the picture to this file: .png, .svg or .pdf.",
        callback=picture_file,
        metavar="FILE",
        show_default=False,
    ),
]
Feature = Annotated[
    list[str] | None,
    typer.Option(
        "--feature",
        help="Name of a feature to draw (decision, probability, regression); may be given twice.",
        metavar="NAME",
        show_default=False,
    ),
]
Odds = Annotated[bool, typer.Option("--odds", help="Draw odds ratios (coefficients).")]


@reads_data
@file_options.added
def plot(
    kind: Kind,
    model: options.ModelIn,
    data: MaybeData = None,
    *,
    output: PictureFile,
    feature: Feature = None,
    odds: Odds = False,
    files: Files,
    force: options.Force = False,
) -> None:
    """Draw a picture of a model.

    Example: linsep plot decision species.linsep test.csv --output species.png
    """
    shown, choices = KINDS[kind], _choices(kind, feature or [], odds)
    if bool(shown.rows) != bool(data):
        needs = "needs DATA to draw" if shown.rows else "is drawn without DATA"
        raise DataError(f"linsep plot {kind} {needs}.")
    check_all_free(force, output)
    never_overwrite([model], output)
    estimator = model_file.load(model)
    if shown.of and (shown.of == "classifier") != hasattr(estimator, "classes_"):
        raise DataError(f"linsep plot {kind} draws a {shown.of}, and {model} is none.")
    rows: list[Any] = []
    if data is not None:
        labelled = None if kind == "decision" else True
        source = open_like(estimator, model, data, **files, labelled=labelled)
        never_overwrite(source.paths, output)
        *rows, weights = rows_of(
            source, estimator.n_features_in_, MOST_ROWS if shown.rows == "some" else None
        )
        if weights is not None and kind in WEIGHED:
            choices["sample_weight"] = weights
    with warnings.catch_warnings():  # the columns are those of the recipe, in its order
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        made = display(shown.display).from_estimator(estimator, *rows, **choices)
    write_picture(made, output, force)
    print(f"picture  {output}")


def _choices(kind: str, features: list[str], odds: bool) -> dict[str, Any]:
    """Return the keywords of a picture; raise BadParameter for an option of another one."""
    if odds and kind != "coefficients":
        raise typer.BadParameter("--odds is for coefficients.")
    if len(features) > {"decision": 2, "probability": 2, "regression": 1}.get(kind, 0):
        raise typer.BadParameter(
            "--feature is for decision and probability, twice at most, and for regression, once."
        )
    if kind == "regression":
        return {"feature": features[0]} if features else {}
    if features:
        return {"features": features if len(features) > 1 else features[0]}
    others: dict[str, dict[str, Any]] = {
        "coefficients": {"odds": odds},
        "updates": {"n_mistakes": 3},
    }
    return others.get(kind, {})

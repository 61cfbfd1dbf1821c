"""The command ``plot``: a picture of a model, or of a model and data."""

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import click

from linsep import model_files
from linsep.cli import options
from linsep.cli.options import Option, command
from linsep.cli.output import check_all_free, never_overwrite, write_picture
from linsep.cli.reading import MOST_ROWS, open_like, rows_of
from linsep.drawing import display
from linsep.errors import DataError


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

KIND = options.Argument(
    "kind", required=True, **options.choice(KINDS) | {"metavar": "KIND"},
    help="; ".join(f"{name}: {kind.help}" for name, kind in KINDS.items()) + ".",
)  # fmt: skip
ROWS = options.Argument(
    "data",
    metavar="DATA...",
    help="Rows to draw: the training rows for updates, bounds, cycle and assumptions, none for "
    "curve, coefficients and images.",
)
PICTURE = Option(
    "--output", "-o", required=True, type=options.PicturePath(), metavar="FILE",
    help="Write the picture to this file: .png, .svg or .pdf.",
)  # fmt: skip
FEATURE = options.Repeatable(
    "--feature", metavar="NAME",
    help="Name of a feature to draw (decision, probability, regression); may be given twice.",
)  # fmt: skip
ODDS = Option("--odds", is_flag=True, help="Draw odds ratios (coefficients).")


@command(KIND, options.MODEL, ROWS, PICTURE, FEATURE, ODDS, options.FILES, options.FORCE)
def plot(
    kind: str, model: Path, data: list[str] | None, *, output: Path, feature: list[str] | None,
    odds: bool, files: dict[str, Any], force: bool,
) -> None:  # fmt: skip
    """Draw a picture of a model.

    Example: linsep plot decision species.linsep test.csv --output species.png
    """
    shown, choices = KINDS[kind], _choices(kind, feature or [], odds)
    if bool(shown.rows) != bool(data):
        needs = "needs DATA to draw" if shown.rows else "is drawn without DATA"
        raise DataError(f"linsep plot {kind} {needs}.")
    check_all_free(force, output)
    never_overwrite([model], output)
    estimator = model_files.load(model)
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
        raise click.BadParameter("--odds is for coefficients.")
    if len(features) > {"decision": 2, "probability": 2, "regression": 1}.get(kind, 0):
        raise click.BadParameter(
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

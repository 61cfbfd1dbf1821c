"""The command ``plot``: a picture of a model, or of a model and data."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from linsep.cli import options
from linsep.cli.output import check_all_free, never_overwrite
from linsep.cli.pictures import picture_file, rows_of, write_picture
from linsep.cli.score import open_like
from linsep.cli.standard_input import reads_data
from linsep.errors import DataError
from linsep.estimators._common.checking import Parameter
from linsep.model_files import format as model_file
from linsep.sources.base import Source

#: each picture: whether it shows rows
KINDS = {"decision": True, "margins": True, "curve": False, "coefficients": False}


Kind = Annotated[
    Any,
    typer.Argument(
        help="decision: regions of the classes and DATA, with mistakes; margins: how far DATA are "
        "from the boundary; curve: mistakes by pass; coefficients: estimates with intervals.",
        parser=options.reader(Parameter("kind", str, "", choices=tuple(KINDS))),
        metavar="|".join(KINDS),
    ),
]
MaybeData = Annotated[
    list[str] | None,
    typer.Argument(help="Rows to draw, for decision and margins.", metavar="[DATA]..."),
]
Picture = Annotated[
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
        help="Name of a feature to draw (decision); give two.  [default: a projection]",
        metavar="NAME",
        show_default=False,
    ),
]
Odds = Annotated[bool, typer.Option("--odds", help="Draw odds ratios (coefficients).")]


@reads_data
def plot(
    kind: Kind,
    model: options.ModelIn,
    data: MaybeData = None,
    *,
    output: Picture,
    feature: Feature = None,
    odds: Odds = False,
    format: options.DataFormat = None,
    delimiter: options.Delimiter = None,
    max_line: options.MaxLine = None,
    force: options.Force = False,
) -> None:
    """Draw a picture of a model.

    Example: linsep plot decision species.linsep test.csv --output species.png
    """
    if KINDS[kind] != bool(data):
        needs = "needs DATA to draw" if KINDS[kind] else "is drawn without DATA"
        raise DataError(f"linsep plot {kind} {needs}.")
    check_all_free(force, output)
    never_overwrite([model, *map(Path, data or [])], output)
    estimator = model_file.load(model)
    if data is None:
        display = _of_model(kind, estimator, odds)
    else:
        source = open_like(
            estimator, model, data, format=format, delimiter=delimiter, max_line=max_line,
            labelled=kind == "margins",
        )  # fmt: skip
        display = _of_rows(kind, estimator, source, feature)
    write_picture(display, output, force)
    print(f"picture  {output}")


def _of_model(kind: str, model: Any, odds: bool) -> Any:
    from linsep.plot import CoefficientDisplay, LearningCurveDisplay

    if kind == "curve":
        return LearningCurveDisplay.from_estimator(model)
    return CoefficientDisplay.from_estimator(model, odds=odds)


def _of_rows(kind: str, model: Any, source: Source, features: list[str] | None) -> Any:
    from linsep.plot import DecisionDisplay, MarginDisplay

    if not hasattr(model, "classes_"):
        raise DataError(f"linsep plot {kind} draws classifiers; draw coefficients of regressions.")
    X, y = rows_of(source, model.n_features_in_)
    with warnings.catch_warnings():  # the columns are those of the recipe, in its order
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        if kind == "margins":
            return MarginDisplay.from_estimator(model, X, y)
        return DecisionDisplay.from_estimator(model, X, y, features=features)

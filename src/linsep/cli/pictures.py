"""The command ``plot``: pictures of models."""

from pathlib import Path
from typing import Any, NamedTuple

import click

from linsep import model_files
from linsep.catalog import LINEAR
from linsep.cli import options
from linsep.cli.options import argument, choice, command, option, typed
from linsep.cli.output import LOOK, Look, check_outputs, watching
from linsep.cli.reading import MOST_ROWS, numbered, open_like, rows_of, tell_unknown
from linsep.drawing import display
from linsep.errors import DataError
from linsep.scoring import scored
from linsep.validation.checks import of_features
from linsep.words import either


class Picture(NamedTuple):
    """A kind of picture: of no rows, "some", "all" rows of the fit, or "scored" rows, of which kind
    of model, "" for any, and how many feature names it takes.
    """

    display: str
    help: str
    rows: str = ""
    of: str = ""
    features: int = 0


#: kinds that read the rows of the fit themselves, and kinds that take the weights of rows
OF_SOURCE = ("assumptions", "diagnostics")
WEIGHED = ("reliability", "run")
PICTURES = {
    "decision": Picture("DecisionDisplay", "regions of the classes", "some", "classifier", 2),
    "probability": Picture("LogisticDisplay", "of one or two features", "some", "classifier", 2),
    "margins": Picture("MarginDisplay", "distance from the boundary", "some", "classifier"),
    "augmentation": Picture("AugmentationDisplay", "the constant feature", "some", "classifier"),
    "kernel": Picture("KernelDisplay", "Gram matrix and spectrum", "some", "classifier"),
    "reliability": Picture("ReliabilityDisplay", "of probabilities", "some", "classifier"),
    "roc": Picture("RocDisplay", "false alarms against recall", "scored", "classifier"),
    "precision-recall": Picture("PrecisionRecallDisplay", "at all thresholds", "scored",
                                "classifier"),
    "confusion": Picture("ConfusionDisplay", "classes and predictions", "scored", "classifier"),
    "threshold": Picture("ThresholdDisplay", "results at each threshold", "scored", "classifier"),
    "gain": Picture("GainDisplay", "positives among the highest scores", "scored", "classifier"),
    "updates": Picture("UpdateDisplay", "the first mistakes", "all", "classifier"),
    "bounds": Picture("BoundDisplay", "mistakes and their bounds", "all", "classifier"),
    "run": Picture("RunDisplay", "every update, as an animation", "all", "classifier", 2),
    "cycle": Picture("CycleDisplay", "weights that recur", "all", "classifier"),
    "regression": Picture("RegressionDisplay", "line and bands", "some", "linear regression", 1),
    "assumptions": Picture("AssumptionsDisplay", "residuals and tests", "all", "linear regression"),
    "diagnostics": Picture("DiagnosticsDisplay", "residuals and influence of a regression", "all",
                           features=1),
    "curve": Picture("LearningCurveDisplay", "mistakes per pass"),
    "gap": Picture("GapDisplay", "convergence of a soft margin to the optimum"),
    "coefficients": Picture("CoefficientDisplay", "with intervals or standard deviations"),
    "images": Picture("WeightImageDisplay", "weights of pixels"),
}  # fmt: skip


@command()
def plot(
    kind: str = argument(
        "kind", help="; ".join(f"{name}: {kind.help}" for name, kind in PICTURES.items()) + ".",
        required=True, **choice(PICTURES) | {"metavar": "KIND"},
    ),
    model: Path = options.MODEL,
    data: list[str] | None = argument(
        "data", "DATA...",
        "Rows to draw; of the fit for updates, run, bounds, cycle, assumptions, diagnostics.",
    ),
    output: Path = option(
        "--output -o", typed(options.LocalPath(formats=(*options.PICTURES, ".gif")), "FILE"),
        "The file to write: .png, .svg or .pdf; for a run .gif.", required=True,
    ),
    features: list[str] | None = option(
        "--feature features", "NAME", "Feature to draw (decision, run, probability, regression, "
        "diagnostics); repeatable once.", many=True,
    ),
    odds: bool = option("--odds", None, "Draw odds ratios (coefficients)."),
    look: Look = LOOK, files: dict[str, Any] = options.FILES, force: bool = options.FORCE,
) -> None:  # fmt: skip
    """Draw a picture of a model.

    Example: linsep plot decision species.linsep test.csv --output species.png
    """
    shown, choices = PICTURES[kind], _choices(kind, features or [])
    if odds and kind != "coefficients":
        raise click.BadParameter("--odds is for `linsep plot coefficients` only.")
    choices |= {"odds": True} if odds else {}
    if (output.suffix.lower() == ".gif") != (kind == "run"):
        wanted = either((".gif",) if kind == "run" else options.PICTURES)
        raise click.BadParameter(f"--output must end in {wanted} for {kind}, not {str(output)!r}.")
    if kind == "run" and {"size", "title"} & look.how.keys():
        raise click.BadParameter("--size and --title are for pictures, not for run.")
    if bool(shown.rows) != bool(data):
        needs = "needs DATA to draw" if shown.rows else "is drawn without DATA"
        code = "needs-option" if shown.rows else "conflict"
        raise DataError(f"linsep plot {kind} {needs}.", code=code)
    check_outputs(force, [model], output)
    estimator = model_files.loaded(model)
    fits = not shown.of or (shown.of == "classifier") == hasattr(estimator, "classes_")
    if not fits or (kind == "updates" and not isinstance(estimator, tuple(LINEAR.values()))):
        of = "the updates of an online linear learner" if kind == "updates" else f"a {shown.of}"
        told = f"linsep plot {kind} draws {of}, which {model} is not"
        others = ["use linsep plot diagnostics"] * hasattr(estimator, "diagnostics")
        raise DataError(told, *others, code="unsupported", path=model)

    def drawn() -> Any:
        picture = display(shown.display)
        if data is None:
            return picture.from_estimator(estimator, **choices)
        labeled = None if kind == "decision" else True
        source = open_like(estimator, model, data, **files, labeled=labeled)
        check_outputs(True, source.paths, output)
        if shown.rows == "scored":
            with watching(source):
                found = scored(estimator, source)
            tell_unknown(source.unseen, estimator.recipe_)
            return picture.from_scored(estimator, found)
        if kind in OF_SOURCE:
            with watching(source):
                return picture.from_estimator(estimator, source, None, **choices)
        most = MOST_ROWS if shown.rows == "some" else None
        rows = rows_of(source, estimator.n_features_in_, most)
        if kind in ("run", "updates"):
            choices["row_names"] = numbered(source, rows.size)
        if rows.weights is not None and kind in WEIGHED:
            choices["sample_weight"] = rows.weights
        return picture.from_estimator(estimator, rows.X, rows.y, **choices)

    with of_features():  # the columns are in the order of the recipe
        look.write(drawn, output, force)


def _choices(kind: str, features: list[str]) -> dict[str, Any]:
    if len(features) > (most := PICTURES[kind].features):
        raise click.BadParameter(f"--feature may be given {most} times for {kind}.")
    if not features:
        return {"n_mistakes": 3} if kind == "updates" else {}
    one = most == 1 or (kind == "probability" and len(features) == 1)
    return {"feature" if most == 1 else "features": features[0] if one else features}

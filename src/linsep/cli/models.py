"""Commands about a model: ``inspect``, ``audit``, ``export``, ``summary`` and ``plot``."""

from math import fsum
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from scipy.linalg import norm

from linsep import model_files
from linsep._system.interrupts import interrupts_allowed, interrupts_deferred
from linsep.catalog import LINEAR, is_regression
from linsep.cli import options, report
from linsep.cli.errors import note
from linsep.cli.learner_options import options_of_model
from linsep.cli.look import LOOK, Look, height_and_width
from linsep.cli.options import command
from linsep.cli.output import (
    check_all_free,
    label_text,
    never_overwrite,
    print_json,
    print_pairs,
    print_table,
    watching,
    write_picture,
)
from linsep.cli.reading import MOST_ROWS, gathered, open_like, rows_of, tell_unknown
from linsep.cli.report import course_pairs, kernel_pairs
from linsep.drawing import display
from linsep.errors import DataError
from linsep.estimators._common.explaining import (
    deviations,
    explained,
    is_curved,
    machine_names,
    without_weights,
)
from linsep.estimators._common.labels import feature_names, target_name
from linsep.exports import export as write, format_of, prediction_rule
from linsep.linear.predictions import numbers
from linsep.scoring import scored
from linsep.validation.values import of_features
from linsep.words import a, counted, either, escaped

# More binary classifiers do not fit on a screen; --json has them all.
MOST_MACHINES = 20


@command(options.MODEL, options.TOP_WEIGHTS, options.AS_JSON)
def inspect(model: Path, *, top: int | None, as_json: bool) -> None:
    """Show how a model was trained and its largest weights.

    Example: linsep inspect species.linsep --top 5
    """
    estimator = model_files.load(model)
    summary = model_summary(estimator, top)
    if as_json:
        print_json(summary)
    else:
        print_model(estimator, summary)


def model_summary(model: Any, top: int | None) -> dict[str, Any]:
    """Return everything that ``linsep inspect`` shows, as plain JSON.

    ``top`` is the number of weights listed for each binary classifier: by default 10, or 3 if there
    are several.
    """
    summary = report.training_summary(model)
    names = getattr(model, "feature_names_in_", None)
    named = _hashed_names(model) if names is None else None
    first = model.recipe_.get("index_base", 0) if hasattr(model, "recipe_") else 0
    coef, intercepts = (np.empty((0, 0)), []) if is_curved(model) else _weights(model)
    if hasattr(model, "support_"):
        names = [f"row {number + 1}" for number in model.support_]
    top = top if top is not None else 10 if len(coef) == 1 else 3
    machines, known = [], deviations(model)
    called = machine_names(model) if len(coef) else []
    for k, (machine, weights, intercept) in enumerate(zip(called, coef, intercepts, strict=True)):
        order = [j for j in np.argsort(-np.abs(weights), kind="stable")[:top] if weights[j]]
        heaviest = [
            _named(named, int(j), float(weights[j]))
            if named is not None
            else [str(j + first) if names is None else str(names[j]), float(weights[j])]
            for j in order
        ]
        about = {
            "machine": machine,
            "intercept": intercept,
            "nonzero": int(np.count_nonzero(weights)),
            "norm": float(norm(weights)),
            "heaviest": heaviest,
        }
        if known is not None:
            about["intercept_standard_deviation"] = float(known[1][k])
            about["standard_deviations"] = known[0][k][order].tolist()
        machines.append(about)
    summary["parameters"] = model.get_params(deep=False)
    summary["changed"] = sorted(_changed(model))
    summary["recipe"] = getattr(model, "recipe_", None)
    summary["calibration"] = getattr(getattr(model, "calibration_", None), "method", None)
    summary["weights"] = machines
    return summary


def _hashed_names(model: Any) -> Any:
    """Return the names of hashed words seen in training, or None without text columns."""
    if not getattr(model, "recipe_", {}).get("words"):
        return None
    from linsep.sources.feature_names import FeatureNames

    return FeatureNames(model.recipe_)


def _named(names: Any, feature: int, weight: float) -> list[Any]:
    """Return a word and its weight: the weight of its column times the sign of its hash."""
    name, sign = names.of(feature)
    return [name, sign * weight]


def _weights(model: Any) -> tuple[np.ndarray, list[float]]:
    """Return weights (of features or support vectors) and intercepts of every binary classifier."""
    if hasattr(model, "to_logistic"):
        model = model.to_logistic()
    if hasattr(model, "kernel_"):
        intercept = getattr(model, "intercept_", np.zeros(len(model.dual_coef_)))
        return model.dual_coef_, intercept.tolist()
    return np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_).tolist()


def _changed(model: Any) -> list[str]:
    """Return the names of the parameters that differ from their defaults."""
    default = type(model)().get_params(deep=False)
    return [name for name, value in model.get_params(deep=False).items() if value != default[name]]


def print_model(model: Any, summary: dict[str, Any]) -> None:
    """Print the output of ``linsep inspect``."""
    given = options_of_model(model)
    said = f"{given}; other learner options" if given else "learner options"
    pairs = [*_training_pairs(model, summary), ("options", f"{said} at their defaults")]
    machines = summary["weights"]
    if len(machines) == 1:
        print_pairs([*pairs, ("weights", f"{machines[0]['machine']}: {_size(machines[0])}")])
        _print_heaviest(machines[0], "support vector" if summary.get("kernel") else "feature")
        return
    print_pairs(pairs)
    if not machines:
        return
    print()
    print_pairs([(m["machine"], _size(m) + _heaviest(m)) for m in machines[:MOST_MACHINES]])
    if len(machines) > MOST_MACHINES:
        print(f"... and {len(machines) - MOST_MACHINES:,} more; --json has all")


def _print_heaviest(machine: dict[str, Any], what: str) -> None:
    """Print the table of the largest weights, with standard deviations if there are any."""
    rows = [[name, f"{weight:+.6g}"] for name, weight in machine["heaviest"]]
    known = machine.get("standard_deviations", [])
    for row, deviation in zip(rows, known, strict=False):
        row.append(f"{deviation:.6g}")
    if rows:
        print_table([what, "weight", *["std. dev."] * bool(known)], rows)


def _training_pairs(model: Any, summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Return how a model was trained, as pairs of a heading and a text."""
    which = "the kernel takes" if summary.get("kernel") else "weights are in"
    units = report.scaled_pairs(model, f"{which} these units")
    inferred = [("inference", "`linsep summary` shows estimates, standard errors and tests")]
    return [
        ("learned", report.learned_text(summary)),
        *report.text_pairs(model),
        *units,
        *report.equation_pairs(model),
        *kernel_pairs(summary),
        *([("calibrated", summary["calibration"])] if summary["calibration"] else []),
        *report.threshold_pairs(summary),
        *(inferred if is_regression(model) else course_pairs(model, summary)),
    ]


def _heaviest(machine: dict[str, Any]) -> str:
    listed = [f"{name} {weight:+.6g}" for name, weight in machine["heaviest"]]
    if "standard_deviations" in machine:
        known = machine["standard_deviations"]
        listed = [f"{text} ± {own:.2g}" for text, own in zip(listed, known, strict=True)]
    return f": {', '.join(listed)}" if listed else ""


def _size(machine: dict[str, Any]) -> str:
    known = machine.get("intercept_standard_deviation")
    sure = "" if known is None else f" ± {known:.2g}"
    return (
        f"intercept {machine['intercept']:+.6g}{sure}, "
        f"{counted(machine['nonzero'], 'nonzero weight')}, norm {machine['norm']:.4g}"
    )


ROW = options.Option(
    "--row", default=1, **options.number(at_least=1), help="Which row of DATA, counted from 1."
)
TOP_PRODUCTS = options.Option(
    "--top", **options.number(at_least=1),
    help="Show the N features with the largest products.  [default: 30]",
)  # fmt: skip


@command(options.MODEL, options.DATA, ROW, TOP_PRODUCTS, options.FILES, options.AS_JSON)
def audit(
    model: Path, data: list[str], *, row: int, top: int | None, files: dict[str, Any], as_json: bool
) -> None:
    """Show each feature's value, weight and product in one row of DATA, largest product first.

    The products, the intercept and the rounding error add up to the score.

    Example: linsep audit species.linsep test.csv --row 3
    """
    estimator = model_files.load(model)
    if (why := without_weights(estimator)) is not None:
        raise DataError(
            f"{model} is {a(type(estimator).__name__)} that {why}: its scores are not sums of one "
            "product per feature. Audit a linear model.",
            code="unsupported",
            path=model,
        )
    left_out = getattr(estimator, "recipe_", {}).get("missing") == "drop"
    missing = "skip" if left_out else "error"  # rows keep their numbers in the files
    source = open_like(estimator, model, data, labeled=False, missing=missing, **files)
    found = explained(estimator, source, row - 1)
    if as_json:
        print_json(found)
    else:
        print_audit(found, top or 30, estimator)


def print_audit(found: dict[str, Any], top: int, model: Any) -> None:
    """Print the output of ``linsep audit``."""
    prediction = found["prediction"]
    pairs = [("row", found["row"]), ("score", f"{found['score']!r}, {found['score_of']}")]
    if prediction != found["score"]:
        pairs.insert(1, ("prediction", label_text(prediction)))
    gaps = {"rows_dropped": 0, "fields_ignored": {}} | found
    units = report.scaled_pairs(model, "values and weights are in these units")
    print_pairs(pairs + units + report.unscored_pairs(gaps, model))
    shown, rest = found["terms"][:top], found["terms"][top:]
    sure = bool(shown) and "standard_deviation" in shown[0]
    rows = [
        [t["feature"], f"{t['value']:.6g}", f"{t['weight']:+.6g}",
         *([f"{t['standard_deviation']:.6g}"] if sure else []), f"{t['product']:+.6g}"]
        for t in shown
    ]  # fmt: skip
    blank = [""] * (3 if sure else 2)
    if rest:
        total = fsum(term["product"] for term in rest)
        rows.append([f"and {len(rest):,} more", *blank, f"{total:+.6g}"])
    if found["rounding"]:
        rows.append(["rounding of the sum", *blank, f"{found['rounding']:+.6g}"])
    print_table(["feature", "value", "weight", *["std. dev."] * sure, "product"], rows)


OUT = options.Argument(
    "file", required=True, type=options.LocalPath(dash=False), metavar="FILE",
    help="The file to write: .sql (SQLite, DuckDB), .json, .csv or .onnx.",
)  # fmt: skip


@command(options.MODEL, OUT, options.FORCE)
def export(model: Path, file: Path, *, force: bool) -> None:
    """Write a model for other programs: SQL, JSON, CSV or ONNX.

    Example: linsep export species.linsep species.sql
    """
    made = format_of(file)
    check_all_free(force, file)
    never_overwrite([model], file)
    estimator = model_files.load(model)
    with interrupts_deferred() as pressed:
        with interrupts_allowed():
            write(estimator, file, force=force)
        pressed.forget()  # it came after everything was done
    rule = prediction_rule(estimator)
    print_pairs(
        [
            ("written", f"{file}, {made.name}, {file.stat().st_size:,} bytes"),
            ("rule", rule.sentence()),
        ]
    )
    if hasattr(estimator, "predict_proba") and not rule.probabilities:
        which = "Calibrated" if hasattr(estimator, "calibration_") else "One-vs-rest"
        note(f"{which} probabilities are not exported; labels are unaffected.", "warning")


def _residual_rows(model: Any, source: Any, X: Any, y: np.ndarray) -> list[dict[str, float]]:
    """Return the numbers of rows, y, predictions and residuals, and x if it is the only feature."""
    fitted = np.asarray(model.predict(source))
    columns = {"y": np.asarray(y, dtype=np.float64), "fitted": fitted, "residual": y - fitted}
    if X.shape[1] == 1:
        x = X.toarray() if hasattr(X, "toarray") else X
        columns = {"x": np.ravel(x)} | columns
    columns = {"row": source.numbers(y.size)} | columns
    lists = [column.tolist() for column in columns.values()]
    return [dict(zip(columns, values, strict=True)) for values in zip(*lists, strict=True)]


def _print_residuals(model: Any, residuals: list[dict[str, float]]) -> None:
    """Print the table of residuals, as many rows as fit on a screen."""
    most = report.MOST_COEFFICIENTS
    names = {"x": feature_names(model)[0], "y": target_name(model) or "y"}
    print("\nResiduals; rows are counted from 0.")
    print_table(
        [names.get(name, name) for name in residuals[0]],
        [
            [f"{row['row']}", *(f"{value:.6g}" for value in list(row.values())[1:])]
            for row in residuals[:most]
        ],
    )
    if len(residuals) > most:
        print(f"... and {len(residuals) - most:,} more; --json has all")


def refuse(model: Any, path: Path, with_rows: bool) -> None:
    """Raise DataError for a model without inference, or for rows if the model has no residuals."""
    kind = type(model).__name__
    if not is_regression(model):
        raise DataError(
            f"{path} is {a(kind)}, which has no statistical inference: `linsep inspect` shows its "
            "weights.",
            code="unsupported",
            path=path,
        )
    if with_rows and not hasattr(model, "diagnostics"):
        raise DataError(
            f"{path} is {a(kind)}, which has no residuals: leave out DATA, or use `linsep score`.",
            code="unsupported",
            path=path,
        )


def _print_table(
    model: Any, path: Path, with_rows: bool, level: float | None, odds: bool, form: str | None,
    top: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Print the table alone, of odds ratios or for a paper."""
    option = "--odds-ratios" if odds else "--table"
    if with_rows:
        raise click.BadParameter(f"{option} does not depend on data: leave out DATA.")
    if form is not None and as_json:
        raise click.BadParameter("--table and --json cannot be combined.")
    if not hasattr(model, "odds_ratios" if odds else "summary"):
        what = "odds ratios" if odds else "table of estimates"
        raise DataError(
            f"{path} is {a(type(model).__name__)}, which has no {what}.",
            code="unsupported",
            path=path,
        )
    found = model.odds_ratios(level) if odds else model.summary(level)
    if as_json:
        print_json(found.to_dict())
    elif form is None:
        report.print_summary(found, top)
    else:
        print(found.to_latex() if form == "latex" else found.to_markdown())


RESIDUAL_ROWS = options.Argument(
    "data",
    metavar="DATA...",
    help="The training rows, to show residuals and influence and to test assumptions.",
)


ODDS_RATIOS = options.Option(
    "--odds-ratios", is_flag=True,
    help="Show odds ratios (exponentials of the coefficients) with their intervals (logistic).",
)  # fmt: skip


LEVEL = options.Option(
    "--level", **options.number(float, above=0.0, below=1.0),
    help="Level of the intervals.  [default: 0.95, or the level of the fit]",
)  # fmt: skip


PUBLISHED = options.Option(
    "--table", **options.choice(("markdown", "latex")),
    help="Print estimates, intervals and p-values to three digits, as a table for a paper.",
)  # fmt: skip


@command(
    options.MODEL, RESIDUAL_ROWS, LEVEL, ODDS_RATIOS, PUBLISHED, options.FILES,
    options.TOP_COEFFICIENTS, options.AS_JSON,
)  # fmt: skip
def summary(
    model: Path, data: list[str] | None, *, level: float | None, odds_ratios: bool,
    table: str | None, files: dict[str, Any], top: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Show the statistics of a regression: estimates, standard errors, tests, intervals.

    Example: linsep summary pressure.linsep pressure.csv
    """
    fitted = model_files.load(model)
    refuse(fitted, model, bool(data))
    if level is not None and not hasattr(fitted, "summary"):
        raise DataError(
            f"{model} is {a(type(fitted).__name__)}, which has no intervals.",
            code="unsupported",
            path=model,
        )
    if odds_ratios or table is not None:
        _print_table(fitted, model, bool(data), level, odds_ratios, table, top, as_json)
        return
    more: dict[str, Any] = {}
    lines: list[str] = []
    if data:
        source = open_like(fitted, model, data, **files)
        with of_features(), watching(source):  # the columns are in the order of the recipe
            if not hasattr(fitted, "classes_"):
                X, y, _ = gathered(source.batches(), fitted.n_features_in_)
                y = numbers(y, source, 0)
                tests = fitted.assumptions(source)
                more["rows"] = _residual_rows(fitted, source, X, y)
                more["assumptions"] = [one._asdict() for one in tests.findings]
                lines = [*str(tests).splitlines(), ""]
            found = fitted.diagnostics(source)
            more["diagnostics"] = found.to_dict()
            lines += str(found.collinearity if lines else found).splitlines()
    if as_json:
        about = report.training_summary(fitted, level)
        print_json(about["summary"] | {"equation": about["equation"]} | more)
        return
    report.print_statistics(fitted, top, level)
    if not hasattr(fitted, "summary"):
        print_pairs(report.scaled_pairs(fitted, "means and weights are in these units"))
    if "rows" in more:
        _print_residuals(fitted, more["rows"])
    if lines:
        print("\n" + "\n".join(map(escaped, lines)).rstrip())


class Picture(NamedTuple):
    """A kind of picture.

    ``rows`` are the rows of DATA that it shows: "" for no rows, "some", "all" rows of the fit, or
    "scored" for predictions of all rows with labels. ``of`` is the kind of model: "classifier",
    "linear regression" or "" for any.
    """

    display: str
    help: str
    rows: str = ""
    of: str = ""


#: kinds that read the rows of the fit themselves, and kinds that take the weights of rows
OF_SOURCE = ("assumptions", "diagnostics")
WEIGHED = ("reliability", "run")
#: the options of one kind, by the keyword of its picture
OWN = {
    "odds": ("--odds", "coefficients"), "n_mistakes": ("--mistakes", "updates"),
    "shape": ("--shape", "images"),
}  # fmt: skip
#: kinds that accept one feature name
ONE_FEATURE = ("regression", "diagnostics")
#: and two
TWO_FEATURES = {"decision": 2, "probability": 2, "run": 2}
PICTURES = {
    "decision": Picture("DecisionDisplay", "regions of the classes", "some", "classifier"),
    "probability": Picture("LogisticDisplay", "of one or two features", "some", "classifier"),
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
    "run": Picture("RunDisplay", "every update, as an animation", "all", "classifier"),
    "cycle": Picture("CycleDisplay", "weights that recur", "all", "classifier"),
    "regression": Picture("RegressionDisplay", "line and bands", "some", "linear regression"),
    "assumptions": Picture("AssumptionsDisplay", "residuals and tests", "all", "linear regression"),
    "diagnostics": Picture("DiagnosticsDisplay", "residuals and influence of a regression", "all"),
    "curve": Picture("LearningCurveDisplay", "mistakes per pass"),
    "gap": Picture("GapDisplay", "convergence of a soft margin to the optimum"),
    "coefficients": Picture("CoefficientDisplay", "with intervals or standard deviations"),
    "images": Picture("WeightImageDisplay", "weights of pixels"),
}  # fmt: skip

KIND = options.Argument(
    "kind", required=True, **options.choice(PICTURES) | {"metavar": "KIND"},
    help="; ".join(f"{name}: {kind.help}" for name, kind in PICTURES.items()) + ".",
)  # fmt: skip
DRAWN_ROWS = options.Argument(
    "data",
    metavar="DATA...",
    help="Rows to draw: the training rows for updates, run, bounds, cycle, assumptions and "
    "diagnostics; omitted for curve, gap, coefficients and images.",
)


class PictureOrAnimation(options.PicturePath):
    """A picture or an animation to write."""

    formats = (*options.PicturePath.formats, ".gif")


PICTURE_OUT = options.Option(
    "--output", "-o", required=True, type=PictureOrAnimation(), metavar="FILE",
    help="Write the picture to this file: .png, .svg or .pdf; a run: .gif.",
)  # fmt: skip
DRAWN_FEATURE = options.Repeatable(
    "--feature", metavar="NAME",
    help="Name of a feature to draw (decision, run, probability, regression, diagnostics); "
    "repeatable once.",
)  # fmt: skip
ODDS = options.Option("--odds", is_flag=True, help="Draw odds ratios (coefficients).")


N_MISTAKES = options.Option(
    "--mistakes", "n_mistakes", **options.number(at_least=1),
    help="Draw the first N mistakes (updates).  [default: 3]",
)  # fmt: skip
SHAPE = options.Option(
    "--shape", type=height_and_width, metavar="HEIGHTxWIDTH",
    help="Pixels of an image (images).  [default: a square]",
)  # fmt: skip


class PlotCommand(options.Command):
    """The command, whose ``--feature`` is ``features`` for pictures of two features."""

    def flags(self) -> dict[str, str]:
        """Return the option of each parameter of a picture by its name."""
        return super().flags() | {"features": "--feature"}


@command(
    KIND, options.MODEL, DRAWN_ROWS, PICTURE_OUT, DRAWN_FEATURE, ODDS, N_MISTAKES, SHAPE, LOOK,
    options.FILES, options.FORCE, cls=PlotCommand,
)  # fmt: skip
def plot(
    kind: str, model: Path, data: list[str] | None, *, output: Path, feature: list[str] | None,
    odds: bool, n_mistakes: int | None, shape: tuple[int, int] | None, look: Look,
    files: dict[str, Any], force: bool,
) -> None:  # fmt: skip
    """Draw a picture of a model.

    Example: linsep plot decision species.linsep test.csv --output species.png
    """
    own = {"odds": odds or None, "n_mistakes": n_mistakes, "shape": shape}
    shown, choices = PICTURES[kind], _choices(kind, feature or [], own)
    if (output.suffix.lower() == ".gif") != (kind == "run"):
        wanted = either((".gif",) if kind == "run" else options.PicturePath.formats)
        raise click.BadParameter(f"--output must end in {wanted} for {kind}, not {str(output)!r}.")
    if kind == "run" and (look.size or look.title):
        raise click.BadParameter("--size and --title are for pictures, not for run.")
    if bool(shown.rows) != bool(data):
        needs = "needs DATA to draw" if shown.rows else "is drawn without DATA"
        raise DataError(
            f"linsep plot {kind} {needs}.", code="needs-option" if shown.rows else "conflict"
        )
    check_all_free(force, output)
    never_overwrite([model], output)
    estimator = model_files.load(model)
    if shown.of and (shown.of == "classifier") != hasattr(estimator, "classes_"):
        raise DataError(
            f"linsep plot {kind} draws a {shown.of}, which {model} is not",
            *["use linsep plot diagnostics"] * hasattr(estimator, "diagnostics"),
            code="unsupported",
            path=model,
        )
    if kind == "updates" and not isinstance(estimator, tuple(LINEAR.values())):
        raise DataError(
            f"linsep plot {kind} draws the updates of an online linear learner such as "
            f"perceptron, which {model} is not.",
            code="unsupported",
            path=model,
        )
    with of_features(), look.colors():  # the columns are in the order of the recipe
        made = _drawn(kind, estimator, model, data, files, output, choices)
        write_picture(made, output, force, **look.saved())
    print(f"picture  {output}")


def _drawn(
    kind: str, estimator: Any, path: Path, data: list[str] | None, files: dict[str, Any],
    output: Path, choices: dict[str, Any],
) -> Any:  # fmt: skip
    """Read the rows of a picture, and draw it."""
    shown = PICTURES[kind]
    picture = display(shown.display)
    if data is None:
        return picture.from_estimator(estimator, **choices)
    labeled = None if kind == "decision" else True
    source = open_like(estimator, path, data, **files, labeled=labeled)
    never_overwrite(source.paths, output)
    if shown.rows == "scored":
        with watching(source):
            found = scored(estimator, source)
        tell_unknown(source.unseen, estimator.recipe_)
        return picture.from_scored(estimator, found)
    if kind in OF_SOURCE:
        with watching(source):
            return picture.from_estimator(estimator, source, None, **choices)
    most = MOST_ROWS if shown.rows == "some" else None
    *rows, weights = rows_of(source, estimator.n_features_in_, most)
    if kind in ("run", "updates"):
        from linsep.cli.trace import LineNames  # imported here, since others do not need it

        choices["row_names"] = LineNames(source, rows[0].shape[0])
    if weights is not None and kind in WEIGHED:
        choices["sample_weight"] = weights
    return picture.from_estimator(estimator, *rows, **choices)


def _choices(kind: str, features: list[str], own: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of a picture; raise BadParameter for an option of another picture."""
    given = {name: value for name, value in own.items() if value is not None}
    for name in given:
        option, other = OWN[name]
        if kind != other:
            raise click.BadParameter(f"{option} is for `linsep plot {other}` only.")
    if len(features) > TWO_FEATURES.get(kind, int(kind in ONE_FEATURE)):
        raise click.BadParameter(
            "--feature is for decision, run and probability (up to two) and for regression and "
            "diagnostics (one)."
        )
    if kind in ONE_FEATURE:
        return {"feature": features[0]} if features else {}
    if features:
        alone = kind == "probability" and len(features) == 1
        return {"features": features[0] if alone else features}
    return ({"n_mistakes": 3} if kind == "updates" else {}) | given

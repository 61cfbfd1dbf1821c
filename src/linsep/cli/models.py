"""Commands about a model: ``inspect``, ``audit`` and ``export``."""

from collections.abc import Callable
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import norm

from linsep import model_files
from linsep.catalog import is_regression
from linsep.cli import options, report
from linsep.cli.errors import note
from linsep.cli.learner_options import options_of_model
from linsep.cli.options import Option, command, number
from linsep.cli.output import (
    check_all_free,
    finishing,
    label_text,
    never_overwrite,
    print_json,
    print_pairs,
    print_table,
)
from linsep.cli.reading import lacks, open_like
from linsep.estimators.showing import (
    deviations,
    explained,
    is_curved,
    machine_names,
    without_weights,
)
from linsep.exports import export as write, format_of, prediction_rule
from linsep.words import counted

# More binary classifiers do not fit on a screen; --json has them all.
MOST_MACHINES = 20


@command(options.MODEL, options.TOP_WEIGHTS, options.AS_JSON)
def inspect(model: Path, *, top: int | None, as_json: bool) -> None:
    """Show how a model was trained and its largest weights.

    Example: linsep inspect species.linsep --top 5
    """
    estimator = model_files.load(model)
    summary = _inspected(estimator, top)
    if as_json:
        print_json(summary)
    else:
        _print_model(estimator, summary)


def _inspected(model: Any, top: int | None) -> dict[str, Any]:
    """Return everything that ``linsep inspect`` shows, as plain JSON.

    ``top`` is the number of weights listed for each binary classifier: by default 10, or 3 if there
    are several.
    """
    coef, intercepts = (np.empty((0, 0)), []) if is_curved(model) else _weights(model)
    top = top if top is not None else 10 if len(coef) == 1 else 3
    known, named = deviations(model), _named(model)
    called = machine_names(model) if len(coef) else []
    machines: list[dict[str, Any]] = []
    for machine, weights, intercept in zip(called, coef, intercepts, strict=True):
        order = [j for j in np.argsort(-np.abs(weights), kind="stable")[:top] if weights[j]]
        sure = {}
        if known is not None:
            k = len(machines)
            sure = {
                "intercept_standard_deviation": float(known[1][k]),
                "standard_deviations": known[0][k][order].tolist(),
            }
        machines.append({
            "machine": machine,
            "intercept": intercept,
            "nonzero": int(np.count_nonzero(weights)),
            "norm": float(norm(weights)),
            "heaviest": [named(int(j), float(weights[j])) for j in order],
        } | sure)  # fmt: skip
    parameters, default = (one.get_params(deep=False) for one in (model, type(model)()))
    return report.training_summary(model) | {
        "parameters": parameters,
        "changed": sorted(name for name, value in parameters.items() if value != default[name]),
        "recipe": getattr(model, "recipe_", None),
        "calibration": getattr(getattr(model, "calibration_", None), "method", None),
        "weights": machines,
    }


def _named(model: Any) -> Callable[[int, float], list[Any]]:
    """Return the function that names a weight: of a support vector, a column, or a hashed word,
    whose weight is its column's times the sign of its hash.
    """
    recipe, names = getattr(model, "recipe_", {}), getattr(model, "feature_names_in_", None)
    if hasattr(model, "support_"):
        return lambda j, weight: [f"row {model.support_[j] + 1}", weight]
    if names is not None:
        return lambda j, weight: [str(names[j]), weight]
    if not recipe.get("words"):
        return lambda j, weight: [str(j + recipe.get("index_base", 0)), weight]
    from linsep.sources.feature_names import FeatureNames

    words = FeatureNames(recipe)

    def word(j: int, weight: float) -> list[Any]:
        name, sign = words.of(j)
        return [name, sign * weight]

    return word


def _weights(model: Any) -> tuple[np.ndarray, list[float]]:
    """Return weights (of features or support vectors) and intercepts of every binary classifier."""
    if hasattr(model, "to_logistic"):
        model = model.to_logistic()
    if hasattr(model, "kernel_"):
        intercept = getattr(model, "intercept_", np.zeros(len(model.dual_coef_)))
        return model.dual_coef_, intercept.tolist()
    return np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_).tolist()


def _print_model(model: Any, summary: dict[str, Any]) -> None:
    given, kernel = options_of_model(model), summary.get("kernel")
    said = f"{given}; other learner options" if given else "learner options"
    inferred = [("inference", "`linsep summary` shows estimates, standard errors and tests")]
    pairs = [
        ("learned", report.learned_text(summary)),
        *report.text_pairs(model),
        *report.scaled_pairs(
            model, f"{'the kernel takes' if kernel else 'weights are in'} these units"
        ),
        *report.equation_pairs(model),
        *report.kernel_pairs(summary),
        *([("calibrated", summary["calibration"])] if summary["calibration"] else []),
        *report.threshold_pairs(summary),
        *(inferred if is_regression(model) else report.course_pairs(model, summary)),
        ("options", f"{said} at their defaults"),
    ]
    machines = summary["weights"]
    if len(machines) == 1:
        (one,) = machines
        print_pairs([*pairs, ("weights", f"{one['machine']}: {_size(one)}")])
        rows = [[name, f"{weight:+.6g}"] for name, weight in one["heaviest"]]
        known = one.get("standard_deviations", [])
        for row, deviation in zip(rows, known, strict=False):
            row.append(f"{deviation:.6g}")
        if rows:
            what = "support vector" if kernel else "feature"
            print_table([what, "weight", *["std. dev."] * bool(known)], rows)
        return
    print_pairs(pairs)
    if machines:
        print()
        print_pairs([(m["machine"], _size(m) + _heaviest(m)) for m in machines[:MOST_MACHINES]])
    if len(machines) > MOST_MACHINES:
        print(f"... and {len(machines) - MOST_MACHINES:,} more; --json has all")


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


ROW = Option("--row", number(at_least=1), "Which row of DATA, counted from 1.", default=1)
TOP_PRODUCTS = Option(
    "--top", number(at_least=1), "Show the N features with the largest products.  [default: 30]"
)


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
        raise lacks(
            estimator, model,
            f"which {why}: its scores are not sums of one product per feature. Audit a linear "
            "model.",
        )  # fmt: skip
    left_out = getattr(estimator, "recipe_", {}).get("missing") == "drop"
    missing = "skip" if left_out else "error"  # rows keep their numbers in the files
    source = open_like(estimator, model, data, labeled=False, missing=missing, **files)
    found = explained(estimator, source, row - 1)
    if as_json:
        print_json(found)
        return
    pairs = [("row", found["row"]), ("score", f"{found['score']!r}, {found['score_of']}")]
    if found["prediction"] != found["score"]:
        pairs.insert(1, ("prediction", label_text(found["prediction"])))
    gaps = {"rows_dropped": 0, "fields_ignored": {}} | found
    units = report.scaled_pairs(estimator, "values and weights are in these units")
    print_pairs(pairs + units + report.unscored_pairs(gaps, estimator))
    shown, rest = found["terms"][: top or 30], found["terms"][top or 30 :]
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
    "file", "FILE", "The file to write: .sql (SQLite, DuckDB), .json, .csv or .onnx.",
    required=True, type=options.LocalPath(dash=False),
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
    with finishing():
        write(estimator, file, force=force)
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

"""Commands about a model: ``inspect``, ``audit``, ``export``, and of regressions ``summary``,
``effects`` and ``compare``.
"""

from collections.abc import Callable
from math import fsum
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.linalg import norm

from linsep import model_files
from linsep.catalog import is_regression
from linsep.cli import options, output, report
from linsep.cli.errors import note
from linsep.cli.learner_options import options_of_model
from linsep.cli.options import argument, choice, command, number, option
from linsep.cli.reading import gathered, lacks, open_like, tell_unknown
from linsep.estimators.labels import feature_names, target_name
from linsep.estimators.showing import (
    deviations,
    explained,
    is_curved,
    linear_of,
    machine_names,
    without_weights,
)
from linsep.words import counted, escaped

#: more binary classifiers do not fit on a screen; --json has them all
MOST_MACHINES = 20
TOP_COEFFICIENTS: Any = option(
    "--top", number(at_least=1),
    "Show the N coefficients with the largest statistics.  [default: all, up to 60]",
)  # fmt: skip


@command()
def inspect(
    model: Path = options.MODEL,
    top: int | None = option(
        "--top", number(at_least=0),
        "Number of weights to show.  [default: 10, or 3 each for several classes or pairs]",
    ),
    as_json: bool = options.AS_JSON,
) -> None:  # fmt: skip
    """Show how a model was trained and its largest weights.

    Example: linsep inspect species.linsep --top 5
    """
    estimator = model_files.loaded(model)
    parameters, default = (x.get_params(deep=False) for x in (estimator, type(estimator)()))
    found = report.training_summary(estimator) | {
        "parameters": parameters,
        "changed": sorted(name for name, value in parameters.items() if value != default[name]),
        "recipe": getattr(estimator, "recipe_", None),
        "calibration": getattr(getattr(estimator, "calibration_", None), "method", None),
        "weights": [] if is_curved(estimator) else _machines(estimator, top),
    }
    if as_json:
        output.print_json(found)
    else:
        _print_model(estimator, found)


def _machines(model: Any, top: int | None) -> list[dict[str, Any]]:
    """Return every binary classifier with its ``top`` weights, of features or support vectors: by
    default 10, or 3 if there are several.
    """
    linear, known, named = linear_of(model), deviations(model), _named(model)
    coef = linear.dual_coef_ if hasattr(linear, "kernel_") else np.atleast_2d(linear.coef_)
    intercepts = np.atleast_1d(getattr(linear, "intercept_", np.zeros(len(coef)))).tolist()
    top = top if top is not None else 10 if len(coef) == 1 else 3
    found = []
    for k, machine in enumerate(machine_names(model)):
        order = np.argsort(-np.abs(coef[k]), kind="stable")[:top]
        order = order[coef[k][order] != 0]
        weights = zip(map(named, order.tolist()), coef[k][order].tolist(), strict=True)
        found.append({
            "machine": machine,
            "intercept": intercepts[k],
            "nonzero": int(np.count_nonzero(coef[k])),
            "norm": float(norm(coef[k])),
            "heaviest": [[name, sign * weight] for (name, sign), weight in weights],
        })  # fmt: skip
        if known is not None:
            found[-1]["intercept_standard_deviation"] = float(known[1][k])
            found[-1]["standard_deviations"] = known[0][k][order].tolist()
    return found


def _named(model: Any) -> Callable[[int], tuple[str, int]]:
    """Return the function that names a weight: of a support vector, a column, or a hashed word and
    its sign.
    """
    recipe, names = getattr(model, "recipe_", {}), getattr(model, "feature_names_in_", None)
    if hasattr(model, "support_"):
        return lambda j: (f"row {model.support_[j] + 1}", 1)
    if recipe.get("words") and names is None:
        from linsep.sources.feature_names import FeatureNames

        return FeatureNames(recipe).of
    first = recipe.get("index_base", 0)
    return lambda j: (str(j + first) if names is None else str(names[j]), 1)


def _print_model(model: Any, found: dict[str, Any]) -> None:
    given, kernel, machines = options_of_model(model), found.get("kernel"), found["weights"]
    said = f"{given}; other learner options" if given else "learner options"
    inferred = [("inference", "`linsep summary` shows estimates, standard errors and tests")]
    units = f"{'the kernel takes' if kernel else 'weights are in'} these units"
    output.print_pairs([
        ("learned", report.learned_text(found)),
        *report.text_pairs(model),
        *report.scaled_pairs(model, units),
        *report.equation_pairs(model),
        *report.kernel_pairs(found),
        *report.shown(("calibrated", found["calibration"])),
        *report.threshold_pairs(found),
        *(inferred if is_regression(model) else report.course_pairs(model, found)),
        ("options", f"{said} at their defaults"),
        *[("weights", f"{one['machine']}: {_size(one)}") for one in machines if not machines[1:]],
    ])  # fmt: skip
    if len(machines) > 1:
        print()
        output.print_pairs(
            [(m["machine"], _size(m) + _heaviest(m)) for m in machines[:MOST_MACHINES]]
        )
        if (rest := len(machines) - MOST_MACHINES) > 0:
            print(f"... and {rest:,} more; --json has all")
    elif machines and machines[0]["heaviest"]:
        rows = [[name, f"{weight:+.6g}"] for name, weight in machines[0]["heaviest"]]
        known = machines[0].get("standard_deviations", [])
        for row, deviation in zip(rows, known, strict=False):
            row.append(f"{deviation:.6g}")
        what = "support vector" if kernel else "feature"
        output.print_table([what, "weight", *["std. dev."] * bool(known)], rows)


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


@command()
def audit(
    model: Path = options.MODEL, data: list[str] = options.DATA,
    row: int = option(
        "--row", number(at_least=1), "Which row of DATA, counted from 1.", default=1
    ),
    top: int | None = option(
        "--top", number(at_least=1),
        "Show the N features with the largest products.  [default: 30]",
    ),
    files: dict[str, Any] = options.FILES, as_json: bool = options.AS_JSON,
) -> None:  # fmt: skip
    """Show each feature's value, weight and product in one row of DATA, largest product first.

    The products, the intercept and the rounding error add up to the score.

    Example: linsep audit species.linsep test.csv --row 3
    """
    estimator = model_files.loaded(model)
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
        output.print_json(found)
        return
    predicted = output.label_text(found["prediction"]) if hasattr(estimator, "classes_") else ""
    gaps = {"rows_dropped": 0, "fields_ignored": {}} | found
    output.print_pairs([
        ("row", found["row"]),
        *report.shown(("prediction", predicted)),
        ("score", f"{found['score']!r}, {found['score_of']}"),
        *report.scaled_pairs(estimator, "values and weights are in these units"),
        *report.unscored_pairs(gaps, estimator),
    ])  # fmt: skip
    shown, rest = found["terms"][: top or 30], found["terms"][top or 30 :]
    sure = ["standard_deviation"] * (bool(shown) and "standard_deviation" in shown[0])
    rows = [
        [t["feature"], f"{t['value']:.6g}", f"{t['weight']:+.6g}",
         *(f"{t[name]:.6g}" for name in sure), f"{t['product']:+.6g}"]
        for t in shown
    ]  # fmt: skip
    blank = ["", "", *("" for _ in sure)]
    if rest:
        total = fsum(term["product"] for term in rest)
        rows.append([f"and {len(rest):,} more", *blank, f"{total:+.6g}"])
    if found["rounding"]:
        rows.append(["rounding of the sum", *blank, f"{found['rounding']:+.6g}"])
    output.print_table(["feature", "value", "weight", *["std. dev."] * len(sure), "product"], rows)


@command()
def export(
    model: Path = options.MODEL,
    file: Path = argument(
        "file", "FILE", "The file to write: .sql (SQLite, DuckDB), .json, .csv or .onnx.",
        required=True, type=options.LocalPath(dash=False),
    ),
    force: bool = options.FORCE,
) -> None:  # fmt: skip
    """Write a model for other programs: SQL, JSON, CSV or ONNX.

    Example: linsep export species.linsep species.sql
    """
    from linsep.exports import export as write, format_of, prediction_rule

    made = format_of(file)
    output.check_outputs(force, [model], file)
    estimator = model_files.loaded(model)
    with output.finishing():
        write(estimator, file, force=force)
    rule = prediction_rule(estimator)
    size = f"{file.stat().st_size:,} bytes"
    output.print_pairs([("written", f"{file}, {made.name}, {size}"), ("rule", rule.sentence())])
    if hasattr(estimator, "predict_proba") and not rule.probabilities:
        which = "Calibrated" if hasattr(estimator, "calibration_") else "One-vs-rest"
        note(f"{which} probabilities are not exported; labels are unaffected.", "warning")


@command()
def summary(
    model: Path = options.MODEL,
    data: list[str] | None = argument(
        "data", "DATA...",
        "The training rows, to show residuals and influence and to test assumptions.",
    ),
    level: float | None = option(
        "--level", number(float, above=0.0, below=1.0),
        "Level of the intervals.  [default: 0.95, or the level of the fit]",
    ),
    odds_ratios: bool = option(
        "--odds-ratios", None,
        "Show odds ratios (exponentials of the coefficients) with their intervals (logistic).",
        excludes=["data"],
    ),
    table: str | None = option(
        "--table", choice(("markdown", "latex")),
        "Print estimates, intervals and p-values to three digits, as a table for a paper.",
        excludes=["data", "as_json"],
    ),
    files: dict[str, Any] = options.FILES, top: int | None = TOP_COEFFICIENTS,
    as_json: bool = options.AS_JSON,
) -> None:  # fmt: skip
    """Show the statistics of a regression: estimates, standard errors, tests, intervals.

    Example: linsep summary pressure.linsep pressure.csv
    """
    fitted = model_files.loaded(model)
    needed = {
        "diagnostics": (data, "no residuals: leave out DATA, or use `linsep score`"),
        "summary": (level or table, "no table of estimates and intervals"),
        "odds_ratios": (odds_ratios, "no odds ratios"),
    }
    if not is_regression(fitted):
        why = "which has no statistical inference: `linsep inspect` shows its weights."
        raise lacks(fitted, model, why)
    for method, (asked, what) in needed.items():
        if asked and not hasattr(fitted, method):
            raise lacks(fitted, model, f"which has {what}.")
    if odds_ratios or table is not None:
        found = fitted.odds_ratios(level) if odds_ratios else fitted.summary(level)
        if as_json:
            output.print_json(found.to_dict())
        elif table is None:
            report.print_summary(found, top)
        else:
            print(found.to_latex() if table == "latex" else found.to_markdown())
        return
    more: dict[str, Any] = {}
    lines: list[str] = []
    if data:
        more, lines = _diagnosed(fitted, open_like(fitted, model, data, **files))
    if as_json:
        about = report.training_summary(fitted, level)
        output.print_json(about["summary"] | {"equation": about["equation"]} | more)
        return
    report.print_statistics(fitted, top, level)
    if not hasattr(fitted, "summary"):
        output.print_pairs(report.scaled_pairs(fitted, "means and weights are in these units"))
    if "rows" in more:
        _print_residuals(fitted, more["rows"])
    if lines:
        print("\n" + "\n".join(map(escaped, lines)).rstrip())


def _diagnosed(model: Any, source: Any) -> tuple[dict[str, Any], list[str]]:
    from linsep.validation.checks import of_features

    with of_features(), output.watching(source):  # the columns are in the order of the recipe
        if hasattr(model, "classes_"):
            found = model.diagnostics(source)
            return {"diagnostics": found.to_dict()}, str(found).splitlines()
        tests = model.assumptions(source)
        rows, found = _residual_rows(model, source), model.diagnostics(source)
    more = {"rows": rows, "assumptions": [one._asdict() for one in tests.findings]}
    lines = [*str(tests).splitlines(), "", *str(found.collinearity).splitlines()]
    return more | {"diagnostics": found.to_dict()}, lines


def _residual_rows(model: Any, source: Any) -> list[dict[str, float]]:
    """Return the numbers of rows, y, predictions and residuals, and x if it is the only feature."""
    from linsep.linear.predictions import numbers

    X, y, _ = gathered(source.batches(), model.n_features_in_)
    y = np.asarray(numbers(y, source, 0), dtype=np.float64)
    fitted = np.asarray(model.predict(source))
    columns = {"row": source.numbers(y.size)}
    if X.shape[1] == 1:
        columns["x"] = np.ravel(X.toarray() if hasattr(X, "toarray") else X)
    columns |= {"y": y, "fitted": fitted, "residual": y - fitted}
    lists = [column.tolist() for column in columns.values()]
    return [dict(zip(columns, values, strict=True)) for values in zip(*lists, strict=True)]


def _print_residuals(model: Any, residuals: list[dict[str, float]]) -> None:
    most = report.MOST_COEFFICIENTS
    names = {"x": feature_names(model)[0], "y": target_name(model) or "y"}
    lines = [[f"{value:.6g}" for value in row.values()] for row in residuals[:most]]
    for line, row in zip(lines, residuals, strict=False):
        line[0] = str(row["row"])
    print("\nResiduals; rows are counted from 0.")
    output.print_table([names.get(name, name) for name in residuals[0]], lines)
    if len(residuals) > most:
        print(f"... and {len(residuals) - most:,} more; --json has all")


@command()
def effects(
    model: Path = options.MODEL,
    data: list[str] = argument(
        "data", "DATA...", "Rows to average over: usually the training rows.", required=True
    ),
    at: list[str] | None = option(
        "--at", "COLUMN=VALUE",
        "'overall': the mean effect over all rows; 'mean': the effects at the means of the "
        "features; COLUMN=VALUE: the mean effect over all rows, with this value set in the "
        "column. Separate several by commas; repeatable.  [default: overall]",
        many=True,
    ),
    level: float = options.LEVEL, files: dict[str, Any] = options.FILES,
    top: int | None = TOP_COEFFICIENTS, as_json: bool = options.AS_JSON,
) -> None:  # fmt: skip
    """Show the marginal effects of a logistic regression on probabilities.

    A marginal effect is the change in the probability of a class per unit of a feature.

    Example: linsep effects odds.linsep train.csv --at age=40
    """
    fitted = model_files.loaded(model)
    parts = [part.strip() for text in at or ["overall"] for part in text.split(",")]
    where: Any = parts[0]
    if parts not in (["overall"], ["mean"]):
        if not all("=" in part for part in parts):
            raise click.BadParameter("--at takes overall or mean alone, or COLUMN=VALUE.")
        where = {name: value for name, _, value in (part.rpartition("=") for part in parts)}
    if not hasattr(fitted, "marginal_effects"):
        raise lacks(
            fitted, model,
            "which has no marginal effects on probabilities: only logistic regressions have them.",
        )  # fmt: skip
    labeled = True if getattr(fitted, "recipe_", {}).get("weight") else None
    source = open_like(fitted, model, data, **files, labeled=labeled)
    with output.watching(source):
        table = fitted.marginal_effects(source, at=where, level=level)
    tell_unknown(source.unseen, fitted.recipe_)
    if as_json:
        output.print_json(table.to_dict())
    else:
        report.print_summary(table, top)


@command()
def compare(
    models: list[Path] = argument(
        "models", "MODEL MODEL...",
        "Regressions saved by `linsep fit --model`, the smallest first.",
        type=options.LocalPath(), required=True,
    ),
    as_json: bool = options.AS_JSON,
) -> None:  # fmt: skip
    """Compare nested regressions of the same rows: F or likelihood-ratio tests, AIC, BIC.

    Example: linsep compare few.linsep more.linsep
    """
    from linsep.inference.hypotheses import compare as compared

    if len(models) < 2:
        raise click.BadParameter("give two or more models, the smallest first.", param_hint="MODEL")
    found = compared(*map(model_files.load, models), names=list(map(str, models)))
    if as_json:
        output.print_json(found.to_dict())
    else:
        print(found)

"""Commands about a model: ``inspect``, ``audit``, ``export``, and of regressions ``summary``,
``effects`` and ``compare``.
"""

from itertools import zip_longest
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
from linsep.cli.reading import lacks, open_like, tell_unknown
from linsep.estimators import showing
from linsep.words import counted, escaped

#: more binary classifiers do not fit on a screen; --json has them all
MOST_MACHINES = 20
TOP_COEFFICIENTS: Any = option(
    "--top", number(at_least=1), "Most coefficients, by their statistics.  [default: 60]"
)  # fmt: skip


@command()
def inspect(
    model: Path = options.MODEL,
    top: int | None = option(
        "--top", number(at_least=0), "Most weights.  [default: 10, or 3 each of several classes]"
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
        "weights": [] if showing.is_curved(estimator) else _machines(estimator, top),
    }
    if as_json:
        output.print_json(found)
    else:
        _print_model(estimator, found)


def _machines(model: Any, top: int | None) -> list[dict[str, Any]]:
    """Return every binary classifier with its ``top`` weights, of features or support vectors."""
    linear, known = showing.linear_of(model), showing.deviations(model)
    coef = linear.dual_coef_ if hasattr(linear, "kernel_") else np.atleast_2d(linear.coef_)
    intercepts = np.atleast_1d(getattr(linear, "intercept_", np.zeros(len(coef)))).tolist()
    top = top if top is not None else 10 if len(coef) == 1 else 3
    found = []
    for k, machine in enumerate(showing.machine_names(model)):
        order = np.argsort(-np.abs(coef[k]), kind="stable")[:top]
        order = order[coef[k][order] != 0]
        names: Any = showing.names_and_signs(model, None, 0, order.tolist())
        if hasattr(linear, "kernel_"):
            names = ((f"row {row + 1}", 1) for row in model.support_[order])
        weights = zip(names, coef[k][order].tolist(), strict=True)
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


def _print_model(model: Any, found: dict[str, Any]) -> None:
    given, machines = options_of_model(model), found["weights"]
    said = f"{given}; other learner options" if given else "learner options"
    units = f"{'the kernel takes' if found.get('kernel') else 'weights are in'} these units"
    inference = "`linsep summary` shows estimates, standard errors and tests"
    output.print_pairs([
        *report.about_pairs(model, found, units),
        ("inference", inference * is_regression(model)),
        ("options", f"{said} at their defaults"),
        *[("weights", f"{one['machine']}: {counted(one['nonzero'], 'nonzero weight')}, "
           f"norm {one['norm']:.4g}") for one in machines if not machines[1:]],
    ])  # fmt: skip
    if machines:
        print()
        _print_weights(machines, "support vector" if found.get("kernel") else "feature")


def _print_weights(machines: list[dict[str, Any]], what: str) -> None:
    """Print the intercept and the largest weights of every binary classifier."""
    sure, several = "standard_deviations" in machines[0], len(machines) > 1
    rows = []
    for one in machines[:MOST_MACHINES]:
        known = [one.get("intercept_standard_deviation"), *one.get("standard_deviations", [])]
        weights = [["intercept", one["intercept"]], *one["heaviest"]]
        for (name, weight), deviation in zip_longest(weights, known):
            first, last = [one["machine"]] * several, [f"{deviation:.6g}"] if sure else []
            rows.append([*first, name, f"{weight:+.6g}", *last])
    header = [*["weights of"] * several, what, "weight", *["std. dev."] * sure]
    output.print_table(header, rows, [False] * several + [False, True, True][: 2 + sure])
    output.print_more(len(machines[MOST_MACHINES:]))


@command()
def audit(
    model: Path = options.MODEL, data: list[str] = options.DATA,
    row: int = option("--row", number(at_least=1), "Which row, counted from 1.", default=1),
    top: int | None = option(
        "--top", number(at_least=1), "Most features, by their products.  [default: 30]"
    ),
    files: dict[str, Any] = options.FILES, as_json: bool = options.AS_JSON,
) -> None:  # fmt: skip
    """Show each feature's value, weight and product in one row of DATA, largest product first.

    The products, of which one is the intercept, add up to the score.

    Example: linsep audit species.linsep test.csv --row 3
    """
    estimator = model_files.loaded(model)
    if (why := showing.without_weights(estimator)) is not None:
        told = f"which {why}: its scores are not sums of one product per feature."
        raise lacks(estimator, model, told)
    left_out = getattr(estimator, "recipe_", {}).get("missing") == "drop"
    missing = "skip" if left_out else "error"  # rows keep their numbers in the files
    source = open_like(estimator, model, data, labeled=False, missing=missing, **files)
    found = showing.explained(estimator, source, row - 1)
    if as_json:
        output.print_json(found)
        return
    predicted = output.label_text(found["prediction"]) if hasattr(estimator, "classes_") else ""
    output.print_pairs([
        ("row", found["row"]),
        ("prediction", predicted),
        ("score", f"{found['score']!r}, {found['score_of']}"),
        report.scaled_pair(estimator, "values and weights are in these units"),
        *report.unscored_pairs(found, estimator),
    ])  # fmt: skip
    terms, most = found["terms"], top or 30
    numbers = {"value": ".6g", "weight": "+.6g", "standard_deviation": ".6g", "product": "+.6g"}
    columns = {name: how for name, how in numbers.items() if name in (terms or [numbers])[0]}
    rows = [
        [term["feature"], *(format(term[name], how) for name, how in columns.items())]
        for term in terms[:most]
    ]
    if rest := terms[most:]:
        total = fsum(term["product"] for term in rest)
        blank = [""] * (len(columns) - 1)
        rows.append([f"and {len(rest):,} more", *blank, f"{total:+.6g}"])
    called = {"standard_deviation": "std. dev."}
    output.print_table(["feature", *(called.get(name, name) for name in columns)], rows)


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

    name, _ = format_of(file)
    output.check_outputs(force, [model], file)
    estimator = model_files.loaded(model)
    with output.finishing():
        write(estimator, file, force=force)
    rule = prediction_rule(estimator)
    size = f"{file.stat().st_size:,} bytes"
    output.print_pairs([("written", f"{file}, {name}, {size}"), ("rule", rule.sentence())])
    if hasattr(estimator, "predict_proba") and not rule.probabilities:
        which = "Calibrated" if hasattr(estimator, "calibration_") else "One-vs-rest"
        note(f"{which} probabilities are not exported; labels are unaffected.", "warning")


@command()
def summary(
    model: Path = options.MODEL,
    data: list[str] | None = argument(
        "data", "DATA...", "The training rows, to test assumptions and show influences."
    ),
    level: float | None = option(
        "--level", number(float, above=0.0, below=1.0),
        "Level of the intervals.  [default: 0.95, or the level of the fit]",
    ),
    odds_ratios: bool = option(
        "--odds-ratios", None,
        "Show odds ratios, exponentials of the coefficients (logistic).", excludes=["data"],
    ),
    table: str | None = option(
        "--table", choice(("markdown", "latex")),
        "Print a table for a paper, to three digits.", excludes=["data", "as_json"],
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
    found = fitted.odds_ratios(level) if odds_ratios else report.statistics(fitted, level)
    about, parts = found.to_dict(), list[Any]()
    if not odds_ratios:
        about["equation"] = report.equation_of(fitted)
    if data:
        more, parts = _diagnosed(fitted, open_like(fitted, model, data, **files))
        about |= more
    if as_json:
        output.print_json(about)
    elif table is not None:
        print(found.to_latex() if table == "latex" else found.to_markdown())
    else:
        report.print_summary(found, top)
        if equation := report.short(about.get("equation")):
            print()
            output.print_pairs([("equation", equation)])
        for part in parts:
            print(f"\n{escaped(str(part), lines=True)}".rstrip())


def _diagnosed(model: Any, source: Any) -> tuple[dict[str, Any], list[Any]]:
    """Return tests of the assumptions, residuals and influence, as JSON and as what is printed."""
    from linsep.validation.checks import of_features

    with of_features(), output.watching(source):  # the columns are in the order of the recipe
        found = model.diagnostics(source)
        if hasattr(model, "classes_"):
            return {"diagnostics": found.to_dict()}, [found]
        tests = model.assumptions(source)
    findings = [one._asdict() for one in tests.findings]
    more = {"assumptions": findings, "diagnostics": found.to_dict()}
    return more, [tests, found.collinearity]


@command()
def effects(
    model: Path = options.MODEL,
    data: list[str] = argument("data", "DATA...", "Rows to average over.", required=True),
    at: list[str] | None = option(
        "--at", "COLUMN=VALUE",
        "'overall': the mean effect over all rows; 'mean': at the means of the features; "
        "COLUMN=VALUE,...: the mean with these values; repeatable.  [default: overall]", many=True,
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
        why = "which has no marginal effects: only logistic regressions have them."
        raise lacks(fitted, model, why)
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

"""Commands about a model: ``inspect``, ``audit``, ``export``, and of regressions ``summary``,
``effects`` and ``compare``.
"""

from pathlib import Path
from typing import Any

import click

import linsep
from linsep import model_files
from linsep.catalog import is_regression
from linsep.cli import options, output, report
from linsep.cli.errors import note
from linsep.cli.options import argument, choice, command, number, option
from linsep.cli.reading import lacks, open_like
from linsep.words import escaped

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
    output.tell(linsep.inspect(model, top), as_json)


@command()
def audit(
    model: Path = options.MODEL, data: list[str] = options.DATA,
    row: int = option("--row", number(at_least=1), "Which row, counted from 1.", default=1),
    top: int | None = option(
        "--top", number(at_least=1), "Most features, by their contributions.  [default: 30]"
    ),
    files: dict[str, Any] = options.FILES, as_json: bool = options.AS_JSON,
) -> None:  # fmt: skip
    """Show what each feature of one row of DATA contributes to its score, largest first.

    Values and weights are in the units of DATA. The contributions, of which one is the intercept,
    add up to the score.

    Example: linsep audit species.linsep test.csv --row 3
    """
    output.tell(linsep.explain(model, data, row - 1, top=top, **files), as_json)


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
        output.show(*report.summary_lines(found, top))
        if equation := report.short(about.get("equation")):
            output.show(f"\nequation  {equation}")
        for part in parts:
            print(f"\n{escaped(str(part), lines=True)}".rstrip())


def _diagnosed(model: Any, source: Any) -> tuple[dict[str, Any], list[Any]]:
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
    parts = [part.strip() for text in at or ["overall"] for part in text.split(",")]
    where: Any = parts[0]
    if parts not in (["overall"], ["mean"]):
        if not all("=" in part for part in parts):
            raise click.BadParameter("--at takes overall or mean alone, or COLUMN=VALUE.")
        where = {name: value for name, _, value in (part.rpartition("=") for part in parts)}
    table = linsep.effects(model, data, at=where, level=level, **files)
    if as_json:
        output.print_json(table.to_dict())
    else:
        output.show(*report.summary_lines(table, top))


@command()
def compare(
    models: list[Path] = argument(
        "models", "MODEL MODEL...",
        "Regressions saved by `linsep fit --model`, in any order.",
        type=options.LocalPath(), required=True,
    ),
    as_json: bool = options.AS_JSON,
) -> None:  # fmt: skip
    """Compare nested regressions of the same rows: F or likelihood-ratio tests, AIC, BIC.

    Example: linsep compare few.linsep more.linsep
    """
    found = linsep.compare(*map(model_files.load, models), names=list(map(str, models)))
    output.tell(found, as_json)

"""Commands about regressions: ``summary``, ``effects`` and ``compare``."""

from pathlib import Path
from typing import Any

import click
import numpy as np

from linsep import model_files
from linsep.catalog import is_regression
from linsep.cli import options, report
from linsep.cli.options import Argument, Option, choice, command, number
from linsep.cli.output import print_json, print_pairs, print_table, watching
from linsep.cli.reading import gathered, lacks, open_like, tell_unknown
from linsep.estimators.labels import feature_names, target_name
from linsep.inference.hypotheses import compare as compared
from linsep.linear.predictions import numbers
from linsep.validation.checks import of_features
from linsep.words import escaped

RESIDUAL_ROWS = Argument(
    "data", "DATA...",
    "The training rows, to show residuals and influence and to test assumptions.",
)  # fmt: skip
ODDS_RATIOS = Option(
    "--odds-ratios", None,
    "Show odds ratios (exponentials of the coefficients) with their intervals (logistic).",
    excludes=["data"],
)  # fmt: skip
LEVEL = Option(
    "--level", number(float, above=0.0, below=1.0),
    "Level of the intervals.  [default: 0.95, or the level of the fit]",
)  # fmt: skip
PUBLISHED = Option(
    "--table", choice(("markdown", "latex")),
    "Print estimates, intervals and p-values to three digits, as a table for a paper.",
    excludes=["data", "as_json"],
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
    if not is_regression(fitted):
        raise lacks(
            fitted, model,
            "which has no statistical inference: `linsep inspect` shows its weights.",
        )  # fmt: skip
    if data and not hasattr(fitted, "diagnostics"):
        raise lacks(fitted, model, "which has no residuals: leave out DATA, or use `linsep score`.")
    needed = level is not None or table is not None
    if needed and not hasattr(fitted, "summary"):
        raise lacks(fitted, model, "which has no table of estimates and intervals.")
    if odds_ratios and not hasattr(fitted, "odds_ratios"):
        raise lacks(fitted, model, "which has no odds ratios.")
    if odds_ratios or table is not None:
        found = fitted.odds_ratios(level) if odds_ratios else fitted.summary(level)
        if as_json:
            print_json(found.to_dict())
        elif table is None:
            report.print_summary(found, top)
        else:
            print(found.to_latex() if table == "latex" else found.to_markdown())
        return
    more: dict[str, Any] = {}
    lines: list[str] = []
    if data:
        source = open_like(fitted, model, data, **files)
        with of_features(), watching(source):  # the columns are in the order of the recipe
            if not hasattr(fitted, "classes_"):
                tests = fitted.assumptions(source)
                more["rows"] = _residual_rows(fitted, source)
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


def _residual_rows(model: Any, source: Any) -> list[dict[str, float]]:
    """Return the numbers of rows, y, predictions and residuals, and x if it is the only feature."""
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


AT = Option(
    "--at", "COLUMN=VALUE",
    "'overall': the mean effect over all rows; 'mean': the effects at the means of the "
    "features; COLUMN=VALUE: the mean effect over all rows, with this value set in the "
    "column. Separate several by commas; repeatable.  [default: overall]",
    many=True,
)  # fmt: skip
EFFECTS_OF = Argument(
    "data", "DATA...", "Rows to average over: usually the training rows.", required=True
)


@command(
    options.MODEL, EFFECTS_OF, AT, options.LEVEL, options.FILES, options.TOP_COEFFICIENTS,
    options.AS_JSON,
)  # fmt: skip
def effects(
    model: Path, data: list[str], *, at: list[str] | None, level: float, files: dict[str, Any],
    top: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Show the marginal effects of a logistic regression on probabilities.

    A marginal effect is the change in the probability of a class per unit of a feature.

    Example: linsep effects odds.linsep train.csv --at age=40
    """
    fitted, where = model_files.load(model), _values_of(at)
    if not hasattr(fitted, "marginal_effects"):
        raise lacks(
            fitted, model,
            "which has no marginal effects on probabilities: only logistic regressions have them.",
        )  # fmt: skip
    labeled = True if getattr(fitted, "recipe_", {}).get("weight") else None
    source = open_like(fitted, model, data, **files, labeled=labeled)
    with watching(source):
        table = fitted.marginal_effects(source, at=where, level=level)
    tell_unknown(source.unseen, fitted.recipe_)
    if as_json:
        print_json(table.to_dict())
    else:
        report.print_summary(table, top)


def _values_of(given: list[str] | None) -> str | dict[str, str]:
    """Return the argument ``at`` of :meth:`linsep.LogisticRegression.marginal_effects` from texts;
    raise BadParameter for invalid ones.
    """
    parts = [part.strip() for text in given or ["overall"] for part in text.split(",")]
    if len(parts) == 1 and parts[0] in ("overall", "mean"):
        return parts[0]
    for part in parts:
        if not part.rpartition("=")[1]:
            raise click.BadParameter(
                f"--at is {part!r}: give overall or mean alone, or COLUMN=VALUE."
            )
    return {name: value for name, _, value in (part.rpartition("=") for part in parts)}


MODELS = Argument(
    "models", "MODEL MODEL...", "Regressions saved by `linsep fit --model`, the smallest first.",
    type=options.LocalPath(), required=True,
)  # fmt: skip


@command(MODELS, options.AS_JSON)
def compare(models: list[Path], *, as_json: bool) -> None:
    """Compare nested regressions of the same rows: F or likelihood-ratio tests, AIC, BIC.

    Example: linsep compare few.linsep more.linsep
    """
    if len(models) < 2:
        raise click.BadParameter("give two or more models, the smallest first.", param_hint="MODEL")
    found = compared(*map(model_files.load, models), names=list(map(str, models)))
    if as_json:
        print_json(found.to_dict())
    else:
        print(found)

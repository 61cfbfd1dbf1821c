"""The command ``summary``, and what other commands print of regressions."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from linsep import model_files
from linsep.catalog import REGRESSIONS
from linsep.cli import options
from linsep.cli.options import command
from linsep.cli.output import (
    check_all_free,
    label_text,
    labels_text,
    never_overwrite,
    percent,
    print_json,
    print_pairs,
    print_table,
    write_picture,
)
from linsep.cli.reading import open_like, rows_of
from linsep.cli.report import (
    baseline_text,
    equation_pairs,
    equation_text,
    gap_pairs,
    gaps_of,
    recipe_pairs,
    scale_of,
    training_scores,
    training_text,
    unscored_pairs,
)
from linsep.errors import DataError
from linsep.estimators._common.labels import (
    feature_names,
    plain_labels,
    target_name,
    words_and_signs,
)
from linsep.linear.diagnostics import Assumptions
from linsep.linear.estimator import numbers
from linsep.linear.summary import Summary
from linsep.sources.base import Source
from linsep.words import counted, escaped

#: coefficients that fit a screen
MOST_COEFFICIENTS = 60


def is_regression(model: Any) -> bool:
    """Return whether a model is a regression, rather than an online learner."""
    return type(model) in REGRESSIONS.values()


def training_summary(model: Any) -> dict[str, Any]:
    """Return how a regression was estimated, with its table, as plain JSON."""
    classes = getattr(model, "classes_", None)
    table = getattr(model, "summary_", None)
    return {
        "learner": type(model).__name__,
        "rows": int(model.inference_.fit.n_rows if classes is None else model.n_rows_),
        "features": model.n_features_in_,
        "classes": None if classes is None else plain_labels(classes),
        **({} if classes is None else training_scores(model)),
        "equation": equation_text(model),
        "summary": _naive_bayes(model) if table is None else table.to_dict(),
    }


def fit_summary(
    model: Any, seconds: dict[str, float], source: Source, path: Path | None
) -> dict[str, Any]:
    """Return everything that ``linsep fit`` prints, as plain JSON, without ``test``."""
    return training_summary(model) | {
        **gaps_of(source),
        "scale": scale_of(model),
        "test": None,
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
        "model": None if path is None else str(path),
        "cache": None if source.kept is None else str(source.kept),
    }


def print_fit(model: Any, summary: dict[str, Any], untested: str | None = None) -> None:
    """Print the output of ``linsep fit``; ``untested`` is why test data were not scored."""
    print_statistics(model)
    print()
    test = summary["test"]
    pairs = []
    if test is not None:
        unscored = [f"{name} {text}" for name, text in unscored_pairs(test, model)]
        pairs.append(("test", "; ".join([_how_good(test), *unscored])))
    elif untested is not None:
        pairs.append(("test", f"not scored: {untested}"))
    if summary.get("training_accuracy") is not None:
        pairs.append(("training", training_text(model, summary)))
    pairs += [
        ("learnt", learnt_text(summary)),
        *recipe_pairs(model),
        *gap_pairs(summary, getattr(model, "recipe_", {})),
        ("time", ", ".join(f"{name} {value:.2f} s" for name, value in summary["seconds"].items())),
        ("model", summary["model"] or "not saved; --model FILE saves it"),
    ]
    if summary["cache"]:
        pairs.append(("cache", f"{summary['cache']}, read instead of the data next time"))
    print_pairs(pairs)


def learnt_text(summary: dict[str, Any]) -> str:
    """Return learner, classes if any, rows and features in one line."""
    labels = summary["classes"]
    classes = "" if labels is None else f"{len(labels):,} classes ({labels_text(labels)}), "
    return (
        f"{summary['learner']}, {classes}{counted(summary['rows'], 'row')}, "
        f"{counted(summary['features'], 'feature')}"
    )


def print_statistics(model: Any, top: int | None = None) -> None:
    """Print the table of a model, cut to ``top`` coefficients, or to a screen, and its equation."""
    table = getattr(model, "summary_", None)
    if table is None:
        _print_naive_bayes(_naive_bayes(model), top)
    else:
        cut, left_out = _cut(table, top)
        print("\n".join(escaped(line) for line in str(cut).splitlines()))
        if left_out:
            print(f"... and {left_out}; --json has all")
    for _, text in equation_pairs(model):
        print(f"\n{escaped(text)}")


def _cut(table: Summary, top: int | None) -> tuple[Summary, str]:
    """Return the table with the largest coefficients, and what is left out."""
    rows = table.coefficients
    if len(rows) <= (top or MOST_COEFFICIENTS):
        return table, ""
    kept = table.largest(top or MOST_COEFFICIENTS // 2)
    dependent = sum(row.status == "dependent" for row in rows)
    smaller = len(rows) - len(kept) - dependent
    left_out = [f"{smaller:,} more, of smaller {table.statistic}"] * bool(smaller)
    left_out += [f"{dependent:,} that are dependent"] * bool(dependent)
    return replace(table, coefficients=kept), " and ".join(left_out)


def _naive_bayes(model: Any) -> dict[str, Any]:
    """Return the estimates of naive Bayes and its equivalent logistic weights, as plain JSON."""
    implied = model.to_logistic()
    names, signs = words_and_signs(model)
    means, weights = signs * model.means_, signs * implied.coef_
    (reference,) = plain_labels([implied.reference_])
    others = [label for label in plain_labels(model.classes_) if label != reference]
    return {
        "title": "Gaussian naive Bayes",
        "shares": model.priors_.tolist(),
        "weights_of": others,
        "reference": reference,
        "intercepts": implied.intercept_.tolist(),
        "features": [
            {
                "name": name,
                "means": means[:, j].tolist(),
                "standard_deviation": float(np.sqrt(model.variances_[j])),
                "weights": weights[:, j].tolist(),
            }
            for j, name in enumerate(names)
        ],
        "classes": plain_labels(model.classes_),
    }


def _print_naive_bayes(about: dict[str, Any], top: int | None) -> None:
    labels = [label_text(label) for label in about["classes"]]
    print(about["title"])
    print_pairs(
        [("class", "share")]
        + [(name, percent(share)) for name, share in zip(labels, about["shares"], strict=True)]
    )
    print()
    against = label_text(about["reference"])
    features, most = about["features"], top or MOST_COEFFICIENTS
    if len(features) > most:
        size = np.array([max(map(abs, feature["weights"])) for feature in features])
        order = np.argsort(-size, kind="stable")[:most]
        features = [features[k] for k in np.sort(order[size[order] > 0])]
    print_table(
        ["", *(f"mean of {name}" for name in labels), "std. dev."]
        + [f"weight, {label_text(label)} against {against}" for label in about["weights_of"]],
        [
            [f["name"], *(f"{v + 0.0:.6g}" for v in (*f["means"], f["standard_deviation"]))]
            + [f"{weight + 0.0:+.6g}" for weight in f["weights"]]
            for f in features
        ]
        + [
            ["intercept", *("" for _ in [*labels, ""]), *(f"{b:+.6g}" for b in about["intercepts"])]
        ],
    )
    if len(features) < len(about["features"]):
        print(f"... and {len(about['features']) - len(features):,} more; --json has all")


def _how_good(test: dict[str, Any]) -> str:
    if "accuracy" in test:
        right = f"{percent(test['accuracy'])} of {counted(test['rows'], 'row')} right"
        return f"{right}; {baseline_text(test)}"
    return (
        f"R^2 {test['r_squared']:.6g}, rms error {test['root_mean_squared_error']:.6g} of "
        f"{counted(test['rows'], 'row')}; baseline {test['standard_deviation']:.6g}, "
        "always the mean"
    )


def show(
    model: Any,
    rows: tuple[Any, ...] | None,
    found: Assumptions | None,
    top: int | None,
    as_json: bool,
) -> None:
    """Print the output of ``linsep summary``; with the rows of the fit and what they say about the
    assumptions, also the residuals.
    """
    if as_json:
        summary = training_summary(model)
        more: dict[str, Any] = {"equation": summary["equation"]}
        if rows is not None and found is not None:
            more["rows"] = _residual_rows(model, *rows[:2])
            more["assumptions"] = [finding._asdict() for finding in found.findings]
        print_json(summary["summary"] | more)
        return
    print_statistics(model, top)
    if rows is not None and found is not None:
        _print_residuals(model, *rows[:2])
        print("\n" + "\n".join(escaped(line) for line in str(found).splitlines()))


def _residual_rows(model: Any, X: Any, y: np.ndarray) -> list[dict[str, float]]:
    """Return the values of y, predictions and residuals, and x if it is the only feature."""
    fitted = model.predict(X)
    columns = {"y": np.asarray(y, dtype=np.float64), "fitted": fitted, "residual": y - fitted}
    if X.shape[1] == 1:
        x = X.toarray() if hasattr(X, "toarray") else X
        columns = {"x": np.ravel(x)} | columns
    lists = [column.tolist() for column in columns.values()]
    return [dict(zip(columns, values, strict=True)) for values in zip(*lists, strict=True)]


def _print_residuals(model: Any, X: Any, y: np.ndarray) -> None:
    """Print the table of residuals, as many rows as fit a screen."""
    most = MOST_COEFFICIENTS
    rows = _residual_rows(model, X[:most], y[:most])
    names = {"x": feature_names(model)[0], "y": target_name(model) or "y"}
    print()
    print_table(
        ["row", *(names.get(name, name) for name in rows[0])],
        [[f"{k}", *(f"{value:.6g}" for value in row.values())] for k, row in enumerate(rows)],
    )
    if len(y) > most:
        print(f"... and {len(y) - most:,} more; --json has all")


def refuse(model: Any, path: Path, with_rows: bool) -> None:
    """Raise DataError for a model without inference, or without residuals if there are rows."""
    kind = type(model).__name__
    if not is_regression(model):
        raise DataError(
            f"{path} is a {kind}, which infers nothing from its weights: `linsep inspect` shows "
            "them."
        )
    if with_rows and not hasattr(model, "assumptions"):
        raise DataError(
            f"{path} is a {kind}, which has no residuals: leave out DATA, or `linsep score` it."
        )


ROWS = options.Argument(
    "data",
    metavar="DATA...",
    help="The training rows of a linear regression, to show residuals and test assumptions.",
)


@command(
    options.MODEL, ROWS, options.FILES, options.TOP_COEFFICIENTS, options.AS_JSON, options.PLOT,
    options.FORCE,
)  # fmt: skip
def summary(
    model: Path, data: list[str] | None, *, files: dict[str, Any], top: int | None, as_json: bool,
    plot: Path | None, force: bool,
) -> None:  # fmt: skip
    """Show the statistics of a regression: estimates, standard errors, tests, intervals.

    Example: linsep summary pressure.linsep pressure.csv
    """
    check_all_free(force, plot)
    never_overwrite([model], plot)
    fitted, rows = model_files.load(model), None
    refuse(fitted, model, bool(data))
    with warnings.catch_warnings():  # the columns are those of the recipe, in its order
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        if data:
            source = open_like(fitted, model, data, **files)
            never_overwrite(source.paths, plot)
            X, y, weights = rows_of(source, fitted.n_features_in_, None)
            rows = X, numbers(y, source, 0), weights
        found = None if rows is None else fitted.assumptions(*rows)
        show(fitted, rows, found, top, as_json)
        if plot is not None:
            from linsep.plot import AssumptionsDisplay, CoefficientDisplay

            drawn = (
                CoefficientDisplay.from_estimator(fitted, top=top or 30)
                if found is None
                else AssumptionsDisplay.from_assumptions(found)
            )
            write_picture(drawn, plot, force)

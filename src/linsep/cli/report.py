"""What commands print about models: one screen, the main result first."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linsep.catalog import is_margin, is_regression
from linsep.cli.output import label_text, labels_text, print_pairs, print_table
from linsep.estimators.frames import unknown_text
from linsep.estimators.labels import plain_labels, words_and_signs
from linsep.estimators.reading import ALL_PASSES, StopReason
from linsep.estimators.showing import MOST_TERMS, is_curved
from linsep.estimators.thresholds import threshold_of
from linsep.layout import wrapped
from linsep.scoring import gaps_of
from linsep.scoring.metrics import METRICS, NUMBER_METRICS
from linsep.sources.base import Source
from linsep.sources.feature_names import names_in_recipe
from linsep.words import counted, escaped, percent

if TYPE_CHECKING:  # imported only for regressions
    from linsep.inference.table import Summary

Pairs = list[tuple[str, str]]

#: metrics of test rows that `fit` prints beside the accuracy, and of folds; --json has all
SHORT_METRICS = ("balanced_accuracy", "roc_auc", "log_loss")
OF_FOLDS = ("accuracy", *SHORT_METRICS, "r2", "rmse", "mae")
#: coefficients that fit on a screen, and columns, of which --json has all
MOST_COEFFICIENTS, MOST_COLUMNS = 60, 8
#: letters of an equation that fits on a line
LINE = 100
#: names of the weights used to predict, by the parameter keep
WEIGHTS = {
    "last": "last weights", "average": "averaged weights", "vote": "a vote of all weights",
    "best": "best weights",
}  # fmt: skip
# If values exceed the smallest range of a column by this factor, suggest scaling. Of 24 tables
# (`make bench BENCH=tables`) this finds the ten that scaling improves by 2% and more.
UNEVEN = 50


def shown(*pairs: tuple[str, str | None]) -> Pairs:
    """Return the pairs of a heading and a text that have a text."""
    return [(heading, text) for heading, text in pairs if text]


def _listed(parts: Sequence[str], what: str = "") -> str:
    """Return the first items of a list, and how many there are of ``what`` beside them."""
    more = f" and {len(parts) - MOST_COLUMNS:,} more {what}" if what else ", ..."
    return ", ".join(parts[:MOST_COLUMNS]) + more * (len(parts) > MOST_COLUMNS)


def _names(recipe: dict[str, Any]) -> dict[str, str]:
    """Return the names of columns as shown; only tables have some."""
    return names_in_recipe(recipe) if "numeric" in recipe else {}


# What is known of a model, as plain JSON.


def fit_summary(
    model: Any, seconds: dict[str, float], source: Source, path: Path | None
) -> dict[str, Any]:
    """Return everything that ``linsep fit`` prints, as plain JSON, without ``test``."""
    scale = "standard" if getattr(model, "recipe_", {}).get("scale") else "none"
    summary = training_summary(model) | gaps_of(source) | {"scale": scale}
    if not is_regression(model):  # statistics are in the units of the columns
        summary["uneven_columns"] = _uneven(model, source) if scale == "none" else None
    return summary | {
        "test": None,
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
        "model": None if path is None else str(path),
        "cache": None if source.kept is None else str(source.kept),
    }


def _uneven(model: Any, source: Source) -> dict[str, dict[str, float]] | None:
    """Return the columns of the smallest range and of the largest value, if these differ many
    times. An indicator has range 1.
    """
    spans = {name: high - low for name, (low, high) in source.ranges.items() if high > low}
    sizes = {name: max(-low, high) for name, (low, high) in source.ranges.items() if high > low}
    spans |= dict.fromkeys(getattr(model, "recipe_", {}).get("text", {}), 1.0)
    if not sizes:
        return None
    least, most = min(spans, key=spans.__getitem__), max(sizes, key=sizes.__getitem__)
    if sizes[most] <= UNEVEN * spans[least]:
        return None
    return {"spans": {least: spans[least]}, "reaches": {most: sizes[most]}}


def training_summary(model: Any, level: float | None = None) -> dict[str, Any]:
    """Return how a model was trained, as plain JSON; for a regression, with its table."""
    passes = [] if is_regression(model) or is_margin(model) else model.fitted_run().reports
    rows = passes[0].rows if passes else getattr(model, "n_rows_", 0)
    classes = getattr(model, "classes_", None)
    summary = threshold_of(model) | {
        "learner": type(model).__name__,
        "rows": int(rows),
        "features": getattr(model, "n_features_in_", None),
        "classes": None if classes is None else plain_labels(classes),
        "equation": _equation(model),
    }
    if classes is not None:  # accuracy and baseline on the training rows, or a sample of them
        for name in ("accuracy", "rows", "sampled", "baseline"):
            summary[f"training_{name}"] = getattr(model, f"training_{name}_", None)
    if is_regression(model):
        table = model.summary(level) if hasattr(model, "summary") else None
        return summary | {"summary": _naive_bayes(model) if table is None else table.to_dict()}
    summary["kernel"] = repr(model.kernel_) if hasattr(model, "kernel_") else None
    summary["stop_reason"] = model.stop_reason_
    if is_margin(model):
        return summary | {
            "support_vectors": model.n_support_.tolist(),
            "at_bound": model.n_bounded_.tolist(),
            "objective": model.objective_,
            "lower_bound": model.lower_bound_,
            "duality_gap": model.duality_gap_,
        }
    scored, mixture = model.fitted_run().scored, getattr(model, "mixture_", None)
    return summary | {
        "support_vectors": model.support_.size if hasattr(model, "support_") else None,
        "passes": len(passes),
        "mistakes": model.mistakes_.tolist(),
        "updates": model.n_updates_,
        "shards": None if mixture is None else len(mixture.rows),
        "mixing": None if mixture is None else mixture.mixing,
        "keep": model.keep,
        **({"passes_at_score": 0.0} if hasattr(model, "threshold_") else {}),
        "progressive_accuracy": model.progressive_accuracy_ if rows else None,
        "validation_accuracy": max((p.validation_score for p in scored), default=None),
        "curve": [
            {
                "pass": p.number + 1,
                "training_error": _error(p.training_score),
                "held_out_error": _error(p.validation_score),
            }
            for p in scored
        ],
        "criterion": [p.criterion for p in passes if p.criterion is not None],
    }


def _error(score: float | None) -> float | None:
    return None if score is None else 1.0 - score


def _equation(model: Any) -> str | None:
    """Return the equation of a linear model with few features and classes; None for others, and for
    a regression with diverging weights, which depend on where the fit ended.
    """
    diverging = {"+inf", "-inf", "infinite", "sign not checked"}
    features = getattr(model, "n_features_in_", None) or MOST_TERMS + 1
    many = max(features, len(getattr(model, "classes_", ()))) > MOST_TERMS
    if many or diverging & {*np.ravel(getattr(model, "limits_", ()))} or is_curved(model):
        return None
    equation = getattr(model, "equation_", None)
    return None if equation is None else str(equation)


def _naive_bayes(model: Any) -> dict[str, Any]:
    """Return the estimates of naive Bayes and its equivalent logistic weights, as plain JSON; no
    weights where each class has its own variances.
    """
    names, signs = words_and_signs(model)
    classes, means, spreads = plain_labels(model.classes_), signs * model.means_, model.variances_
    found: dict[str, Any] = {
        "title": "Gaussian naive Bayes", "shares": model.priors_.tolist(), "weights_of": [],
        "reference": None, "intercepts": [], "classes": classes,
    }  # fmt: skip
    of_features = [{"name": name, "means": means[:, j].tolist()} for j, name in enumerate(names)]
    if is_curved(model):
        found["title"] += ", variances per class"
        for j, one in enumerate(of_features):
            one |= {"standard_deviations": np.sqrt(spreads[:, j]).tolist(), "weights": []}
    else:
        implied = model.to_logistic()
        (reference,) = plain_labels([implied.reference_])
        found |= {
            "weights_of": [label for label in classes if label != reference],
            "reference": reference, "intercepts": implied.intercept_.tolist(),
        }  # fmt: skip
        for j, one in enumerate(of_features):
            weights = (signs * implied.coef_)[:, j].tolist()
            one |= {"standard_deviation": float(np.sqrt(spreads[j])), "weights": weights}
    return found | {"features": of_features}


# How a model was made.


def equation_pairs(model: Any) -> Pairs:
    """Return the equation of a linear model if it fits on a line, as a pair."""
    text = _equation(model) or ""
    return shown(("equation", "" if "\n" in text or len(text) > LINE else text))


def scaled_pairs(model: Any, more: str) -> Pairs:
    """Return that numeric columns are standardized, if they are, as a pair."""
    scaled = len(getattr(model, "recipe_", {}).get("scale") or ())
    text = f"{counted(scaled, 'numeric column')} to mean 0 and standard deviation 1; {more}"
    return shown(("scaled", text * bool(scaled)))


def reference_pairs(recipe: dict[str, Any]) -> Pairs:
    """Return the text values without indicator, the reference levels, as a pair of a heading and a
    text, if there are any.
    """
    references, called = recipe.get("reference") or {}, _names(recipe)
    listed = _listed([f"{called[name]}={value}" for name, value in references.items()])
    these = "these" if len(references) > 1 else "it"
    filled = recipe.get("missing") in ("zero", "mean")
    gaps = f"; missing values are treated as {these}" * filled
    text = f"{listed}; other values are compared with {these}{gaps}"
    return shown(("reference", text * bool(references)))


def text_pairs(model: Any) -> Pairs:
    """Return the formula of a model, or its products, texts and rare values, as pairs."""
    recipe = getattr(model, "recipe_", {})
    if formula := recipe.get("formula"):
        return [("formula", formula["text"])]
    words = ""
    if recipe.get("words"):
        from linsep.sources.text import described

        words = described(recipe["words"])
    rare, called = recipe.get("rare") or {}, _names(recipe)
    levels = [
        f"{called[name]}={stored['level']} stands for {counted(len(stored['values']), 'value')} "
        f"in fewer than {counted(stored['min_count'], 'row')} each"
        for name, stored in rare.items()
    ]
    return shown(
        ("products", ", ".join(":".join(one["columns"]) for one in recipe.get("products") or ())),
        ("text", words),
        ("rare", "; ".join(levels[:MOST_COLUMNS]) + "; ..." * (len(levels) > MOST_COLUMNS)),
    )


def _recipe_pairs(model: Any) -> Pairs:
    recipe, parts = getattr(model, "recipe_", {}), []
    converted, called = recipe.get("converted") or {}, _names(recipe)
    units = " without percent signs, currencies and similar marks" * bool(recipe.get("units"))
    for kind, what in (("number", f"numbers{units}"), ("date", "days since 1970")):
        names = [called.get(n, n) for n, how in converted.items() if how.startswith(kind)]
        parts += [f"{_listed(names)} to {what}"] * bool(names)
    return [
        *text_pairs(model),
        *shown(("converted", "; ".join(parts))),
        *scaled_pairs(model, "--scale none leaves them unchanged"),
        *reference_pairs(recipe),
    ]


def learned_text(summary: dict[str, Any]) -> str:
    """Return learner, classes if any, rows and features in one line."""
    labels, rows, features = summary["classes"], summary["rows"], summary["features"]
    parts = [
        summary["learner"],
        "" if labels is None else f"{len(labels):,} classes ({labels_text(labels)})",
        counted(rows, "row") if rows else "",  # unknown after partial_fit
        "" if features is None else counted(features, "feature"),  # strings have none
    ]
    return ", ".join(filter(None, parts))


def kernel_pairs(summary: dict[str, Any]) -> Pairs:
    """Return the kernel of a model and its number of support vectors, if any."""
    many = summary.get("support_vectors")
    with_them = f", {counted(many, 'support vector')}" if isinstance(many, int) else ""
    return shown(("kernel", summary.get("kernel") and f"{summary['kernel']}{with_them}"))


def course_pairs(model: Any, summary: dict[str, Any]) -> Pairs:
    """Return the result of a fit, and why it ended."""
    if "duality_gap" not in summary:
        mistakes = summary["mistakes"]
        text = f"{len(mistakes)}, mistakes {sum(mistakes):,}"
        if len(mistakes) > 1:
            text += f" (first pass {mistakes[0]:,}, last {mistakes[-1]:,})"
        return [("passes", text), ("stopped", _stopped_text(model))]
    many, at_bound = sum(summary["support_vectors"]), sum(summary["at_bound"])
    machines = len(summary["support_vectors"])
    of = "" if machines == 1 else f" in {machines} binary classifiers"
    bounded = f", {at_bound:,} of them inside the margin" * (model.loss == "hinge")
    gap = summary["duality_gap"]
    proved = f"within {gap:.1g} of the optimum" if gap < 1 else "gap to the optimum not proved"
    return [
        ("objective", f"{summary['objective']:.6g}, {proved}"),
        ("support", f"{counted(many, 'support vector')}{of}{bounded}"),
        ("stopped", f"{model.stop_reason_}: {model.stop_sentence_}"),
    ]


def _stopped_text(model: Any) -> str:
    if model.stop_reason_ is None:
        return "no stopping rule: the model was trained incrementally"
    sentence = model.stop_sentence_
    if model.stop_reason_ == StopReason.MAX_ITER:
        advice = "; `linsep separate` shows whether the rows are separable"
        sentence = ALL_PASSES + ("" if hasattr(model, "kernel_") else advice)
    return f"{model.stop_reason_}: {sentence}"


def threshold_pairs(summary: dict[str, Any]) -> Pairs:
    """Return the threshold of a summary, how it was chosen, and its results on held-out rows."""
    about = summary.get("threshold")
    if about is None:
        return []
    name, measured = label_text(about["positive"]), about["measured"]
    text = f"{name} from {about['of']} {about['at']:.4g} on"
    if measured is not None:
        on = f"{about['rule']} on {measured['on']} ({counted(measured['rows'], 'row')})"
        chosen, usual = (_measured_text(measured[which], name) for which in ("chosen", "default"))
        text += f", {on}: {chosen}; by default: {usual}"
    return [("threshold", text)]


def _measured_text(found: dict[str, Any], name: str) -> str:
    shares = [
        f"{what} {'-' if found[what] is None else percent(found[what])}"
        for what in ("recall", "precision")
    ]
    cost = [f"cost {found['cost']:,.6g}"] if "cost" in found else []
    return ", ".join([*shares, f"{percent(found['share'])} predicted {name}", *cost])


# What fit prints.


def print_fit(model: Any, summary: dict[str, Any], untested: str | None = None) -> None:
    """Print the output of ``linsep fit``; ``untested`` is why test data were not scored."""
    regression, test = is_regression(model), summary["test"]
    if regression:
        print_statistics(model)
        print()
    tested = f"not scored: {untested}" if untested is not None else ""
    if test is not None:
        unscored = [f"{name} {text}" for name, text in unscored_pairs(test, model)]
        tested = "; ".join([how_good(test), *unscored])
    times = [f"{name} {value:.2f} s" for name, value in summary["seconds"].items()]
    uneven = [
        f"'{name}' {does} {x:g}"
        for does, column in (summary.get("uneven_columns") or {}).items()
        for name, x in column.items()
    ]
    advice = f"{', '.join(uneven)}: --scale standard brings columns to one scale"
    cache = f"{summary['cache']}; later runs read it instead of the data"
    print_pairs([
        *shown(("test", tested), ("cv", _validation_text(summary.get("cross_validation")))),
        *(_estimation_pairs(model, summary) if regression else _run_pairs(model, summary)),
        ("time", ", ".join(times)),
        ("model", summary["model"] or "not saved; --model FILE saves it"),
        *shown(("advice", advice * bool(uneven)), ("cache", cache * bool(summary["cache"]))),
    ])  # fmt: skip


def _estimation_pairs(model: Any, summary: dict[str, Any]) -> Pairs:
    return [
        *shown(("training", _training_text(model, summary))),
        *(metric_pairs(summary) if hasattr(model, "classes_") else []),
        ("learned", learned_text(summary)),
        *threshold_pairs(summary),
        *_recipe_pairs(model),
        *gap_pairs(summary, getattr(model, "recipe_", {})),
    ]


def _run_pairs(model: Any, summary: dict[str, Any]) -> Pairs:
    """Return how well the rows of a run are predicted, and how the run was made."""
    held_out, progressive = (
        summary.get(f"{which}_accuracy") for which in ("validation", "progressive")
    )
    tested = right = ""
    if held_out is not None:
        passes = f"{summary['passes']:,} pass{'es' * (summary['passes'] != 1)}"
        then = f"; then trained on all rows in {passes}" * (model.fitted_run().trial is not None)
        tested = f"{percent(held_out)} right on held-out rows (best pass){then}{_at_zero(summary)}"
    if progressive is not None:
        right = f"{percent(progressive)} right in the first pass, each row predicted before it was "
        right += f"used{_at_zero(summary)}"
    why = interruption(model) if summary["interrupted"] else "the rows were not kept"
    told, shards = summary["calibration"], summary.get("shards")
    by_mistakes = ", by their mistakes" * (summary.get("mixing") == "mistakes")
    chosen = f"{summary['learner']} for {summary.get('chosen_for')}; --learner selects another"
    return [
        *shown(("held out", tested), ("progressive", right)),
        ("training", _training_text(model, summary)
                     or f"not measured: {why}; `linsep score` measures it"),
        *metric_pairs(summary),
        ("learned", learned_text(summary)),
        *shown(("chosen", chosen * (summary.get("chosen_for") is not None))),
        *equation_pairs(model),
        *_recipe_pairs(model),
        *kernel_pairs(summary),
        *gap_pairs(summary, getattr(model, "recipe_", {})),
        *shown(("calibrated", told and f"{told['method']}, on {told['rows']:,} rows of "
                                       f"{' and '.join(told['data'])}")),
        *threshold_pairs(summary),
        *shown(("shards", shards and f"{shards:,}; their weights were mixed after every pass"
                                     f"{by_mistakes}")),
        *course_pairs(model, summary),
        *_margin_pairs(model),
    ]  # fmt: skip


def _training_text(model: Any, summary: dict[str, Any]) -> str:
    """Return accuracy and baseline on the training rows; empty if they were not measured."""
    right, rows = summary.get("training_accuracy"), summary.get("training_rows")
    if right is None or rows is None:
        return ""
    which, rest = "", ""
    if summary["training_sampled"]:
        which = f" of {rows:,} rows drawn evenly"
    elif rows > summary["rows"]:
        unused = counted(rows - summary["rows"], "row")
        which, rest = f" of {rows:,} rows", f" ({unused} not used)"
    weights = f", {WEIGHTS[model.keep]}" if "keep" in model.get_params() else ""
    baseline = percent(summary["training_baseline"])
    return f"{percent(right)}{which} right{rest}{weights}; baseline {baseline}"


def _margin_pairs(model: Any) -> Pairs:
    """Return what a run of the margin perceptron proves about the margin."""
    if not hasattr(model, "margin_interval_"):
        return []
    low, high = model.margin_interval_
    below = f"below {high:g}" if high < 1 else "at most 1"
    reached = "" if low is None else f"at least {low:g}, "
    return [("margin", f"{reached}{below}; aimed at {model.gamma_:g} (rows of length 1)")]


def interruption(model: Any) -> str:
    """Return what Ctrl-C has interrupted: the training, or the steps after it."""
    learning = getattr(model, "stop_reason_", None) == StopReason.INTERRUPTED
    return f"{'training' if learning else 'the command'} was interrupted"


def print_curve(summary: dict[str, Any]) -> None:
    """Print the validation curve: errors of the weights after each pass."""
    print()
    print_table(
        ["pass", *(f"{rows} error{_at_zero(summary)}" for rows in ("training", "held-out"))],
        [
            [str(p["pass"])]
            + ["-" if p[e] is None else percent(p[e]) for e in ("training_error", "held_out_error")]
            for p in summary["curve"]
        ],
    )


def _at_zero(summary: dict[str, Any]) -> str:
    return " (at score 0)" if "passes_at_score" in summary else ""


# Scores.


def right_text(result: dict[str, Any]) -> str:
    """Return the accuracy of a score and its number of rows, as text."""
    unknown = result["unknown_labels"]
    first = (
        f", the first {result['first_unknown_label']}" if "first_unknown_label" in result else ""
    )
    more = f"; {unknown:,} with unknown classes{first}" if unknown else ""
    return f"{percent(result['accuracy'])} of {rows_text(result)} right{more}"


def rows_text(result: dict[str, Any]) -> str:
    """Return the number of rows of a score as text, with their weight if they are weighted."""
    rows = counted(result["rows"], "row")
    return rows if result["weight"] is None else f"the weight {result['weight']:.6g} of {rows}"


def baseline_text(result: dict[str, Any]) -> str:
    """Return the accuracy of always predicting the most frequent class, as text."""
    return f"{percent(result['most_frequent'])}, always {label_text(result['most_frequent_class'])}"


def how_good(test: dict[str, Any]) -> str:
    """Return how well test data are predicted, with the baseline."""
    if "accuracy" in test:
        return f"{right_text(test)}; baseline {baseline_text(test)}"
    return (
        f"R^2 {test['r_squared']:.6g}, rms error {test['root_mean_squared_error']:.6g} of "
        f"{counted(test['rows'], 'row')}; baseline {test['standard_deviation']:.6g}, "
        "always the mean"
    )


def metric_text(name: str, value: float | None) -> str:
    """Return a metric as text: shares in percent, numbers of targets with six digits."""
    if value is None:
        return "-"
    digits = f"{value:.6g}" if name in NUMBER_METRICS else f"{value:.4f}"
    return percent(value) if METRICS[name].is_share and name not in NUMBER_METRICS else digits


def metric_pairs(summary: dict[str, Any]) -> Pairs:
    """Return a few metrics of the test rows as a pair, if classes were predicted of some."""
    found = {} if summary["test"] is None else summary["test"]["metrics"]
    each = [
        f"{METRICS[name].title} {metric_text(name, found[name]['value'])}"
        for name in SHORT_METRICS
        if name in found and found[name]["value"] is not None
    ]
    return shown(("metrics", f"{', '.join(each)} on the test rows" * bool(each)))


def with_error(name: str, mean: float, error: float, unit: bool = False) -> str:
    """Return a metric and its standard error: in percent, or to four digits."""
    if METRICS[name].is_share:
        return f"{100 * mean:.2f} ± {100 * error:.2f}{'%' * unit}"
    return f"{mean:.4g} ± {error:.2g}"


def folds_text(cv: dict[str, Any]) -> str:
    """Return how the rows were divided, as a phrase."""
    repeated = f", {counted(cv['repeats'], 'time')}" if cv["repeats"] > 1 else ""
    return f"{cv['folds']} folds{' by time' * cv['by_time']}{repeated}"


def _validation_text(cv: dict[str, Any] | None) -> str:
    if cv is None:
        return ""
    metrics = {name: cv["metrics"][name] for name in OF_FOLDS if name in cv["metrics"]}
    each = [
        f"{METRICS[name].title} {with_error(name, one['mean'], one['standard_error'], True)}"
        for name, one in metrics.items()
    ]
    return f"{', '.join(each)} ({folds_text(cv)})"


def gap_pairs(result: dict[str, Any], recipe: dict[str, Any]) -> Pairs:
    """Return the rows left out, the values that were missing and the fields without a column, as
    pairs, if there are any.
    """
    filled = [
        f"'{name}' in {counted(n, 'row')} ({_taken_for(name, recipe)})"
        for name, n in (result["values_filled"] or {}).items()
    ]
    ignored = [
        f"'{name}' (first in {where})" for name, where in (result["fields_ignored"] or {}).items()
    ]
    rows, unused = result["rows_dropped"], f"{_listed(ignored, 'fields')}: not used by the model"
    return shown(
        ("left out", rows and f"{counted(rows, 'row')} with missing values"),
        ("missing", _listed(filled, "columns")),
        ("ignored", unused * bool(ignored)),
    )


def _taken_for(name: str, recipe: dict[str, Any]) -> str:
    if name in recipe.get("words", ()):
        return "treated as empty text"
    if name in recipe.get("numeric", ()):
        return f"imputed by {'the mean' if recipe['missing'] == 'mean' else '0'}"
    reference = recipe.get("reference", {}).get(name)
    return "no indicator set" if reference is None else f"treated as {reference}"


def unscored_pairs(result: dict[str, Any], model: Any) -> Pairs:
    """Return the rows left out of a score, and the values that were missing or unknown."""
    unknown, recipe = result["unknown_values"], getattr(model, "recipe_", {})
    text = unknown_text(unknown) if unknown else ""
    return [*gap_pairs(result, recipe), *shown(("unknown", text))]


# Tables of regressions.


def print_statistics(model: Any, top: int | None = None, level: float | None = None) -> None:
    """Print the table of a model, cut to ``top`` coefficients, or to a screen, and its equation."""
    table = model.summary(level) if hasattr(model, "summary") else None
    if table is None:
        _print_naive_bayes(_naive_bayes(model), top or MOST_COEFFICIENTS)
    else:
        print_summary(table, top)
    for _, text in equation_pairs(model):
        print("", *wrapped(escaped(text), indent="    "), sep="\n")


def print_summary(table: "Summary", top: int | None = None) -> None:
    """Print a table, cut to the ``top`` coefficients, or to a screen."""
    rows, left_out = table.coefficients, []
    if len(rows) > (top or MOST_COEFFICIENTS):
        kept = table.largest(top or MOST_COEFFICIENTS // 2)
        dependent = sum(row.status == "dependent" for row in rows)
        smaller = len(rows) - len(kept) - dependent
        left_out += [f"{smaller:,} more, with smaller |{table.statistic}|"] * bool(smaller)
        left_out += [f"{dependent:,} that are dependent"] * bool(dependent)
        table = replace(table, coefficients=kept)
    print("\n".join(escaped(line) for line in str(table).splitlines()))
    if left_out:
        print(f"... and {' and '.join(left_out)}; --json has all")


def _print_naive_bayes(about: dict[str, Any], most: int) -> None:
    labels = [label_text(label) for label in about["classes"]]
    print(about["title"])
    shares = [[name, percent(of)] for name, of in zip(labels, about["shares"], strict=True)]
    print_table(["class", "share"], shares)
    print()
    features, curved = about["features"], about["reference"] is None
    if len(features) > most and not curved:
        size = np.array([max(map(abs, feature["weights"])) for feature in features])
        order = np.argsort(-size, kind="stable")[:most]
        features = [features[k] for k in np.sort(order[size[order] > 0])]
    kinds = ("mean", "std") if curved else ("mean",)
    head = [f"{what} of {name}" for name in labels for what in kinds]
    last = []
    if not curved:
        against = label_text(about["reference"])
        head += ["std. dev."]
        head += [f"weight, {label_text(one)} against {against}" for one in about["weights_of"]]
        blank = ["" for _ in [*labels, ""]]
        last = [["intercept", *blank, *(f"{b:+.6g}" for b in about["intercepts"])]]
    print_table(["", *head], [*map(_of_feature, features[:most]), *last])
    if (rest := len(about["features"]) - len(features[:most])) > 0:
        print(f"... and {rest:,} more; --json has all")


def _of_feature(feature: Mapping[str, Any]) -> list[str]:
    means, weights = feature["means"], [f"{w + 0.0:+.6g}" for w in feature["weights"]]
    if "standard_deviations" in feature:
        pairs = zip(means, feature["standard_deviations"], strict=True)
        numbers = [value for pair in pairs for value in pair]
    else:
        numbers = [*means, feature["standard_deviation"]]
    return [feature["name"], *(f"{value + 0.0:.6g}" for value in numbers), *weights]

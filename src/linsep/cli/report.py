"""What commands print about models: one screen, the main result first."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linsep.catalog import is_margin, is_regression
from linsep.cli.output import label_text, labels_text, print_pairs, print_table
from linsep.cli.validating import validation_pairs
from linsep.estimators._common.explaining import is_curved
from linsep.estimators._common.frames import unknown_text
from linsep.estimators._common.labels import plain_labels, words_and_signs
from linsep.estimators._common.showing import MOST_TERMS
from linsep.estimators._common.stop_reasons import ALL_PASSES, StopReason
from linsep.estimators._common.thresholds import threshold_of
from linsep.layout import wrapped
from linsep.scoring import CLASS_METRICS, NUMBER_METRICS, gaps_of
from linsep.sources.base import Source
from linsep.sources.feature_names import names_in_recipe
from linsep.words import counted, escaped, percent

if TYPE_CHECKING:  # imported only for regressions
    from linsep.inference.table import Summary

#: metrics of test rows that `fit` prints beside the accuracy
SHORT_METRICS = ("balanced_accuracy", "roc_auc", "log_loss")
#: coefficients that fit on a screen
MOST_COEFFICIENTS = 60
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


def fit_summary(
    model: Any, seconds: dict[str, float], source: Source, path: Path | None
) -> dict[str, Any]:
    """Return everything that ``linsep fit`` prints, as plain JSON, without ``test``."""
    summary = training_summary(model) | gaps_of(source) | {"scale": scale_of(model)}
    if not is_regression(model):  # statistics are in the units of the columns
        summary["uneven_columns"] = uneven(model, source) if summary["scale"] == "none" else None
    return summary | {
        "test": None,
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
        "model": None if path is None else str(path),
        "cache": None if source.kept is None else str(source.kept),
    }


def scale_of(model: Any) -> str:
    """Return the scaling of the columns of a model, as an option value."""
    return "standard" if getattr(model, "recipe_", {}).get("scale") else "none"


def equation_pairs(model: Any) -> list[tuple[str, str]]:
    """Return the equation of a linear model if it fits on a line, as a pair."""
    text = equation_text(model) or "\n"
    return [] if "\n" in text or len(text) > LINE else [("equation", text)]


def equation_text(model: Any) -> str | None:
    """Return the equation of a linear model with few features and classes; None for others, and for
    a regression with diverging weights, which depend on where the fit ended.
    """
    if {"+inf", "-inf", "infinite", "sign not checked"} & {
        *np.ravel(getattr(model, "limits_", ()))
    }:
        return None
    features = getattr(model, "n_features_in_", None) or MOST_TERMS + 1
    if max(features, len(getattr(model, "classes_", ()))) > MOST_TERMS:
        return None
    if is_curved(model):
        return None
    equation = getattr(model, "equation_", None)
    return None if equation is None else str(equation)


def _conversions(recipe: dict[str, Any], converted: dict[str, str]) -> str:
    """Return how columns that were not written as plain numbers were read."""
    called, parts = names_in_recipe(recipe), []
    units = " without percent signs, currencies and similar marks" * bool(recipe.get("units"))
    for kind, what in (("number", f"numbers{units}"), ("date", "days since 1970")):
        names = [called.get(n, n) for n, how in converted.items() if how.startswith(kind)]
        more = ", ..." if len(names) > 8 else ""
        parts += [f"{', '.join(names[:8])}{more} to {what}"] * bool(names)
    return "; ".join(parts)


def _rare_levels(recipe: dict[str, Any]) -> str:
    """Return how many values of which columns share an indicator."""
    called, rare = names_in_recipe(recipe), recipe["rare"]
    parts = [
        f"{called[name]}={stored['level']} stands for {counted(len(stored['values']), 'value')} "
        f"in fewer than {counted(stored['min_count'], 'row')} each"
        for name, stored in [*rare.items()][:8]
    ]
    return "; ".join(parts) + "; ..." * (len(rare) > 8)


def recipe_pairs(model: Any) -> list[tuple[str, str]]:
    """Return how columns of a table became features, as pairs of a heading and a text."""
    recipe, pairs = getattr(model, "recipe_", {}), text_pairs(model)
    if converted := recipe.get("converted"):
        pairs.append(("converted", _conversions(recipe, converted)))
    pairs += scaled_pairs(model, "--scale none leaves them unchanged")
    return pairs + reference_pairs(recipe)


def scaled_pairs(model: Any, more: str) -> list[tuple[str, str]]:
    """Return that numeric columns are standardized, if they are, as a pair."""
    scaled = len(getattr(model, "recipe_", {}).get("scale") or ())
    text = f"{counted(scaled, 'numeric column')} to mean 0 and standard deviation 1; {more}"
    return [("scaled", text)] if scaled else []


def reference_pairs(recipe: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the text values without indicator, the reference levels, as a pair of a heading and a
    text, if there are any.
    """
    if references := recipe.get("reference"):
        called = names_in_recipe(recipe)
        shown = ", ".join(f"{called[name]}={value}" for name, value in [*references.items()][:8])
        more = ", ..." if len(references) > 8 else ""
        filled = recipe.get("missing") in ("zero", "mean")
        these = "these" if len(references) > 1 else "it"
        gaps = f"; missing values are treated as {these}" * filled
        return [("reference", f"{shown}{more}; other values are compared with {these}{gaps}")]
    return []


def text_pairs(model: Any) -> list[tuple[str, str]]:
    """Return the formula of a model, or its products, texts and rare values, as pairs."""
    recipe = getattr(model, "recipe_", {})
    if formula := recipe.get("formula"):
        return [("formula", formula["text"])]
    pairs = []
    if products := recipe.get("products"):
        pairs.append(("products", ", ".join(":".join(one["columns"]) for one in products)))
    if recipe.get("words"):
        from linsep.sources.text import described

        pairs.append(("text", described(recipe["words"])))
    return pairs + ([("rare", _rare_levels(recipe))] if recipe.get("rare") else [])


def uneven(model: Any, source: Source) -> dict[str, dict[str, float]] | None:
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
    if is_regression(model):
        return _estimated(model, level)
    if is_margin(model):
        return _solved(model)
    passes = model.fitted_run().reports
    rows = passes[0].rows if passes else 0
    return _described(model, rows) | {
        "kernel": repr(model.kernel_) if hasattr(model, "kernel_") else None,
        "support_vectors": model.support_.size if hasattr(model, "support_") else None,
        "passes": len(passes),
        "mistakes": model.mistakes_.tolist(),
        "updates": model.n_updates_,
        "stop_reason": model.stop_reason_,
        "shards": len(model.mixture_.rows) if hasattr(model, "mixture_") else None,
        "mixing": model.mixture_.mixing if hasattr(model, "mixture_") else None,
        "keep": model.keep,
        **({"passes_at_score": 0.0} if hasattr(model, "threshold_") else {}),
        "progressive_accuracy": model.progressive_accuracy_ if rows else None,
        "validation_accuracy": max(
            (p.validation_score for p in model.fitted_run().scored), default=None
        ),
        "curve": [
            {
                "pass": p.number + 1,
                "training_error": _error(p.training_score),
                "held_out_error": _error(p.validation_score),
            }
            for p in model.fitted_run().scored
        ],
        "criterion": [p.criterion for p in passes if p.criterion is not None],
    }


def _described(model: Any, rows: int) -> dict[str, Any]:
    """Return what all models have: their threshold, and results on the training rows, if any."""
    classes = getattr(model, "classes_", None)
    return threshold_of(model) | {
        "learner": type(model).__name__,
        "rows": int(rows),
        "features": getattr(model, "n_features_in_", None),
        "classes": None if classes is None else plain_labels(classes),
        "equation": equation_text(model),
        **({} if classes is None else training_scores(model)),
    }


def _solved(model: Any) -> dict[str, Any]:
    """Return how a soft margin was found, and how near it is to the optimum."""
    return _described(model, model.n_rows_) | {
        "kernel": repr(model.kernel_) if hasattr(model, "kernel_") else None,
        "support_vectors": model.n_support_.tolist(),
        "at_bound": model.n_bounded_.tolist(),
        "objective": model.objective_,
        "lower_bound": model.lower_bound_,
        "duality_gap": model.duality_gap_,
        "stop_reason": model.stop_reason_,
    }


def _estimated(model: Any, level: float | None = None) -> dict[str, Any]:
    """Return how a regression was estimated, with its table."""
    table = model.summary(level) if hasattr(model, "summary") else None
    summary = _naive_bayes(model) if table is None else table.to_dict()
    return _described(model, model.n_rows_) | {"summary": summary}


def training_scores(model: Any) -> dict[str, Any]:
    """Return accuracy and baseline on the training rows, or on a sample of them."""
    names = ("training_accuracy", "training_rows", "training_sampled", "training_baseline")
    return {name: getattr(model, f"{name}_", None) for name in names}


def training_text(model: Any, summary: dict[str, Any]) -> str:
    """Return the same as text."""
    right, rows = summary["training_accuracy"], summary["training_rows"]
    which, rest = "", ""
    if summary["training_sampled"]:
        which = f" of {rows:,} rows drawn evenly"
    elif rows > summary["rows"]:
        unused = counted(rows - summary["rows"], "row")
        which, rest = f" of {rows:,} rows", f" ({unused} not used)"
    weights = f", {WEIGHTS[model.keep]}" if "keep" in model.get_params() else ""
    baseline = percent(summary["training_baseline"])
    return f"{percent(right)}{which} right{rest}{weights}; baseline {baseline}"


def print_fit(model: Any, summary: dict[str, Any], untested: str | None = None) -> None:
    """Print the output of ``linsep fit``; ``untested`` is why test data were not scored."""
    regression = is_regression(model)
    if regression:
        print_statistics(model)
        print()
    test, pairs = summary["test"], []
    if test is not None:
        unscored = [f"{name} {text}" for name, text in unscored_pairs(test, model)]
        pairs.append(("test", "; ".join([how_good(test), *unscored])))
    elif untested is not None:
        pairs.append(("test", f"not scored: {untested}"))
    pairs += validation_pairs(summary.get("cross_validation"))
    pairs += _estimation_pairs(model, summary) if regression else _run_pairs(model, summary)
    pairs += [
        ("time", ", ".join(f"{name} {value:.2f} s" for name, value in summary["seconds"].items())),
        ("model", summary["model"] or "not saved; --model FILE saves it"),
    ]
    if summary.get("uneven_columns"):
        found = summary["uneven_columns"].items()
        each = [f"'{name}' {does} {x:g}" for does, column in found for name, x in column.items()]
        spans = ", ".join(each)
        pairs.append(("advice", f"{spans}: --scale standard brings columns to one scale"))
    if summary["cache"]:
        pairs.append(("cache", f"{summary['cache']}; later runs read it instead of the data"))
    print_pairs(pairs)


def _run_pairs(model: Any, summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Return how well the rows of a run are predicted, and how the run was made."""
    held_out, training = summary.get("validation_accuracy"), summary["training_accuracy"]
    pairs: list[tuple[str, str]] = []
    if held_out is not None:
        then = "on held-out rows (best pass)"
        if model.fitted_run().trial is not None:
            made = f"{summary['passes']:,} pass{'es' * (summary['passes'] != 1)}"
            then = f"on held-out rows (best pass); then trained on all rows in {made}"
        pairs.append(("held out", f"{percent(held_out)} right {then}{_at_zero(summary)}"))
    if summary.get("progressive_accuracy") is not None:
        share = percent(summary["progressive_accuracy"])
        text = f"{share} right in the first pass, each row predicted before it was used"
        pairs.append(("progressive", text + _at_zero(summary)))
    why = interruption(model) if summary["interrupted"] else "the rows were not kept"
    measured = f"not measured: {why}; `linsep score` measures it"
    return [
        *pairs,
        ("training", measured if training is None else training_text(model, summary)),
        *metric_pairs(summary),
        ("learned", learned_text(summary)),
        *chosen_pairs(summary),
        *equation_pairs(model),
        *recipe_pairs(model),
        *kernel_pairs(summary),
        *gap_pairs(summary, getattr(model, "recipe_", {})),
        *calibration_pairs(summary),
        *threshold_pairs(summary),
        *shard_pairs(summary),
        *course_pairs(model, summary),
        *margin_pairs(model),
    ]


def course_pairs(model: Any, summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the result of a fit, and why it ended."""
    if "duality_gap" not in summary:
        return [("passes", passes_text(summary)), ("stopped", stopped_text(model))]
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


def chosen_pairs(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Return why the learner differs from the default, if it was chosen automatically, as a
    pair."""
    if (rows := summary.get("chosen_for")) is None:
        return []
    return [("chosen", f"{summary['learner']} for {rows}; --learner selects another")]


def _estimation_pairs(model: Any, summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the data that a regression was estimated from."""
    measured = summary.get("training_accuracy") is not None
    return [
        *([("training", training_text(model, summary))] if measured else []),
        *(metric_pairs(summary) if hasattr(model, "classes_") else []),
        ("learned", learned_text(summary)),
        *threshold_pairs(summary),
        *recipe_pairs(model),
        *gap_pairs(summary, getattr(model, "recipe_", {})),
    ]


def interruption(model: Any) -> str:
    """Return what Ctrl-C has interrupted: the training, or the steps after it."""
    learning = getattr(model, "stop_reason_", None) == StopReason.INTERRUPTED
    return f"{'training' if learning else 'the command'} was interrupted"


def _error(score: float | None) -> float | None:
    return None if score is None else 1.0 - score


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


def kernel_pairs(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the kernel of a model and its number of support vectors, if any."""
    if summary.get("kernel") is None:
        return []
    many = summary["support_vectors"]
    with_them = "" if isinstance(many, list) else f", {counted(many, 'support vector')}"
    return [("kernel", f"{summary['kernel']}{with_them}")]


def passes_text(summary: dict[str, Any]) -> str:
    """Return the numbers of passes and mistakes as text."""
    mistakes = summary["mistakes"]
    text = f"{len(mistakes)}, mistakes {sum(mistakes):,}"
    if len(mistakes) < 2:
        return text
    return f"{text} (first pass {mistakes[0]:,}, last {mistakes[-1]:,})"


def stopped_text(model: Any) -> str:
    """Return why the last fit ended."""
    if model.stop_reason_ is None:
        return "no stopping rule: the model was trained incrementally"
    sentence = model.stop_sentence_
    if model.stop_reason_ == StopReason.MAX_ITER:
        advice = "; `linsep separate` shows whether the rows are separable"
        sentence = ALL_PASSES + ("" if hasattr(model, "kernel_") else advice)
    return f"{model.stop_reason_}: {sentence}"


def margin_pairs(model: Any) -> list[tuple[str, str]]:
    """Return what a run of the margin perceptron proves about the margin."""
    if not hasattr(model, "margin_interval_"):
        return []
    low, high = model.margin_interval_
    below = f"below {high:g}" if high < 1 else "at most 1"
    reached = "" if low is None else f"at least {low:g}, "
    return [("margin", f"{reached}{below}; aimed at {model.gamma_:g} (rows of length 1)")]


def right_text(result: dict[str, Any]) -> str:
    """Return the accuracy of a score and its number of rows, as text."""
    unknown = result["unknown_labels"]
    return f"{percent(result['accuracy'])} of {rows_text(result)} right" + (
        f"; {unknown:,} with unknown classes" if unknown else ""
    )


def rows_text(result: dict[str, Any]) -> str:
    """Return the number of rows of a score as text, with their weight if they are weighted."""
    rows = counted(result["rows"], "row")
    if result["weight"] is None:
        return rows
    return f"the weight {result['weight']:.6g} of {rows}"


def baseline_text(result: dict[str, Any]) -> str:
    """Return the accuracy of always predicting the most frequent class, as text."""
    always = label_text(result["most_frequent_class"])
    return f"baseline {percent(result['most_frequent'])}, always {always}"


def metric_text(name: str, value: float | None) -> str:
    """Return a metric as text: shares in percent, numbers of targets with six digits."""
    if value is None:
        return "-"
    if name in NUMBER_METRICS:
        return f"{value:.6g}"
    return percent(value) if CLASS_METRICS[name].is_share else f"{value:.4f}"


def metric_pairs(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Return a few metrics of the test rows as a pair, if classes were predicted of some."""
    if summary["test"] is None:
        return []
    found = summary["test"]["metrics"]
    each = [
        f"{CLASS_METRICS[name].title} {metric_text(name, found[name]['value'])}"
        for name in SHORT_METRICS
        if name in found and found[name]["value"] is not None
    ]
    return [("metrics", f"{', '.join(each)} on the test rows")]


def shard_pairs(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the number of shards of a fit on a cluster, and how their weights were mixed."""
    if summary.get("shards") is None:
        return []
    how = ", by their mistakes" if summary["mixing"] == "mistakes" else ""
    return [("shards", f"{summary['shards']:,}; their weights were mixed after every pass{how}")]


def calibration_pairs(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the calibration of the summary, if there is one."""
    told = summary["calibration"]
    if told is None:
        return []
    return [
        (
            "calibrated",
            f"{told['method']}, on {told['rows']:,} rows of {' and '.join(told['data'])}",
        )
    ]


def threshold_pairs(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the threshold of a summary, how it was chosen, and its results on held-out rows."""
    about = summary.get("threshold")
    if about is None:
        return []
    name = label_text(about["positive"])
    said = f"{name} from {about['of']} {about['at']:.4g} on"
    measured = about["measured"]
    if measured is None:
        return [("threshold", said)]
    on = f"{about['rule']} on {measured['on']} ({counted(measured['rows'], 'row')})"
    chosen, usual = (_measured_text(measured[which], name) for which in ("chosen", "default"))
    return [("threshold", f"{said}, {on}: {chosen}; by default: {usual}")]


def _measured_text(found: dict[str, Any], name: str) -> str:
    shares = [
        f"{what} {'-' if found[what] is None else percent(found[what])}"
        for what in ("recall", "precision")
    ]
    cost = [f"cost {found['cost']:,.6g}"] if "cost" in found else []
    return ", ".join([*shares, f"{percent(found['share'])} predicted {name}", *cost])


#: most columns that are shown; --json has all
MOST_COLUMNS = 8


def gap_pairs(result: dict[str, Any], recipe: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the same as pairs of a heading and a text, if there are any."""
    pairs, rows = [], result["rows_dropped"]
    if rows:
        pairs.append(("left out", f"{counted(rows, 'row')} with missing values"))
    if filled := result["values_filled"]:
        pairs.append(("missing", filled_text(filled, recipe)))
    if ignored := result["fields_ignored"]:
        pairs.append(("ignored", ignored_text(ignored)))
    return pairs


def filled_text(filled: dict[str, int], recipe: dict[str, Any]) -> str:
    """Return how many values of which columns were missing, and how they were replaced."""
    parts = [
        f"'{name}' in {counted(n, 'row')} ({_taken_for(name, recipe)})"
        for name, n in filled.items()
    ]
    return _listed(parts, "columns")


def _taken_for(name: str, recipe: dict[str, Any]) -> str:
    if name in recipe.get("words", ()):
        return "treated as empty text"
    if name in recipe.get("numeric", ()):
        return f"imputed by {'the mean' if recipe['missing'] == 'mean' else '0'}"
    reference = recipe.get("reference", {}).get(name)
    return "no indicator set" if reference is None else f"treated as {reference}"


def ignored_text(ignored: dict[str, str]) -> str:
    """Return the fields that are not columns of the model, each with its first line."""
    parts = [f"'{name}' (first in {where})" for name, where in ignored.items()]
    return f"{_listed(parts, 'fields')}: not used by the model"


def _listed(parts: list[str], what: str) -> str:
    more = f" and {len(parts) - MOST_COLUMNS:,} more {what}" if len(parts) > MOST_COLUMNS else ""
    return ", ".join(parts[:MOST_COLUMNS]) + more


def unscored_pairs(result: dict[str, Any], model: Any) -> list[tuple[str, str]]:
    """Return the rows left out of a score, and the values that were missing or unknown."""
    unknown, recipe = result["unknown_values"], getattr(model, "recipe_", {})
    return gap_pairs(result, recipe) + (
        [("unknown", unknown_text(unknown, recipe))] if unknown else []
    )


def print_statistics(model: Any, top: int | None = None, level: float | None = None) -> None:
    """Print the table of a model, cut to ``top`` coefficients, or to a screen, and its equation."""
    table = model.summary(level) if hasattr(model, "summary") else None
    if table is None:
        _print_naive_bayes(_naive_bayes(model), top)
    else:
        print_summary(table, top)
    for _, text in equation_pairs(model):
        print("", *wrapped(escaped(text), indent="    "), sep="\n")


def print_summary(table: "Summary", top: int | None = None) -> None:
    """Print a table, cut to the ``top`` coefficients, or to a screen."""
    cut, left_out = _cut(table, top)
    print("\n".join(escaped(line) for line in str(cut).splitlines()))
    if left_out:
        print(f"... and {left_out}; --json has all")


def _cut(table: "Summary", top: int | None) -> "tuple[Summary, str]":
    """Return the table with the largest coefficients, and what is left out."""
    rows = table.coefficients
    if len(rows) <= (top or MOST_COEFFICIENTS):
        return table, ""
    kept = table.largest(top or MOST_COEFFICIENTS // 2)
    dependent = sum(row.status == "dependent" for row in rows)
    smaller = len(rows) - len(kept) - dependent
    left_out = [f"{smaller:,} more, with smaller |{table.statistic}|"] * bool(smaller)
    left_out += [f"{dependent:,} that are dependent"] * bool(dependent)
    return replace(table, coefficients=kept), " and ".join(left_out)


def _naive_bayes(model: Any) -> dict[str, Any]:
    """Return the estimates of naive Bayes and its equivalent logistic weights, as plain JSON; no
    weights where each class has its own variances.
    """
    names, signs = words_and_signs(model)
    if is_curved(model):
        means, spreads = signs * model.means_, np.sqrt(model.variances_)
        return {
            "title": "Gaussian naive Bayes, variances per class",
            "shares": model.priors_.tolist(), "weights_of": [], "reference": None, "intercepts": [],
            "features": [
                {
                    "name": name, "means": means[:, j].tolist(),
                    "standard_deviations": spreads[:, j].tolist(), "weights": [],
                }
                for j, name in enumerate(names)
            ],
            "classes": plain_labels(model.classes_),
        }  # fmt: skip
    implied = model.to_logistic()
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


def _print_own_variances(about: dict[str, Any], labels: list[str], most: int) -> None:
    features = about["features"]
    heads = [f"{what} of {name}" for name in labels for what in ("mean", "std")]
    rows = [
        [f["name"], *(f"{value + 0.0:.6g}" for pair in zip(f["means"], f["standard_deviations"],
                                                           strict=True) for value in pair)]
        for f in features[:most]
    ]  # fmt: skip
    print_table(["", *heads], rows)
    if len(features) > most:
        print(f"... and {len(features) - most:,} more features; --json has all")


def _print_naive_bayes(about: dict[str, Any], top: int | None) -> None:
    labels = [label_text(label) for label in about["classes"]]
    print(about["title"])
    shares = [[name, percent(of)] for name, of in zip(labels, about["shares"], strict=True)]
    print_table(["class", "share"], shares)
    print()
    if about["reference"] is None:
        _print_own_variances(about, labels, top or MOST_COEFFICIENTS)
        return
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


def how_good(test: dict[str, Any]) -> str:
    """Return how well test data are predicted, with the baseline."""
    if "accuracy" in test:
        return f"{right_text(test)}; {baseline_text(test)}"
    return (
        f"R^2 {test['r_squared']:.6g}, rms error {test['root_mean_squared_error']:.6g} of "
        f"{counted(test['rows'], 'row')}; baseline {test['standard_deviation']:.6g}, "
        "always the mean"
    )

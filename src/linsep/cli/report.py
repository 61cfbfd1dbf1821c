"""What commands print about models: one screen, the main result first."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

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

Pairs = list[tuple[str, str]]

#: metrics of test rows that `fit` prints beside the accuracy, and of folds; --json has all
SHORT_METRICS = ("balanced_accuracy", "roc_auc", "log_loss")
OF_FOLDS = ("accuracy", *SHORT_METRICS, "r2", "rmse", "mae")
#: coefficients that fit on a screen, and columns, of which --json has all
MOST_COEFFICIENTS, MOST_COLUMNS = 60, 8
#: letters of an equation that fits on a line
LINE = 100


def shown(*pairs: tuple[str, Any]) -> Pairs:
    """Return the pairs of a heading and a text that have a text."""
    return [(heading, text) for heading, text in pairs if text]


def _listed(parts: Sequence[str], what: str = "") -> str:
    """Return the first items of a list, and how many there are of ``what`` beside them."""
    more = f" and {len(parts) - MOST_COLUMNS:,} more {what}" if what else ", ..."
    return ", ".join(parts[:MOST_COLUMNS]) + more * (len(parts) > MOST_COLUMNS)


# What is known of a model, as plain JSON.


def fit_summary(
    model: Any, seconds: dict[str, float], source: Source, path: Path | None
) -> dict[str, Any]:
    """Return everything that ``linsep fit`` prints, as plain JSON, without ``test``."""
    return training_summary(model) | gaps_of(source) | {
        "scale": "standard" if getattr(model, "recipe_", {}).get("scale") else "none",
        "test": None,
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
        "model": None if path is None else str(path),
        "cache": None if source.kept is None else str(source.kept),
    }  # fmt: skip


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
        has_table = hasattr(model, "summary")
        table = model.summary(level).to_dict() if has_table else _naive_bayes(model)
        return summary | {"summary": table}
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
                "training_error": None if p.training_score is None else 1.0 - p.training_score,
                "held_out_error": 1.0 - p.validation_score,
            }
            for p in scored
        ],
        "criterion": [p.criterion for p in passes if p.criterion is not None],
    }


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
    classes, curved = plain_labels(model.classes_), is_curved(model)
    deviations, means = np.sqrt(model.variances_), (signs * model.means_).T.tolist()
    spread = "standard_deviations" if curved else "standard_deviation"
    weights: Any = np.empty((len(names), 0))
    found: dict[str, Any] = {
        "title": "Gaussian naive Bayes" + ", variances per class" * curved,
        "shares": model.priors_.tolist(), "weights_of": [], "reference": None, "intercepts": [],
        "classes": classes,
    }  # fmt: skip
    if not curved:
        implied = model.to_logistic()
        (reference,) = plain_labels([implied.reference_])
        weights = (signs * implied.coef_).T
        found |= {
            "weights_of": [label for label in classes if label != reference],
            "reference": reference, "intercepts": implied.intercept_.tolist(),
        }  # fmt: skip
    columns = zip(names, means, deviations.T.tolist(), weights.tolist(), strict=True)
    return found | {
        "features": [
            {"name": name, "means": mean, spread: deviation, "weights": own}
            for name, mean, deviation, own in columns
        ]
    }


# How a model was made.


def equation_pairs(model: Any) -> Pairs:
    text = _equation(model) or ""
    return shown(("equation", "" if "\n" in text or len(text) > LINE else text))


def scaled_pairs(model: Any, more: str) -> Pairs:
    scaled = len(getattr(model, "recipe_", {}).get("scale") or ())
    text = f"{counted(scaled, 'numeric column')} to mean 0 and standard deviation 1; {more}"
    return shown(("scaled", text * bool(scaled)))


def reference_pairs(recipe: dict[str, Any]) -> Pairs:
    """Return the text values without indicator, the reference levels, as a pair."""
    references = recipe.get("reference") or {}
    called = names_in_recipe(recipe) if references else {}
    listed = _listed([f"{called[name]}={value}" for name, value in references.items()])
    these = "these" if len(references) > 1 else "it"
    gaps = f"; missing values are treated as {these}"
    filled = gaps * (recipe.get("missing") in ("zero", "mean"))
    text = f"{listed}; other values are compared with {these}{filled}"
    return shown(("reference", text * bool(references)))


def text_pairs(model: Any) -> Pairs:
    """Return the formula of a model, or its products, texts and rare values, as pairs."""
    recipe = getattr(model, "recipe_", {})
    if formula := recipe.get("formula"):
        return [("formula", formula["text"])]
    words, rare = "", recipe.get("rare") or {}
    if recipe.get("words"):
        from linsep.sources.text import described

        words = described(recipe["words"])
    called = names_in_recipe(recipe) if rare else {}
    levels = [
        f"{called[name]}={stored['level']} stands for {counted(len(stored['values']), 'value')} "
        f"in fewer than {counted(stored['min_count'], 'row')} each"
        for name, stored in rare.items()
    ]
    products = [":".join(one["columns"]) for one in recipe.get("products") or ()]
    return shown(("products", ", ".join(products)), ("text", words), ("rare", _listed(levels)))


def _recipe_pairs(model: Any) -> Pairs:
    recipe = getattr(model, "recipe_", {})
    converted = recipe.get("converted") or {}
    called = names_in_recipe(recipe) if converted else {}
    units = " without percent signs, currencies and similar marks" * bool(recipe.get("units"))
    parts = []
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
    labels, rows, features = summary["classes"], summary["rows"], summary["features"]
    parts = [
        summary["learner"],
        "" if labels is None else f"{len(labels):,} classes ({labels_text(labels)})",
        counted(rows, "row") if rows else "",  # unknown after partial_fit
        "" if features is None else counted(features, "feature"),  # strings have none
    ]
    return ", ".join(filter(None, parts))


def kernel_pairs(summary: dict[str, Any]) -> Pairs:
    many = summary.get("support_vectors")
    with_them = f", {counted(many, 'support vector')}" if isinstance(many, int) else ""
    return shown(("kernel", summary.get("kernel") and f"{summary['kernel']}{with_them}"))


def course_pairs(model: Any, summary: dict[str, Any]) -> Pairs:
    reason, sentence = model.stop_reason_, model.stop_sentence_
    if "duality_gap" in summary:
        vectors, gap = summary["support_vectors"], summary["duality_gap"]
        of = "" if len(vectors) == 1 else f" in {len(vectors)} binary classifiers"
        bounded = f", {sum(summary['at_bound']):,} of them inside the margin"
        proved = f"within {gap:.1g} of the optimum" if gap < 1 else "gap to the optimum not proved"
        found = [
            ("objective", f"{summary['objective']:.6g}, {proved}"),
            ("support", f"{counted(sum(vectors), 'support vector')}{of}"
             + bounded * (model.loss == "hinge")),
        ]  # fmt: skip
    else:
        mistakes = summary["mistakes"]
        text = f"{len(mistakes)}, mistakes {sum(mistakes):,}"
        if len(mistakes) > 1:
            text += f" (first pass {mistakes[0]:,}, last {mistakes[-1]:,})"
        found = [("passes", text)]
        if reason == StopReason.MAX_ITER:
            advice = "; `linsep separate` shows whether the rows are separable"
            sentence = ALL_PASSES + advice * (not hasattr(model, "kernel_"))
    stopped = f"{reason}: {sentence}" if reason else "no stopping rule: trained incrementally"
    return [*found, ("stopped", stopped)]


def threshold_pairs(summary: dict[str, Any]) -> Pairs:
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
    if "compile" in summary["seconds"]:
        times[-1] += " of these, once"
    cache = summary["cache"] and f"{summary['cache']}; later runs read it instead of the data"
    print_pairs([
        *shown(("test", tested), ("cv", _validation_text(summary.get("cross_validation")))),
        *_fit_pairs(model, summary, regression),
        ("time", ", ".join(times)),
        ("model", summary["model"] or "not saved; --model FILE saves it"),
        *shown(("cache", cache)),
    ])  # fmt: skip


def _fit_pairs(model: Any, summary: dict[str, Any], regression: bool) -> Pairs:
    training, at_zero = _training_text(model, summary), _at_zero(summary)
    first: Pairs = []
    if not regression:
        held_out, progressive = (
            summary.get(f"{which}_accuracy") for which in ("validation", "progressive")
        )
        if held_out is not None:
            passes = f"{summary['passes']:,} pass{'es' * (summary['passes'] != 1)}"
            again = model.fitted_run().trial is not None
            then = f"; then trained on all rows in {passes}" * again
            text = f"{percent(held_out)} right on held-out rows (best pass){then}{at_zero}"
            first.append(("held out", text))
        if progressive is not None:
            text = f"{percent(progressive)} right in the first pass, each row predicted before it "
            first.append(("progressive", f"{text}was used{at_zero}"))
        why = interruption(model) if summary["interrupted"] else "the rows were not kept"
        training = training or f"not measured: {why}; `linsep score` measures it"
    told, shards = summary["calibration"], summary.get("shards")
    chosen = summary.get("chosen_for")
    return [
        *first,
        *shown(("training", training)),
        *(metric_pairs(summary) if hasattr(model, "classes_") else []),
        ("learned", learned_text(summary)),
        *shown(("chosen", chosen and f"{summary['learner']} for {chosen}; --learner selects "
                                     "another")),
        *([] if regression else equation_pairs(model)),
        *_recipe_pairs(model),
        *kernel_pairs(summary),
        *gap_pairs(summary, getattr(model, "recipe_", {})),
        *shown(
            ("calibrated", told and f"{told['method']}, on {told['rows']:,} rows of "
                                    f"{' and '.join(told['data'])}"),
            ("shards", shards and f"{shards:,}; their weights were mixed after every pass"
                       + ", by their mistakes" * (summary["mixing"] == "mistakes")),
        ),
        *threshold_pairs(summary),
        *([] if regression else course_pairs(model, summary)),
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
    names = {"average": "averaged weights", "vote": "a vote of all weights"}
    keep = model.get_params().get("keep")
    weights = f", {names.get(keep, f'{keep} weights')}" if keep else ""
    baseline = percent(summary["training_baseline"])
    return f"{percent(right)}{which} right{rest}{weights}; baseline {baseline}"


def _margin_pairs(model: Any) -> Pairs:
    if not hasattr(model, "margin_interval_"):
        return []
    low, high = model.margin_interval_
    below = f"below {high:g}" if high < 1 else "at most 1"
    reached = "" if low is None else f"at least {low:g}, "
    return [("margin", f"{reached}{below}; aimed at {model.gamma_:g} (rows of length 1)")]


def interruption(model: Any) -> str:
    learning = getattr(model, "stop_reason_", None) == StopReason.INTERRUPTED
    return f"{'training' if learning else 'the command'} was interrupted"


def print_curve(summary: dict[str, Any]) -> None:
    kinds = ("training_error", "held_out_error")
    errors = [["-" if p[e] is None else percent(p[e]) for e in kinds] for p in summary["curve"]]
    at_zero = _at_zero(summary)
    print()
    print_table(
        ["pass", f"training error{at_zero}", f"held-out error{at_zero}"],
        [[str(p["pass"]), *cells] for p, cells in zip(summary["curve"], errors, strict=True)],
    )


def _at_zero(summary: dict[str, Any]) -> str:
    return " (at score 0)" if "passes_at_score" in summary else ""


# Scores.


def right_text(result: dict[str, Any]) -> str:
    unknown, first = result["unknown_labels"], result.get("first_unknown_label")
    more = f"; {unknown:,} with unknown classes" + f", the first {first}" * (first is not None)
    return f"{percent(result['accuracy'])} of {rows_text(result)} right{more * bool(unknown)}"


def rows_text(result: dict[str, Any]) -> str:
    rows = counted(result["rows"], "row")
    weight = result["weight"]
    return rows if weight == result["rows"] else f"the weight {weight:.6g} of {rows}"


def baseline_text(result: dict[str, Any]) -> str:
    return f"{percent(result['most_frequent'])}, always {label_text(result['most_frequent_class'])}"


def how_good(test: dict[str, Any]) -> str:
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
    if name in NUMBER_METRICS:
        return f"{value:.6g}"
    return percent(value) if METRICS[name].is_share else f"{value:.4f}"


def metric_pairs(summary: dict[str, Any]) -> Pairs:
    found = {} if summary["test"] is None else summary["test"]["metrics"]
    each = [
        f"{METRICS[name].title} {metric_text(name, found[name]['value'])}"
        for name in SHORT_METRICS
        if name in found and found[name]["value"] is not None
    ]
    return shown(("metrics", f"{', '.join(each)} on the test rows" * bool(each)))


def with_error(name: str, mean: float, error: float, unit: bool = False) -> str:
    if METRICS[name].is_share:
        return f"{100 * mean:.2f} ± {100 * error:.2f}{'%' * unit}"
    return f"{mean:.4g} ± {error:.2g}"


def folds_text(cv: dict[str, Any]) -> str:
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
    unlabeled = recipe.get("unlabeled") and recipe["missing"] != "drop"
    gap = "without a label" if unlabeled else "with missing values"
    return shown(
        ("left out", rows and f"{counted(rows, 'row')} {gap}"),
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
    unknown, recipe = result["unknown_values"], getattr(model, "recipe_", {})
    text = unknown_text(unknown, recipe) if unknown else ""
    return [*gap_pairs(result, recipe), *shown(("unknown", text))]


# Tables of regressions.


def print_statistics(model: Any, top: int | None = None, level: float | None = None) -> None:
    if hasattr(model, "summary"):
        print_summary(model.summary(level), top)
    else:
        _print_naive_bayes(_naive_bayes(model), top or MOST_COEFFICIENTS)
    for _, text in equation_pairs(model):
        print("", *wrapped(escaped(text), indent="    "), sep="\n")


def print_summary(table: Any, top: int | None = None) -> None:
    """Print a table, cut to the ``top`` coefficients, or to a screen."""
    rows, left_out = table.coefficients, 0
    if len(rows) > (top or MOST_COEFFICIENTS):
        kept = table.largest(top or MOST_COEFFICIENTS // 2)
        table, left_out = replace(table, coefficients=kept), len(rows) - len(kept)
    print("\n".join(escaped(line) for line in str(table).splitlines()))
    if left_out:
        print(f"... and {left_out:,} more; --json has all")


def _print_naive_bayes(about: dict[str, Any], most: int) -> None:
    labels = [label_text(label) for label in about["classes"]]
    print(about["title"])
    shares = [[name, percent(of)] for name, of in zip(labels, about["shares"], strict=True)]
    print_table(["class", "share"], shares)
    print()
    sizes = [max(map(abs, one["weights"]), default=0.0) for one in about["features"]]
    order = np.argsort(-np.array(sizes), kind="stable")[:most]
    features = [about["features"][k] for k in np.sort(order)]
    if about["reference"] is None:
        head = [f"{what} of {name}" for name in labels for what in ("mean", "std")]
        numbers: list[Any] = [
            np.ravel([one["means"], one["standard_deviations"]], order="F") for one in features
        ]
        last = []
    else:
        against = label_text(about["reference"])
        weights = [f"weight, {label_text(one)} against {against}" for one in about["weights_of"]]
        head = [*(f"mean of {name}" for name in labels), "std. dev.", *weights]
        numbers = [[*one["means"], one["standard_deviation"]] for one in features]
        blank = [""] * (len(labels) + 1)
        last = [["intercept", *blank, *(f"{b:+.6g}" for b in about["intercepts"])]]
    lines = [
        [
            one["name"],
            *(f"{x + 0.0:.6g}" for x in own),
            *(f"{w + 0.0:+.6g}" for w in one["weights"]),
        ]
        for one, own in zip(features, numbers, strict=True)
    ]
    print_table(["", *head], lines + last)
    if (rest := len(about["features"]) - len(features)) > 0:
        print(f"... and {rest:,} more; --json has all")

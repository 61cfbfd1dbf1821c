"""What commands print about models: one screen, the main result first."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.catalog import is_margin, is_regression
from linsep.cli import output
from linsep.cli.output import label_text, labels_text
from linsep.estimators.frames import unknown_text
from linsep.estimators.labels import plain_labels, words_and_signs
from linsep.estimators.reading import StopReason
from linsep.estimators.showing import MOST_TERMS, is_curved, sides_of
from linsep.estimators.thresholds import threshold_of
from linsep.scoring.metrics import METRICS, NUMBER_METRICS
from linsep.sources.feature_names import names_in_recipe
from linsep.words import counted, escaped, percent

Pairs = list[tuple[str, str]]

#: metrics of test rows that `fit` prints beside the accuracy, and of folds; --json has all
SHORT_METRICS = ("balanced_accuracy", "roc_auc", "log_loss")
OF_FOLDS = ("accuracy", *SHORT_METRICS, "r2", "rmse", "mae")
#: coefficients that fit on a screen, and columns, of which --json has all
MOST_COEFFICIENTS, MOST_COLUMNS = 60, 8


def _listed(parts: Sequence[str], what: str = "") -> str:
    more = f" and {len(parts) - MOST_COLUMNS:,} more {what}" if what else ", ..."
    return ", ".join(parts[:MOST_COLUMNS]) + more * (len(parts) > MOST_COLUMNS)


# What is known of a model, as plain JSON.


def training_summary(model: Any) -> dict[str, Any]:
    """Return how a model was trained, as plain JSON; for a regression, with its table."""
    passes = [] if is_regression(model) or is_margin(model) else model.fitted_run().reports
    rows = passes[0].rows if passes else getattr(model, "n_rows_", 0)
    classes = getattr(model, "classes_", None)
    summary = threshold_of(model) | {
        "learner": type(model).__name__,
        "rows": int(rows),
        "features": getattr(model, "n_features_in_", None),
        "classes": None if classes is None else plain_labels(classes),
        "equation": equation_of(model),
        "calibration": getattr(getattr(model, "calibration_", None), "method", None),
    }
    if classes is not None:  # accuracy and baseline on the training rows, or a sample of them
        for name in ("accuracy", "rows", "sampled", "baseline"):
            summary[f"training_{name}"] = getattr(model, f"training_{name}_", None)
    if is_regression(model):
        return summary | {"summary": statistics(model).to_dict()}
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


def equation_of(model: Any) -> str | None:
    diverging = {"+inf", "-inf", "infinite", "sign not checked"}
    features = getattr(model, "n_features_in_", None) or MOST_TERMS + 1
    many = max(features, len(getattr(model, "classes_", ()))) > MOST_TERMS
    if many or diverging & {*np.ravel(getattr(model, "limits_", ()))} or is_curved(model):
        return None
    equation = getattr(model, "equation_", None)
    return None if equation is None else str(equation)


def statistics(model: Any, level: float | None = None) -> Any:
    """Return the table of a regression; of naive Bayes, its estimates and the weights of the
    logistic regression that predicts the same, unless each class has its own variances.
    """
    if hasattr(model, "summary"):
        return model.summary(level)
    from linsep.inference.table import Table

    names, signs = words_and_signs(model)
    labels, curved = list(map(label_text, model.classes_.tolist())), is_curved(model)
    deviations = np.sqrt(np.atleast_2d(model.variances_))
    several = [f"std. dev. of {label}" for label in labels] if curved else ["std. dev."]
    columns: dict[str, list[Any]] = {"": names}
    for label, means in zip(labels, model.means_, strict=True):
        columns[f"mean of {label}"] = (signs * means).tolist()
    columns |= dict(zip(several, deviations.tolist(), strict=True))
    if not curved:
        columns = {name: [{"": "intercept"}.get(name), *of] for name, of in columns.items()}
        linear = model.to_logistic()
        each = zip(sides_of(model), linear.intercept_.tolist(), linear.coef_, strict=True)
        for (label, other), constant, weights in each:
            columns[f"weight, {label} against {other}"] = [constant, *(signs * weights).tolist()]
    shares = zip(labels, map(percent, model.priors_.tolist()), strict=True)
    title = "Gaussian naive Bayes" + ", variances per class" * curved
    return Table(title, [(f"share of {label}", share) for label, share in shares], columns)


# How a model was made.


def about_pairs(model: Any, summary: dict[str, Any], units: str) -> Pairs:
    """Return what was learned, from which features and with which options."""
    chosen, told = summary.get("chosen_for"), summary["calibration"]
    many, shards = summary.get("support_vectors"), summary.get("shards")
    if isinstance(told, dict):
        told = f"{told['method']}, on {told['rows']:,} rows of {' and '.join(told['data'])}"
    kernel = summary.get("kernel") or ""
    if kernel and isinstance(many, int):
        kernel += f", {counted(many, 'support vector')}"
    labels, rows, features = summary["classes"], summary["rows"], summary["features"]
    learned = [
        summary["learner"],
        "" if labels is None else f"{len(labels):,} classes ({labels_text(labels)})",
        counted(rows, "row") if rows else "",  # unknown after partial_fit
        "" if features is None else counted(features, "feature"),  # strings have none
    ]
    return [
        ("learned", ", ".join(filter(None, learned))),
        ("chosen", chosen and f"{summary['learner']} for {chosen}; --learner selects another"),
        ("equation", short(summary["equation"], summary.get("keep"))),
        *recipe_pairs(model, units),
        ("kernel", kernel),
        *gap_pairs(summary, getattr(model, "recipe_", {})),
        ("calibrated", told),
        ("shards", shards and f"{shards:,}; their weights were mixed after every pass"
                   + ", by their mistakes" * (summary["mixing"] == "mistakes")),
        *threshold_pairs(summary),
        *([] if is_regression(model) else course_pairs(model, summary)),
    ]  # fmt: skip


def short(equation: str | None, keep: str | None = None) -> str | None:
    """Return an equation that takes no more than a line, and whose weights it has, else None."""
    whose = " (averaged weights)" * (keep == "average")
    return equation + whose if equation and "\n" not in equation and len(equation) <= 100 else None


def recipe_pairs(model: Any, units: str) -> Pairs:
    recipe = getattr(model, "recipe_", {})
    converted, rare, words = recipe.get("converted") or {}, recipe.get("rare") or {}, ""
    called = names_in_recipe(recipe) if converted or rare else {}
    if recipe.get("words"):
        from linsep.sources.text import described

        words = described(recipe["words"])
    levels = [
        f"{called[name]}={stored['level']} stands for {counted(len(stored['values']), 'value')} "
        f"in fewer than {counted(stored['min_count'], 'row')} each"
        for name, stored in rare.items()
    ]
    products = [":".join(one["columns"]) for one in recipe.get("products") or ()]
    marks = " without percent signs, currencies and similar marks" * bool(recipe.get("units"))
    parts = []
    for kind, what in (("number", f"numbers{marks}"), ("date", "days since 1970")):
        names = [called.get(n, n) for n, how in converted.items() if how.startswith(kind)]
        parts += [f"{_listed(names)} to {what}"] * bool(names)
    formula, scaled = recipe.get("formula"), len(recipe.get("scale") or ())
    return [
        *([("formula", formula["text"])] if formula else [
            ("products", ", ".join(products)), ("text", words), ("rare", _listed(levels)),
        ]),
        ("converted", "; ".join(parts)),
        ("scaled", f"{counted(scaled, 'numeric column')} to mean 0, std. dev. 1; {units}"
         * bool(scaled)),
        *reference_pairs(recipe),
    ]  # fmt: skip


def reference_pairs(recipe: dict[str, Any]) -> Pairs:
    references = recipe.get("reference")
    if not references:
        return []
    called = names_in_recipe(recipe)
    listed = _listed([f"{called[name]}={value}" for name, value in references.items()])
    these = "these" if len(references) > 1 else "it"
    return [("reference", f"{listed}; other values are compared with {these}")]


def course_pairs(model: Any, summary: dict[str, Any]) -> Pairs:
    """Return the passes of an online learner, or the optimum of a soft margin, and why the fit
    stopped, unless after the last of its passes.
    """
    ended = [None, StopReason.MAX_ITER]
    if "duality_gap" in summary:
        ended.append(StopReason.CONVERGED)  # as the objective says
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
    if (reason := model.stop_reason_) not in ended:
        found.append(("stopped", f"{reason}: {model.stop_sentence_}"))
    return found


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


class Report(output.Result):
    """What ``linsep fit`` prints, as attributes; see ``report()`` of a fitted model."""

    #: why test data were not scored, if they were not
    _untested = ""

    def lines(self) -> Iterator[str]:
        model, found, tested = self._model, vars(self), self._untested
        margin, cache = getattr(model, "margin_interval_", None), found.get("cache")
        if (test := found["test"]) is not None:
            gaps = [f"{name} {text}" for name, text in unscored_pairs(test, model) if text]
            tested = "; ".join([how_good(test), *gaps])
        times = [f"{name} {value:.2f} s" for name, value in found.get("seconds", {}).items()]
        if "compile" in found.get("seconds", ()):
            times[-1] += " of these, once"
        new = [("test", tested), ("cv", _validation_text(found["cross_validation"]))]
        if is_regression(model):
            first = output.pairs(new)
            yield from [*first, *[""] * bool(first), *summary_lines(statistics(model)), ""]
            new = []
        yield from output.pairs([
            *new,
            *_training_pairs(model, found),
            *(metric_pairs(test) if hasattr(model, "classes_") else []),
            *about_pairs(model, found, "--scale none keeps them"),
            ("margin", margin
             and f"{margin[0] or 0:g} to {margin[1]:g}; aimed at {model.gamma_:g}"),
            ("time", ", ".join(times)),
            ("model", found.get("model") or (times and "not saved; --model FILE saves it")),
            ("cache", cache and f"{cache}; later runs read it instead of the data"),
        ])  # fmt: skip


def report(model: Any) -> Report:
    """Return what is known of a fitted model; see ``report()`` of estimators."""
    check_is_fitted(model)
    scores, test = (getattr(model, f"{name}_scores_", None) for name in ("cv", "test"))
    validated = scores and validation(scores, len(next(iter(scores.values()))))
    stopped = getattr(model, "stop_reason_", None) == StopReason.INTERRUPTED
    found = training_summary(model) | {"test": test, "cross_validation": validated}
    return Report(_model=model, **found | {"interrupted": stopped})


def validation(
    scores: dict[str, np.ndarray], folds: int, repeats: int = 1, by_time: bool = False
) -> dict[str, Any]:
    from linsep.cross_validation import mean_and_error  # and all that it imports

    metrics = {}
    for name, values in scores.items():
        mean, error = mean_and_error(values, folds)
        metrics[name] = {"mean": mean, "standard_error": error, "folds": values.tolist()}
    return {"folds": folds, "repeats": repeats, "by_time": by_time, "metrics": metrics}


def _training_pairs(model: Any, summary: dict[str, Any]) -> Pairs:
    at_zero, found = " (at score 0)" * ("threshold" in summary), []
    names = "validation_accuracy", "progressive_accuracy", "training_accuracy"
    held_out, progressive, right = (summary.get(name) for name in names)
    if held_out is not None:
        then = "; then trained on all rows" * (model.fitted_run().trial is not None)
        text = f"{percent(held_out)} right on held-out rows (best pass){then}{at_zero}"
        found.append(("held out", text))
    if progressive is not None:
        text = f"{percent(progressive)} right in the first pass, each row before it was used"
        found.append(("progressive", f"{text}{at_zero}"))
    if right is not None and summary["training_rows"] is not None:
        rows, keep = summary["training_rows"], model.get_params().get("keep")
        which = f" of {rows:,} rows drawn evenly" * summary["training_sampled"]
        called = {"average": "averaged weights", "vote": "a vote of all weights"}
        weights = f", {called.get(keep, f'{keep} weights')}" if keep else ""
        baseline = percent(summary["training_baseline"])
        found.append(("training", f"{percent(right)}{which} right{weights}; baseline {baseline}"))
    elif hasattr(model, "classes_") and summary["interrupted"]:
        why = f"not measured: {interruption(model)}; `linsep score` measures it"
        found.append(("training", why))
    return found


def interruption(model: Any) -> str:
    learning = getattr(model, "stop_reason_", None) == StopReason.INTERRUPTED
    return f"{'training' if learning else 'the command'} was interrupted"


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
    squared, error = test["r_squared"], test["root_mean_squared_error"]
    baseline = f"baseline {test['standard_deviation']:.6g}, always the mean"
    return f"R^2 {squared:.6g}, rms error {error:.6g} of {counted(test['rows'], 'row')}; {baseline}"


def metric_text(name: str, value: float | None) -> str:
    """Return a metric as text: shares in percent, numbers of targets with six digits."""
    if value is None:
        return "-"
    if name in NUMBER_METRICS:
        return f"{value:.6g}"
    return percent(value) if METRICS[name].is_share else f"{value:.4f}"


def metric_pairs(test: dict[str, Any] | None) -> Pairs:
    found = {} if test is None else test["metrics"]
    each = [
        f"{METRICS[name].title} {metric_text(name, found[name]['value'])}"
        for name in SHORT_METRICS
        if name in found and found[name]["value"] is not None
    ]
    return [("metrics", f"{', '.join(each)} on the test rows" * bool(each))]


def with_error(name: str, mean: float, error: float, unit: bool = False) -> str:
    if METRICS[name].is_share:
        return f"{100 * mean:z.2f} ± {100 * error:.2f}{'%' * unit}"
    return f"{mean:z.4g} ± {error:.2g}"


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
    kinds = ("rows_dropped", "values_filled", "fields_ignored")
    rows, values, fields = (result.get(kind) for kind in kinds)
    filled = [
        f"'{name}' in {counted(n, 'row')} ({_taken_for(name, recipe)})"
        for name, n in (values or {}).items()
    ]
    ignored = [f"'{name}' (first in {where})" for name, where in (fields or {}).items()]
    unused = f"{_listed(ignored, 'fields')}: not used by the model"
    unlabeled = recipe.get("unlabeled") and recipe["missing"] != "drop"
    gap = "without a label" if unlabeled else "with missing values"
    return [
        ("left out", f"{counted(rows, 'row')} {gap}" if rows else ""),
        ("missing", _listed(filled, "columns")),
        ("ignored", unused * bool(ignored)),
    ]


def _taken_for(name: str, recipe: dict[str, Any]) -> str:
    if name in recipe.get("words", ()):
        return "treated as empty text"
    if name in recipe.get("numeric", ()):
        return f"imputed by {'0' if recipe['missing'] == 'zero' else 'the mean'}"
    reference = recipe.get("reference", {}).get(name)
    return "no indicator set" if reference is None else f"treated as {reference}"


def unscored_pairs(result: dict[str, Any], model: Any) -> Pairs:
    unknown, recipe = result["unknown_values"], getattr(model, "recipe_", {})
    text = unknown_text(unknown, recipe) if unknown else ""
    return [*gap_pairs(result, recipe), ("unknown", text)]


# Tables of regressions.


def summary_lines(table: Any, top: int | None = None) -> list[str]:
    """Return the lines of a table, cut to the ``top`` coefficients, or to a screen."""
    most, cut = top or MOST_COEFFICIENTS, table
    if hasattr(table, "coefficients") and len(table.coefficients) > most:
        cut = replace(table, coefficients=table.largest(top or most // 2))
    elif not hasattr(table, "coefficients"):
        cut = replace(table, columns={name: of[:most] for name, of in table.columns.items()})
    rows, shown = (len(next(iter(one.columns.values()))) for one in (table, cut))
    return [*escaped(str(cut), lines=True).splitlines(), *output.more(rows - shown)]

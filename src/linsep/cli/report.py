"""What ``fit`` and ``score`` print: one screen, the number people came for first."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from linsep.cli.screen import (
    count,
    label_text,
    labels_text,
    percent,
    plain_labels,
    print_pairs,
    print_table,
)
from linsep.online.passes import StopReason
from linsep.sources.base import Source

# More rows than that are no screen; --json has them all.
MOST_CLASSES = 20
#: what is predicted with, by the parameter keep
WEIGHTS = {
    "last": "last weights", "average": "averaged weights", "vote": "a vote of all weights",
    "best": "best weights",
}  # fmt: skip
# Where values are so many times larger than the least range of a column, columns are learnt badly.
# Of 24 tables (`make bench BENCH=tables`) this finds the ten that scaling serves by 2 % and more.
UNEVEN = 50


def print_json(content: dict[str, Any]) -> None:
    """One JSON object on one line; numbers that are none are null."""
    print(json.dumps(_finite(content), default=repr, allow_nan=False))


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    if isinstance(content, np.generic | np.ndarray):
        return _finite(content.tolist())
    return None if isinstance(content, float) and not np.isfinite(content) else content


def fit_summary(
    model: Any, seconds: dict[str, float], source: Source, path: Path | None
) -> dict[str, Any]:
    """Everything ``linsep fit`` says, as plain JSON; ``test`` is to be filled in."""
    return training_summary(model) | {
        "rows_dropped": source.dropped,
        "scale": scale_of(model),
        "uneven_columns": uneven(model, source) if scale_of(model) == "none" else None,
        "test": None,
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
        "model": None if path is None else str(path),
        "cache": None if source.kept is None else str(source.kept),
    }


def scale_of(model: Any) -> str:
    """How the columns that the model was learnt from were scaled, as the option has it."""
    return "standard" if getattr(model, "recipe_", {}).get("scale") else "none"


def recipe_pairs(model: Any) -> list[tuple[str, str]]:
    """What was done to the columns of a table on the way to features."""
    recipe, pairs = getattr(model, "recipe_", {}), []
    if scale := recipe.get("scale"):
        pairs.append(
            (
                "scaled",
                f"{count(len(scale), 'numeric column')} to mean 0 and standard deviation 1; "
                "--scale none leaves them as they are",
            )
        )
    if references := recipe.get("reference"):
        shown = ", ".join(f"{name}={value}" for name, value in [*references.items()][:8])
        more = ", ..." if len(references) > 8 else ""
        pairs.append(("reference", f"{shown}{more}: the other values are compared with that"))
    return pairs


def uneven(model: Any, source: Source) -> dict[str, dict[str, float]] | None:
    """The column that spans least and how far, and that of the largest value, where these are many
    times apart. An indicator spans 1.
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


def training_summary(model: Any) -> dict[str, Any]:
    """How a model was trained, as plain JSON."""
    passes = model._passes
    rows = passes[0].rows if passes else 0
    return {
        "learner": type(model).__name__,
        "rows": rows,
        "features": getattr(model, "n_features_in_", None),
        "classes": plain_labels(model.classes_),
        "kernel": repr(model.kernel_) if hasattr(model, "kernel_") else None,
        "support_vectors": model.support_.size if hasattr(model, "support_") else None,
        "passes": len(passes),
        "mistakes": model.mistakes_.tolist(),
        "updates": model.n_updates_,
        "stop_reason": model.stop_reason_,
        "keep": model.keep,
        "progressive_accuracy": model.progressive_accuracy_ if rows else None,
        **training_scores(model),
        "validation_accuracy": max(
            (p.validation_score for p in passes if p.validation_score is not None), default=None
        ),
        "curve": [
            {
                "pass": p.number + 1,
                "training_error": _error(p.training_score),
                "held_out_error": _error(p.validation_score),
            }
            for p in passes
            if p.validation_score is not None
        ],
        "criterion": [p.criterion for p in passes if p.criterion is not None],
    }


def training_scores(model: Any) -> dict[str, Any]:
    """How a classifier does on the rows it was fitted to, or on a sample, beside its baseline."""
    names = ("training_accuracy", "training_rows", "training_sampled", "training_baseline")
    return {name: getattr(model, f"{name}_", None) for name in names}


def training_text(model: Any, summary: dict[str, Any]) -> str:
    """The same in words."""
    right, rows = summary["training_accuracy"], summary["training_rows"]
    which, aside = "", ""
    if summary["training_sampled"]:
        which = f" of {rows:,} rows drawn evenly"
    elif rows > summary["rows"]:
        which, aside = f" of {rows:,} rows", f" ({rows - summary['rows']:,} were not learnt)"
    weights = f", {WEIGHTS[model.keep]}" if hasattr(model, "keep") else ""
    baseline = percent(summary["training_baseline"])
    return f"{percent(right)}{which} right{aside}{weights}; baseline {baseline}"


def print_fit(model: Any, summary: dict[str, Any], untested: str | None = None) -> None:
    """The screen at the end of ``linsep fit``; ``untested`` says why test data were not scored."""
    test, held_out, training = (
        summary[name] for name in ("test", "validation_accuracy", "training_accuracy")
    )
    pairs = []
    if test is not None:
        aside = [f"{name} {text}" for name, text in left_aside(test)]
        pairs.append(("test", "; ".join([_right(test), baseline_text(test), *aside])))
    elif untested is not None:
        pairs.append(("test", f"not scored: {untested}"))
    if held_out is not None:
        pairs.append(
            ("held out", f"{percent(held_out)} right, rows kept from learning (best pass)")
        )
    if summary["progressive_accuracy"] is not None:
        share = percent(summary["progressive_accuracy"])
        pairs.append(("progressive", f"{share} right, first pass, each row before it was learnt"))
    why = interruption(model) if summary["interrupted"] else "the rows were not kept"
    measured = f"not measured: {why}; `linsep score` reads them again"
    pairs += [
        ("training", measured if training is None else training_text(model, summary)),
        ("learnt", learnt_text(summary)),
        *recipe_pairs(model),
        *kernel_pairs(summary),
        *dropped_pairs(summary),
        ("passes", passes_text(summary)),
        ("stopped", stopped_text(model)),
        *margin_pairs(model),
        ("time", ", ".join(f"{name} {value:.2f} s" for name, value in summary["seconds"].items())),
        ("model", summary["model"] or "not saved; --model FILE saves it"),
    ]
    if summary["uneven_columns"]:
        found = summary["uneven_columns"].items()
        each = [f"'{name}' {does} {x:g}" for does, column in found for name, x in column.items()]
        spans = ", ".join(each)
        pairs.append(("advice", f"{spans}: --scale standard brings columns to one scale"))
    if summary["cache"]:
        pairs.append(("cache", f"{summary['cache']}, read instead of the data next time"))
    print_pairs(pairs)


def interruption(model: Any) -> str:
    """What Ctrl-C has interrupted: the learning, or what came after it."""
    learning = getattr(model, "stop_reason_", None) == StopReason.INTERRUPTED
    return f"{'learning' if learning else 'the command'} was interrupted"


def _error(score: float | None) -> float | None:
    return None if score is None else 1.0 - score


def print_curve(summary: dict[str, Any]) -> None:
    """The validation curve: errors of the weights kept after each pass."""
    print()
    print_table(
        ["pass", "training error", "held-out error"],
        [
            [str(p["pass"])]
            + ["-" if p[e] is None else percent(p[e]) for e in ("training_error", "held_out_error")]
            for p in summary["curve"]
        ],
    )


def learnt_text(summary: dict[str, Any]) -> str:
    """Learner, classes, rows and features in one line."""
    labels = summary["classes"]
    features = summary["features"]  # strings have none
    return (
        f"{summary['learner']}, {len(labels):,} classes ({labels_text(labels)}), "
        f"{summary['rows']:,} rows" + ("" if features is None else f", {features:,} features")
    )


def kernel_pairs(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """The kernel of a model that has one, and how many rows it keeps."""
    if summary["kernel"] is None:
        return []
    return [
        ("kernel", f"{summary['kernel']}, {count(summary['support_vectors'], 'support vector')}")
    ]


def passes_text(summary: dict[str, Any]) -> str:
    """How many passes with how many mistakes."""
    mistakes = summary["mistakes"]
    text = f"{len(mistakes)}, mistakes {sum(mistakes):,}"
    if len(mistakes) < 2:
        return text
    return f"{text} (first pass {mistakes[0]:,}, last {mistakes[-1]:,})"


def stopped_text(model: Any) -> str:
    """Why the last fit ended."""
    if model.stop_reason_ is None:
        return "not by itself: it learnt rows as they were given"
    said = model.stop_sentence_
    if model.stop_reason_ == StopReason.MAX_ITER:
        said = said.partition(";")[0]  # what follows is for those who write Python
        if not hasattr(model, "kernel_"):
            said += "; `linsep separate` says if rows are separable"
    return f"{model.stop_reason_}: {said}"


def margin_pairs(model: Any) -> list[tuple[str, str]]:
    """What a run of the margin perceptron proves about the margin."""
    if not hasattr(model, "margin_interval_"):
        return []
    low, high = model.margin_interval_
    below = f"below {high:g}" if high < 1 else "at most 1"
    reached = "" if low is None else f"at least {low:g}, "
    return [("margin", f"{reached}{below}; aimed at {model.gamma_:g} (rows of length 1)")]


def _right(result: dict[str, Any]) -> str:
    unknown = result["unknown_labels"]
    return f"{percent(result['accuracy'])} of {count(result['rows'], 'row')} right" + (
        f"; {unknown:,} of classes never learnt" if unknown else ""
    )


def baseline_text(result: dict[str, Any]) -> str:
    """What saying the same of every row would reach."""
    commonest = max(result["classes"], key=lambda c: c["rows"])["label"]
    return f"baseline {percent(result['most_frequent'])}, always {label_text(commonest)}"


def dropped_pairs(result: dict[str, Any]) -> list[tuple[str, str]]:
    """How many rows missing values cost, if any."""
    rows = result["rows_dropped"]
    return [("left out", f"{count(rows, 'row')} with missing values")] if rows else []


def unknown_text(unknown: dict[str, int]) -> str:
    """How many values learning never saw; ``unknown`` is that of a Prediction."""
    parts = [
        f"{count(n, 'value')} of " + ("features" if name == "features" else f"column '{name}'")
        for name, n in unknown.items()
    ]
    return f"{', '.join(parts)} that learning never saw, taken for nothing"


def left_aside(result: dict[str, Any]) -> list[tuple[str, str]]:
    """What of the rows did not count towards a score."""
    unknown = result["unknown_values"]
    return dropped_pairs(result) + ([("unknown", unknown_text(unknown))] if unknown else [])


def print_score(result: dict[str, Any]) -> None:
    """The screen of ``linsep score``."""
    pairs = [
        ("accuracy", _right(result)),
        ("baseline", baseline_text(result).removeprefix("baseline ")),
        *left_aside(result),
    ]
    print_pairs(pairs)
    classes = result["classes"]
    if len(classes) > MOST_CLASSES:
        classes = sorted(classes, key=lambda c: -c["rows"])[:MOST_CLASSES]
    print_table(
        ["class", "rows", "right", "recall", "precision"],
        [
            [label_text(c["label"]), f"{c['rows']:,}", f"{c['right']:,}"]
            + ["-" if share is None else percent(share) for share in (c["recall"], c["precision"])]
            for c in classes
        ],
    )
    if len(result["classes"]) > MOST_CLASSES:
        print(f"... and {len(result['classes']) - MOST_CLASSES:,} rarer classes; --json has all")

"""The command ``inspect``: how a model was trained, and its weights."""

from typing import Any

import numpy as np
from scipy.linalg import norm

from linsep.cli import options, regressions, report
from linsep.cli.learners import options_of_model
from linsep.cli.report import kernel_pairs, passes_text, stopped_text
from linsep.cli.screen import count, print_pairs, print_table
from linsep.estimators._common.explaining import machine_names
from linsep.model_files import format as model_file

# More machines do not fit a screen; --json has them all.
MOST_MACHINES = 20


def inspect(
    model: options.ModelIn,
    *,
    top: options.Top = None,
    as_json: options.AsJson = False,
) -> None:
    """Show how a model was trained and its largest weights.

    Example: linsep inspect species.linsep --top 5
    """
    estimator = model_file.load(model)
    summary = model_summary(estimator, top)
    if as_json:
        report.print_json(summary)
    else:
        print_model(estimator, summary)


def model_summary(model: Any, top: int | None) -> dict[str, Any]:
    """Return everything that ``linsep inspect`` shows, as plain JSON.

    ``top`` is the number of weights listed for each machine: by default 10, or 3 of several.
    """
    statistical = regressions.is_regression(model)
    summary = (regressions if statistical else report).training_summary(model)
    names = getattr(model, "feature_names_in_", None)
    named = _hashed_names(model) if names is None else None
    first = model.recipe_.get("index_base", 0) if hasattr(model, "recipe_") else 0
    coef, intercepts = _weights(model)
    if hasattr(model, "support_"):
        names = [f"row {number}" for number in model.support_]
    top = top if top is not None else 10 if len(coef) == 1 else 3
    machines = []
    for machine, weights, intercept in zip(machine_names(model), coef, intercepts, strict=True):
        order = [j for j in np.argsort(-np.abs(weights), kind="stable")[:top] if weights[j]]
        machines.append(
            {
                "machine": machine,
                "intercept": intercept,
                "nonzero": int(np.count_nonzero(weights)),
                "norm": float(norm(weights)),
                "heaviest": [
                    _named(named, int(j), float(weights[j]))
                    if named is not None
                    else [str(j + first) if names is None else str(names[j]), float(weights[j])]
                    for j in order
                ],
            }
        )
    summary["parameters"] = model.get_params(deep=False)
    summary["changed"] = sorted(_changed(model))
    summary["recipe"] = getattr(model, "recipe_", None)
    summary["calibration"] = getattr(getattr(model, "calibration_", None), "method", None)
    summary["weights"] = machines
    return summary


def _hashed_names(model: Any) -> Any:
    """Return the names of hashed words that were seen in training, None without text columns."""
    if not getattr(model, "recipe_", {}).get("words"):
        return None
    from linsep.sources.text.stored import FeatureNames

    return FeatureNames(model.recipe_)


def _named(names: Any, feature: int, weight: float) -> list[Any]:
    """Return a word and its weight, which is that of its column times the sign of its hash."""
    name, sign = names.of(feature)
    return [name, sign * weight]


def _weights(model: Any) -> tuple[np.ndarray, list[float]]:
    """Return weights (of features or support vectors) and intercepts of every machine."""
    if hasattr(model, "to_logistic"):
        model = model.to_logistic()
    if hasattr(model, "dual_coef_"):
        return model.dual_coef_, [0.0] * len(model.dual_coef_)
    return np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_).tolist()


def _changed(model: Any) -> list[str]:
    """Return the names of the parameters that differ from their defaults."""
    default = type(model)().get_params(deep=False)
    return [name for name, value in model.get_params(deep=False).items() if value != default[name]]


def print_model(model: Any, summary: dict[str, Any]) -> None:
    """Print the output of ``linsep inspect``."""
    given = options_of_model(model)
    pairs = [
        *_training_pairs(model, summary),
        ("options", f"{given}; all others by default" if given else "all by default"),
    ]
    machines = summary["weights"]
    if len(machines) == 1:
        print_pairs([*pairs, ("weights", f"{machines[0]['machine']}: {_size(machines[0])}")])
        if machines[0]["heaviest"]:
            print_table(
                ["support vector" if summary.get("kernel") else "feature", "weight"],
                [[name, f"{weight:+.6g}"] for name, weight in machines[0]["heaviest"]],
            )
        return
    print_pairs(pairs)
    print()
    print_pairs([(m["machine"], _size(m) + _heaviest(m)) for m in machines[:MOST_MACHINES]])
    if len(machines) > MOST_MACHINES:
        print(f"... and {len(machines) - MOST_MACHINES:,} more; --json has all")


def _training_pairs(model: Any, summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Return how a model was learnt, as pairs of a heading and a text."""
    if regressions.is_regression(model):
        return [
            ("learnt", regressions.learnt_text(summary)),
            *report.text_pairs(model),
            *report.equation_pairs(model),
            ("inference", "`linsep summary` shows estimates, their errors and tests"),
        ]
    return [
        ("learnt", report.learnt_text(summary)),
        *report.text_pairs(model),
        *report.equation_pairs(model),
        *kernel_pairs(summary),
        *([("calibrated", summary["calibration"])] if summary["calibration"] else []),
        ("passes", passes_text(summary)),
        ("stopped", stopped_text(model)),
    ]


def _heaviest(machine: dict[str, Any]) -> str:
    listed = ", ".join(f"{name} {weight:+.6g}" for name, weight in machine["heaviest"])
    return f": {listed}" if listed else ""


def _size(machine: dict[str, Any]) -> str:
    return (
        f"intercept {machine['intercept']:+.6g}, {count(machine['nonzero'], 'weight')} not zero, "
        f"norm {machine['norm']:.4g}"
    )

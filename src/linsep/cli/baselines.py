"""Warnings of `linsep fit` about a model that is worse than its baseline."""

from typing import Any

import numpy as np

from linsep.catalog import is_margin, is_regression
from linsep.cli.errors import in_options
from linsep.cli.output import label_text
from linsep.errors import LinsepError, hint
from linsep.estimators._common.offsets import has_offset
from linsep.words import percent

#: tolerance for rounding
ROUNDING = 1e-9


def worse_than_baseline(model: Any, summary: dict[str, Any]) -> list[str]:
    """Return a warning if ``model`` is worse than its baseline on training or test rows.

    ``summary`` is what ``fit`` prints. The list is empty if there is nothing to warn about.
    """
    about = _of_classes if hasattr(model, "classes_") else _of_numbers
    found = about(model, summary)
    if not found:
        return []
    problem = f"the model predicts worse than the baseline: {'; '.join(found)}"
    return [
        LinsepError(problem, *_advice(model, summary), code="not-converged").render(
            lambda hint: hint.render(in_options)
        )
    ]


def _of_classes(model: Any, summary: dict[str, Any]) -> list[str]:
    if hasattr(model, "threshold_") or has_offset(model):  # for a purpose other than accuracy
        return []
    if getattr(model, "class_weight", None) is not None:
        return _of_weighed_classes(model, summary)
    found, test = [], summary["test"]
    right, baseline = summary["training_accuracy"], summary["training_baseline"]
    if right is not None and right < baseline - ROUNDING:
        found.append(
            f"{percent(right)} of the training rows are right; always predicting the most "
            f"frequent class gets {percent(baseline)}"
        )
    if test is not None and test["accuracy"] < test["most_frequent"] - ROUNDING:
        found.append(
            f"{percent(test['accuracy'])} of the test rows are right; always predicting "
            f"{label_text(test['most_frequent_class'])} gets {percent(test['most_frequent'])}"
        )
    return found


def _of_weighed_classes(model: Any, summary: dict[str, Any]) -> list[str]:
    """Return the same for weighted classes, which trade accuracy for recall."""
    learned, test = getattr(model, "training_balanced_accuracy_", None), summary["test"]
    each = [("training", learned, 1 / len(model.classes_))]
    if test is not None:
        of_test = test["metrics"]["balanced_accuracy"]
        each.append(("test", of_test["value"], of_test["baseline"]))
    return [
        f"the mean recall of the classes is {percent(found)} on the {rows} rows; always "
        f"predicting one class gets {percent(baseline)}"
        for rows, found, baseline in each
        if found is not None and found < baseline - ROUNDING
    ]


def _of_numbers(model: Any, summary: dict[str, Any]) -> list[str]:
    fitted, test = model.solution_, summary["test"]
    errors = [
        ("the training rows", np.sqrt(fitted.rss / fitted.total_weight), model.training_deviation_)
    ]
    if test is not None:
        errors.append(
            ("the test rows", test["root_mean_squared_error"], test["standard_deviation"])
        )
    return [
        f"its rms error on {rows} is {error:.6g}; always predicting their mean gives "
        f"{deviation:.6g}"
        for rows, error, deviation in errors
        if error > deviation * (1 + ROUNDING)
    ]


def _advice(model: Any, summary: dict[str, Any]) -> list[Any]:
    """Return hints about unused options that may help."""
    hints: list[Any] = []
    online = not is_regression(model) and not is_margin(model)
    table = not is_regression(model) and model.recipe_["format"] == "table"
    unscaled = table and summary["scale"] == "none"
    if unscaled and not getattr(model, "positive_only", False):
        hints.append(hint("choose {}", scale="standard"))
    if online and model.keep == "last":
        hints.append(hint("choose {}", keep="average"))
    if getattr(model, "class_weight", None) is not None:
        hints.append(hint("leave out {}", class_weight=None))
    if online and model.stop_reason_ == "max_iter":
        hints.append(hint("raise {}", max_iter=None))
    if getattr(model, "fit_intercept", True) is False:
        hints.append(hint("leave out {}", no_fit_intercept=None))
    return [*hints, hint("choose another {}", learner=None)]

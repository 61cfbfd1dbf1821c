"""Warning of models that predict worse than a constant, with advice."""

from typing import Any

import numpy as np

from linsep.catalog import LEARNERS, UNSCALED
from linsep.cli.failures import in_options
from linsep.cli.screen import label_text, percent
from linsep.errors import LinsepError, hint

#: tolerance for rounding
ROUNDING = 1e-9


def worse_than_baseline(model: Any, summary: dict[str, Any]) -> list[str]:
    """Return a warning if ``model`` is worse than its baseline on training or test rows.

    ``summary`` is what ``fit`` prints. The list is empty if there is nothing to warn of.
    """
    about = _of_classes if hasattr(model, "classes_") else _of_numbers
    found = about(model, summary)
    if not found:
        return []
    problem = f"the model predicts worse than the baseline: {'; '.join(found)}"
    return [
        LinsepError(problem, *_advice(model, summary)).render(lambda hint: hint.render(in_options))
    ]


def _of_classes(model: Any, summary: dict[str, Any]) -> list[str]:
    found, test = [], summary["test"]
    right, baseline = summary["training_accuracy"], summary["training_baseline"]
    if right is not None and right < baseline - ROUNDING:
        found.append(
            f"{percent(right)} of the training rows are right, where always predicting the "
            f"commonest class gets {percent(baseline)}"
        )
    if test is not None and test["accuracy"] < test["most_frequent"] - ROUNDING:
        label = max(test["classes"], key=lambda c: c["rows"])["label"]
        found.append(
            f"{percent(test['accuracy'])} of the test rows are right, where always predicting "
            f"{label_text(label)} gets {percent(test['most_frequent'])}"
        )
    return found


def _of_numbers(model: Any, summary: dict[str, Any]) -> list[str]:
    fitted, test = model._fitted, summary["test"]
    errors = [
        ("the training rows", np.sqrt(fitted.rss / fitted.total_weight), model.training_deviation_)
    ]
    if test is not None:
        errors.append(
            ("the test rows", test["root_mean_squared_error"], test["standard_deviation"])
        )
    return [
        f"its rms error on {rows} is {error:.6g}, where always predicting their mean has "
        f"{deviation:.6g}"
        for rows, error, deviation in errors
        if error > deviation * (1 + ROUNDING)
    ]


def _advice(model: Any, summary: dict[str, Any]) -> list[Any]:
    """Return hints about options that may help and were not used."""
    hints: list[Any] = []
    online = type(model) in LEARNERS.values()
    scales = {LEARNERS[name] for name in LEARNERS if name not in UNSCALED}
    if type(model) in scales and model.recipe_["format"] == "table" and summary["scale"] == "none":
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

"""Scenes of the lab: of data files, of models, and of traces, as the fragments of URLs."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import pstdev
from typing import Any
from urllib.parse import quote

import numpy as np
import scipy.sparse as sp

from linsep.errors import DataError, hint
from linsep.estimators.labels import label_text
from linsep.lab.file import lab_file, spelled
from linsep.sources.base import Source
from linsep.sources.opening import open_source
from linsep.words import counted

MOST_POINTS, MOST_CLASSES, LONGEST_NAME = 500, 10, 40
#: largest absolute value of a coordinate
LARGEST = 1e6
#: columns are standardized if their standard deviations differ by a larger factor
MOST_UNEQUAL = 5
SCALED = " (scaled)"
#: learners of the lab by the names of their classes, and what a setting of it is called in Python
LEARNERS = {
    "Perceptron": "perceptron", "MarginPerceptron": "margin", "Winnow": "winnow",
    "BalancedWinnow": "balanced-winnow", "KernelPerceptron": "kernel",
}  # fmt: skip
SETTINGS = {
    "learning_rate": "rate", "schedule": "schedule", "gamma": "gamma", "promotion": "promotion",
    "zero": "zero", "fit_intercept": "intercept", "multiclass": "classes", "shuffle": "shuffle",
    "keep": "keep",
}  # fmt: skip
OF_KERNELS = {"gamma": "width", "kernel": "kernel", "degree": "degree"}
#: parameters that change a run and that the lab does not have, with the values it runs
FIXED = {
    "tie": ("negative",), "normalize": (False,), "class_weight": (None,), "epsilon": (0.5,),
    "threshold": (None, 0.0), "early_stopping": (False,),
}  # fmt: skip


def address_of_file(
    path: Path, say: Callable[[str], None] = lambda text: None, model: Any = None, **how: Any
) -> str:
    """Return the first 500 rows of a file as points: the first two numeric columns and the labels.

    Parameters
    ----------
    path : Path
    say : function that receives a sentence on rows that are not shown
    model : fitted estimator whose learner and parameters run on the points, or None
    how : arguments of :func:`linsep.open_source`; ``include`` chooses columns, and ``scale`` (by
        default as needed) is about the two coordinates

    Raises
    ------
    DataError
        For invalid files, fewer than two numeric columns, or too many classes.
    """
    scale = how.pop("scale", None)
    source = open_source(path, **how)
    X, labels, more = _first_rows(source)
    recipe = source.recipe()
    first = recipe.get("index_base", 0)
    names = list(recipe.get("numeric", [f"x{j + first}" for j in range(X.shape[1])]))
    if len(names) < 2:
        raise DataError(
            f"{source.name} has fewer than two numeric columns for the coordinates",
            hint("read more columns as numbers with {}", numeric=None),
            code="no-columns", option="numeric",
        )  # fmt: skip
    axes, places, why = _standardized(names[:2], X[:, :2], scale)
    if more:
        say(f"The first {counted(len(labels), 'row')} of {source.name} are shown; it has more.")
    if dropped := int(getattr(source, "dropped", 0)):
        say(f"{counted(dropped, 'row')} of {source.name} with missing values left out.")
    if why:
        say(why)
    return address_of_rows(
        places, labels, axes, {} if model is None else settings_of(model), source
    )


def address_of_model(model: Any) -> str:
    """Return the settings of a fitted model, for the first ready-made points."""
    found = {"data": "first-steps"} | settings_of(model)
    return "&".join(f"{name}={spelled(value)}" for name, value in found.items())


def address_of_rows(
    X: np.ndarray, labels: Sequence[Any], axes: Sequence[str], settings: dict[str, Any],
    source: Source | None = None,
) -> str:  # fmt: skip
    """Return the scene of rows of two numbers and their labels."""
    beyond = np.argwhere(~(np.abs(X) <= LARGEST))
    if len(beyond):
        row, j = beyond[0]
        where = f"Row {row + 1}" if source is None else source.where(row)
        raise DataError(
            f"{where}, column '{axes[j]}' holds {X[row, j]:g}, and the lab shows numbers from "
            "-1,000,000 to 1,000,000: rescale the column.",
            code="out-of-range", row=int(row) + 1, column=axes[j], value=float(X[row, j]),
        )  # fmt: skip
    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    if classes.size > MOST_CLASSES:
        raise DataError(
            f"The labels have {classes.size} different values, and the lab shows at most "
            f"{MOST_CLASSES} classes: choose another column, or leave rows out.",
            code="class-count",
        )
    names = [label_text(label)[:LONGEST_NAME] for label in classes]
    points = ";".join(
        f"{spelled(x)},{spelled(y)},{code}" for (x, y), code in zip(X.tolist(), codes, strict=True)
    )
    parts = [f"points={points}"]
    if names not in (["-1"], ["-1", "1"]):
        parts.append("labels=" + ",".join(quote(name, safe="") for name in names))
    parts.append("features=" + ",".join(quote(name[:LONGEST_NAME], safe="") for name in axes))
    return "&".join([*parts, *(f"{name}={spelled(value)}" for name, value in settings.items())])


def _first_rows(source: Source) -> tuple[np.ndarray, list[Any], bool]:
    """Return features and labels of the rows shown, and whether there are more."""
    parts: list[np.ndarray] = []
    labels: list[Any] = []
    more = False
    for batch in source.batches():
        left = MOST_POINTS - len(labels)
        more = batch.X.shape[0] > left
        X = batch.X[:left]
        parts.append(X.toarray() if sp.issparse(X) else X)
        labels += [] if batch.y is None else batch.y[: X.shape[0]].tolist()
        if more:
            break
    width = max(part.shape[1] for part in parts)
    return np.vstack([np.pad(p, ((0, 0), (0, width - p.shape[1]))) for p in parts]), labels, more


def _standardized(
    axes: list[str], X: np.ndarray, scale: str | None
) -> tuple[list[str], np.ndarray, str]:
    """Return both coordinates with mean 0 and standard deviation 1, or unchanged, the names of
    their axes, and the reason if nobody asked for it.
    """
    spreads = [pstdev(column) for column in X.T.tolist()]
    differ = all(spreads) and max(spreads) > MOST_UNEQUAL * min(spreads)
    if scale == "none" or not all(spreads) or (scale is None and not differ):
        return axes, X, ""
    said = ", ".join(f"{name} {spread:.3g}" for name, spread in zip(axes, spreads, strict=True))
    why = "" if scale else (
        f"Both coordinates are standardized, since their standard deviations differ: {said}; "
        "--scale none keeps the numbers."
    )  # fmt: skip
    names = [name[: LONGEST_NAME - len(SCALED)] + SCALED for name in axes]
    return names, (X - X.mean(axis=0)) / np.array(spreads), why


def settings_of(model: Any) -> dict[str, Any]:
    """Return the settings of the lab that run the learner of an estimator."""
    kind, given = type(model).__name__, model.get_params(deep=False)
    if kind not in LEARNERS:
        raise DataError(f"The lab has no {kind}: use {', '.join(LEARNERS)}.", code="unsupported")
    other = next((n for n, known in FIXED.items() if given.get(n, known[0]) not in known), None)
    if other or callable(given.get("learning_rate")):
        name = other or "learning_rate"
        raise DataError(
            f"The lab does not run {kind} with {name}={given[name]!r}.",
            code="unsupported",
            option=name,
        )
    batch = given.get("update") == "batch"
    names = SETTINGS | (OF_KERNELS if kind == "KernelPerceptron" else {})
    found: dict[str, Any] = {"learner": "batch" if batch else LEARNERS[kind]}
    found |= {names[n]: value for n, value in given.items() if n in names and value is not None}
    if given.get("shuffle"):
        found["seed"] = given.get("random_state") or 0
    return found


def page_of_trace(trace: Any, X: Any, y: Any) -> str:
    """Return the lab with the rows, the learner and the initial weights of a trace.

    Raises
    ------
    DataError
        For rows of other than two features, too many rows or classes, and learners or parameters
        that the lab does not have.
    """
    names = list(X.columns) if hasattr(X, "columns") else None
    values = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
    if values.ndim != 2 or values.shape[1] != 2:
        raise DataError(
            "An interactive page shows two features: choose two columns.", code="unsupported"
        )
    if len(values) > MOST_POINTS:
        raise DataError(f"An interactive page shows at most {MOST_POINTS} rows.", code="too-large")
    settings = settings_of(trace.estimator) | {"rounds": min(10_000, max(len(trace), 2000))}
    if any(map(any, trace.start)) and settings["learner"] not in ("margin", "winnow"):
        if len(set(trace.start)) > 1:
            raise DataError(
                "The lab begins with the same weights for every class.", code="unsupported"
            )
        settings["start"] = trace.start[0]
    axes = list(map(str, trace.columns[-2:] if names is None else names))
    return lab_file(address_of_rows(values, list(y), axes, settings), title="linsep trace")

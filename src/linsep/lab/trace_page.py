"""The run of a trace as an HTML file."""

from typing import Any

import numpy as np

from linsep.errors import DataError
from linsep.estimators._common.labels import label_text
from linsep.lab.pages import for_controls, plain_scene, standalone
from linsep.lab.proof import proof_of
from linsep.lab.run import arguments_of, columns_of_trace, names_of_vectors, scheme_of
from linsep.lab.scene import MOST_CLASSES, MOST_POINTS, Scene
from linsep.lab.settings import DEFAULTS, SETTINGS, SHOWN
from linsep.learners.proofs import run_to_come
from linsep.mistake_bounds.theorems import premises_of
from linsep.teaching import Trace


def page_of(trace: Trace, X: Any, y: Any) -> str:
    """Return the run of a trace as an interactive HTML file that needs no server.

    Raises
    ------
    DataError
        If the rows have more than two features, or there are too many rows or classes.
    """
    scene = scene_of_trace(trace, X, y)
    columns = columns_of_trace(trace, scene.X.tolist(), scene.codes, scheme_of(scene))
    columns |= {"vectors": names_of_vectors(scene), "present": sorted(set(scene.codes)),
                "scheme": scheme_of(scene)}  # fmt: skip
    proof = proof_of(scene, columns)
    if not same_learner(trace, scene):
        proof |= {"bounds": [], "widest": None, "unbounded": "No bound: this page "
                  "does not know all parameters of the learner."}  # fmt: skip
    answer = {**plain_scene(scene), **for_controls(), "run": columns, "idle": "", "proof": proof}
    return standalone(answer, "linsep trace")


def scene_of_trace(trace: Trace, X: Any, y: Any) -> Scene:
    """Return the points of a trace, and the settings that a page shows."""
    names = list(X.columns) if hasattr(X, "columns") else None
    values = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if values.ndim != 2 or values.shape[1] != 2:
        raise DataError(
            "An interactive page shows two features: choose two columns.", code="unsupported"
        )
    if len(values) > MOST_POINTS or len(classes) > MOST_CLASSES:
        raise DataError(
            f"An interactive page shows at most {MOST_POINTS} rows of {MOST_CLASSES} classes.",
            code="too-large",
        )
    points = [(float(a), float(b), int(c)) for (a, b), c in zip(values, codes, strict=True)]
    labels = tuple(label_text(label) for label in classes)
    first, second = trace.columns[-2:] if names is None else map(str, names)
    return Scene(tuple(points), "", labels, (first, second), settings_of(trace))


def same_learner(trace: Trace, scene: Scene) -> bool:
    """Return whether the theorems about a scene's learner hold for the learner of the trace."""
    theirs = arguments_of(scene).make()
    weighted = trace.estimator.class_weight is not None
    return not weighted and _facts_of(trace.estimator) == _facts_of(theirs)


def _facts_of(estimator: Any) -> tuple[Any, ...]:
    """Return the facts about a run of an estimator that theorems need."""
    run, obstacle = run_to_come(estimator, 1)
    target = getattr(estimator, "gamma", None)
    return run._replace(learner=type(estimator)), obstacle, premises_of(estimator), target


def settings_of(trace: Trace) -> dict[str, Any]:
    """Return the settings of a trace's estimator that the page has."""
    estimator: Any = trace.estimator
    learner = next(
        name
        for name, shown in SHOWN.items()
        if shown.estimator == type(estimator).__name__
        and shown.how.fixed.items() <= estimator.get_params(deep=False).items()
    )
    start = trace.start[0] if len(trace.start) == 1 else (0.0, 0.0, 0.0)
    found: dict[str, Any] = {"learner": learner, "start": [float(w) for w in start]}
    for name, one in SETTINGS.items():
        if one.sets and (not one.learners or learner in one.learners):
            found[name] = getattr(estimator, one.sets, None)
    valid = {}
    for name, value in found.items():
        try:
            valid[name] = SETTINGS[name].checked(value)
        except DataError:  # such as a function for a rate, which the page cannot show
            continue
    return DEFAULTS | valid

"""A trace as a page that needs no server."""

from typing import Any

import numpy as np

from linsep.errors import DataError
from linsep.lab.answer import for_controls, plain_scene
from linsep.lab.fields import BY_NAME, DEFAULTS
from linsep.lab.learners import ESTIMATORS, arguments_of
from linsep.lab.pages import standalone
from linsep.lab.proof import proof_of
from linsep.lab.run import columns_of_trace, names_of_vectors, scheme_of
from linsep.lab.scene import MOST_CLASSES, MOST_POINTS, Scene
from linsep.teaching.trace.table import Trace, label_text

#: settings of a scene, and the parameters of estimators that they are
PARAMETERS = {
    "keep": "keep", "rate": "learning_rate", "schedule": "schedule", "C": "C",
    "promotion": "promotion", "classes": "multiclass", "intercept": "fit_intercept",
    "shuffle": "shuffle", "gamma": "gamma",
}  # fmt: skip
#: parameters of estimators that theorems are about
BOUNDING = (
    "learning_rate", "schedule", "update", "fit_intercept", "gamma", "epsilon", "C", "loss",
    "promotion", "threshold", "multiclass", "class_weight", "normalize",
)  # fmt: skip


def page_of(trace: Trace, X: Any, y: Any) -> str:
    """Return the run of a trace as an HTML file that can be scrubbed without a server.

    Raises
    ------
    DataError
        If the rows have more than two features, or there are too many of them, or of classes.
    """
    scene = scene_of_trace(trace, X, y)
    columns = columns_of_trace(trace, scene.X.tolist(), scene.codes, scheme_of(scene))
    columns |= {"vectors": names_of_vectors(scene), "present": sorted(set(scene.codes))}
    proof = proof_of(scene, columns)
    if not same_learner(trace, scene):
        proof |= {"bounds": [], "widest": None, "unbounded": "No bound is stated here: this page "
                  "does not know all parameters of the learner."}  # fmt: skip
    answer = {**plain_scene(scene), **for_controls(), "run": columns, "idle": "", "proof": proof}
    return standalone(answer, "linsep trace")


def scene_of_trace(trace: Trace, X: Any, y: Any) -> Scene:
    """Return the points of a trace, and of its settings those that a page shows."""
    names = list(X.columns) if hasattr(X, "columns") else None
    values = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if values.ndim != 2 or values.shape[1] != 2:
        raise DataError("An interactive page shows rows of two features: choose two columns.")
    if len(values) > MOST_POINTS or len(classes) > MOST_CLASSES:
        raise DataError(
            f"An interactive page shows at most {MOST_POINTS} rows of {MOST_CLASSES} classes."
        )
    points = [(float(a), float(b), int(c)) for (a, b), c in zip(values, codes, strict=True)]
    labels = tuple(label_text(label) for label in classes)
    first, second = trace.columns[-2:] if names is None else map(str, names)
    return Scene(tuple(points), "", labels, (first, second), settings_of(trace))


def same_learner(trace: Trace, scene: Scene) -> bool:
    """Return whether the theorems about a scene's learner are about that of the trace."""
    mine, theirs = trace.estimator.get_params(), arguments_of(scene).make().get_params()
    return all(mine.get(name) == theirs.get(name) for name in BOUNDING)


def settings_of(trace: Trace) -> dict[str, Any]:
    """Return the settings of a trace's estimator, where the page has them."""
    estimator = trace.estimator
    learner = next(k for k, name in ESTIMATORS.items() if name == type(estimator).__name__)
    if getattr(estimator, "update", "") == "batch":
        learner = "batch"
    found = {name: getattr(estimator, parameter, None) for name, parameter in PARAMETERS.items()}
    start = trace.start[0] if len(trace.start) == 1 else (0.0, 0.0, 0.0)
    found |= {"learner": learner, "start": [float(w) for w in start]}
    valid = {}
    for name, value in found.items():
        try:
            valid[name] = BY_NAME[name].checked(value)
        except DataError:  # such as a function for a rate, which the page cannot show
            continue
    return DEFAULTS | valid

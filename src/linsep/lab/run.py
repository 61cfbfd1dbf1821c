"""A run of a scene, computed once by the library and laid out in columns that a browser scrubs; and
as a Python script.

Position 0 of a run is before its first round, position t after round t. Every number comes from
the textbook twin of the learner, so that nothing is compiled.
"""

from collections.abc import Iterator
from itertools import groupby, islice
from typing import Any, NamedTuple

import numpy as np

import linsep
from linsep import textbook
from linsep.errors import DataError
from linsep.lab.scene import Scene
from linsep.lab.settings import SHOWN, plain_number
from linsep.parameters import parameters_of
from linsep.rows.arrays import ArrayStream
from linsep.teaching import Trace, vector_names, visiting_orders
from linsep.teaching.textbook.keeping import pockets
from linsep.teaching.textbook.schemes import SCHEMES

#: most multiplications for the Gram matrices and the scores of a kernel run
MOST_PRODUCTS = 4_000_000
NEEDS = "Place points of at least two classes: then there is something to learn."
RUNAWAY = "The weights grew beyond floating point: choose smaller coordinates or a smaller rate."


def run_of(scene: Scene) -> dict[str, Any]:
    """Return the run of a scene as columns; DataError or another ValueError if it has none.

    The columns ``row``, ``pass``, ``mistakes`` and ``updates`` have a number per round, ``scores``
    one per round and weight vector, ``weights``, ``average`` and ``best`` an intercept and two
    weights per position and vector. A kernel run has ``duals`` instead: for every round the
    changes (vector, row, change) of dual weights.
    """
    if len(set(scene.codes)) < 2:
        raise DataError(NEEDS)
    columns = kernel_columns(scene) if scene["learner"] == "kernel" else linear_columns(scene)
    values = [np.array(columns.get(name, []), float) for name in ("weights", "average", "scores")]
    if not all(np.isfinite(column).all() for column in values):
        raise DataError(RUNAWAY)
    return columns | {"vectors": names_of_vectors(scene), "present": sorted(set(scene.codes))}


def trace_of(scene: Scene) -> Trace:
    """Return the trace of a scene with a linear learner."""
    called = arguments_of(scene)
    y, reference = labels_of(scene)
    return linsep.trace(
        called.make(), scene.X, y, max_rounds=scene["rounds"], reference=reference,
        feature_names=list(scene.features),
        row_names=[str(number) for number in range(1, len(y) + 1)], **called.start,
    )  # fmt: skip


def labels_of(scene: Scene) -> tuple[list[Any], Any]:
    """Return the label of every point, and the one of two classes that is -1, else None.

    Labels are sorted as the classes are numbered, except for two classes with a reference.
    """
    present = sorted(set(scene.codes))
    names: list[Any] = [scene.class_names[code] for code in present]
    if all(name.lstrip("+-").isdigit() and name.isascii() for name in names):
        names = [int(name) for name in names]
    if len(present) > 2 and sorted(names) != names:
        names = [f"{number}: {name}" for number, name in enumerate(names, start=1)]
    by_code = dict(zip(present, names, strict=True))
    reference = names[0] if len(present) == 2 and sorted(names) != names else None
    return [by_code[code] for code in scene.codes], reference


def names_of_vectors(scene: Scene) -> list[str]:
    """Return the names of the weight vectors; [] for two classes."""
    names = [scene.class_names[code] for code in sorted(set(scene.codes))]
    return vector_names(names, multiclass_of(scene))


def linear_columns(scene: Scene) -> dict[str, Any]:
    """Return the columns of a run of a linear learner."""
    return columns_of_trace(trace_of(scene), scene.X.tolist(), dense_codes(scene), scheme_of(scene))


def columns_of_trace(
    trace: Trace, X: list[list[float]], codes: list[int], scheme: str
) -> dict[str, Any]:
    """Return the columns of a trace of rows ``X`` of the classes ``codes``."""
    steps = trace.steps
    path = np.array([trace.start, *(row.weights for row in trace)], dtype=float)
    zero = getattr(trace.estimator, "zero", "mistake")
    best = best_weights(X, codes, scheme, steps, path[0], zero)
    return columns_of(steps) | {
        "weights": flattened(path),
        "average": flattened(np.concatenate([path[:1], averages(steps, path[1:])])),
        "best": flattened(np.concatenate([path[:1], best])),
        "stopped": trace.stopped,
        "reason": "cut" if trace.stop_reason is None else str(trace.stop_reason),
        "cycle": cycle_of(steps, path) if str(trace.stop_reason) == "cycle" else None,
    }


def columns_of(steps: list[textbook.Step]) -> dict[str, Any]:
    """Return the columns that all learners have."""
    return {
        "rounds": len(steps),
        "row": [step.row for step in steps],
        "pass": [step.pass_number + 1 for step in steps],
        "mistakes": [step.mistakes for step in steps],
        "updates": [step.updates for step in steps],
        "errors": [int(step.error) for step in steps],
        "attempt": [step.attempt for step in steps],
        "scores": [float(s) for step in steps for s in np.atleast_1d(step.score)],
    }


def flattened(path: np.ndarray) -> list[float]:
    """Return an array of (positions, vectors, 3) as a list."""
    return path.ravel().tolist()


def scheme_of(scene: Scene) -> str:
    """Return the textbook's name of how the classes are learnt."""
    return "binary" if n_vectors(scene) == 1 else multiclass_of(scene)


def averages(steps: list[textbook.Step], after: np.ndarray) -> np.ndarray:
    """Return the mean of the weights over all rounds up to each step, machine by machine.

    A rule that restarted discards its earlier rounds; a batch rule has one round per pass.
    """
    found = np.array(after)
    joint = max(max((*step.seen, *step.updated), default=0) for step in steps) == 0
    ends = np.array([a.round != b.round for a, b in zip(steps, [*steps[1:], None], strict=True)
                     if b is not None] + [True])  # fmt: skip
    for k in range(after.shape[1]):
        counted = np.array([joint or k in step.seen or k in step.updated for step in steps]) & ends
        for _, group in groupby(range(len(steps)), key=lambda t: steps[t].attempt):
            ts = np.fromiter(group, int)
            count = np.cumsum(counted[ts])
            sums = np.cumsum(after[ts, k] * counted[ts, None], axis=0)
            found[ts, k] = np.where(
                count[:, None], sums / np.maximum(count, 1)[:, None], after[ts, k]
            )
    return found


def best_weights(
    X: list[list[float]],
    codes: list[int],
    scheme: str,
    steps: list[textbook.Step],
    start: np.ndarray,
    zero: str,
) -> np.ndarray:
    """Return the pocket after every step: that of the last pass that ended before it."""
    found = np.empty((len(steps), *start.shape))
    how = SCHEMES[scheme](max(codes) + 1, "negative")
    before, place = start, 0
    for _, group in groupby(steps, key=lambda step: step.attempt):
        attempt = list(group)
        best = pockets(attempt, how, X, codes, zero=zero)
        for _, parts in groupby(attempt, key=lambda step: step.pass_number):
            n = len(list(parts))
            machines = next(best)
            found[place : place + n - 1] = before
            before = vectors_of(*how.weights(machines))
            found[place + n - 1] = before
            place += n
    return found


def vectors_of(weights: Any, intercept: Any) -> np.ndarray:
    """Return each intercept followed by its weights."""
    return np.column_stack([np.atleast_1d(intercept), np.atleast_2d(weights)]).astype(float)


def dense_codes(scene: Scene) -> list[int]:
    """Return the classes counted from 0 without gaps."""
    present = sorted(set(scene.codes))
    return [present.index(code) for code in scene.codes]


def cycle_of(steps: list[textbook.Step], path: np.ndarray) -> list[int] | None:
    """Return the positions between which the weights of a cycle walk: they end where they began."""
    starts = [t for t in range(len(steps)) if t == 0
              or steps[t].pass_number != steps[t - 1].pass_number]  # fmt: skip
    same = [t for t in starts if np.array_equal(path[t], path[-1])]
    return [same[-1], len(steps)] if same else None


def kernel_columns(scene: Scene) -> dict[str, Any]:
    """Return the columns of a run of the kernel perceptron."""
    n, rounds = len(scene.points), scene["rounds"]
    if n * rounds * n_vectors(scene) > MOST_PRODUCTS:
        raise DataError(
            f"{rounds:,} rounds of {n} points are too many for a kernel here: take fewer rounds."
        )
    steps = list(islice(kernel_steps(scene), rounds))
    k = n_vectors(scene)
    path = np.array([np.atleast_2d(step.weights) for step in steps])
    path = (path.reshape(len(steps), -1, 2 * n)[:, :, :n]).reshape(len(steps), k, n)
    last = steps[-1].pass_number
    clean = not any(step.mistakes for step in steps if step.pass_number == last)
    whole = len([step for step in steps if step.pass_number == last]) == n
    return columns_of(steps) | {
        "duals": list(changes(path)),
        "average": [], "best": [], "weights": [], "cycle": None,
        "reason": "converged" if clean and whole else "cut",
        "stopped": "converged: a whole pass made no mistake" if clean and whole
        else f"cut after {len(steps):,} rounds: learning goes on",
    }  # fmt: skip


def kernel_steps(scene: Scene) -> Iterator[textbook.Step]:
    """Yield the steps of the kernel perceptron's twin."""
    codes = dense_codes(scene)
    stream = ArrayStream(
        np.ascontiguousarray(scene.X), np.array(codes), np.array([]), scene["seed"],
        scene["shuffle"],
    )  # fmt: skip
    rows = textbook.dual_rows(kernel_of(scene), scene.X.tolist())
    return textbook.run(
        textbook.KernelPerceptron(len(codes)), scheme_of(scene), rows, codes, len(set(codes)),
        fit_intercept=False, max_iter=scene["rounds"], orders=visiting_orders(stream),
    )  # fmt: skip


def kernel_of(scene: Scene) -> Any:
    """Return the kernel as a function of two points."""
    from linsep.teaching.textbook import kernels

    width = scene["width"]
    if scene["kernel"] == "rbf":
        return lambda x, z: kernels.rbf(x, z, gamma=width)
    return lambda x, z: kernels.polynomial(x, z, degree=scene["degree"], gamma=width)


def changes(path: np.ndarray) -> Iterator[list[float]]:
    """Yield for every round the changed dual weights: vector, row, change, vector, ..."""
    before = np.zeros_like(path[0])
    for after in path:
        where = np.argwhere(after != before)
        yield [float(v) for k, j in where for v in (k, j, after[k, j] - before[k, j])]
        before = after


class Arguments(NamedTuple):
    """What the library is called with.

    ``estimator`` is a class, ``parameters`` are its own, ``start`` the initial weights that
    ``trace`` and ``fit`` take, or nothing.
    """

    estimator: type
    parameters: dict[str, Any]
    start: dict[str, Any]

    def make(self, **more: Any) -> Any:
        """Return the estimator."""
        return self.estimator(**self.parameters | more)


def arguments_of(scene: Scene) -> Arguments:
    """Return what the library is called with to run a scene."""
    kind, shown = SHOWN[scene["learner"]]
    chosen: dict[str, Any] = {"max_iter": scene["rounds"], "shuffle": scene["shuffle"]}
    if scene["shuffle"]:
        chosen["random_state"] = scene["seed"]
    if len(set(scene.codes)) > 2:
        chosen["multiclass"] = multiclass_of(scene)
    if shown.intercept:
        chosen["fit_intercept"] = scene["intercept"]
    chosen |= shown.fixed
    for control in shown.controls:
        if control.needs is None or chosen[control.needs[0]] == control.needs[1]:
            chosen[control.parameter] = scene[control.name or control.parameter]
    start: dict[str, Any] = {}
    if any(scene["start"]) and shown.start:
        vectors = n_vectors(scene)
        b, *w = scene["start"]
        start["coef_init"] = w if vectors == 1 else [w] * vectors
        if scene["intercept"] or not shown.intercept:
            start["intercept_init"] = b if vectors == 1 else [b] * vectors
    return Arguments(kind, chosen, start)


def multiclass_of(scene: Scene) -> str:
    """Return how several classes are learnt: as the scene says, or if the learner has two sides
    only, as it does by default.
    """
    kind: Any = SHOWN[scene["learner"]][0]
    declared = parameters_of(kind)["multiclass"]
    return scene["classes"] if declared.accepts(scene["classes"]) else declared.default


def n_vectors(scene: Scene) -> int:
    """Return the number of weight vectors: one of two classes, else one per class or pair."""
    k = len(set(scene.codes))
    if k <= 2:
        return 1
    return k * (k - 1) // 2 if multiclass_of(scene) == "ovo" else k


def script_of(scene: Scene) -> str:
    """Return a script that learns the scene and prints the table of its rounds."""
    called = arguments_of(scene)
    y, reference = labels_of(scene)
    name, kernel = called.estimator.__name__, scene["learner"] == "kernel"
    points = ", ".join(f"({plain_number(a)}, {plain_number(b)})" for a, b, _ in scene.points)
    lines = [
        f"from linsep import {name}, separation" + ", trace" * (not kernel),
        "",
        f"X = [{points}]",
        f"y = {y!r}",
        f"model = {spelled(called)}",
    ]
    if kernel:
        lines += ["model.fit(X, y)", "print(model.stop_reason_, model.n_updates_)",
                  "print(model.dual_coef_)"]  # fmt: skip
    else:
        how = {**called.start, "max_rounds": scene["rounds"]}
        how |= {} if reference is None else {"reference": reference}
        how |= {"feature_names": list(scene.features)}
        arguments = "".join(f", {name}={value!r}" for name, value in how.items())
        lines += [f"rounds = trace(model, X, y{arguments})", "print(rounds)",
                  "print(sum(row.updates for row in rounds), rounds[-1].weights)"]  # fmt: skip
    intercept = called.parameters.get("fit_intercept", True)
    more = "" if intercept else ", fit_intercept=False"
    lines += [f"print(separation(X, y{more}))"]
    return "\n".join(lines) + "\n"


def spelled(called: Arguments) -> str:
    """Return the call of the estimator without the parameters that have their default."""
    declared = parameters_of(called.estimator)
    arguments = [
        f"{name}={value!r}"
        for name, value in called.parameters.items()
        if name not in declared or declared[name].default != value
    ]
    return f"{called.estimator.__name__}({', '.join(arguments)})"

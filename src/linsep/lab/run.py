"""A run of a scene, computed once by the library and laid out in columns that a browser scrubs; and
as a Python script.

Position 0 of a run is before its first round, position t after round t. Every number comes from
the reference implementation of the learner in the textbook, so nothing is compiled.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby, islice, pairwise
from math import isfinite
from time import monotonic
from typing import Any, NamedTuple

from linsep.errors import DataError
from linsep.lab.scene import Scene
from linsep.lab.settings import SHOWN, plain_number
from linsep.teaching import Ending, Trace, listed, trace_rows, vector_names, vectors_of
from linsep.teaching.textbook import kernels
from linsep.teaching.textbook.cycles import Recurrence
from linsep.teaching.textbook.dual import KernelPerceptron, dual_rows
from linsep.teaching.textbook.keeping import pockets
from linsep.teaching.textbook.machine import unit_rows
from linsep.teaching.textbook.perceptron import Perceptron
from linsep.teaching.textbook.running import Step, run, start
from linsep.teaching.textbook.schemes import SCHEMES
from linsep.teaching.textbook.separation import decided, joint_rows
from linsep.teaching.textbook.shuffling import orders_of

Vectors = tuple[tuple[float, ...], ...]
#: seconds that a proof that weights recur may take
TIME_LIMIT = 3.0
#: most weight vectors, counted once per round, that a page is sent
MOST_VECTORS = 100_000
#: most multiplications for the Gram matrices and the scores of a kernel run
MOST_PRODUCTS = 4_000_000
NEEDS = "Place points of at least two classes."
RUNAWAY = "The weights overflow float64: use smaller coordinates or a smaller rate."


def run_of(scene: Scene) -> dict[str, Any]:
    """Return the run of a scene as columns; DataError or another ValueError if it has none.

    The columns ``row``, ``pass``, ``mistakes`` and ``updates`` have a number per round, ``margins``
    a pair if the rule tests a margin, ``scores`` one per round and weight vector, ``weights``,
    ``average`` and ``best`` an intercept and two weights per position and vector. A kernel run has
    ``duals`` instead: for every round the changes (vector, row, change) of dual weights.
    """
    if len(set(scene.codes)) < 2:
        raise DataError(NEEDS, code="class-count")
    columns = kernel_columns(scene) if scene["learner"] == "kernel" else linear_columns(scene)
    values = (value for name in ("weights", "average", "scores") for value in columns[name])
    if not all(map(isfinite, values)):
        raise DataError(RUNAWAY, code="overflow")
    return columns | {"vectors": names_of_vectors(scene), "present": sorted(set(scene.codes)),
                      "scheme": scheme_of(scene)}  # fmt: skip


def trace_of(scene: Scene) -> Trace:
    """Return the trace of a scene with a linear learner, as :func:`linsep.trace` does, by the
    textbook alone.
    """
    called, shown = arguments_of(scene), SHOWN[scene["learner"]]
    if scene["rounds"] * n_vectors(scene) > MOST_VECTORS:
        raise DataError(
            f"{scene['rounds']:,} steps of {n_vectors(scene)} weight vectors are too many: use at "
            f"most {MOST_VECTORS // n_vectors(scene):,} steps.",
            code="too-large",
        )
    rule, scheme, codes = shown.rule_of(called.parameters), scheme_of(scene), dense_codes(scene)
    rows, k = unit_rows(scene.rows) if shown.unit else scene.rows, len(set(codes))
    learned = bool(called.parameters.get("fit_intercept", True))
    how = SCHEMES[scheme](k, "negative")
    first = how.weights(start(rule, how, 2, *called.weights()))
    steps = run(
        rule, scheme, rows, codes, k, fit_intercept=learned, max_iter=scene["rounds"],
        orders=visiting_orders(scene), weights=first[0], intercept=first[1],
    )  # fmt: skip
    begun = vectors_of(*first)
    recurs = recurrence(rule, scheme, scene, rows, codes, learned, begun)
    ending = Ending(recurs, scene["beyond"], False, scheme == "native", "negative")
    ended = ending.before(steps)
    taken = list(islice(ended, scene["rounds"]))
    labels = [str(label) for label in labels_of(scene)[0]]
    classes = [str(name) for name in names_of_labels(scene)]
    names = [str(number) for number in range(1, len(codes) + 1)]
    return Trace(
        list(trace_rows(taken, first, names, labels)), list(scene.features),
        classes, vector_names(classes, multiclass_of(scene)),
        learned or not rule.learns_intercept,
        *ending.reason(taken, cut=next(ended, None) is not None), steps=taken, start=begun,
    )  # fmt: skip


def visiting_orders(scene: Scene) -> Callable[[int], list[int]]:
    """Return the function from a pass to the order of its rows."""
    return orders_of(len(scene.points), scene["seed"], scene["shuffle"])


def recurrence(
    rule: Any, scheme: str, scene: Scene, rows: Any, codes: list[int], learned: bool, begun: Vectors
) -> Callable[[Step], Any] | None:
    """Return the function from the last step of a pass to what recurred, or None if recurring
    weights prove nothing.
    """
    if not isinstance(rule, Perceptron) or rule.schedule != "constant" or scene["shuffle"]:
        return None

    def inseparable(rows: Any, codes: Sequence[int], k: int) -> bool:
        try:
            return (
                decided(joint_rows(rows, codes, learned), monotonic() + TIME_LIMIT).kind
                != "separable"
            )
        except TimeoutError:
            return False

    k = len(set(codes))
    found = Recurrence(rule, scheme, rows, codes, k, learned, begun, inseparable)
    return lambda last: found.after(vectors_of(last.weights, last.intercept), last.pass_number + 1)


def labels_of(scene: Scene) -> tuple[list[Any], Any]:
    """Return the label of every point, and for two classes the label that is -1, else None.

    Labels are sorted as the classes are numbered, except for two classes with a reference.
    """
    present = sorted(set(scene.codes))
    names = names_of_labels(scene)
    by_code = dict(zip(present, names, strict=True))
    reference = names[0] if len(present) == 2 and sorted(names) != names else None
    return [by_code[code] for code in scene.codes], reference


def names_of_labels(scene: Scene) -> list[Any]:
    """Return the label of every class that has points, in the order of the classes."""
    present = sorted(set(scene.codes))
    names: list[Any] = [scene.class_names[code] for code in present]
    if all(name.lstrip("+-").isdigit() and name.isascii() for name in names):
        names = [int(name) for name in names]
    if len(present) > 2 and sorted(names) != names:
        names = [f"{number}: {name}" for number, name in enumerate(names, start=1)]
    return names


def names_of_vectors(scene: Scene) -> list[str]:
    """Return the names of the weight vectors; [] for two classes."""
    names = [scene.class_names[code] for code in sorted(set(scene.codes))]
    return vector_names(names, multiclass_of(scene))


def linear_columns(scene: Scene) -> dict[str, Any]:
    """Return the columns of a run of a linear learner."""
    return columns_of_trace(trace_of(scene), scene.rows, dense_codes(scene), scheme_of(scene))


def columns_of_trace(
    trace: Trace, X: list[list[float]], codes: list[int], scheme: str
) -> dict[str, Any]:
    """Return the columns of a trace of rows ``X`` of the classes ``codes``."""
    steps, after = trace.steps, [row.weights for row in trace]
    path = [trace.start, *after]
    zero = getattr(trace.estimator, "zero", "mistake")
    best = best_weights(X, codes, scheme, steps, trace.start, zero)
    return columns_of(steps) | {
        "weights": flattened(path),
        "average": flattened([trace.start, *averages(steps, after)]),
        "best": flattened([trace.start, *best]),
        "stopped": trace.stopped,
        "reason": "cut" if trace.stop_reason is None else str(trace.stop_reason),
        "cycle": cycle_of(steps, path) if str(trace.stop_reason) == "cycle" else None,
    }


def columns_of(steps: list[Step]) -> dict[str, Any]:
    """Return the columns that all learners have."""
    return {
        "rounds": len(steps),
        "row": [step.row for step in steps],
        "pass": [step.pass_number + 1 for step in steps],
        "mistakes": [step.mistakes for step in steps],
        "updates": [step.updates for step in steps],
        "errors": [int(step.error) for step in steps],
        "attempt": [step.attempt for step in steps],
        "scores": [float(s) for step in steps for s in listed(step.score)],
        "margins": [step.margin for step in steps if step.margin is not None],
    }


def flattened(path: list[Vectors]) -> list[float]:
    """Return the numbers of (positions, vectors, 3) in a row."""
    return [float(w) for vectors in path for vector in vectors for w in vector]


def scheme_of(scene: Scene) -> str:
    """Return the textbook's name of how the classes are learned."""
    return "binary" if n_vectors(scene) == 1 else multiclass_of(scene)


def averages(steps: list[Step], after: list[Vectors]) -> list[Vectors]:
    """Return the mean of the weights over all rounds up to each step, per binary classifier.

    A rule that restarted discards its earlier rounds; a batch rule has one round per pass.
    """
    joint = max(max((*step.seen, *step.updated), default=0) for step in steps) == 0
    ends = [*(a.round != b.round for a, b in pairwise(steps)), True]
    found = []
    for k in range(len(after[0])):
        means: list[tuple[float, ...]] = []
        for _, group in groupby(range(len(steps)), key=lambda t: steps[t].attempt):
            count, sums = 0, [0.0] * len(after[0][k])
            for t in group:
                step = steps[t]
                if ends[t] and (joint or k in step.seen or k in step.updated):
                    count += 1
                    sums = [a + b for a, b in zip(sums, after[t][k], strict=True)]
                means.append(tuple(a / count for a in sums) if count else after[t][k])
        found.append(means)
    return list(zip(*found, strict=True))


def best_weights(
    X: list[list[float]], codes: list[int], scheme: str, steps: list[Step], begun: Vectors,
    zero: str,
) -> list[Vectors]:  # fmt: skip
    """Return the pocket after every step: the best weights of the passes that ended before it."""
    found: list[Vectors] = []
    how, before = SCHEMES[scheme](max(codes) + 1, "negative"), begun
    for _, group in groupby(steps, key=lambda step: step.attempt):
        attempt = list(group)
        best = pockets(attempt, how, X, codes, zero=zero)
        for _, parts in groupby(attempt, key=lambda step: step.pass_number):
            found += [before] * (len(list(parts)) - 1)
            before = vectors_of(*how.weights(next(best)))
            found.append(before)
    return found


def dense_codes(scene: Scene) -> list[int]:
    """Return the classes counted from 0 without gaps."""
    present = sorted(set(scene.codes))
    return [present.index(code) for code in scene.codes]


def cycle_of(steps: list[Step], path: list[Vectors]) -> list[int] | None:
    """Return the first and the last position of the first cycle, which have the same weights."""
    size = sum(step.pass_number == steps[0].pass_number for step in steps)
    seen: dict[Vectors, int] = {}
    for t in range(0, len(path), size):
        if path[t] in seen:
            return [seen[path[t]], t]
        seen[path[t]] = t
    return None


def kernel_columns(scene: Scene) -> dict[str, Any]:
    """Return the columns of a run of the kernel perceptron."""
    n, rounds = len(scene.points), scene["rounds"]
    if n * rounds * n_vectors(scene) > MOST_PRODUCTS:
        raise DataError(
            f"{rounds:,} steps with {n} points are too many for a kernel: use fewer steps.",
            code="too-large",
        )
    steps = list(islice(kernel_steps(scene), rounds))
    path = [[machine[start : start + n] for machine in listed_weights(step)
             for start in range(0, len(machine), 2 * n)] for step in steps]  # fmt: skip
    last = steps[-1].pass_number
    clean = not any(step.mistakes for step in steps if step.pass_number == last)
    whole = len([step for step in steps if step.pass_number == last]) == n
    return columns_of(steps) | {
        "duals": list(changes(path)),
        "average": [], "best": [], "weights": [], "cycle": None,
        "reason": "converged" if clean and whole else "cut",
        "stopped": "converged: a whole pass made no mistake" if clean and whole
        else f"first {len(steps):,} steps shown; training continues",
    }  # fmt: skip


def listed_weights(step: Step) -> list[list[float]]:
    """Return the weights of every binary classifier."""
    return step.weights if isinstance(step.intercept, list) else [step.weights]


def kernel_steps(scene: Scene) -> Iterator[Step]:
    """Yield the steps of the reference implementation of the kernel perceptron."""
    codes = dense_codes(scene)
    rows = dual_rows(kernel_of(scene), scene.rows)
    return run(
        KernelPerceptron(len(codes)), scheme_of(scene), rows, codes, len(set(codes)),
        fit_intercept=False, max_iter=scene["rounds"], orders=visiting_orders(scene),
    )  # fmt: skip


def kernel_of(scene: Scene) -> Any:
    """Return the kernel as a function of two points."""
    width = scene["width"]
    if scene["kernel"] == "rbf":
        return partial(kernels.rbf, gamma=width)
    return partial(kernels.polynomial, degree=scene["degree"], gamma=width)


def changes(path: list[list[list[float]]]) -> Iterator[list[float]]:
    """Yield for every round the changed dual weights: vector, row, change, vector, ..."""
    before = [[0.0] * len(vector) for vector in path[0]]
    for after in path:
        yield [
            float(v)
            for k, (new, old) in enumerate(zip(after, before, strict=True))
            for j, (a, b) in enumerate(zip(new, old, strict=True))
            if a != b
            for v in (k, j, a - b)
        ]
        before = after


class Arguments(NamedTuple):
    """Arguments of the library.

    ``estimator`` is the name of a class, ``parameters`` are its own, ``start`` the initial weights
    that ``trace`` and ``fit`` take, or nothing.
    """

    estimator: str
    parameters: dict[str, Any]
    start: dict[str, Any]

    def make(self, **more: Any) -> Any:
        """Return the estimator."""
        import linsep

        return getattr(linsep, self.estimator)(**self.parameters | more)

    def weights(self) -> tuple[Any, Any]:
        """Return the initial weights and intercepts, None for the defaults of the rule."""
        coef = self.start.get("coef_init")
        if coef is None:
            return None, None
        zero = [0.0] * len(coef) if isinstance(coef[0], list) else 0.0
        return coef, self.start.get("intercept_init", zero)


def arguments_of(scene: Scene) -> Arguments:
    """Return the arguments of the library that run a scene."""
    shown = SHOWN[scene["learner"]]
    chosen: dict[str, Any] = {"max_iter": scene["rounds"], "shuffle": scene["shuffle"]}
    if scene["shuffle"]:
        chosen["random_state"] = scene["seed"]
    if len(set(scene.codes)) > 2:
        chosen["multiclass"] = multiclass_of(scene)
    if shown.how.intercept:
        chosen["fit_intercept"] = scene["intercept"]
    chosen |= shown.how.fixed
    for control in shown.how.controls:
        if control.needs is None or chosen[control.needs[0]] == control.needs[1]:
            chosen[control.parameter] = scene[control.name or control.parameter]
    first: dict[str, Any] = {}
    if any(scene["start"]) and shown.how.start:
        vectors = n_vectors(scene)
        b, *w = scene["start"]
        first["coef_init"] = w if vectors == 1 else [w] * vectors
        if scene["intercept"] or not shown.how.intercept:
            first["intercept_init"] = b if vectors == 1 else [b] * vectors
    return Arguments(shown.estimator, chosen, first)


def multiclass_of(scene: Scene) -> str:
    """Return the multiclass method of the scene, or the default of the learner if it does not have
    this method.
    """
    declared = SHOWN[scene["learner"]].parameters["multiclass"]
    return scene["classes"] if declared.accepts(scene["classes"]) else declared.default


def n_vectors(scene: Scene) -> int:
    """Return the number of weight vectors: one for two classes, else one per class or pair."""
    k = len(set(scene.codes))
    if k <= 2:
        return 1
    return k * (k - 1) // 2 if multiclass_of(scene) == "ovo" else k


def script_of(scene: Scene) -> str:
    """Return a script that trains on the scene and prints the table of its rounds."""
    called = arguments_of(scene)
    y, reference = labels_of(scene)
    name, kernel = called.estimator, scene["learner"] == "kernel"
    points = ", ".join(f"({plain_number(a)}, {plain_number(b)})" for a, b, _ in scene.points)
    lines = [
        f"from linsep import {name}, separation" + ", trace" * (not kernel),
        "",
        f"X = [{points}]",
        f"y = {y!r}",
        f"model = {spelled(called, SHOWN[scene['learner']].parameters)}",
    ]
    if kernel:
        lines += ["model.fit(X, y)", "print(model.stop_reason_, model.n_updates_)",
                  "print(model.dual_coef_)"]  # fmt: skip
    else:
        how = {**called.start, "rounds" if scene["beyond"] else "max_rounds": scene["rounds"]}
        how |= {} if reference is None else {"reference": reference}
        how |= {"feature_names": list(scene.features)}
        arguments = "".join(f", {name}={value!r}" for name, value in how.items())
        lines += [f"rounds = trace(model, X, y{arguments})", "print(rounds)",
                  "print(sum(row.updates for row in rounds), rounds[-1].weights)"]  # fmt: skip
    intercept = called.parameters.get("fit_intercept", True)
    more = "" if intercept else ", fit_intercept=False"
    lines += [f"print(separation(X, y{more}))"]
    return "\n".join(lines) + "\n"


def spelled(called: Arguments, declared: dict[str, Any]) -> str:
    """Return the call of the estimator without default parameters."""
    arguments = [
        f"{name}={value!r}"
        for name, value in called.parameters.items()
        if name not in declared or declared[name].default != value
    ]
    return f"{called.estimator}({', '.join(arguments)})"

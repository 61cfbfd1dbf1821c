"""Modes that find an optimum: the logistic curve by Newton's method, and gradient descent
over the contours of a surface.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

import linsep
from linsep import descent
from linsep.errors import DataError
from linsep.lab.numbers import three_digits
from linsep.lab.scene import Scene
from linsep.lab.settings import plain_number
from linsep.teaching.textbook import logistic

#: most steps of a descent; lines of a contour map, and its points along each axis
MOST_DESCENT_STEPS, LEVELS, SITES = 2000, 15, 121
#: most Newton steps of a logistic fit, and of a runaway coefficient that are shown
MOST_STEPS, RUNAWAY_STEPS = 60, 6


def curve_of(scene: Scene) -> dict[str, Any]:
    """Return the logistic curves over the horizontal axis, by maximum likelihood and Firth.

    Newton's method in the textbook computes both. If the classes are separated, the likelihood has
    no maximum, and the slopes of the first steps show how it diverges.
    """
    X, y = scene.X[:, :1].tolist(), scene.codes
    Z, center, width = _standardized(X, y)
    verdict: Any = linsep.separation(scene.X[:, :1], np.array(y))
    slopes = [slope / width for slope in _runaway(Z, y)]
    curves = [] if verdict.kind != "overlapping" else [_curve("likelihood", Z, y, False)]
    curves.append(_curve("Firth", Z, y, True))
    for curve in curves:
        b, w = curve["weights"]
        curve["weights"] = [b - w * center / width, w / width]
    names = scene.class_names
    said = [f"The curve is the probability of class {names[1]}."]
    if verdict.kind == "overlapping":
        said.append("The classes overlap on this axis, so the likelihood has a maximum.")
    else:
        said += [
            f"The classes are {verdict.kind}: the likelihood has no maximum, and the slope "
            "diverges. After 1, 2, ... Newton steps it is "
            f"{', '.join(map(three_digits, slopes))}, ...",
            "Firth's penalty keeps it finite.",
        ]
    return {
        "kind": "curve",
        "curves": curves,
        "title": f"P({names[1]}) = 1 / (1 + exp(−(b + w {scene.features[0]})))",
        "sentences": said,
        "numbers": [
            [f"{curve['name']}: {what}", three_digits(value)]
            for curve in curves
            for what, value in zip(
                ("b", "w", "log-likelihood"), [*curve["weights"], curve["likelihood"]], strict=True
            )
        ],
        "columns": ["point", scene.features[0], "class", *(curve["name"] for curve in curves)],
        "rows": [
            [k + 1, X[k][0], names[y[k]], *(
                logistic.probability(X[k], curve["weights"][::-1]) for curve in curves
            )]
            for k in range(len(y))
        ],
    }  # fmt: skip


def firth_of(X: list[list[float]], y: list[int]) -> tuple[float, float]:
    """Return intercept and weight of Firth's curve; DataError if there is no curve."""
    Z, center, width = _standardized(X, y)
    b, w = _curve("Firth", Z, y, True)["weights"]
    return b - w * center / width, w / width


def _standardized(X: list[list[float]], y: list[int]) -> tuple[list[list[float]], float, float]:
    """Return the rows with mean 0 and standard deviation 1, the mean and the standard deviation.

    Newton's method does not depend on units, but its rounding does.

    Raises
    ------
    DataError
        If the points allow no curve.
    """
    if set(y) != {0, 1}:
        raise DataError(
            "Place points of the first two classes: the curve is their probability.",
            code="class-count",
        )
    if len({row[0] for row in X}) < 2:
        raise DataError("Place points at two or more x-values.", code="too-few-rows")
    center, width = float(np.mean(X)), float(np.std(X)) or 1.0
    return [[(x - center) / width] for (x,) in X], center, width


def _curve(name: str, Z: list[list[float]], y: list[int], firth: bool) -> dict[str, Any]:
    """Return a curve as [intercept, weight] with its log-likelihood; DataError if not found."""
    before, steps = [0.0, 0.0], 4
    while steps <= MOST_STEPS:
        try:
            w, b = logistic.newton(Z, y, steps, firth=firth)
        except (ZeroDivisionError, OverflowError):
            break
        if max(abs(w - before[0]), abs(b - before[1])) < 1e-10 * (1 + abs(w) + abs(b)):
            return {"name": name, "weights": [b, w],
                    "likelihood": logistic.log_likelihood(Z, y, [w, b])}  # fmt: skip
        before, steps = [w, b], steps + 4
    raise DataError(
        "Newton's method does not converge for these points: move them apart, or add points.",
        code="not-converged",
    )


def _runaway(Z: list[list[float]], y: list[int]) -> list[float]:
    """Return the slope after each of the first Newton steps."""
    found = []
    for steps in range(1, RUNAWAY_STEPS + 1):
        try:
            found.append(logistic.newton(Z, y, steps)[0])
        except (ZeroDivisionError, OverflowError):
            break
    return found


class Surface(NamedTuple):
    """A function of two weights.

    ``script`` is Python code that sets J and grad; ``box`` is (left, bottom, right, top) of the
    part that is shown, with ``equal`` units on both axes or not; ``curvature`` the largest of a
    quadratic function, 0 of others.
    """

    title: str
    J: Callable[[Any], Any]
    grad: Callable[[Any], Any]
    script: str
    box: tuple[float, float, float, float]
    axes: tuple[str, str] = ("x", "y")
    equal: bool = True
    curvature: float = 0.0
    maximize: bool = False


def _formula(title: str, J: str, grad: str, box: tuple[float, float, float, float],
             curvature: float = 0.0) -> Surface:  # fmt: skip
    """Return the surface of Python expressions in w, which its script shows as well."""
    J, grad = f"lambda w: {J}", f"lambda w: {grad}"
    script = f"J = {J}\ngrad = {grad}\n"
    return Surface(title, eval(J), eval(grad), script, box, curvature=curvature)


FORMULAS = {
    "bowl": _formula(
        "x² + y²", "w[0] ** 2 + w[1] ** 2", "(2 * w[0], 2 * w[1])", (-3.0, -2.2, 3.0, 2.2), 2.0
    ),
    "valley": _formula(
        "x² + 10 y²", "w[0] ** 2 + 10 * w[1] ** 2", "(2 * w[0], 20 * w[1])",
        (-3.0, -2.2, 3.0, 2.2), 20.0,
    ),
    "two-minima": _formula(
        "(x² − 1)² + y² + x/4", "(w[0] ** 2 - 1) ** 2 + w[1] ** 2 + w[0] / 4",
        "(4 * w[0] * (w[0] ** 2 - 1) + 0.25, 2 * w[1])", (-2.4, -1.8, 2.4, 1.8),
    ),
    "bend": _formula(
        "(1 − x)² + 10 (y − x²)²", "(1 - w[0]) ** 2 + 10 * (w[1] - w[0] ** 2) ** 2",
        "(-2 * (1 - w[0]) - 40 * w[0] * (w[1] - w[0] ** 2), 20 * (w[1] - w[0] ** 2))",
        (-2.4, -1.0, 2.4, 3.0),
    ),
}  # fmt: skip


def surface_of(scene: Scene) -> Surface:
    """Return the surface of a scene: a formula, or an error of its points."""
    if scene["surface"] in FORMULAS:
        return FORMULAS[scene["surface"]]
    return _of_points(scene["surface"], scene.points, scene["from"])


@lru_cache(maxsize=4)
def _of_points(name: str, points: Any, start: tuple[float, float]) -> Surface:
    """Return the residual sum of squares of a line, or the log-likelihood of a curve."""
    x = np.array([[point[0]] for point in points], float).reshape(-1, 1)
    if len(np.unique(x)) < 2:
        raise DataError("Place points at two or more x-values.", code="too-few-rows")
    X = f"X = [{', '.join(f'[{plain_number(point[0])}]' for point in points)}]\n"
    if name == "squared-error":
        y = np.array([point[1] for point in points])
        code = (
            f"{X}y = [{', '.join(map(plain_number, y))}]\nJ, grad = descent.squared_error(X, y)\n"
        )
        J, grad = descent.squared_error(x, y)
        Z = np.column_stack([np.ones(len(x)), x])
        bent = 2 * Z.T @ Z
        lowest = np.linalg.lstsq(Z, y, rcond=None)[0]
        curvature = float(np.linalg.eigvalsh(bent)[-1])
        reach = np.sqrt(2 * max(J(np.array(start)) - J(lowest), 1e-12) * np.diag(_inverse(bent)))
        title, maximize = "squared error of a line", False
    else:
        codes = [point[2] for point in points]
        code = f"{X}y = {codes!r}\nJ, grad = descent.log_likelihood(X, y)\n"
        b, w = firth_of(x.tolist(), codes)
        J, grad = descent.log_likelihood(x, codes)
        lowest, curvature = np.array([b, w]), 0.0
        Z = np.column_stack([np.ones(len(x)), x])
        p = 1 / (1 + np.exp(-np.clip(Z @ lowest, -500, 500)))
        spread = 3 * np.sqrt(np.diag(_inverse(Z.T @ (Z * (p * (1 - p))[:, None]))))
        reach = np.abs(np.array(start) - lowest) + spread
        title, maximize = "log-likelihood of a curve", True
    left, bottom = (lowest - 1.2 * reach).tolist()
    right, top = (lowest + 1.2 * reach).tolist()
    return Surface(
        title, J, grad, code, (left, bottom, right, top), ("intercept", "slope"), False,
        curvature, maximize,
    )  # fmt: skip


def _inverse(matrix: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        raise DataError(
            "These points are too close together to draw the surface.", code="undefined"
        ) from None


def descent_of(scene: Scene) -> dict[str, Any]:
    """Return the path of a descent, by ``minimize``, with the contours of its surface."""
    surface = surface_of(scene)
    run = descent.minimize(
        surface.J, scene["from"], surface.grad, learning_rate=scene["eta"],
        schedule=scene["schedule"], maximize=surface.maximize,
        max_iter=min(MOST_DESCENT_STEPS, scene["rounds"]),
    )  # fmt: skip
    assert run.path is not None
    assert run.values is not None
    assert run.rates is not None
    steps = np.diff(run.path, axis=0)
    turned = int((np.einsum("kj,kj->k", steps[1:], steps[:-1]) < 0).sum())
    lengths = [*np.hypot(*steps.T).tolist(), None]
    n = run.n_iter
    numbers = [["steps", f"{n:,}"], ["steps that reversed direction", f"{turned:,}"],
               *([axis, three_digits(float(x))]
                 for axis, x in zip(surface.axes, run.x, strict=True)),
               ["J", three_digits(run.value)]]  # fmt: skip
    if surface.curvature:
        numbers += [["largest curvature λ", three_digits(surface.curvature)],
                    ["rates that converge: below 2/λ",
                     three_digits(2 / surface.curvature)]]  # fmt: skip
    return {
        "kind": "descent",
        "box": list(surface.box), "equal": surface.equal, "axes": list(surface.axes),
        "contours": contours(surface.J, surface.box, surface.equal),
        "up": surface.maximize, "rates": run.rates.tolist(),
        "goal": f"the {'highest' if surface.maximize else 'lowest'} point of {surface.title}",
        "title": f"{surface.title}: {_word(run, turned)}",
        "sentences": _sentences_of_descent(run, turned, surface.curvature),
        "numbers": numbers,
        "columns": ["step", *surface.axes, "J", "length of the next step"],
        "rows": [
            [k, *map(float, run.path[k]), float(run.values[k]),
             "" if lengths[k] is None else lengths[k]]
            for k in range(n + 1)
        ],
    }  # fmt: skip


def _word(run: descent.Descent, turned: int) -> str:
    """Return how a descent went, in a word or two."""
    zigzags = 2 * turned > run.n_iter
    if run.reason == "converged":
        return f"{'zig-zags' if zigzags else 'converges'} in {run.n_iter:,} steps"
    if run.reason == "max_iter":
        return "zig-zags" if zigzags else "is slow"
    return {"cycle": "cycles", "diverged": "diverges"}[run.reason]


def _sentences_of_descent(run: descent.Descent, turned: int, curvature: float) -> list[str]:
    told = run.sentence.replace("tol=1e-06", "10⁻⁶").partition(", or let it fall")[0]
    said = [f"{told[:1].upper()}{told[1:]}."]
    if run.reason == "diverged":
        assert run.rates is not None
        below = f": rates below 2/λ = {three_digits(2 / curvature)} converge" if curvature else ""
        said = [
            f"It diverges: the steps grow, and after {run.n_iter:,} of them J is "
            f"{three_digits(run.value)}. The learning rate {three_digits(float(run.rates[-1]))} is "
            f"too large{below}."
        ]
    if run.converged and 2 * turned > run.n_iter:
        said.append(
            f"{turned} of {run.n_iter} steps reversed direction: the rate is almost too large "
            "across the valley, and too small along it."
        )
    return said


@lru_cache(maxsize=8)
def contours(J: Any, box: tuple[float, float, float, float], equal: bool) -> list[list[float]]:
    """Return contour lines as lists of x, y, x, y, ...; twice as far as the box if units are equal.

    The levels divide the box into equal areas, so flat parts have lines as well.
    """
    from contourpy import contour_generator

    left, bottom, right, top = box
    more = 0.5 if equal else 0.0
    xs, ys = (np.linspace(low - more * (high - low), high + more * (high - low), SITES)
              for low, high in ((left, right), (bottom, top)))  # fmt: skip
    with np.errstate(all="ignore"):
        z = np.array([[float(J(np.array([x, y]))) for x in xs] for y in ys])
    shown = z[np.ix_((ys >= bottom) & (ys <= top), (xs >= left) & (xs <= right))]
    levels = np.unique(np.quantile(shown, np.linspace(0.01, 0.99, LEVELS)))
    made = contour_generator(xs, ys, z)
    # To a thousandth of the picture, which keeps the message small.
    units = np.exp2(np.round(np.log2([(right - left) / 2000, (top - bottom) / 2000])))
    return [(np.round(np.asarray(line) / units) * units).ravel().tolist()
            for level in levels for line in made.lines(level)]  # fmt: skip


def script_of_descent(scene: Scene) -> str:
    """Return a script that prints the path of the descent."""
    surface = surface_of(scene)
    start, eta = ", ".join(map(plain_number, scene["from"])), plain_number(scene["eta"])
    more = f", schedule={scene['schedule']!r}" if scene["schedule"] != "constant" else ""
    more += ", maximize=True" if surface.maximize else ""
    return (
        f"from linsep import descent\n\n{surface.script}"
        f"run = descent.minimize(J, [{start}], grad, learning_rate={eta}{more}, "
        f"max_iter={min(MOST_DESCENT_STEPS, scene['rounds'])})\nprint(run)\nprint(run.path)\n"
    )

"""The rooms without a run: least squares, logistic curve, naive Bayes and gradient descent.

A fit is laid out as the page shows it: numbers, sentences, a table, and what is drawn.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

import linsep
from linsep.errors import DataError
from linsep.escaping import csv_text
from linsep.lab.bayes import bayes_of, script_of_bayes
from linsep.lab.fields import plain
from linsep.lab.scene import Scene
from linsep.lab.surfaces import descent_of, script_of_descent
from linsep.teaching.textbook import logistic
from linsep.teaching.trace.table import exact, latex, markdown, short

#: most Newton steps of a logistic fit, and of a runaway coefficient that are shown
MOST_STEPS, RUNAWAY_STEPS = 60, 6


def fit_of(scene: Scene) -> dict[str, Any]:
    """Return the fit of a scene's room; DataError if its points have none."""
    fits = {"line": line_of, "curve": curve_of, "bayes": bayes_of, "descent": descent_of}
    return fits[scene["room"]](scene)


def line_of(scene: Scene) -> dict[str, Any]:
    """Return the line of least squares with residuals, statistics and tests of its assumptions.

    The numbers are those of :class:`linsep.LinearRegression`.
    """
    x, y = scene.X.T
    if len(set(x.tolist())) < 2:
        raise DataError("Place points at two different places of the horizontal axis at least.")
    model = linsep.LinearRegression().fit(x[:, None], y)
    slope, intercept = float(model.coef_[0]), float(model.intercept_)
    fitted = intercept + slope * x
    header = {name: value for _, name, value in _header(model)}
    names = scene.features
    return {
        "kind": "line",
        "line": [intercept, slope],
        "title": f"{names[1]} = {short(intercept)} {'+' if slope >= 0 else '−'} "
        f"{short(abs(slope))} {names[0]}",
        "sentences": _sentences(header, len(x)),
        "numbers": [[name, short(float(value))] for name, value in header.items()
                    if np.isfinite(value)],
        "columns": ["point", names[0], names[1], "fitted", "residual"],
        "rows": [[k + 1, *map(float, row)] for k, row in
                 enumerate(zip(x, y, fitted, y - fitted, strict=True))],
        "assumptions": list(_assumptions(model, x, y)) if len(x) > 3 else [],
        "panels": _panels(model, x, y) if len(x) > 3 else [],
    }  # fmt: skip


def _header(model: Any) -> Iterator[tuple[str, str, float]]:
    """Yield the statistics of a fit that a first course knows."""
    known = {
        "correlation r": "r", "R^2": "R²", "residual sum of squares": "residual sum of squares",
        "residual standard error": "residual standard error", "covariance": "covariance",
    }  # fmt: skip
    for name, value in model.summary_.header:
        if name in known:
            yield name, known[name], value
    for one in model.summary_.coefficients:
        word = "intercept" if one.name == "intercept" else "slope"
        yield one.name, f"standard error of the {word}", one.standard_error


def _sentences(header: dict[str, float], n: int) -> list[str]:
    said = [
        "The line makes the sum of the squared residuals, the red sticks, as small as possible."
    ]
    if "R²" in header and np.isfinite(header["R²"]):
        said.append(f"It explains {100 * header['R²']:.1f} % of the variance of {n} points.")
    return said


def _assumptions(model: Any, x: np.ndarray, y: np.ndarray) -> Iterator[list[str]]:
    for found in model.assumptions(x[:, None], y).findings:
        if found.assumption in ("linearity", "equal variance", "normality", "independence"):
            p = "" if np.isnan(found.p_value) else f", p {probability_text(found.p_value)}"
            yield [found.assumption, f"{found.test}{p}: {found.conclusion}"]


def probability_text(p: float) -> str:
    """Return a p-value with its sign: "= 0.25" or "< 0.001"."""
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _panels(model: Any, x: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    """Return the residuals over the fitted values, and their quantiles beside the normal ones."""
    from scipy.special import ndtri

    found = model.assumptions(x[:, None], y)
    ordered = np.sort(found.standardized[np.isfinite(found.standardized)])
    normal = ndtri((np.arange(1, len(ordered) + 1) - 0.375) / (len(ordered) + 0.25))
    return [
        {"title": "Residuals", "x": "fitted", "line": [0.0, 0.0],
         "points": np.column_stack([found.fitted, found.residuals]).tolist()},
        {"title": "Quantiles", "x": "normal", "line": [0.0, 1.0],
         "points": np.column_stack([normal, ordered]).tolist()},
    ]  # fmt: skip


def curve_of(scene: Scene) -> dict[str, Any]:
    """Return the logistic curve over the horizontal axis, and Firth's beside it.

    Both are those of Newton's method in the textbook. Where the classes are separated the
    likelihood has no maximum: then the slopes of its first steps show how it runs away.
    """
    X, y = scene.X[:, :1].tolist(), scene.codes
    _check_curve(X, y)
    # Newton's method does not depend on units; floats do.
    centre, width = float(np.mean(X)), float(np.std(X)) or 1.0
    Z = [[(x - centre) / width] for (x,) in X]
    verdict: Any = linsep.separation(scene.X[:, :1], np.array(y))
    slopes = [slope / width for slope in _runaway(Z, y)]
    curves = [] if verdict.kind != "overlapping" else [_curve("likelihood", Z, y, False)]
    curves.append(_curve("Firth", Z, y, True))
    for curve in curves:
        b, w = curve["weights"]
        curve["weights"] = [b - w * centre / width, w / width]
    names = scene.class_names
    said = [f"The curve is the probability of class {names[1]}."]
    if verdict.kind == "overlapping":
        said.append("The classes overlap on this axis, so the likelihood has a maximum.")
    else:
        said += [
            f"The classes are {verdict.kind}: the likelihood has no maximum, and its slope runs "
            f"away. After 1, 2, ... Newton steps it is {', '.join(map(short, slopes))}, ...",
            "Firth's penalty keeps it finite.",
        ]
    return {
        "kind": "curve",
        "curves": curves,
        "title": f"P({names[1]}) = 1 / (1 + exp(−(b + w {scene.features[0]})))",
        "sentences": said,
        "numbers": [
            [f"{curve['name']}: {what}", short(value)]
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
        "assumptions": [], "panels": [],
    }  # fmt: skip


def firth_of(X: list[list[float]], y: list[int]) -> tuple[float, float]:
    """Return intercept and weight of Firth's curve; DataError if there is none."""
    _check_curve(X, y)
    centre, width = float(np.mean(X)), float(np.std(X)) or 1.0
    b, w = _curve("Firth", [[(x - centre) / width] for (x,) in X], y, True)["weights"]
    return b - w * centre / width, w / width


def _check_curve(X: list[list[float]], y: list[int]) -> None:
    if set(y) != {0, 1}:
        raise DataError("Place points of the first two classes: the curve is their probability.")
    if len({row[0] for row in X}) < 2:
        raise DataError("Place points at two different places of the horizontal axis at least.")


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
        "Newton's method does not find the curve of these points: move them apart, or add some."
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


def table_of(fit: dict[str, Any], form: str) -> str:
    """Return the table of a fit as CSV, Markdown or LaTeX."""
    head, rows = fit["columns"], fit["rows"]
    if form == "csv":
        return csv_text([head, *(_cells(row, exact) for row in rows)])
    lines = [head, *(_cells(row, short) for row in rows)]
    if form == "markdown":
        texts = ["| " + " | ".join(map(markdown, line)) + " |\n" for line in lines]
        return "".join([texts[0], "|" + " --: |" * len(head) + "\n", *texts[1:]])
    body = [" & ".join(map(latex, line)) + r" \\" for line in lines]
    kinds = "r" * len(head)
    return "\n".join([rf"\begin{{tabular}}{{{kinds}}}", *body, r"\end{tabular}"]) + "\n"


def _cells(row: list[Any], shown: Any) -> list[str]:
    return [value if isinstance(value, str) else shown(value) for value in row]


def script_of_fit(scene: Scene) -> str:
    """Return a script that prints the numbers of a room."""
    if scene["room"] in ("bayes", "descent"):
        return (script_of_bayes if scene["room"] == "bayes" else script_of_descent)(scene)
    xs = ", ".join(f"[{plain(x)}]" for x, _, _ in scene.points)
    if scene["room"] == "line":
        ys = ", ".join(plain(y) for _, y, _ in scene.points)
        return (
            f"from linsep import LinearRegression\n\nX = [{xs}]\ny = [{ys}]\n"
            "model = LinearRegression().fit(X, y)\nprint(model.summary_)\n"
            "print(model.assumptions(X, y))\n"
        )
    return (
        f"from linsep import LogisticRegression, separation\n\nX = [{xs}]\ny = {scene.codes!r}\n"
        "print(separation(X, y).kind)\n"
        'model = LogisticRegression(penalty="firth").fit(X, y)\n'
        "print(model.intercept_, model.coef_)\n"
    )

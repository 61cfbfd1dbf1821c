"""The modes without a run: least squares, naive Bayes, soft margins, and gradient descent.

A fit is laid out as the page shows it: numbers, sentences, a table, and what is drawn.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import linsep
from linsep.errors import DataError, SeparationWarning
from linsep.lab.numbers import three_digits
from linsep.lab.optimizing import curve_of, descent_of, script_of_descent
from linsep.lab.scene import Scene
from linsep.lab.settings import plain_number
from linsep.lab.soft_margin import script_of_soft, soft_of
from linsep.naive_bayes import GaussianNaiveBayes
from linsep.teaching import exact_number, latex_table, markdown_table, short_number
from linsep.words import csv_text

NEEDS = "Place points of at least two classes: each class becomes a Gaussian."


def fit_of(scene: Scene) -> dict[str, Any]:
    """Return the fit of a scene in its mode; DataError if the points allow no fit."""
    fits = {"line": line_of, "curve": curve_of, "bayes": bayes_of, "soft": soft_of,
            "descent": descent_of}  # fmt: skip
    return {"assumptions": [], "panels": []} | fits[scene["room"]](scene)


def line_of(scene: Scene) -> dict[str, Any]:
    """Return the line of least squares with residuals, statistics and tests of its assumptions.

    :class:`linsep.LinearRegression` computes the numbers.
    """
    x, y = scene.X.T
    if len(set(x.tolist())) < 2:
        raise DataError("Place points at two or more x-values.", code="too-few-rows")
    model = linsep.LinearRegression().fit(x[:, None], y)
    slope, intercept = float(model.coef_[0]), float(model.intercept_)
    fitted = intercept + slope * x
    header = {name: value for _, name, value in _header(model)}
    names = scene.features
    return {
        "kind": "line",
        "line": [intercept, slope],
        "title": f"{names[1]} = {three_digits(intercept)} {'+' if slope >= 0 else '−'} "
        f"{three_digits(abs(slope))} {names[0]}",
        "sentences": _sentences_of_line(header, len(x)),
        "numbers": [[name, three_digits(float(value))] for name, value in header.items()
                    if np.isfinite(value)],
        "columns": ["point", names[0], names[1], "fitted", "residual"],
        "rows": [[k + 1, *map(float, row)] for k, row in
                 enumerate(zip(x, y, fitted, y - fitted, strict=True))],
        "assumptions": list(_assumptions(model, x, y)) if len(x) > 3 else [],
        "panels": _panels(model, x, y) if len(x) > 3 else [],
    }  # fmt: skip


def _header(model: Any) -> Iterator[tuple[str, str, float]]:
    """Yield the statistics of a fit that first courses teach."""
    known = {
        "correlation r": "r", "R^2": "R²", "residual sum of squares": "residual sum of squares",
        "residual standard error": "residual standard error", "covariance": "covariance",
    }  # fmt: skip
    table = model.summary()
    for name, value in table.header:
        if name in known:
            yield name, known[name], value
    for one in table.coefficients:
        word = "intercept" if one.name == "intercept" else "slope"
        yield one.name, f"standard error of the {word}", one.standard_error


def _sentences_of_line(header: dict[str, float], n: int) -> list[str]:
    said = ["The line minimizes the sum of the squared residuals, the red lines."]
    if "R²" in header and np.isfinite(header["R²"]):
        said.append(f"It explains {100 * header['R²']:.1f}% of the variance of {n} points.")
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
    """Return residuals against fitted values, and their quantiles against normal quantiles."""
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


def table_of(fit: dict[str, Any], form: str) -> str:
    """Return the table of a fit as CSV, Markdown or LaTeX."""
    head, rows = fit["columns"], fit["rows"]
    if form == "csv":
        return csv_text([head, *(_cell_texts(row, exact_number) for row in rows)])
    lines = [head, *(_cell_texts(row, short_number) for row in rows)]
    to_the_right = [True] * len(head)
    if form == "markdown":
        return markdown_table(lines, to_the_right)
    return latex_table(lines, to_the_right, rule="")


def _cell_texts(row: list[Any], shown: Any) -> list[str]:
    return [value if isinstance(value, str) else shown(value) for value in row]


def script_of_fit(scene: Scene) -> str:
    """Return a script that prints the numbers of the fit."""
    scripts = {"bayes": script_of_bayes, "soft": script_of_soft, "descent": script_of_descent}
    if scene["room"] in scripts:
        return scripts[scene["room"]](scene)
    xs = ", ".join(f"[{plain_number(x)}]" for x, _, _ in scene.points)
    if scene["room"] == "line":
        ys = ", ".join(plain_number(y) for _, y, _ in scene.points)
        return (
            f"from linsep import LinearRegression\n\nX = [{xs}]\ny = [{ys}]\n"
            "model = LinearRegression().fit(X, y)\nprint(model.summary())\n"
            "print(model.assumptions(X, y))\n"
        )
    return (
        f"from linsep import LogisticRegression, separation\n\nX = [{xs}]\ny = {scene.codes!r}\n"
        "print(separation(X, y).kind)\n"
        'model = LogisticRegression(penalty="firth").fit(X, y)\n'
        "print(model.intercept_, model.coef_)\n"
    )


def bayes_of(scene: Scene) -> dict[str, Any]:
    """Return the Gaussians of all classes and the probabilities of the points.

    ``weights`` has an intercept and two weights per class: the logarithm of its probability, up to
    a number that all classes share. Standard deviations are shared, too, so the boundary of two
    classes is a line. :class:`linsep.GaussianNaiveBayes` computes the numbers.
    """
    present = sorted(set(scene.codes))
    if len(present) < 2:
        raise DataError(NEEDS, code="class-count")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SeparationWarning)
        model = GaussianNaiveBayes().fit(scene.X, np.array(scene.codes))
    apart = any(issubclass(one.category, SeparationWarning) for one in caught)
    implied = model.to_logistic(present[0])
    weights = np.column_stack([implied.intercept_, implied.coef_])
    names, axes = [scene.class_names[code] for code in present], scene.features
    probable = model.predict_proba(scene.X)
    wrong = np.flatnonzero(np.argmax(probable, axis=1) != np.searchsorted(present, scene.codes))
    deviations = np.sqrt(model.variances_)
    return {
        "kind": "bayes",
        "present": present,
        "weights": [[0.0, 0.0, 0.0], *weights.tolist()],
        "means": model.means_.tolist(),
        "deviations": deviations.tolist(),
        "wrong": wrong.tolist(),
        "title": _odds(names, weights[0].tolist(), axes) if len(names) == 2
        else "Each point is assigned to its most probable class",
        "sentences": _sentences_of_classes(len(wrong), len(scene.codes), apart),
        "numbers": [
            *([f"{name}: share", three_digits(float(share))]
              for name, share in zip(names, model.priors_, strict=True)),
            *([f"{name}: mean of {axis}", three_digits(float(mean))]
              for name, means in zip(names, model.means_, strict=True)
              for axis, mean in zip(axes, means, strict=True)),
            *([f"deviation of {axis}", three_digits(float(deviation))]
              for axis, deviation in zip(axes, deviations, strict=True)),
        ],
        "columns": ["point", *axes, "class", *(f"P({name})" for name in names)],
        "rows": [
            [k + 1, x, y, scene.class_names[code], *map(float, probable[k])]
            for k, (x, y, code) in enumerate(scene.points)
        ],
    }  # fmt: skip


def _odds(names: list[str], weights: list[float], axes: tuple[str, str]) -> str:
    """Return the logarithm of the odds as an equation."""
    b, *slopes = weights
    terms = [f"{'−' if w < 0 else '+'} {three_digits(abs(w))} {axis}"
             for w, axis in zip(slopes, axes, strict=True)]  # fmt: skip
    return f"ln P({names[1]})/P({names[0]}) = {three_digits(b)} {' '.join(terms)}".replace("-", "−")


def _sentences_of_classes(wrong: int, n: int, apart: bool) -> list[str]:
    said = [
        "Each class is a Gaussian with its own mean, the cross; the ellipses are one and two "
        "standard deviations wide. The model is naive: within a class the features are "
        "independent, so no ellipse is tilted.",
        "The classes share the standard deviations, so the boundary of two classes is a line.",
        f"{wrong} of {n} points {'is' if wrong == 1 else 'are'} more probable in another class.",
    ]
    if apart:
        said.append(
            "A feature has zero within-class variance; 1e-9 of the largest variance is used."
        )
    return said


def script_of_bayes(scene: Scene) -> str:
    """Return a script that prints the numbers of the fit."""
    X = ", ".join(f"[{plain_number(x)}, {plain_number(y)}]" for x, y, _ in scene.points)
    y = [scene.class_names[code] for code in scene.codes]
    return (
        f"from linsep import GaussianNaiveBayes\n\nX = [{X}]\ny = {y!r}\n"
        "model = GaussianNaiveBayes().fit(X, y)\n"
        "print(model.classes_, model.priors_, model.means_, model.variances_ ** 0.5)\n"
        "print(model.equation_)\nprint(model.predict_proba(X))\n"
    )

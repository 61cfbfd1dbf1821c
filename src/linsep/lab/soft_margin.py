"""The soft margin mode: support vectors, and the distance from the optimum, for any C."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import linsep
from linsep.errors import DataError
from linsep.lab.numbers import three_digits
from linsep.lab.scene import Scene
from linsep.lab.settings import plain_number
from linsep.words import counted

NEEDS = "Place points of two classes."


def soft_of(scene: Scene) -> dict[str, Any]:
    """Return the soft margin of the points of a scene, by :class:`linsep.SoftMargin`."""
    present = sorted(set(scene.codes))
    if len(present) != 2:
        raise DataError(NEEDS, code="class-count")
    codes = np.array(scene.codes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = linsep.SoftMargin(C=scene["cost"]).fit(scene.X, codes)
    signs = np.where(codes == present[1], 1.0, -1.0)
    sides = signs * model.decision_function(scene.X)
    order = model.support_[np.argsort(sides[model.support_], kind="stable")]
    inside = sorted(order[: int(model.n_bounded_[0])].tolist())
    on = sorted(set(order.tolist()) - set(inside))
    w, b = model.coef_[0], float(model.intercept_[0])
    length, loss = float(np.linalg.norm(w)), float(np.maximum(0.0, 1.0 - sides).sum())
    loss = loss if loss > 1e-9 else 0.0
    wrong = np.flatnonzero(model.predict(scene.X) != codes).tolist()
    dual = np.zeros(len(codes))
    dual[model.support_] = np.abs(model.dual_coef_[0])
    what = {k: "inside" for k in inside} | {k: "on the margin" for k in on}
    return {
        "kind": "soft",
        "present": present,
        "weights": [b, *map(float, w)],
        "on": on,
        "inside": inside,
        "wrong": wrong,
        "title": f"Margin {three_digits(1 / length)}" if length else "No line: w is 0",
        "sentences": _sentences(model, len(on), len(inside), len(wrong), loss),
        "numbers": [
            ["C", three_digits(float(scene["cost"]))],
            ["|w|² / 2", three_digits(length * length / 2)],
            ["sum of losses", three_digits(loss)],
            ["objective", three_digits(model.objective_)],
            ["lower bound", three_digits(model.lower_bound_)],
        ],
        "columns": ["point", *scene.features, "class", "score", "dual variable", "support"],
        "rows": [
            [k + 1, x, y, scene.class_names[code], float(signs[k] * sides[k]), float(dual[k]),
             what.get(k, "")]
            for k, (x, y, code) in enumerate(scene.points)
        ],
    }  # fmt: skip


def _sentences(model: Any, on: int, inside: int, wrong: int, loss: float) -> list[str]:
    gap = model.duality_gap_
    near = f"{gap:.0e}" if gap > 1e-9 else "a billionth"
    squares = f", and {inside:,} inside or beyond them (square)" if inside else ""
    said = [
        f"{counted(on, 'point')} on the dashed lines (ring){squares}: only these support vectors "
        "determine the line. Moving another point a little changes nothing.",
        f"The dual variables in the table prove that no line has an objective smaller by more than "
        f"{near} of its value.",
    ]
    if loss == 0.0:
        said.append("No point has a loss: this is the hard margin, the widest possible, and a "
                    "larger C changes nothing.")  # fmt: skip
    else:
        said.append(
            f"{counted(wrong, 'point')} on the wrong side. A larger C allows less loss and gives a "
            "narrower margin; a smaller C does the opposite."
        )
    return said


def script_of_soft(scene: Scene) -> str:
    """Return a script that prints the numbers of the fit."""
    points = ", ".join(f"[{plain_number(x)}, {plain_number(y)}]" for x, y, _ in scene.points)
    return (
        f"from linsep import SoftMargin\n\nX = [{points}]\ny = {scene.codes!r}\n"
        f"model = SoftMargin(C={plain_number(scene['cost'])}).fit(X, y)\n"
        "print(model.intercept_, model.coef_, model.support_)\n"
        "print(model.objective_, model.lower_bound_, model.stop_sentence_)\n"
    )

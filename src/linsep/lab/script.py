"""A scene as a Python script that prints the numbers of the page."""

from typing import Any

from linsep.lab.fields import plain
from linsep.lab.learners import Arguments, arguments_of
from linsep.lab.run import labels_of
from linsep.lab.scene import Scene

DEFAULTS = {"learning_rate": 1.0, "schedule": "constant", "fit_intercept": True, "gamma": "auto"}


def script_of(scene: Scene) -> str:
    """Return a script that learns the scene and prints the table of its rounds."""
    called = arguments_of(scene)
    y, reference = labels_of(scene)
    kernel = called.estimator == "KernelPerceptron"
    points = ", ".join(f"({plain(a)}, {plain(b)})" for a, b, _ in scene.points)
    lines = [
        f"from linsep import {called.estimator}, separation" + ", trace" * (not kernel),
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
    chosen: dict[str, Any] = {
        name: value for name, value in called.parameters.items() if DEFAULTS.get(name) != value
    }
    arguments = ", ".join(f"{name}={value!r}" for name, value in chosen.items())
    return f"{called.estimator}({arguments})"

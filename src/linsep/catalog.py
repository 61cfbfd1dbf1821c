"""All estimators by their names on the command line, each imported when it is looked up."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import linsep


@cache
def entries(group: str) -> dict[str, Any]:
    """Return the entry points of other packages in a group, by their names."""
    from importlib.metadata import entry_points  # reads the metadata of all packages

    return {one.name: one for one in entry_points(group=group)}


class Named(Mapping[str, Any]):
    """Estimators by name, given with the names of their classes; and ``more`` of other packages."""

    def __init__(self, classes: dict[str, str], more: bool = False):
        self.classes, self._more = classes, more

    def __getitem__(self, name: str) -> Any:
        if name in self.classes:
            return getattr(linsep, self.classes[name])
        return self._others()[name].load()

    def __iter__(self) -> Iterator[str]:
        return iter({**self.classes, **self._others()})

    def __len__(self) -> int:
        return len({*self})

    def _others(self) -> dict[str, Any]:
        return entries("linsep.learners") if self._more else {}


LINEAR_CLASSES = {
    "perceptron": "Perceptron",
    "margin": "MarginPerceptron",
    "winnow": "Winnow",
    "balanced-winnow": "BalancedWinnow",
    "pa": "PassiveAggressive",
    "arow": "AROW",
    "scw": "SCW",
    "online-logistic": "OnlineLogistic",
}
LEARNER_CLASSES = LINEAR_CLASSES | {"kernel": "KernelPerceptron"}
MARGIN_CLASSES = {"soft-margin": "SoftMargin", "kernel-soft-margin": "KernelSoftMargin"}
REGRESSION_CLASSES = {
    "linear": "LinearRegression",
    "logistic": "LogisticRegression",
    "naive-bayes": "GaussianNaiveBayes",
}

#: those with a weight for every feature, which have a plain-Python twin, and mistake bounds
LINEAR = Named(LINEAR_CLASSES)
LEARNERS = Named(LEARNER_CLASSES, more=True)
#: statistical models, fitted without passes and mistakes
REGRESSIONS = Named(REGRESSION_CLASSES)
#: what makes no passes of an online learner; support vector machines are solved, too
WITHOUT_PASSES = Named(MARGIN_CLASSES | REGRESSION_CLASSES)
ESTIMATORS = Named(LEARNER_CLASSES | MARGIN_CLASSES | REGRESSION_CLASSES, more=True)
#: Defaults of learners in passes on files. Files may be large, and most data are not separable:
#: ten passes, not a thousand. If classes overlap, the last weights depend on the last few rows;
#: averaged weights do not.
USUAL: dict[str, Any] = {"max_iter": 10, "keep": "average"}
#: the default learner, and the default learner of text and of wide sparse rows
USUAL_LEARNER, OF_TEXT = "perceptron", "arow"
#: names of all classes
CLASSES = tuple(ESTIMATORS.classes.values())


def class_named(name: str) -> Any:
    if name in CLASSES:
        return getattr(linsep, name)
    others = entries("linsep.learners").values()
    return next((one.load() for one in others if one.attr == name), None)


def is_regression(model: Any) -> bool:
    return type(model).__name__ in REGRESSION_CLASSES.values()


def is_margin(model: Any) -> bool:
    return type(model).__name__ in MARGIN_CLASSES.values()


def is_scaled(name: str) -> bool:
    """Return whether commands scale columns by default for the estimator of this name.

    They do not if it accepts no negative values, or if its estimates are in units of the columns.
    """
    return name not in REGRESSIONS and not getattr(ESTIMATORS[name], "positive_only", False)

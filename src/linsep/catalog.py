"""All estimators by their names on the command line, each imported when it is looked up."""

import ast
from collections import ChainMap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import linsep


def _learners() -> Iterator[str]:
    """Yield the learners that the package's stub makes public, in its order."""
    stub = Path(__file__).with_name("__init__.pyi").read_text("utf-8")
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("learners."):
            yield from (alias.name for alias in node.names)


def _any(kind: Any) -> bool:
    return True


def _has_weights(kind: Any) -> bool:
    from linsep.learners.classifier import LinearClassifier  # which every learner has imported

    return issubclass(kind, LinearClassifier)


class Learners(Mapping[str, Any]):
    """Learners of one kind, by name.

    Each learner defines its own name, so looking one up also imports the learners before it.
    """

    def __init__(self, wanted: Any = _any):
        self._wanted = wanted

    def _kinds(self) -> Iterator[Any]:
        return filter(self._wanted, (getattr(linsep, name) for name in LEARNER_CLASSES))

    def __getitem__(self, name: str) -> Any:
        for kind in self._kinds():
            if kind.command_name == name:
                return kind
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (kind.command_name for kind in self._kinds())

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Named(Mapping[str, Any]):
    """Estimators by name, given with the names of their classes."""

    def __init__(self, classes: dict[str, str]):
        self.classes = classes

    def __getitem__(self, name: str) -> Any:
        return getattr(linsep, self.classes[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.classes)

    def __len__(self) -> int:
        return len(self.classes)


LEARNER_CLASSES = tuple(_learners())
MARGIN_CLASSES = {"soft-margin": "SoftMargin", "kernel-soft-margin": "KernelSoftMargin"}
REGRESSION_CLASSES = {
    "linear": "LinearRegression",
    "logistic": "LogisticRegression",
    "naive-bayes": "GaussianNaiveBayes",
}
#: names of all classes
CLASSES = (*LEARNER_CLASSES, *MARGIN_CLASSES.values(), *REGRESSION_CLASSES.values())

LEARNERS = Learners()
#: those with a weight for every feature, which have a plain-Python twin, and mistake bounds
LINEAR = Learners(_has_weights)
#: statistical models, fitted without passes and mistakes
REGRESSIONS = Named(REGRESSION_CLASSES)
#: support vector machines, solved without passes and mistakes, too
MARGINS = Named(MARGIN_CLASSES)
#: what makes no passes of an online learner
WITHOUT_PASSES: Mapping[str, Any] = ChainMap(REGRESSIONS, MARGINS)  # type: ignore[arg-type]
#: all, learners first; a name is looked up in the first map first, which imports least
ESTIMATORS: Mapping[str, Any] = ChainMap(REGRESSIONS, MARGINS, LEARNERS)  # type: ignore[arg-type]


def class_named(name: str) -> Any:
    """Return the estimator whose class has this name, or None."""
    return getattr(linsep, name) if name in CLASSES else None


def is_regression(model: Any) -> bool:
    """Return whether a model, or its class, is a regression, rather than an online learner."""
    kind = model if isinstance(model, type) else type(model)
    return kind.__name__ in REGRESSION_CLASSES.values()


def is_margin(model: Any) -> bool:
    """Return whether a model, or its class, is a soft margin."""
    kind = model if isinstance(model, type) else type(model)
    return kind.__name__ in MARGIN_CLASSES.values()


def is_scaled(name: str) -> bool:
    """Return whether commands scale columns by default for the estimator of this name.

    They do not if it accepts no negative values, or if its estimates are in units of the columns.
    """
    return name not in REGRESSIONS and not getattr(ESTIMATORS[name], "positive_only", False)

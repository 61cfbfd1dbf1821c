"""All estimators by their names on the command line."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from linsep.learners.classifier import LinearClassifier, OnlineClassifier
from linsep.linear.estimator import LinearRegression
from linsep.logistic.estimator import LogisticRegression
from linsep.naive_bayes import GaussianNaiveBayes


def _learners() -> Iterator[type[OnlineClassifier]]:
    """Yield the learners that the stub of the package makes public, in its order."""
    stub = Path(__file__).with_name("__init__.pyi").read_text("utf-8")
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("learners."):
            module = import_module(f"{__package__}.{node.module}")
            yield from (getattr(module, alias.name) for alias in node.names)


LEARNERS: dict[str, type[OnlineClassifier]] = {one.command_name: one for one in _learners()}
#: those with a weight for every feature, which have a plain-Python twin, and mistake bounds
LINEAR: dict[str, type[LinearClassifier]] = {
    name: kind for name, kind in LEARNERS.items() if issubclass(kind, LinearClassifier)
}
#: statistical models, fitted without passes and mistakes
REGRESSIONS: dict[str, type[Any]] = {
    "linear": LinearRegression,
    "logistic": LogisticRegression,
    "naive-bayes": GaussianNaiveBayes,
}
#: learners for which commands do not scale columns by default: they take no negative values, or
#: their estimates are in the units of the columns
UNSCALED = (*(name for name, kind in LEARNERS.items() if kind.positive_only), *REGRESSIONS)

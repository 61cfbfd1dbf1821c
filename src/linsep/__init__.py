"""Linear classifiers and regressions that prove what they say and read files larger than memory.

- ``linsep.describe(data)`` shows what files or a data frame contain, and which command comes next;
  ``linsep.fit(data, target=..., learner=...)`` trains a model as the command ``linsep fit`` does,
  and ``linsep.score(model, data)`` evaluates its predictions, with baselines and confidence
  intervals.
- ``tune`` compares models and trains the best; ``inspect``, ``explain`` and ``effects`` show what a
  model learned, and its method ``report()`` what ``linsep fit`` prints.
- Estimators, as in scikit-learn: Perceptron, MarginPerceptron, Winnow, BalancedWinnow,
  PassiveAggressive, AROW, SCW, OnlineLogistic, KernelPerceptron, SoftMargin, KernelSoftMargin,
  LinearRegression, LogisticRegression, GaussianNaiveBayes.
- ``separation(X, y)`` decides whether a hyperplane separates classes, with a proof; ``bounds``
  bounds the number of mistakes before training; ``trace`` shows every step of a small run.
- ``save``, ``load`` and ``export`` write and read models; ``open_source`` opens files of any size.

``dir(linsep)`` lists all names; ``help(linsep.fit)`` describes one of them.
"""

import sys
from typing import Any

import lazy_loader

__version__ = "0.1.0"

#: The tools that methods of the core use, by what they do, each loaded when it is first used. This
#: is the only place that joins them, so that the core names none of its tools: without an entry,
#: such a method raises an error, and nothing else changes.
TOOLS = {
    "picture": "linsep.plot",
    "page": "linsep.lab:page_of_trace",
    "report": "linsep.cli.report:report",
    "frame": "linsep.estimators.frames:with_features",
}

# The names and their modules are in __init__.pyi.
_load, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name != "__all__":
        return _load(name)
    # help(linsep) would import all public names and print the help of each, 7,000 lines.
    if sys._getframe(1).f_globals.get("__name__") == "pydoc":
        raise AttributeError(name)
    return _names

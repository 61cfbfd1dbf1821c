"""The option ``--init-weights``: weights that a learner starts from."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from linsep.cli.options import TRACEABLE
from linsep.errors import DataError
from linsep.estimators._common.checking import InitialShape
from linsep.sources.base import Source


class InitialWeights:
    """Initial weights for two classes, checked before and while they are used.

    Parameters
    ----------
    numbers : list of float, the intercept first if one is learnt; or None
    learner : str, its name on the command line
    estimator : the learner
    source : the data

    Attributes
    ----------
    arguments : dict
        ``coef_init`` and ``intercept_init``; empty without numbers.
    """

    def __init__(self, numbers: list[float] | None, learner: str, estimator: Any, source: Source):
        self.arguments: dict[str, list[float]] = {}
        if numbers is None:
            return
        if learner not in TRACEABLE:
            raise typer.BadParameter(
                f"--init-weights is for --learner {' or '.join(TRACEABLE)}, not {learner}."
            )
        if learner == "winnow" and min(numbers) <= 0:
            raise typer.BadParameter("--init-weights must be numbers above 0 for Winnow.")
        if getattr(estimator, "gamma", None) == "auto":
            raise typer.BadParameter("--init-weights needs a --gamma that is given, not 'auto'.")
        self._source, self._count = source.name, len(numbers)
        # That of Winnow is minus its threshold.
        self._intercept = int(learner != "winnow" and bool(estimator.fit_intercept))
        if len(numbers) == self._intercept:
            raise typer.BadParameter(
                "--init-weights needs a number for each feature, after that of the intercept."
            )
        self.arguments = {"coef_init": numbers[self._intercept :]}
        if self._intercept:
            self.arguments["intercept_init"] = numbers[:1]

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Say of numbers that do not fit the data how many they need, in a DataError."""
        try:
            yield
        except InitialShape as problem:
            columns, features = problem.needed
            if columns > 1:
                raise DataError(
                    f"--init-weights is for two classes, and {self._source} has more."
                ) from None
            raise self._wrong_count(features) from None

    def check_width(self, n_features: int) -> None:
        """Raise DataError if the data have more features than there are weights."""
        if self.arguments and n_features > len(self.arguments["coef_init"]):
            raise self._wrong_count(n_features)

    def _wrong_count(self, n_features: int) -> DataError:
        need, first = n_features + self._intercept, "the intercept, then " * self._intercept
        return DataError(
            f"{self._source} needs {need} numbers for --init-weights ({first}one for each of "
            f"{n_features} features), and {self._count} are given."
        )

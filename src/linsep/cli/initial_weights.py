"""The option ``--init-weights``: weights that a learner starts from."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from linsep.cli.options import TRACEABLE
from linsep.cli.screen import count
from linsep.errors import DataError
from linsep.estimators._common.checking import InitialShape
from linsep.sources.base import Source


class InitialWeights:
    """Initial weights, checked before and while they are used.

    Parameters
    ----------
    vectors : list of lists of float, one for two classes, else one for each class or pair; the
        intercept is the first of a list if one is learnt. Or None.
    learner : str, its name on the command line
    estimator : the learner
    source : the data

    Attributes
    ----------
    arguments : dict
        ``coef_init`` and ``intercept_init``; empty without numbers.
    """

    def __init__(
        self, vectors: list[list[float]] | None, learner: str, estimator: Any, source: Source
    ):
        self.arguments: dict[str, Any] = {}
        if vectors is None:
            return
        if learner not in TRACEABLE:
            raise typer.BadParameter(
                f"--init-weights is for --learner {' or '.join(TRACEABLE)}, not {learner}."
            )
        if learner == "winnow" and min(map(min, vectors)) <= 0:
            raise typer.BadParameter("--init-weights must be numbers above 0 for Winnow.")
        if getattr(estimator, "gamma", None) == "auto":
            raise typer.BadParameter("--init-weights needs a --gamma that is given, not 'auto'.")
        self._source, self._vectors, self._count = source.name, len(vectors), len(vectors[0])
        self._whose = "pair of classes" if estimator.multiclass == "ovo" else "class"
        # That of Winnow is minus its threshold.
        self._intercept = int(learner != "winnow" and bool(estimator.fit_intercept))
        if self._count == self._intercept:
            raise typer.BadParameter(
                "--init-weights needs a number for each feature, after that of the intercept."
            )
        self.arguments = {"coef_init": [vector[self._intercept :] for vector in vectors]}
        if self._intercept:
            self.arguments["intercept_init"] = [vector[0] for vector in vectors]

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Say of numbers that do not fit the data how many they need, in a DataError."""
        try:
            yield
        except InitialShape as problem:
            columns, features = problem.needed
            if columns != self._vectors:
                one = f"one for each {self._whose}" if columns > 1 else "it has two classes"
                raise DataError(
                    f"{self._source} needs {count(columns, 'list')} of numbers for --init-weights, "
                    f"with ; between them ({one}), and {self._vectors} "
                    f"{'is' if self._vectors == 1 else 'are'} given."
                ) from None
            raise self._wrong_count(features) from None

    def check_width(self, n_features: int) -> None:
        """Raise DataError if the data have more features than there are weights."""
        if self.arguments and n_features > self._count - self._intercept:
            raise self._wrong_count(n_features)

    def _wrong_count(self, n_features: int) -> DataError:
        need, first = n_features + self._intercept, "the intercept, then " * self._intercept
        return DataError(
            f"{self._source} needs {need} numbers for --init-weights ({first}one for each of "
            f"{n_features} features), and {self._count} are given."
        )

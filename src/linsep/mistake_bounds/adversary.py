"""The adversary that makes Novikoff's bound tight for every deterministic learner."""

from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from linsep.errors import ArgumentError, ParameterError


class Adversary:
    """An adversary that presents the unit vectors e_1, ..., e_m and contradicts every prediction.

    With m = 1 / gamma^2, the weights gamma * y separate the rows with margin gamma, whatever the
    labels y. So Novikoff's bound cannot be improved (A. Blum, Machine Learning Theory, 15-859B,
    lecture 4, 2014).

    Parameters
    ----------
    gamma : float in (0, 1]
        1 / gamma^2 must be a whole number: 1, 1/2, 1/10, 0.1 ** 0.5, ...; else ValueError.

    Attributes
    ----------
    n_rows, y : int, and array of shape (n_rows,)
        1 / gamma^2; the labels of the last game, -1 or 1, or zeros before the first.

    Examples
    --------
    >>> from linsep import Adversary, Perceptron
    >>> game = Adversary(1 / 6)
    >>> game.run(Perceptron(fit_intercept=False))
    36
    """

    def __init__(self, gamma: float) -> None:
        sized = isinstance(gamma, int | float) and 1e-4 <= gamma <= 1
        self.n_rows = rows = round(1 / gamma**2) if sized else 0
        if not sized or abs(1 / gamma**2 - rows) > 1e-9 * rows:
            why = f"gamma is {gamma!r}: it must be from 0.0001 to 1, and 1 / gamma^2 whole."
            raise ParameterError(why, option="gamma", value=gamma)
        self.gamma, self.y = float(gamma), np.zeros(rows, dtype=int)

    @property
    def X(self) -> np.ndarray:
        """The rows, in their order: an array of shape (n_rows, n_rows)."""
        return np.eye(self.n_rows)

    @property
    def separator(self) -> np.ndarray:
        """Weights of length 1 that separate the rows of the last game with margin gamma."""
        return self.gamma * self.y

    def run(self, estimator: Any) -> int:
        """Play against an estimator, which is updated with each row before it sees the next.

        Parameters
        ----------
        estimator : any classifier with ``partial_fit`` and ``predict``, else TypeError
            Unfitted (the first row, of label 1, then counts as a mistake), or fitted to labels -1
            and 1 and n_rows features.

        Returns
        -------
        int
            The number of mistakes, n_rows: every prediction is contradicted.
        """
        if not (hasattr(estimator, "partial_fit") and hasattr(estimator, "predict")):
            raise ArgumentError(f"A {type(estimator).__name__} does not learn row by row.")
        self.y = np.zeros(self.n_rows, dtype=int)
        for i in range(self.n_rows):
            row, predicted = np.eye(1, self.n_rows, i), 0
            with suppress(NotFittedError):
                predicted = int(estimator.predict(row)[0])
            self.y[i] = -1 if predicted == 1 else 1
            estimator.partial_fit(row, self.y[i : i + 1], classes=np.array([-1, 1]))
        return self.n_rows

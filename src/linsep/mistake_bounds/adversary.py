"""The adversary that makes Novikoff's bound tight for every deterministic learner."""

from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from linsep.errors import ArgumentError, ParameterError


class Adversary:
    """An adversary that presents the unit vectors e_1, ..., e_m and contradicts every prediction.

    With m = 1 / gamma^2, the weights gamma * y separate the rows with margin gamma, whatever the
    labels y. So every deterministic learner makes 1 / gamma^2 mistakes, and Novikoff's bound cannot
    be improved (A. Blum, Machine Learning Theory, 15-859B, lecture 4, 2014).

    Parameters
    ----------
    gamma : float in (0, 1]
        1 / gamma^2 must be a whole number: 1, 1/2, 1/10, 0.1 ** 0.5, ...; else ValueError.

    Attributes
    ----------
    n_rows : int
        1 / gamma^2.
    y : array of shape (n_rows,)
        The labels of the last game, -1 or 1; zeros before the first.

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
            raise ParameterError(
                f"gamma is {gamma!r}, but must be a margin from 0.0001 to 1 for which "
                f"1 / gamma^2 is a whole number of rows.", option="gamma", value=gamma,
            )  # fmt: skip
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
            Unfitted, or fitted to labels -1 and 1 and n_rows features. For an unfitted estimator,
            the first row has label 1 and is counted as a mistake.

        Returns
        -------
        int
            The number of mistakes: n_rows for a deterministic learner.
        """
        if not (hasattr(estimator, "partial_fit") and hasattr(estimator, "predict")):
            raise ArgumentError(
                f"A {type(estimator).__name__} has no partial_fit or no predict: the adversary "
                f"needs a learner that is trained row by row."
            )
        self.y, mistakes = np.zeros(self.n_rows, dtype=int), 0
        for i in range(self.n_rows):
            row, predicted = np.eye(1, self.n_rows, i), 0
            with suppress(NotFittedError):
                predicted = int(estimator.predict(row)[0])
            self.y[i] = -1 if predicted == 1 else 1
            mistakes += int(predicted != self.y[i])
            estimator.partial_fit(row, self.y[i : i + 1], classes=np.array([-1, 1]))
        return mistakes

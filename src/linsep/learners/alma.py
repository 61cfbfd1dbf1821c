"""The approximate maximal margin algorithm as a scikit-learn estimator."""

from typing import Any, ClassVar

import numpy as np

from linsep.compiled.rows import Csr, Dense, Unit, values_of
from linsep.compiled.rules.alma import SMALLEST, ALMARule
from linsep.learners.classifier import LinearClassifier
from linsep.learners.state import ELAPSED, FACTORS, SINCE, TOO_LARGE, Learner, State
from linsep.parameters import Control, Demonstration, TwoSided, parameter


class ALMA(LinearClassifier):
    """The approximate maximal margin algorithm for Euclidean lengths, ALMA_2.

    Rows, with their constant feature, are scaled to length 1. Correction k is made if y <w, z> <=
    (1 - alpha) B / sqrt(k): w grows by C y z / sqrt(k), and is divided by its length if that
    exceeds 1. Steps and the required margin therefore decrease. On rows separable with margin g, at
    most (2 / g^2) (2 / alpha - 1)^2 + 8 / alpha - 4 corrections are made with the default B and C,
    and a pass without one leaves every row a margin of (1 - alpha) g, which need not be known.

    Every correction is counted as a mistake, even for a row on the right side. There is no joint
    rule for several classes: they are trained one against the rest, or in pairs.

    The other parameters and attributes are the same as for :class:`linsep.Perceptron`. The weight
    of a row multiplies its step. ``mistakes_`` counts corrections.

    Parameters
    ----------
    alpha : float in (0, 1], default=0.9
        Share of the margin that may be lost; with 1, only rows on the wrong side are corrected.
    B : float, default=None
        Factor of the required margin; None means sqrt(8) / alpha.
    C : float, default=None
        Factor of the step; None means sqrt(2).
    multiclass : {"ovr", "ovo"}, default="ovr"

    References
    ----------
    C. Gentile, A new approximate maximal margin classification algorithm, JMLR 2 (2001), theorem 3.

    Examples
    --------
    >>> from linsep import ALMA
    >>> X, y = [[1.0, 0.2], [0.8, -0.1], [-1.0, 0.1], [-0.7, -0.3]], [1, 1, 0, 0]
    >>> p = ALMA(fit_intercept=False).fit(X, y)
    >>> p.coef_.round(3).tolist(), p.mistakes_.tolist(), str(p.stop_reason_)
    ([[0.981, 0.196]], [1, 0], 'converged')
    """

    command_name = "alma"
    mixable = True
    scales_rows = True
    grid_example = "alpha=0.5,0.9"
    demonstrations = (
        Demonstration(
            name="alma", title="ALMA", controls=(Control(parameter="alpha", label="Alpha"),),
        ),
    )  # fmt: skip

    alpha: float = parameter(
        default=0.9, above=0.0, at_most=1.0, help="share of the margin that may be lost"
    )
    B: float | None = parameter(
        default=None, above=0.0, help="factor of the required margin; by default sqrt(8) / alpha"
    )
    C: float | None = parameter(
        default=None, above=0.0, help="factor of the step; by default sqrt(2)"
    )
    multiclass: TwoSided = parameter(
        default="ovr",
        help="strategy for more than two classes: each against the rest, or each pair",
    )
    normalize: ClassVar[bool] = False  # type: ignore[misc]  # the rule scales rows by itself

    def learner(self) -> Learner:
        """Return the learner with these parameters; raise ValueError if they are incompatible."""
        return ALMALearner(*self.constants())

    def constants(self) -> tuple[float, float, float]:
        """Return alpha, B and C."""
        alpha = float(self.alpha)
        B = 8**0.5 / alpha if self.B is None else float(self.B)
        return alpha, B, 2**0.5 if self.C is None else float(self.C)

    def twin(self) -> Any:
        """Return the rule of :mod:`linsep.textbook` with these parameters."""
        from linsep.teaching.textbook.alma import ALMA

        alpha, _, C = self.constants()
        return ALMA(alpha, None if self.B is None else float(self.B), C)

    def theorems(self, case: Any) -> list[Any]:
        """Return the bounds on corrections for separable rows, and for any rows."""
        from linsep.mistake_bounds.alma import (
            GENTILE,
            corrections_of_any,
            corrections_of_separable,
        )
        from linsep.mistake_bounds.bounding import Theorem
        from linsep.mistake_bounds.bounds import Unknown

        alpha, B, C = self.constants()

        def separable() -> float:
            if self.B is not None or self.C is not None:
                raise Unknown("it holds for the default B and C only")
            return corrections_of_separable(case.problems, alpha)

        def other() -> float:
            return corrections_of_any(case.problems, case.run.passes, alpha, B, C, case.weights)

        return [
            Theorem("ALMA", separable, "updates", GENTILE),
            Theorem("ALMA, any rows", other, "updates", GENTILE),
        ]

    def premises(self) -> tuple[Any, ...]:
        """Return the parameters covered by its theorems."""
        return self.constants()


#: numbers of each machine: its corrections, and the squared length of its weights
CORRECTIONS, SQUARES = "corrections", "squares"


class ALMALearner(Learner):
    """ALMA with p = 2."""

    needs_lengths = True
    step = "C"

    def __init__(self, alpha: float, B: float, C: float):
        super().__init__()
        # The mean of the weights is about as far along as one shard: steps and margins continue
        # from there.
        self.beside = {CORRECTIONS: "largest"}
        self.reach, self.C = (1.0 - alpha) * B, C

    def start(self, state: State) -> None:
        """Compute the lengths of the weights."""
        W = state.W.reshape(len(state.W), -1)[:, : state.n_columns]
        state.divide()
        state.per_machine(SQUARES, np.float64)[:] = (W**2).sum(axis=0)

    def rule(self, state: State) -> Any:
        """Return the rule with the counts of the binary classifiers."""
        names = CORRECTIONS, SQUARES, FACTORS, ELAPSED, SINCE
        kinds = np.int64, np.float64, np.float64, np.float64, np.int64
        numbers = [state.per_machine(*one) for one in zip(names, kinds, strict=True)]
        self._factors = state.counts[FACTORS]
        return ALMARule(self.reach, self.C, *numbers)

    def complaint(self, rows: Dense | Csr | Unit, row: int) -> str:
        """Explain the errors for a row of zeros, which has no margin, and for the end of a vote."""
        if (self._factors < SMALLEST).any():
            return (
                "the weights grew too large for a vote; keep their average, or choose a larger "
                "alpha or smaller row weights"
            )
        if not values_of(rows, row).any():
            return "it is all zeros and has no margin; remove such rows or fit an intercept"
        return TOO_LARGE

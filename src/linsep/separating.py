"""Whether a hyperplane separates rows, for any kind of input."""

from pathlib import Path
from typing import Any, Literal

from linsep.certificate.constraints import FORMULATIONS
from linsep.certificate.verdicts import TIME_LIMIT, Separations, Verdict
from linsep.errors import ArgumentError
from linsep.estimators.frames import with_features
from linsep.separability import deciding


def separation(
    X: Any = None,
    y: Any = None,
    *,
    K: Any = None,
    fit_intercept: bool | None = None,
    margin: Literal["max"] | None = None,
    formulations: tuple[str, ...] = FORMULATIONS,
    errors: bool = False,
    strict: bool = True,
    sample_weight: Any = None,
    time_limit: float | None = TIME_LIMIT,
) -> Verdict | Separations:
    """Decide whether a hyperplane separates the classes, and prove it.

    Parameters
    ----------
    X : array, nested lists, sparse matrix or data frame of shape (rows, features), or source
        Numbers of any kind, used exactly: floats, integers, decimals, fractions. Each value of a
        text or categorical column of a data frame becomes a feature, as in the command ``linsep
        separate``. A source is read several times and has its own labels.
    y : array of shape (rows,)
        Labels of any type. With two classes, the larger label is the positive side.
    K : array of shape (rows, rows)
        Instead of X, the Gram matrix of a kernel: decides whether some f(x) = sum_j a_j K(x, x_j)
        separates the classes. Floats are refused, for rounded values nearly always make K
        nonsingular, and then any labels are separable: pass integers or fractions, such as
        :meth:`linsep.kernels.Kernel.exact` returns. There is no margin. Practical for up to a few
        hundred rows if floating point does not decide.
    fit_intercept : bool, default=True (with K: False)
        Whether the hyperplane may lie off the origin.
    margin : "max" or None, default=None
        With "max", the separator is improved until its margin is within a millionth of the widest,
        or the time is up; the margin interval shows the result. The widest margin is the limit of
        :class:`linsep.SoftMargin` as C grows, which :func:`linsep.soft_margin_path` follows.
    formulations : tuple, default=("ovr", "ovo", "multinomial")
        For more than two classes: each class against the rest, each pair of classes, and
        multinomial, where every class has its own weights and must score highest on its rows.
    errors : bool, default=False
        Also find the fewest errors of any hyperplane, as an interval with proofs of both ends: the
        attribute ``errors`` of each verdict on two sides. The interval shrinks until its ends meet
        or the time is up. All rows are read into memory.
    strict : bool, default=True
        Whether a row on the hyperplane is an error. If not, the weights must not all be zero.
    sample_weight : array of shape (rows,), or None
        The cost of an error in each row, at least 0, used exactly. Only with ``errors=True``.
    time_limit : float or None, default=60.0
        Seconds for all subproblems together. A subproblem not decided by then is ``Undecided``; a
        margin keeps the width reached. None: no limit.

    Returns
    -------
    Separable, QuasiSeparable, Overlapping or Undecided; Separations for more than two classes
        Each has ``verify(X, y, exact=...)``, ``to_json()`` and a readable ``str``. Margins are
        distances from the hyperplane, with ||w|| without the intercept.

    Raises
    ------
    ValueError
        For NaN, infinity, non-numeric values in an array, a single class, and X and y of different
        lengths.
    TypeError
        For a file name: open the file with :func:`linsep.open_source`.
    KeyboardInterrupt
        Soon after Ctrl-C.

    Warns
    -----
    UserWarning
        If a numeric target has more than ten classes, and more than a tenth of the number of rows.

    Notes
    -----
    Exact arithmetic decides what linear programs propose (Gordan 1873; Goldman and Tucker 1956);
    quasi-separation is that of Albert and Anderson (1984). The widest margin is found by Wolfe's
    nearest-point algorithm (1976), the fewest errors by packings of contradictions (Amaldi and Kann
    1995; Pfetsch, Branch-and-cut for the maximum feasible subsystem problem, 2008).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> verdict = separation(X[50:], y[50:], errors=True)
    >>> verdict.kind, verdict.errors.low, verdict.errors.high, bool(verdict.verify(X[50:], y[50:]))
    ('overlapping', 1, 1, True)
    """
    if isinstance(X, str | Path):
        raise ArgumentError(
            "separation takes rows, not a file name: for a file, call "
            f"linsep.separation(linsep.open_source({str(X)!r}, target=...))."
        )
    return deciding.separation(
        *with_features(X, y), K=K, fit_intercept=fit_intercept, margin=margin, errors=errors,
        formulations=formulations, strict=strict, sample_weight=sample_weight,
        time_limit=time_limit,
    )  # fmt: skip

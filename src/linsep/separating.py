"""Whether a hyperplane separates rows, however they come."""

from pathlib import Path
from typing import Any, Literal

from linsep.certificate.checking import TIME_LIMIT
from linsep.certificate.constraints import FORMULATIONS
from linsep.certificate.verdicts import Separations, Verdict
from linsep.estimators._common.frames import with_features
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
    details: bool = False,
    time_limit: float | None = TIME_LIMIT,
) -> Verdict | Separations:
    """Decide whether a hyperplane separates the classes, and prove it.

    Parameters
    ----------
    X : array, nested lists, sparse matrix or data frame of shape (rows, features), or source
        Numbers of any kind, used exactly: floats, integers, decimals, fractions. A data frame of
        pandas or polars or an Arrow table may have columns of text or categories: each of their
        values is a feature, as for the command ``linsep separate``. A source of
        :mod:`linsep.sources` is read several times and has its own labels.
    y : array of shape (rows,)
        Labels of any kind. With two classes the larger one is the positive side.
    K : array of shape (rows, rows)
        Instead of X, the Gram matrix of a kernel: decides whether some f(x) = sum_j a_j K(x, x_j)
        separates the classes, with the numbers in K as they are. No margin is given. Rounded kernel
        values nearly always make K regular, and then any labels are separable, so the verdict's
        first line says if K holds floats: give integers or fractions, such as
        :meth:`linsep.kernels.Kernel.exact` returns, where that matters. Practical up to some
        hundred rows if floats do not decide.
    fit_intercept : bool, default=True (with K: False)
        Whether the hyperplane may lie off the origin.
    margin : "max" or None, default=None
        With "max" a separator is improved until its margin is within a millionth of the widest, as
        far as time allows: the margin interval shows what was reached. It is the limit of
        :class:`linsep.SoftMargin` as C grows, which :func:`linsep.soft_margin_path` follows.
    formulations : tuple, default=("ovr", "ovo", "multinomial")
        For more than two classes: each against the rest, each pair, and every class above every
        other with weights of its own.
    errors : bool, default=False
        Also find the fewest errors of any hyperplane, as an interval with proofs of both ends: the
        attribute ``errors`` of each verdict. The ends come nearer until
        they meet or the time is up. All rows are read into memory. Of several classes, each
        question on two sides has an interval of its own.
    strict : bool, default=True
        Whether a row on the hyperplane counts as an error. If not, some weight must not be zero.
    sample_weight : array of shape (rows,), or None
        What an error in each row counts, at least 0, exactly. Only with ``errors=True``.
    details : bool, default=False
        Also find which columns decide (a set that has the same verdict without the others, of which
        none can be left out, and the columns that every such set has), and how large the overlap
        is: the attributes ``deciding_columns`` and ``overlap`` of each verdict. Each set of columns
        that is tried costs a verdict. All rows are read into memory.
    time_limit : float or None, default=60.0
        Seconds for all questions together. A question not decided by then is ``Undecided``; a
        margin is left as wide as it is. None: no limit.

    Returns
    -------
    Separable, QuasiSeparable, Overlapping or Undecided; for more than two classes Separations
        Each has ``verify(X, y, exact=...)``, ``to_json()`` and a readable ``str``.

    Raises
    ------
    ValueError
        For NaN, infinity, values that are no numbers in an array, a single class, and X and y of
        different lengths.
    TypeError
        For the name of a file, which :func:`linsep.open_source` opens.
    KeyboardInterrupt
        Soon after Ctrl-C.

    Warns
    -----
    UserWarning
        If a numeric target has more than ten classes, and more than a tenth as many as rows.

    Notes
    -----
    A linear program guesses over a working set of rows, which grows by the rows that the last guess
    got wrong; exact arithmetic decides (Gordan 1873; Goldman and Tucker 1956). The widest margin is
    found by Wolfe's nearest-point algorithm (1976). Quasi-separation is that of Albert and Anderson
    (1984): if data are separable or quasi-separable, the likelihood of a logistic regression has no
    maximum. Margins are geometric: distances from the hyperplane, with ||w|| without the intercept.

    The fewest errors are the maximum feasible subsystem problem (Amaldi and Kann 1995), which is
    NP-hard. A packing of contradictions, rows that no hyperplane gets all right, bounds them from
    below, by the duality of linear programs; a tree of packings closes the gap (Pfetsch,
    Branch-and-cut for the maximum feasible subsystem problem, 2008).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> verdict = separation(X[50:], y[50:])
    >>> verdict.kind, len(verdict.witness.rows) <= 6
    ('overlapping', True)
    >>> bool(verdict.verify(X[50:], y[50:]))
    True
    >>> fewest = separation(X[50:], y[50:], errors=True).errors
    >>> fewest.low, fewest.high, len(fewest.rows)
    (1, 1, 1)
    """
    if isinstance(X, str | Path):
        raise TypeError(
            "separation takes rows, not the name of a file: "
            f"linsep.separation(linsep.open_source({str(X)!r}, target=...)) decides about a file."
        )
    X, y, _ = with_features(X, y)
    return deciding.separation(
        X, y, K=K, fit_intercept=fit_intercept, margin=margin, formulations=formulations,
        errors=errors, strict=strict, sample_weight=sample_weight, details=details,
        time_limit=time_limit,
    )  # fmt: skip

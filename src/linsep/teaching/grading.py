"""Exercises: a student's functions beside those of the textbook, and checks that raise."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import deepcopy
from re import sub
from typing import Any, NamedTuple

import numpy as np

from linsep import textbook
from linsep.catalog import LINEAR
from linsep.errors import ParameterError
from linsep.teaching.tracing import rule_of


class WrongAnswer(AssertionError):
    """An answer that is missing or wrong. Notebooks show the text alone, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Grade(NamedTuple):
    """A student's steps beside those of the textbook; ``print`` shows the first difference.

    Attributes
    ----------
    points, most : float
        ``most`` points times a share: of the steps that change the weights, or of the other steps,
        the smaller share that is right. A function that never changes the weights gets no points.
    difference : str
        The first wrong step: its arguments, its result, and the right one; "" if all are right.
    changing, others : pairs of int
        How many steps are right, and how many there are: of those that change the weights, and of
        the others.
    """

    points: float
    difference: str
    most: float
    changing: tuple[int, int]
    others: tuple[int, int]

    def __str__(self) -> str:
        counts = "{} of {} that change the weights, {} of {} others"
        return (
            f"{self.points:g} of {self.most:g} points, by the smaller share of right steps:\n"
            f"{counts.format(*self.changing, *self.others)}\n"
            f"{self.difference or 'all steps are right'}"
        )

    def check(self, hint: str = "") -> None:
        """Print "right", or raise WrongAnswer with the first difference."""
        _conclude(self.difference, hint)


def grade(
    step: Callable[[np.ndarray, np.ndarray, int], Any],
    rule: Any = "perceptron",
    *,
    n_rows: int = 40,
    n_features: int = 3,
    n_classes: int = 2,
    seed: int = 0,
    points: float = 1.0,
) -> Grade:
    """Compare a student's update rule with the textbook's, on random rows.

    Each step begins with the textbook's weights, so an error in one step does not affect the next.
    There is no intercept. The rows are normal numbers; for the perceptron with default parameters
    small whole numbers, so that some scores are 0; for Winnow absolute values.

    Parameters
    ----------
    step : function of (w, x, y) that returns the new weights
        ``w`` and ``x`` are arrays of shape (n_features,), and ``y`` is -1 or +1. With more than two
        classes ``w`` has the shape (n_classes, n_features), and ``y`` is 0, 1, 2, ...: a class wins
        by the highest score, the first of equals. Winnow compares <w, x> with n_features / 2.
    rule : name on the command line ("perceptron", "margin", "pa", "winnow", "balanced-winnow") for
        default parameters; or a rule of :mod:`linsep.textbook` whose only state is the weights
    n_rows, n_features, n_classes : int
    seed : int
        Of the rows and labels: each student can have another one.
    points : float
        For a function without errors. ``grade(...).points``, as the last line of a cell that
        nbgrader grades, gives partial credit.

    Raises
    ------
    ParameterError
        For an unknown rule, or one that stores more than weights.

    Examples
    --------
    >>> from linsep.teaching import grade
    >>> print(grade(lambda w, x, y: w + y * x if y * (w @ x) < 0 else w, n_features=2))
    0.818182 of 1 points, by the smaller share of right steps:
    18 of 22 that change the weights, 18 of 18 others
    step 0: <lambda>([0, 0], [1, 0], -1)
    returned: [0, 0]
    expected: [-1, 0]
    """
    if isinstance(rule, str) and rule in LINEAR:
        rule = rule_of(LINEAR[rule]())
    stores_more = (textbook.AROW, textbook.SCW, textbook.OnlineLogistic, textbook.KernelPerceptron)
    if not isinstance(rule, textbook.Rule) or isinstance(rule, stores_more) or rule.batch:
        raise ParameterError(
            "rule must be perceptron, margin, pa, winnow, balanced-winnow, or a rule of "
            f"linsep.textbook that stores only weights and updates them at once, got {rule!r}.",
            option="rule",
        )
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    if rule == textbook.Perceptron():  # in whole numbers, some scores are exactly 0
        X = np.rint(2 * X) + 0.0
        X[~X.any(axis=1), 0] = 1.0
    X = np.abs(X) if isinstance(rule, textbook.Winnow) else X
    codes = rng.integers(n_classes, size=n_rows)
    scheme, labels = ("binary", 2 * codes - 1) if n_classes == 2 else ("native", codes)
    steps = textbook.run(
        rule, scheme, X.tolist(), codes.tolist(), n_classes, fit_intercept=False, max_iter=1
    )
    after = np.array([one.weights for one in steps], float)
    before = np.roll(after, 1, axis=0)
    before[0] = rule.first(n_features, n_classes > 2)[0]
    cases = zip(before, X, labels.tolist(), strict=True)
    texts = [_difference(step, *pair) for pair in zip(cases, after, strict=True)]
    right = np.array(texts) == ""
    changing = (after != before).reshape(n_rows, -1).any(axis=1)
    counts = [(int(right[kind].sum()), int(kind.sum())) for kind in (changing, ~changing)]
    share = min(good / many for good, many in counts if many)
    wrong = (f"step {number}: {text}" for number, text in enumerate(texts) if text)
    return Grade(float(points * share), next(wrong, ""), points, *counts)


def check(answer: Any, right: Any, hint: str = "") -> None:
    """Print "right", or raise WrongAnswer if an answer is missing or wrong.

    Parameters
    ----------
    answer : what the student found; ``...`` and None are missing
    right : the right number or array, within half a percent; or a function that returns whether
        the answer is right, where an exception means that it is not
    hint : how to find the answer. The first wrong number of a vector is named, too.
    """
    correct = np.array(False)
    if not callable(right):
        correct = _close(answer, right, 5e-3)
    else:
        with suppress(Exception):  # an answer of another type or size
            correct = np.array(bool(right(answer)))
    text = "" if correct.all() else "Not yet"
    if answer is ... or answer is None:
        text = "To do: nothing is returned yet" if answer is None else "To do"
    elif text and correct.ndim == 1:
        text = f"Not yet: number {np.argmin(correct)}, counted from 0, is wrong"
    _conclude(text, hint)


def check_function(
    function: Callable[..., Any],
    reference: Callable[..., Any],
    cases: Iterable[Sequence[Any]],
    hint: str = "",
) -> None:
    """Print "right", or raise WrongAnswer with the first case, the arguments of a call, in which a
    student's function differs from the reference by more than a millionth.
    """
    texts = (_difference(function, case, reference(*deepcopy(case))) for case in cases)
    wrong = (f"case {number}: {text}" for number, text in enumerate(texts) if text)
    _conclude(next(wrong, ""), hint)


def _conclude(difference: str, hint: str) -> None:
    if difference:
        raise WrongAnswer(f"{difference}\nHint: {hint}" if hint else difference)
    print("right")


def _difference(function: Callable[..., Any], arguments: Sequence[Any], expected: Any) -> str:
    """Return the call, its result and the right one; "" if they are equal."""
    try:
        found = function(*deepcopy(arguments))
        came = f"returned: {_shown(found)}"
        if _close(found, expected, 1e-6).all():
            return ""
    except Exception as error:  # whatever a student's function raises
        came = f"raised: {type(error).__name__}: {error}"
    call = f"{getattr(function, '__name__', 'step')}({', '.join(map(_shown, arguments))})"
    return f"{call}\n{came}\nexpected: {_shown(expected)}"


def _close(found: Any, expected: Any, rtol: float) -> Any:
    """Return which numbers agree; False for another shape or type."""
    with suppress(TypeError, ValueError):
        if np.shape(found) == np.shape(expected):
            return np.isclose(found, expected, rtol=rtol, atol=1e-9)
    return np.array(False)


def _shown(value: Any) -> str:
    try:
        return sub(r"\.0(?=[],]|$)", "", str(np.round(value, 6).tolist()))
    except (TypeError, ValueError):  # text, or lists of several lengths
        return repr(value)

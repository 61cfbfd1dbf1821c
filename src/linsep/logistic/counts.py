"""Binomial groups: rows with successes among trials. Each is fitted as two rows, one per class,
weighted by the counts.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, xlogy

from linsep.errors import DataError, hint
from linsep.validation.counts import check_counts
from linsep.words import row_text


class Groups(NamedTuple):
    """What the likelihood of groups adds to the likelihood of single trials.

    Attributes
    ----------
    rows : int, number of groups with trials
    coefficients : float, sum of the logarithms of the binomial coefficients
    saturated : float, log-likelihood, with these, of the model with a probability for each group
    """

    rows: int = 0
    coefficients: float = 0.0
    saturated: float = 0.0

    def and_more(self, successes: np.ndarray, failures: np.ndarray) -> "Groups":
        """Return the same with more groups."""
        s, f = (part[successes + failures > 0] for part in (successes, failures))
        t = s + f
        coefficients = float((-np.log1p(t) - betaln(s + 1.0, f + 1.0)).sum())
        apart = float((xlogy(s, s / t) + xlogy(f, f / t)).sum())
        return Groups(
            self.rows + len(t),
            self.coefficients + coefficients,
            self.saturated + coefficients + apart,
        )


def refuse_beside_counts(model: Any, y: Any, sample_weight: Any, counts: dict[str, Any]) -> None:
    """Raise DataError for counts of one kind only, or beside labels or weights."""
    missing = [name for name, values in counts.items() if values is None]
    if missing:
        raise DataError(
            f"Counts need both successes and trials: pass {missing[0]}, too.",
            code="needs-option", option=missing[0],
        )  # fmt: skip
    for name, value in (("y", y), ("sample_weight", sample_weight)):
        if value is not None:
            raise DataError(
                f"Successes and trials take the place of {name}: leave it out.",
                code="conflict", option=name,
            )  # fmt: skip
    refuse_class_weights(model)


def refuse_class_weights(model: Any) -> None:
    """Raise DataError for class weights, which would turn counts into other numbers."""
    if model.class_weight is not None:
        raise DataError(
            "Successes and trials are counts, which class weights would change",
            hint("leave out {}", class_weight=None), code="conflict", option="class_weight",
        )  # fmt: skip


def given_counts(successes: Any, trials: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts in float64 arrays of shape (rows,); raise DataError for other values."""
    found = []
    for name, values in (("successes", successes), ("trials", trials)):
        given = np.asarray(values)
        if given.shape != (n_rows,) and (given.ndim or name == "successes"):
            raise DataError(
                f"{name} has shape {given.shape}, but X has {n_rows} rows: pass one number per "
                "row.", code="shape", option=name,
            )  # fmt: skip
        given = np.broadcast_to(given, n_rows)
        try:
            found.append(given.astype(np.float64))
        except (TypeError, ValueError):  # text, or a missing value of pandas
            numbers = [x if isinstance(x, int | float) else np.nan for x in given.tolist()]
            found.append(np.array(numbers, dtype=np.float64))
    check_counts(found[0], found[1], lambda row: row_text(row).capitalize())
    return found[0], found[1]


def check_both(totals: np.ndarray, where: str) -> None:
    """Raise DataError unless there are successes and failures in some rows; ``totals`` are their
    numbers.
    """
    if not totals.all():
        what = "trials" if not totals.any() else "successes" if not totals[0] else "failures"
        raise DataError(
            f"There are no {what} in {where}: a logistic regression needs both successes and "
            "failures.",
            code="class-count",
        )

"""Intervals of metrics by the percentile bootstrap: rows, or whole groups, are drawn again and
again, as many as there are, with replacement (B. Efron and R. Tibshirani, An Introduction to the
Bootstrap, 1993, chapter 13).

A metric is a function of sums over rows: the weight of each true, predicted and right class, the
sums of losses, and the weight of rows by score and class. They are summed once for each unit that
is drawn, so that a resample is a product of these sums with the number of times each unit is
drawn. With more than 20,000 rows or groups, a unit is a random set of them: the sums of such units
vary like the sums of their rows. Scores are distinguished by at most 1,000 thresholds; the interval
is shifted by the resulting change of the metric.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.scoring.metrics import (
    OF_CLASSES,
    Undefined,
    check_names,
    known_rows,
    ranked,
    that_count,
)
from linsep.scoring.rows import Scored, ScoredNumbers

LEVEL = 0.95
MOST_UNITS, MOST_THRESHOLDS = 20_000, 1_000
MOST_RESAMPLES, FEWEST_RESAMPLES = 1_000, 200
#: scores of all resamples up to which there are most of these: about a second
MOST_SCORES = 1 << 26
#: resamples that are made at once
TOGETHER = 50


#: some metrics as functions of sums over rows: the rows that are used, None for all; a matrix of
#: shape (statistics, rows), what each of them adds; from sums of shape (statistics, resamples) to
#: the metrics of each resample by name, NaN if undefined
Statistic = tuple[np.ndarray | None, Any, Callable[[np.ndarray], dict[str, np.ndarray]]]


class Intervals(NamedTuple):
    """Intervals of metrics."""

    ends: dict[str, tuple[float, float] | None]  #: low and high, None for one without an interval
    units: str  #: "rows" or "groups"
    n_units: int  #: how many there are
    resamples: int
    level: float


def intervals_of(
    scored: Any, names: Iterable[str] | None = None, *, level: float = LEVEL, random_state: int = 0
) -> Intervals:
    """Return percentile intervals of metrics, by rows or, where rows have groups, by groups.

    Parameters
    ----------
    scored : :class:`Scored` or :class:`ScoredNumbers`
    names : names of metrics, default all
    level : share of the resamples within each interval
    random_state : seed of the draws

    Returns
    -------
    :class:`Intervals`. Undefined metrics have no interval, and neither has the largest error, for
    which the bootstrap is not valid. A single row or group gives no intervals.
    """
    chosen, counting = check_names(scored, names), that_count(scored)
    size = counting.truth.size
    units = np.arange(size) if counting.groups is None else _numbered(counting.groups)
    n_units = int(units.max()) + 1
    scores = 1 if isinstance(scored, ScoredNumbers) else counting.scores.size
    resamples = int(np.clip(MOST_SCORES // scores, FEWEST_RESAMPLES, MOST_RESAMPLES))
    rng = np.random.default_rng(random_state)
    if n_units > MOST_UNITS:
        units = rng.permutation(n_units)[units] % MOST_UNITS
    drawn = int(units.max()) + 1
    summed = []
    for rows, sums, metrics in _statistics(counting, chosen) if n_units > 1 else []:
        places = units if rows is None else units[rows]
        one = np.ones(places.size), (np.arange(places.size), places)
        summed.append((sums @ sp.coo_array(one, shape=(places.size, drawn)).tocsr(), metrics))
    values: dict[str, list[np.ndarray]] = {}
    for counts in _draws(rng, drawn, resamples):
        with np.errstate(all="ignore"):  # NaN stands for resamples in which one is not defined
            for sums, metrics in summed:
                for name, found in metrics(np.asarray(sums @ counts)).items():
                    values.setdefault(name, []).append(found)
    ends = {name: _ends(np.concatenate(values[name]), level) if name in values else None
            for name in chosen}  # fmt: skip
    kind = "rows" if counting.groups is None else "groups"
    return Intervals(ends, kind, n_units, resamples, level)


def _numbered(groups: np.ndarray) -> np.ndarray:
    """Return the number of the group of each row, in the order in which groups first come."""
    _, first, places = np.unique(groups, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[places]


def _draws(rng: np.random.Generator, units: int, resamples: int) -> Iterator[np.ndarray]:
    """Yield how often each unit is drawn in some resamples, arrays of shape (units, resamples)."""
    for first in range(0, resamples, TOGETHER):
        some = min(TOGETHER, resamples - first)
        drawn = rng.integers(units, size=(some, units), dtype=np.int32)
        drawn += np.arange(some, dtype=np.int32)[:, None] * units
        counts = np.bincount(drawn.ravel(), minlength=some * units)
        yield np.ascontiguousarray(counts.reshape(some, units).T, dtype=np.float64)


def _ends(values: np.ndarray, level: float) -> tuple[float, float] | None:
    """Return the ends of an interval, of the resamples in which the metric is defined."""
    defined = values[np.isfinite(values)]
    if not defined.size:
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _statistics(scored: Any, names: list[str]) -> list[Statistic]:
    """Return the statistics of the metrics that have one and are defined."""
    if isinstance(scored, ScoredNumbers):
        return [_of_numbers(scored)]
    found = [_of_classes(scored)] if set(names) & set(OF_CLASSES) else []
    for make, of in ((_of_losses, ("log_loss", "brier")),
                     (_of_ranks, ("roc_auc", "average_precision"))):  # fmt: skip
        try:
            found += [make(scored)] if set(names) & set(of) else []
        except Undefined:
            continue
    return found


def _indicators(codes: np.ndarray, weights: np.ndarray, k: int) -> Any:
    """Return the weight of each row in the line of its code, shape (k, rows)."""
    return sp.coo_array((weights, (codes, np.arange(codes.size))), shape=(k, codes.size)).tocsr()


def _mean(values: np.ndarray) -> np.ndarray:
    """Return means over the lines, of what is defined."""
    found: np.ndarray = np.nansum(values, axis=0) / np.isfinite(values).sum(axis=0)
    return found


def _of_classes(scored: Scored) -> Statistic:
    k, well = scored.classes.size + 1, scored.truth == scored.predicted
    sums = sp.vstack([
        _indicators(scored.truth, scored.weights, k),
        _indicators(scored.predicted, scored.weights, k),
        _indicators(scored.truth, scored.weights * well, k),
    ], format="csr")  # fmt: skip

    def values(sums: np.ndarray) -> dict[str, np.ndarray]:
        truth, predicted, right = sums[:k], sums[k : 2 * k], sums[2 * k :]
        total, f1 = truth.sum(axis=0), 2 * right / (truth + predicted)
        return {
            "accuracy": right.sum(axis=0) / total,
            "balanced_accuracy": _mean(right / truth),
            "f1_macro": _mean(f1),
            "f1_weighted": np.nansum(f1 * truth, axis=0) / total,
            "mcc": _mcc(truth, predicted, right.sum(axis=0), total),
        } | ({"f1": np.nan_to_num(f1[scored.positive])} if k == 3 else {})

    return None, sums, values


def _mcc(
    truth: np.ndarray, predicted: np.ndarray, right: np.ndarray, total: np.ndarray
) -> np.ndarray:
    """Return Matthews' correlation, 0 where one class is true or predicted of all rows."""
    spread = (total**2 - (truth**2).sum(axis=0)) * (total**2 - (predicted**2).sum(axis=0))
    together = right * total - (truth * predicted).sum(axis=0)
    return np.divide(together, np.sqrt(spread), out=np.zeros_like(spread), where=spread > 0)


def _of_losses(scored: Scored) -> Statistic:
    if scored.probabilities is None:
        raise Undefined("The model has no probabilities.", code="unsupported")
    rows = np.flatnonzero(scored.truth < scored.classes.size)
    known = known_rows(scored, "log_loss")
    found = known.probabilities
    assert found is not None
    told = found[np.arange(rows.size), known.truth]
    # clipped as in scikit-learn
    surprises = -np.log(np.clip(told, np.finfo(told.dtype).eps, 1.0))
    squares = (found**2).sum(axis=1) - told**2 + (1 - told) ** 2
    squares /= 2 if scored.classes.size == 2 else 1
    sums = np.vstack([known.weights * surprises, known.weights * squares, known.weights])
    return rows, sums, lambda sums: {"log_loss": sums[0] / sums[2], "brier": sums[1] / sums[2]}


def _of_ranks(scored: Scored) -> Statistic:
    rows = np.flatnonzero(scored.truth < scored.classes.size)
    known, codes = ranked(scored, "roc_auc")
    each, parts, ends = np.arange(rows.size), [], [0]
    shifts = {"roc_auc": 0.0, "average_precision": 0.0}
    for code in codes:
        exact, merged = _thresholds(known.column(code))
        is_own = known.truth == code
        for places, sign in ((exact, 1), (merged, -1)) if merged is not exact else ():
            for name, value in _curve(*_histograms(places, is_own, known.weights)).items():
                shifts[name] += sign * float(value[0]) / len(codes)
        n = int(merged.max()) + 1
        # weights of the rows of the class by threshold, then weights of the others
        at = merged + n * ~is_own, each
        parts.append(sp.coo_array((known.weights, at), shape=(2 * n, rows.size)).tocsr())
        ends.append(ends[-1] + 2 * n)

    def values(sums: np.ndarray) -> dict[str, np.ndarray]:
        curves = [_curve(*np.split(sums[a:b], 2)) for a, b in pairwise(ends)]
        means = {name: _mean(np.array([curve[name] for curve in curves])) for name in shifts}
        return {name: np.clip(means[name] + shifts[name], 0.0, 1.0) for name in shifts}

    return rows, sp.vstack(parts, format="csr"), values


def _thresholds(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of each score from the largest, 0; and the same with close ones counted
    together, if there are very many.
    """
    different, places = np.unique(-scores, return_inverse=True)
    if different.size <= MOST_THRESHOLDS:
        return places, places
    shares = np.cumsum(np.bincount(places)) / scores.size
    return places, np.unique(np.ceil(shares * MOST_THRESHOLDS), return_inverse=True)[1][places]


def _histograms(
    places: np.ndarray, is_own: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight of the rows of a class, and of the others, by threshold, as columns."""
    own, others = np.bincount(places, weights * is_own), np.bincount(places, weights * ~is_own)
    return own[:, None], others[:, None]


def _curve(own: np.ndarray, others: np.ndarray) -> dict[str, np.ndarray]:
    """Return metrics of the weights, by threshold, of the rows of a class and of the others."""
    found, false = np.cumsum(own, axis=0), np.cumsum(others, axis=0)
    below = false[-1] - false + others / 2  # ties count half
    return {
        "roc_auc": (own * below).sum(axis=0) / (found[-1] * false[-1]),
        "average_precision": np.nansum(own * (found / (found + false)), axis=0) / found[-1],
    }


def _of_numbers(scored: ScoredNumbers) -> Statistic:
    weights, errors = scored.weights, scored.truth - scored.predicted
    about = scored.truth - np.average(scored.truth, weights=weights)
    each = [np.abs(errors), errors**2, np.ones(errors.size), about, about**2]

    def values(sums: np.ndarray) -> dict[str, np.ndarray]:
        absolute, squared, total, first, second = sums
        return {
            "r2": 1 - squared / (second - first**2 / total),
            "rmse": np.sqrt(squared / total),
            "mae": absolute / total,
        }

    return None, weights * np.vstack(each), values

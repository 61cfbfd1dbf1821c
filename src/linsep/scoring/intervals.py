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

import warnings
from collections import ChainMap
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from linsep.scoring.metrics import RANKS, ranked
from linsep.scoring.rows import Scored

LEVEL = 0.95
MOST_UNITS, MOST_THRESHOLDS = 20_000, 1_000
MOST_RESAMPLES, FEWEST_RESAMPLES = 1_000, 200
#: scores of all resamples up to which there are most of these: about a second
MOST_SCORES = 1 << 26
#: resamples that are made at once
TOGETHER = 50

#: some metrics as functions of sums over rows: a matrix of shape (statistics, rows), what each row
#: adds; from sums of shape (statistics, resamples) to the metrics of each resample by name, NaN if
#: undefined
Statistic = tuple[Any, Callable[[Any], dict[str, Any]]]


def intervals_of(
    scored: Scored, values: dict[str, float | None], random_state: int = 0
) -> tuple[dict[str, list[float] | None], dict[str, Any]]:
    """Return low and high ends of metrics, as :func:`metrics_of` returns them, by name, and how
    they were made, as plain JSON.

    An undefined metric has no interval, and neither has the largest error, for which the bootstrap
    is not valid, nor any metric of a single row or group.
    """
    kind = "rows" if scored.groups is None else "groups"
    groups = pa.array(np.arange(scored.truth.size) if scored.groups is None else scored.groups)
    units = np.asarray(groups.dictionary_encode().indices)  # in the order in which they come
    n_units = int(units.max()) + 1
    most = MOST_SCORES // np.size(scored.scores)
    resamples = int(np.clip(most, FEWEST_RESAMPLES, MOST_RESAMPLES))
    rng, drawn = np.random.default_rng(random_state), min(n_units, MOST_UNITS)
    if n_units > MOST_UNITS:
        units = rng.permutation(n_units)[units] % MOST_UNITS
    members = _indicators(units, np.ones(units.size), drawn).T
    defined = {name: value for name, value in values.items() if value is not None and n_units > 1}
    chosen = [_of_numbers if scored.classes is None else _of_classes]
    chosen += [_of_losses] * bool(defined.keys() & {"log_loss", "brier"})
    chosen += [_of_ranks] * bool(defined.keys() & {*RANKS})
    statistics = [statistic(scored, defined) for statistic in chosen]
    summed = [(lines @ members, metrics) for lines, metrics in statistics]
    # NaN stands for resamples in which a metric is not defined
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        found = [
            ChainMap(*(metrics(sums @ counts) for sums, metrics in summed))
            for counts in _draws(rng, drawn, resamples)
        ]
    ends = {
        name: _ends([some[name] for some in found if name in some and name in defined])
        for name in values
    }
    return ends, {"level": LEVEL, "of": kind, kind: n_units, "resamples": resamples}


def _draws(rng: np.random.Generator, units: int, resamples: int) -> Iterator[np.ndarray]:
    # how often each unit is drawn in some resamples, shape (units, resamples)
    for first in range(0, resamples, TOGETHER):
        drawn = rng.integers(units, size=(min(TOGETHER, resamples - first), units), dtype=np.int32)
        counts = [np.bincount(each, minlength=units) for each in drawn]
        yield np.stack(counts, axis=1).astype(np.float64)


def _ends(parts: list[np.ndarray]) -> list[float] | None:
    values = np.concatenate([[], *parts])
    values = values[np.isfinite(values)]
    ends = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    return [float(end) for end in np.quantile(values, ends)] if values.size else None


def _indicators(codes: np.ndarray, weights: np.ndarray, k: int) -> Any:
    return sp.coo_array((weights, (codes, np.arange(codes.size))), shape=(k, codes.size)).tocsr()


def _of_classes(scored: Scored, values: dict[str, float]) -> Statistic:
    k, well = scored.n_classes + 1, scored.truth == scored.predicted
    lines = sp.vstack([
        _indicators(scored.truth, scored.weights, k),
        _indicators(scored.predicted, scored.weights, k),
        _indicators(scored.truth, scored.weights * well, k),
    ], format="csr")  # fmt: skip

    def metrics(sums: np.ndarray) -> dict[str, np.ndarray]:
        truth, predicted, right = np.split(sums, 3)
        total, all_right, f1 = truth.sum(axis=0), right.sum(axis=0), 2 * right / (truth + predicted)
        # Matthews' correlation is 0 where one class is true or predicted of all rows
        spread = (total**2 - (truth**2).sum(axis=0)) * (total**2 - (predicted**2).sum(axis=0))
        together = all_right * total - (truth * predicted).sum(axis=0)
        return {
            "accuracy": all_right / total,
            "balanced_accuracy": np.nanmean(right / truth, axis=0),
            "f1": np.nan_to_num(f1[scored.positive]),
            "f1_macro": np.nanmean(f1, axis=0),
            "f1_weighted": np.nansum(f1 * truth, axis=0) / total,
            "mcc": np.where(spread > 0, together / np.sqrt(spread), 0.0),
        }

    return lines, metrics


def _of_losses(scored: Scored, values: dict[str, float]) -> Statistic:
    known, found = scored.truth < scored.n_classes, scored.probabilities
    told = found[np.arange(known.size), np.where(known, scored.truth, 0)]
    # clipped as in scikit-learn
    surprises = -np.log(np.clip(told, np.finfo(told.dtype).eps, 1.0))
    squares = (found**2).sum(axis=1) - told**2 + (1 - told) ** 2
    squares /= 2 if scored.n_classes == 2 else 1
    lines = scored.weights * known * np.vstack([surprises, squares, np.ones(known.size)])
    return lines, lambda sums: {"log_loss": sums[0] / sums[2], "brier": sums[1] / sums[2]}


def _of_ranks(scored: Scored, values: dict[str, float]) -> Statistic:
    parts, ends, weights = [], [0], scored.weights * (scored.truth < scored.n_classes)
    for code in ranked(scored):
        places = _thresholds(scored.column(code))
        n = int(places.max()) + 1
        # weights of the rows of the class by threshold, then weights of the others
        parts.append(_indicators(places + n * (scored.truth != code), weights, 2 * n))
        ends.append(ends[-1] + 2 * n)
    lines = sp.vstack(parts, format="csr")

    def means(sums: np.ndarray) -> dict[str, np.ndarray]:
        curves = [_curve(*np.split(sums[a:b], 2)) for a, b in pairwise(ends)]
        return {name: np.nanmean([curve[name] for curve in curves], axis=0) for name in RANKS}

    of_all = means(lines.sum(axis=1)[:, None])
    return lines, lambda sums: {
        name: np.clip(found + values[name] - of_all[name], 0.0, 1.0)
        for name, found in means(sums).items()
        if name in values
    }


def _thresholds(scores: np.ndarray) -> np.ndarray:
    # the number of each score from the largest, 0; of very many, close ones are counted together
    different, places = np.unique(-scores, return_inverse=True)
    if different.size <= MOST_THRESHOLDS:
        return places
    shares = np.cumsum(np.bincount(places)) / scores.size
    return np.unique(np.ceil(shares * MOST_THRESHOLDS), return_inverse=True)[1][places]


def _curve(own: np.ndarray, others: np.ndarray) -> dict[str, np.ndarray]:
    """Return metrics of the weights, by threshold, of the rows of a class and of the others."""
    found, false = np.cumsum(own, axis=0), np.cumsum(others, axis=0)
    below = false[-1] - false + others / 2  # ties count half
    return {
        "roc_auc": (own * below).sum(axis=0) / (found[-1] * false[-1]),
        "average_precision": np.nansum(own * (found / (found + false)), axis=0) / found[-1],
    }


def _of_numbers(scored: Scored, values: dict[str, float]) -> Statistic:
    errors = scored.truth - scored.predicted
    about = scored.truth - np.average(scored.truth, weights=scored.weights)
    each = [np.abs(errors), errors**2, np.ones(errors.size), about, about**2]

    def metrics(sums: np.ndarray) -> dict[str, np.ndarray]:
        absolute, squared, total, first, second = sums
        return {
            "r2": 1 - squared / (second - first**2 / total),
            "rmse": np.sqrt(squared / total),
            "mae": absolute / total,
        }

    return scored.weights * np.vstack(each), metrics

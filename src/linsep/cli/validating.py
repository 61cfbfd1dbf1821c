"""Output of cross-validation, which ``fit`` and ``tune`` share."""

from typing import TYPE_CHECKING, Any

from linsep.words import counted

if TYPE_CHECKING:  # imported only for cross-validation
    from linsep.cross_validation import Folds
    from linsep.scoring.metrics import Metric

#: metrics that fit on a screen; --json has all
SHOWN = ("accuracy", "balanced_accuracy", "roc_auc", "log_loss", "r2", "rmse", "mae")


def described(scores: dict[str, Any], folds: "Folds") -> dict[str, Any]:
    """Return the metrics of folds as plain JSON."""
    from linsep.cross_validation import mean_and_error

    found = {}
    for name, values in scores.items():
        mean, error = mean_and_error(values, folds.cv)
        found[name] = {"mean": mean, "standard_error": error, "folds": values.tolist()}
    return {
        "folds": folds.cv, "repeats": folds.repeats, "by_time": folds.by_time, "metrics": found,
    }  # fmt: skip


def metric_named(name: str) -> "Metric":
    """Return the metric of a name."""
    from linsep.scoring.metrics import METRICS  # slow to import, so not at module level

    return METRICS[name]


def with_error(name: str, mean: float, error: float, unit: bool = False) -> str:
    """Return a metric and its standard error: in percent, or to four digits."""
    if metric_named(name).is_share:
        return f"{100 * mean:.2f} ± {100 * error:.2f}{'%' * unit}"
    return f"{mean:.4g} ± {error:.2g}"


def folds_text(cv: dict[str, Any]) -> str:
    """Return how the rows were divided, as a phrase."""
    repeated = f", {counted(cv['repeats'], 'time')}" if cv["repeats"] > 1 else ""
    return f"{cv['folds']} folds{' by time' * cv['by_time']}{repeated}"


def validation_pairs(cv: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Return the metrics of folds as pairs of a heading and a text."""
    if cv is None:
        return []
    metrics = {name: cv["metrics"][name] for name in SHOWN if name in cv["metrics"]}
    each = [
        f"{metric_named(name).title} {with_error(name, one['mean'], one['standard_error'], True)}"
        for name, one in metrics.items()
    ]
    return [("cv", f"{', '.join(each)} ({folds_text(cv)})")]

"""What commands about a model find, as functions of Python whose results print themselves."""

from collections.abc import Callable, Iterator
from itertools import zip_longest
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import norm
from sklearn.utils.validation import check_is_fitted

from linsep.catalog import is_regression
from linsep.cli import output, report
from linsep.cli.learner_options import options_of_model
from linsep.cli.reading import lacks, open_like, tell_unknown
from linsep.errors import DataError
from linsep.estimators import showing
from linsep.estimators.frames import to_predict
from linsep.model_files import loaded
from linsep.pipelines import TablePipeline, are_files
from linsep.sources.base import Source, is_frame
from linsep.steps import learner_of
from linsep.validation.checks import of_features
from linsep.words import counted

#: more binary classifiers do not fit on a screen; JSON has them all
MOST_MACHINES = 20


def _model(model: Any, needed: Callable[[Any], str | None] = lambda model: None) -> Any:
    """Return the learner of a model or of its file; DataError if it lacks what is ``needed``."""
    path = Path(model) if isinstance(model, str | Path) else None
    fitted = learner_of(model) if path is None else loaded(path)
    check_is_fitted(fitted)
    if (why := needed(fitted)) is not None:
        raise lacks(fitted, path, f"which {why}.")
    return fitted


class Inspection(output.Result):
    """How a model was trained, with its largest weights; see :func:`linsep.inspect`."""

    def lines(self) -> Iterator[str]:
        found, machines, given = vars(self), self.weights, options_of_model(self._model)
        kernel = found.get("kernel")
        units = f"{'the kernel takes' if kernel else 'weights are in'} these units"
        said = f"{given}; other learner options" if given else "learner options"
        table = "`linsep summary` shows their table"
        yield from output.pairs([
            *report.about_pairs(self._model, found, units),
            ("estimates", table * is_regression(self._model)),
            ("options", f"{said} at their defaults"),
            *[("weights", f"{one['machine']}: {counted(one['nonzero'], 'nonzero weight')}, "
               f"norm {one['norm']:.4g}") for one in machines if not machines[1:]],
        ])  # fmt: skip
        if not machines:
            return
        sure, several = "standard_deviations" in machines[0], len(machines) > 1
        rows = []
        for one in machines[:MOST_MACHINES]:
            known = [one.get("intercept_standard_deviation"), *one.get("standard_deviations", [])]
            weights = [["intercept", one["intercept"]], *one["heaviest"]]
            for (name, weight), deviation in zip_longest(weights, known):
                first, last = [one["machine"]] * several, [f"{deviation:.6g}"] if sure else []
                rows.append([*first, name, f"{weight:+.6g}", *last])
        what = "support vector" if kernel else "feature"
        header = [*["weights of"] * several, what, "weight", *["std. dev."] * sure]
        right = [False] * several + [False, True, True][: 2 + sure]
        yield ""
        yield from output.table(header, rows, right)
        yield from output.more(len(machines[MOST_MACHINES:]))


def inspect(model: Any, top: int | None = None) -> Inspection:
    """Return how a model was trained and its largest weights, as ``linsep inspect`` does.

    Parameters
    ----------
    model : fitted estimator, :class:`TablePipeline`, or path of a saved one
    top : int, default None
        Most weights of each binary classifier; None: 10, or 3 of several.

    Returns
    -------
    Inspection
        ``print`` it. Attributes, also as plain JSON by ``to_dict()``: among others ``parameters``,
        the ``recipe`` of features, and ``weights``, for each binary classifier the ``machine``, its
        ``intercept`` and ``heaviest`` pairs of feature and weight, of scaled columns per standard
        deviation.

    Raises
    ------
    NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> import linsep
    >>> model = linsep.Perceptron().fit([[1.0], [3.0]], ["low", "high"])
    >>> [machine["nonzero"] for machine in linsep.inspect(model).weights]
    [1]
    """
    model = _model(model)
    parameters, default = (x.get_params(deep=False) for x in (model, type(model)()))
    found = report.training_summary(model) | {
        "parameters": parameters,
        "changed": sorted(name for name, value in parameters.items() if value != default[name]),
        "recipe": getattr(model, "recipe_", None),
        "weights": [] if showing.is_curved(model) else _machines(model, top),
    }
    return Inspection(_model=model, **found)


def _machines(model: Any, top: int | None) -> list[dict[str, Any]]:
    linear, known = showing.linear_of(model), showing.deviations(model)
    coef = linear.dual_coef_ if hasattr(linear, "kernel_") else np.atleast_2d(linear.coef_)
    intercepts = np.atleast_1d(getattr(linear, "intercept_", np.zeros(len(coef)))).tolist()
    top = top if top is not None else 10 if len(coef) == 1 else 3
    found = []
    for k, machine in enumerate(showing.machine_names(model)):
        order = np.argsort(-np.abs(coef[k]), kind="stable")[:top]
        order = order[coef[k][order] != 0]
        names: Any = showing.names_and_signs(model, None, 0, order.tolist())
        if hasattr(linear, "kernel_"):
            names = ((f"row {row + 1}", 1) for row in model.support_[order])
        weights = zip(names, coef[k][order].tolist(), strict=True)
        found.append({
            "machine": machine,
            "intercept": intercepts[k],
            "nonzero": int(np.count_nonzero(coef[k])),
            "norm": float(norm(coef[k])),
            "heaviest": [[name, sign * weight] for (name, sign), weight in weights],
        })  # fmt: skip
        if known is not None:
            found[-1]["intercept_standard_deviation"] = float(known[1][k])
            found[-1]["standard_deviations"] = known[0][k][order].tolist()
    return found


class Explanation(output.Result):
    """The contributions of features to the score of a row; see :func:`linsep.explain`."""

    _top: int | None

    def lines(self) -> Iterator[str]:
        predicted = output.label_text(self.prediction) if hasattr(self._model, "classes_") else ""
        means = any("mean" in term for term in self.terms)
        each = f"weight x {'(value - mean)' if means else 'value'}"
        made = getattr(self._model, "recipe_", {}).get("products") and means
        length = getattr(self, "length", None)
        yield from output.pairs([
            ("row", self.row),
            ("prediction", predicted),
            ("score", f"{self.score!r}, {self.score_of}"),
            ("length", length and f"{length:.6g} of the row, by which weights are divided"),
            *report.unscored_pairs(vars(self), self._model),
            ("contribution", f"{each}; they add up to the score"),
            ("products", made and "their values are of scaled columns"),
        ])  # fmt: skip
        numbers = {
            "value": ".6g", "mean": ".6g", "weight": "+.6g", "standard_deviation": ".6g",
            "contribution": "+.6g",
        }  # fmt: skip
        known, most = {name for term in self.terms for name in term}, self._top or 30
        columns = {name: how for name, how in numbers.items() if name in known}
        rows = [
            [term["feature"], *(format(term[name], how) if name in term else ""
                                for name, how in columns.items())]
            for term in self.terms[:most]
        ]  # fmt: skip
        if rest := self.terms[most:]:
            total = fsum(term["contribution"] for term in rest)
            rows.append([f"and {len(rest):,} more", *[""] * (len(columns) - 1), f"{total:+.6g}"])
        header = ["feature", *(x.replace("standard_deviation", "std. dev.") for x in columns)]
        yield ""
        yield from output.table(header, rows)


def explain(
    model: Any, data: Any, row: int = 0, *, top: int | None = None, **reading: Any
) -> Explanation:
    """Return what each feature contributes to the score of a row, as ``linsep audit`` does: its
    weight times its value, less the mean if the column was scaled. The contributions, of which one
    is the intercept, add up to the score.

    Parameters
    ----------
    model : fitted estimator, :class:`TablePipeline`, or path of a saved one
        One with weights: no kernel and no vote.
    data : array or data frame of shape (rows, columns), path or list of paths, or Source
        Files and frames have the columns of the training data.
    row : int, default 0
        Which row, counted from 0.
    top : int, default None
        How many features are printed; None: 30.
    **reading : how files are read, such as ``delimiter=";"``, as for :func:`open_source`

    Returns
    -------
    Explanation
        ``print`` it. Attributes, also as plain JSON by ``to_dict()``: ``prediction``, ``score`` and
        ``terms``, the largest first, each with "feature", "value", "weight", "contribution" and, of
        scaled columns, the "mean", all in the units of the data.

    Raises
    ------
    DataError
        For a model without weights, and a row that does not exist or misses a value.

    Examples
    --------
    >>> import linsep
    >>> model = linsep.Perceptron(max_iter=1).fit([[1.0], [3.0]], ["low", "high"])
    >>> found = linsep.explain(model, [[2.0]])
    >>> sum(term["contribution"] for term in found.terms) == found.score
    True
    """
    each = "its scores are not sums of one term per feature"
    fitted = _model(model, lambda one: (why := showing.without_weights(one)) and f"{why}: {each}")
    recipe = getattr(fitted, "recipe_", {})
    source: Any = model[0].table(data) if isinstance(model, TablePipeline) else data
    if are_files(source) or (is_frame(source) and recipe.get("format") == "table"):
        # rows keep their numbers in the files
        missing = "skip" if recipe.get("missing") == "drop" else None
        source = open_like(fitted, None, source, labeled=False, missing=missing, **reading)
    elif not isinstance(source, Source):
        source = to_predict(fitted, source, "skip")
    prediction, end, classes = fitted.predictions(source), 0, hasattr(fitted, "classes_")
    for batch, scores, *codes in prediction.codes() if classes else prediction.rows():
        at, end = row - batch.first, batch.first + batch.size
        if not 0 <= at < batch.size:
            continue
        if batch.unanswered is not None and batch.unanswered[at]:
            where = source.where(row) + " has a missing value"
            raise DataError(where, "provide a value", code="missing-value")
        offset = 0.0 if batch.offset is None else float(batch.offset[at])
        own = scores[at] if classes else prediction.values(scores[at : at + 1]) + offset
        code = int(codes[0][at]) if classes else None
        found = showing.terms_of(fitted, source, row, batch.X[at : at + 1], own, code, offset)
        found = {"row": source.where(row)} | found | source.gaps(row)
        return Explanation(_model=fitted, _top=top, **found)
    why = f"{source.name} has {counted(end, 'row')}, so there is no row {row + 1:,}."
    raise DataError(why, code="out-of-range", path=source.name, row=row + 1)


def effects(
    model: Any, data: Any, *, at: Any = "overall", level: float = 0.95, **reading: Any
) -> Any:
    """Return the marginal effects of a logistic regression, as ``linsep effects`` does: the change
    in the probability of a class per unit of a feature.

    Parameters
    ----------
    model : fitted LogisticRegression, :class:`TablePipeline` of one, or path of a saved one
    data : array or data frame of shape (rows, columns), path or list of paths, or Source
        The rows to average over, usually those of the fit.
    at : "overall", "mean" or dict of column to value, default "overall"
        The mean effect over all rows; at the means of the features; or the mean with these values.
    level : float between 0 and 1, default 0.95
        Level of the intervals.
    **reading : how files are read, such as ``delimiter=";"``, as for :func:`open_source`

    Returns
    -------
    linsep.inference.table.Summary
        The table of :meth:`LogisticRegression.marginal_effects`; ``print`` it.

    Raises
    ------
    DataError
        For another model, and rows that cannot be read.
    """
    without = "has no marginal effects: only logistic regressions have them"
    fitted = _model(model, lambda one: None if hasattr(one, "marginal_effects") else without)
    if are_files(data):
        labeled = True if getattr(fitted, "recipe_", {}).get("weight") else None
        data = open_like(fitted, None, data, labeled=labeled, **reading)
    with output.watching(data), of_features(False):
        table = fitted.marginal_effects(data, at=at, level=level)
    tell_unknown(getattr(data, "unseen", {}), getattr(fitted, "recipe_", {}))
    return table

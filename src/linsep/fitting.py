"""What a fit of files is, below the command line: how the files are opened for a learner, the
parameters it has where none are given, and the scores of other files.
"""

from collections.abc import Container, Mapping
from difflib import get_close_matches
from inspect import signature
from typing import Any

import numpy as np

from linsep.batches import weight_totals
from linsep.catalog import ESTIMATORS, REGRESSIONS, is_scaled
from linsep.errors import DataError, ParameterError, hint, in_python
from linsep.estimators._common.labels import plain_labels
from linsep.estimators._common.predicting import probabilities_of
from linsep.other_names import advice_for
from linsep.parameters import parameters_of
from linsep.sources.base import Source, is_frame
from linsep.sources.opening import find_files, kind_of, names_in, open_source
from linsep.sources.tables.reading_options import ReadingOptions

#: Defaults of learners in passes on files. Files may be large, and most data are not separable:
#: ten passes, not a thousand. If classes overlap, the last weights depend on the last few rows;
#: averaged weights do not.
USUAL: dict[str, Any] = {"max_iter": 10, "keep": "average"}


def opened_for(
    learner: str,
    data: Any,
    *,
    intercept: bool = True,
    scale: str | None = None,
    reference_level: Any = None,
    format: str | None = None,
    **how: Any,
) -> Source:
    """Open files for the learner of this name.

    Parameters
    ----------
    learner : str
    data : files, or a data frame
    intercept : bool
        Whether it learns an intercept.
    scale : str, optional
        As in :func:`linsep.open_source`; by default "standard" for the columns of a table, unless
        the learner takes no negative values or estimates in units of the columns.
    reference_level : dict, optional
        Also as there; by default "first" if a regression has an intercept.
    format, how : further arguments of :func:`linsep.open_source`
    """
    # Svmlight text and Vowpal Wabbit's have no columns to encode.
    table = is_frame(data) or kind_of(find_files(names_in(data), format), format) == "table"
    if scale is None:
        scale = "standard" if table and is_scaled(learner) else "none"
    coded = how.get("formula") is not None  # with reference levels of its own
    if reference_level is None and table and intercept and learner in REGRESSIONS and not coded:
        # A full set of indicators adds up to the intercept, so that their estimates are not
        # determined; naive Bayes, which has no intercept to leave out, estimates none jointly.
        reference_level = "first" if "fit_intercept" in parameters_of(ESTIMATORS[learner]) else None
    return open_source(
        data, scale=scale, reference_level=reference_level or None, format=format, **how
    )


def fit(
    data: Any,
    *,
    target: str | None = None,
    learner: str = "perceptron",
    test: Any = None,
    calibrate: Any = None,
    calibration: str = "sigmoid",
    random_state: int = 0,
    class_weight: Any = None,
    reference: Any = None,
    **options: Any,
) -> Any:
    """Learn from files or a data frame as the command ``linsep fit`` does, to the same bits.

    Its defaults are those of the command, not of the estimators: columns of numbers are scaled
    (``scale="none"`` leaves them), and online learners make at most ten passes and predict with
    averaged weights.

    Parameters
    ----------
    data : a data frame of pandas or polars, an Arrow table; files, folders, globs or addresses
    target : name of the label column; not for formats that have labels first, nor with a
        ``formula``, which names it
    learner : name of the learner, as of ``linsep fit --learner``, such as "logistic" or "pa"
    test : data to score at the end, read as `data` is; default None
    calibrate, calibration : data on which to calibrate probabilities, and "sigmoid" or "isotonic"
    random_state : seed of learners that draw at random
    class_weight : dict of label to weight, "balanced", or None
    reference : which of two classes is -1, or the reference class of a logistic regression
    **options : arguments of :func:`open_source`, such as ``missing="mean"``,
        ``categorical="rank"`` or ``formula="admit ~ gre * C(rank)"``, and parameters of the
        estimator, such as ``keep="last"``

    Returns
    -------
    The fitted estimator. Its ``recipe_`` says how rows become features: :meth:`predict` takes data
    frames with the columns of `data`, and names of files. With `test`, ``test_scores_`` has what
    ``linsep score --json`` prints.

    Raises
    ------
    TypeError
        For an option that neither reading nor the learner has.
    DataError
        As :func:`open_source` and the estimator do.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"size": [1, 2, 8, 9], "color": ["red", "blue", "red", "blue"],
    ...                      "kind": ["small", "small", "large", "large"]})
    >>> model = fit(rows, target="kind")
    >>> model.predict(rows.drop(columns="kind")).tolist()
    ['small', 'small', 'large', 'large']
    """
    if learner not in ESTIMATORS:
        raise ParameterError(f"learner is {learner!r}: choose one of {', '.join(ESTIMATORS)}.")
    kind = ESTIMATORS[learner]
    own, takes = parameters_of(kind), signature(kind).parameters
    reading = signature(open_source).parameters
    how = {name: value for name, value in options.items() if name in reading}
    given = {name: value for name, value in options.items() if name not in how}
    if unknown := [name for name in given if name not in own and name not in takes]:
        known = get_close_matches(unknown[0], [*own, *reading], 1)
        advice = f": did you mean {known[0]}?" if known else "."
        if (told := advice_for(unknown[0])) is not None:
            advice = f": {told.render(in_python)}."
        raise TypeError(f"fit() has no option {unknown[0]!r} for {learner}{advice}")
    others = {"random_state": random_state, "class_weight": class_weight, "reference": reference}
    for name, value in others.items():
        if name in takes:
            given[name] = value
        elif value is not None and name != "random_state":
            raise TypeError(f"{learner} has no {name}: leave it out.")
    given = with_intercept(learner, how.get("formula"), given)
    source = opened_for(
        learner, data, target=target, intercept=given.get("fit_intercept") is not False, **how
    )
    model = make_estimator(learner, given).fit(source)
    again = {n: how[n] for n in ("format", *ReadingOptions._fields) if n in how}
    if calibrate is not None:
        from linsep.estimators._common.calibration import calibrate as calibrated

        like = open_source(calibrate, recipe=model.recipe_, **again)
        calibrated(model, like, method=calibration)
    if test is not None:
        model.test_scores_ = scores_of(model, open_source(test, recipe=model.recipe_, **again))
    return model


def with_intercept(
    learner: str, formula: str | None, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the parameters of a learner with the intercept that a formula says, None for none.

    Raises ParameterError where they say something else.
    """
    found = dict(parameters)
    if formula is None or "fit_intercept" not in parameters_of(ESTIMATORS[learner]):
        return found
    from linsep.sources.tables.formula_parsing import parsed

    intercept = parsed(formula).intercept
    if found.get("fit_intercept") not in (None, intercept):
        has, change = ("an", "write - 1 in it") if intercept else ("no", "leave out its - 1")
        raise ParameterError(
            f"The formula '{formula}' has {has} intercept",
            change,
            hint("leave out {}", fit_intercept=found["fit_intercept"]),
        )
    return found if intercept else found | {"fit_intercept": False}


def make_estimator(learner: str, given: Mapping[str, Any], usual: Mapping[str, Any] = USUAL) -> Any:
    """Return the learner of this name with the given parameters, and ``usual`` ones for the rest,
    which regressions do not have.
    """
    others = {} if learner in REGRESSIONS else dict(usual)
    return ESTIMATORS[learner](**others | dict(given))


def gaps_of(source: Source, unread: Container[str] = ()) -> dict[str, Any]:
    """Return what the last reading left out or replaced, as plain JSON; ``unread`` are columns of
    the model that were not to be read.

    A field that the model does not have matters where another is missing: it may be a misspelling.
    """
    gaps = {"rows_dropped": source.dropped, "values_filled": dict(source.filled)}
    ignored = {x: where for x, where in source.ignored.items() if x not in unread}
    return gaps | {"fields_ignored": ignored if any(gaps.values()) else {}}


def scores_of(model: Any, source: Source) -> dict[str, Any]:
    """Return scores of the predictions of a source, of classes or numbers, as plain JSON."""
    if hasattr(model, "classes_"):
        return _scores_of_classes(model, source)
    prediction = model.predictions(source)
    found = prediction.residuals()
    return {
        "rows": found.rows,
        "weight": found.weight if source.weighted else None,
        "r_squared": found.r_squared,
        "root_mean_squared_error": float(np.sqrt(found.squared / found.weight)),
        "mean_absolute_error": found.absolute / found.weight,
        "largest_error": found.largest,
        "standard_deviation": float(np.sqrt(found.spread / found.weight)),
        "unknown_values": prediction.unknown,
        **gaps_of(source),
    }


def _scores_of_classes(model: Any, source: Source) -> dict[str, Any]:
    """Return the accuracy and, for each class, counts of rows, right rows and predictions.

    Labels that are not classes of the model are rows of their own, always wrong. Shares are those
    of the weights of the rows.
    """
    k = model.classes_.size
    counts = _Counts(k)
    prediction, squared = model.predictions(source), 0.0
    for codes, truth, weights, scores in prediction.compared():
        counts.add(codes, truth, weights)
        squared += float(_squared_errors(model, scores, truth) @ weights)
    rows, right = counts.rows, counts.right
    total, weight = int(rows.sum()), counts.weights.sum()
    if not weight:
        raise DataError(f"{source.name} has no rows to score: all have weight 0.")
    return {
        "rows": total,
        "weight": float(weight) if source.weighted else None,
        "accuracy": float(counts.weights_right.sum() / weight),
        "brier": float(squared / weight) if hasattr(model, "predict_proba") else None,
        "most_frequent": float(counts.weights[:k].max() / weight),
        "unknown_labels": int(rows[k]),
        "unknown_values": prediction.unknown,
        **gaps_of(source),
        "classes": [
            {
                "label": label,
                "rows": int(rows[c]),
                "right": int(right[c]),
                "recall": _share(counts.weights_right[c], counts.weights[c]),
                "precision": _share(counts.weights_right[c], counts.weights_claimed[c]),
            }
            for c, label in enumerate(plain_labels(model.classes_))
        ],
    }


def _squared_errors(model: Any, scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the squared error of the probabilities of each row, of two classes that of one."""
    k = model.classes_.size
    if not hasattr(model, "predict_proba"):
        return np.zeros(truth.size)
    errors = probabilities_of(model, scores) - np.eye(k + 1)[truth, :k]
    return (errors**2).sum(axis=1) / (2 if k == 2 else 1)


class _Counts:
    """Rows and their weights by class: all, those predicted right, and those of the prediction.

    ``rows`` and ``weights`` have one entry more, for unknown labels.
    """

    def __init__(self, k: int):
        self.rows, self.weights = np.zeros(k + 1, dtype=np.int64), np.zeros(k + 1)
        self.right, self.weights_right = np.zeros(k, dtype=np.int64), np.zeros(k)
        self.weights_claimed = np.zeros(k)

    def add(self, codes: np.ndarray, truth: np.ndarray, weights: np.ndarray) -> None:
        """Add rows of these predicted and true classes."""
        well, k = codes == truth, self.right.size
        self.rows += np.bincount(truth, minlength=k + 1)
        self.right += np.bincount(codes[well], minlength=k)
        self.weights = weight_totals(self.weights, truth, weights)
        self.weights_right = weight_totals(self.weights_right, codes[well], weights[well])
        self.weights_claimed = weight_totals(self.weights_claimed, codes, weights)


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None

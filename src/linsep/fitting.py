"""Fitting files, below the command line: how files are opened for a learner, and its default
parameters.
"""

from collections.abc import Mapping
from contextlib import closing
from inspect import signature
from types import MappingProxyType
from typing import Any

import numpy as np

from linsep.catalog import (
    ESTIMATORS,
    OF_TEXT,
    REGRESSIONS,
    USUAL,
    USUAL_LEARNER,
    WITHOUT_PASSES,
    is_scaled,
)
from linsep.errors import ArgumentError, DataError, ParameterError, hint
from linsep.estimators import thresholds
from linsep.estimators.thresholds import Rule
from linsep.other_names import advice_on, meant
from linsep.parameters import parameters_of
from linsep.scoring import scored, scores_of
from linsep.sources.base import Source, is_frame
from linsep.sources.opening import find_files, kind_of, names_in, open_source
from linsep.sources.tables.reading_options import ReadingOptions
from linsep.words import percent

#: rows are treated as texts if, in the first rows of a file, there are more features than this, a
#: row has a smaller share of them, and its squared values add up to at most this
WIDE, SPARSE, SHORT, FIRST_ROWS = 1_000, 0.01, 2.0, 1_000


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
    """Open data for a named learner, with or without an ``intercept``: its table is scaled, unless
    the learner accepts no negative values or its estimates are in units of the columns, and has
    reference levels if it is a regression with an intercept.
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


def chosen_learner(
    source: Source, given: Mapping[str, Any] = MappingProxyType({})
) -> tuple[str, str | None]:
    """Return the default learner of a source, and the kind of rows for which it was chosen (None
    for any): AROW if rows are texts, or similar to them (wide, sparse and of length about 1; longer
    rows need a larger r), unless only the perceptron has the parameters that are ``given``; else
    the perceptron.
    """
    rows, words = None, source.options().get("text") or {}
    if words and all(how["norm"] for how in words.values()):
        rows = "text"
    elif source.kind in ("svmlight", "vw"):
        rows = like_texts(source)
    named = {name for name, value in given.items() if value is not None}
    if rows is None or named - parameters_of(ESTIMATORS[OF_TEXT]).keys():
        return USUAL_LEARNER, None
    return OF_TEXT, rows


def like_texts(source: Source) -> str | None:
    """Return why the first rows of a sparse source resemble texts; None if they do not."""
    try:
        with closing(source.batches()) as batches:  # type: ignore[type-var]
            X = next(batches).X[:FIRST_ROWS]
    except (DataError, StopIteration):
        return None  # learning, which reads the same rows, says it with its line
    features, stored = len(set(X.indices.tolist())), X.nnz / max(1, X.shape[0])
    with np.errstate(over="ignore"):
        square = float(X.data @ X.data) / max(1, X.shape[0])
    if features <= WIDE or stored >= SPARSE * features or not square <= SHORT:
        return None
    return f"{features:,} features, of which a row has {percent(stored / features)}"


def fit(
    data: Any,
    target: str | None = None,
    *,
    learner: str | None = None,
    test: Any = None,
    calibrate: Any = None,
    calibration: str = "sigmoid",
    random_state: int = 0,
    class_weight: Any = None,
    reference: Any = None,
    cv: Any = None,
    threshold: Any = None,
    **options: Any,
) -> Any:
    """Fit a model to files or a data frame as the command ``linsep fit`` does, with bit-identical
    results.

    The defaults are those of the command, not of the estimators: numeric columns are standardized
    (``scale="none"`` turns this off), and online learners make at most ten passes and predict with
    averaged weights.

    Parameters
    ----------
    data : a data frame of pandas or polars, an Arrow table; files, folders, globs or URLs
    target : name of the label column; omit it for formats with leading labels, and with a
        ``formula``, which names the target
    learner : name of the learner, as of ``linsep fit --learner``, such as "logistic" or "pa"; None
        chooses "arow" for text columns and text-like sparse rows, else "perceptron"
    test : data to score after the fit, read like `data`; default None
    calibrate, calibration : data for calibrating probabilities, and "sigmoid" or "isotonic"
    random_state : seed of learners that use random numbers
    class_weight : dict of label to weight, "balanced", or None
    reference : which of two classes is -1, or the reference class of a logistic regression
    cv : number of cross-validation folds, stratified by class (with whole groups, if there are
        any), or a splitter of scikit-learn; default None
    threshold : decision threshold for the positive class of two, such as "recall=0.9", "cost=10:1"
        or 0.3, as in :func:`linsep.set_threshold`; chosen on the rows of `calibrate`, else in the
        folds of `cv`, else in five folds; for the Winnow learners a number is their own parameter
        ``threshold``
    **options : arguments of :func:`open_source` and parameters of the estimator
        Such as ``missing="mean"``, ``formula="admit ~ gre * C(rank)"`` and ``keep="last"``.

    Returns
    -------
    model : :class:`TablePipeline`
        Its steps make features and learn; it has the attributes of the learner. Of svmlight and
        Vowpal Wabbit's text, which have no columns, it is the estimator alone. With `test`,
        ``test_scores_`` holds the output of ``linsep score --json``. With `cv`, ``cv_scores_``
        holds the metrics of each fold, as arrays by name.

    Raises
    ------
    TypeError
        For an unknown option.
    DataError
        For invalid data, as in :func:`open_source` and the estimator.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"size": [1, 2, 8, 9], "color": ["red", "blue", "red", "blue"],
    ...                      "kind": ["small", "small", "large", "large"]})
    >>> model = fit(rows, target="kind")
    >>> model.predict(rows.drop(columns="kind")).tolist()
    ['small', 'small', 'large', 'large']
    """
    reading = signature(open_source).parameters
    how = {name: value for name, value in options.items() if name in reading}
    first = USUAL_LEARNER if learner is None else learner
    if first not in ESTIMATORS:
        raise ParameterError(
            f"learner is {first!r}, none of {', '.join(ESTIMATORS)}",
            *(meant(first, ESTIMATORS) or ["call fit of yours with open_source(...)"]),
            option="learner", value=first,
        )  # fmt: skip
    given = {name: value for name, value in options.items() if name not in how}
    given = with_intercept(first, how.get("formula"), given)
    source = opened_for(
        first, data, target=target, intercept=given.get("fit_intercept") is not False, **how
    )
    if learner is None:
        learner, _ = chosen_learner(source, given)
    own, takes = parameters_of(ESTIMATORS[learner]), signature(ESTIMATORS[learner]).parameters
    for name in sorted(given.keys() - own.keys() - takes.keys()):
        said = f"fit() has no option {name!r} for {learner}"
        raise ArgumentError(said, *advice_on(name, [*own, *reading]))
    others = {"random_state": random_state, "class_weight": class_weight, "reference": reference}
    for name, value in others.items():
        if name in takes:
            given[name] = value
        elif value is not None and name != "random_state":
            raise ArgumentError(f"{learner} has no {name}: leave it out.")
    rule = decision_rule(None if threshold is None else Rule.of(threshold), learner, given)
    model = make_estimator(learner, given)
    folds: Any = None
    in_folds = calibrate is None and rule is not None and rule.name != "fixed"
    if cv is not None or in_folds:
        from linsep.cross_validation import Folds, cross_validated, kept

        folds = Folds(5 if cv is None else cv, random_state=random_state)
        folds.check(source.grouped)
        if in_folds:
            check_in_folds(model)
        source, rows = kept(source)
    model.fit(source)
    like, again = source, {n: how[n] for n in ("format", *ReadingOptions.names()) if n in how}
    if calibrate is not None:
        like = open_source(calibrate, recipe=model.recipe_, **again)
        thresholds.calibrate(model, like, method=calibration)
    if rule is not None:
        decide(model, rule, like, folds if in_folds else None, source)
    if cv is not None:
        model.cv_scores_ = cross_validated(model, source, rows, folds)
    if test is not None:
        model.test_scores_ = scores_of(model, open_source(test, recipe=model.recipe_, **again))
    return as_pipeline(model, source)


def as_pipeline(model: Any, source: Source) -> Any:
    if not hasattr(source, "given_options"):
        return model
    from linsep.pipelines import TablePipeline

    return TablePipeline.of(model, source)


def decision_rule(rule: Rule | None, learner: str, parameters: dict[str, Any]) -> Rule | None:
    """Return the rule of a threshold; a number becomes the parameter ``threshold`` of a learner
    that has one. Raises ParameterError for a regression.
    """
    kind = ESTIMATORS[learner]
    if rule is None:
        return None
    if rule.name == "fixed" and "threshold" in parameters_of(kind):
        parameters["threshold"] = rule.value
        return None
    if not hasattr(kind, "decision_function"):
        raise ParameterError(
            f"A threshold applies to two classes, but {learner} predicts numbers",
            hint("leave out {}", threshold=None), hint("choose another {}", learner=None),
            code="unsupported", option="threshold",
        )  # fmt: skip
    return rule


def check_in_folds(model: Any) -> None:
    if model.get_params(deep=False).get("keep", "average") in ("last", "best"):
        raise DataError(
            f"The scores of {model.keep} weights have a different scale in every fold",
            hint("choose {}", keep="average"),
            hint("choose the threshold on other rows with {}", calibrate=None),
            code="unsupported", option="keep", value=model.keep,
        )  # fmt: skip


def decide(model: Any, rule: Rule, like: Source, folds: Any, learned: Source) -> None:
    """Give a fitted model a threshold, chosen on a source ``like`` the training rows, or in folds
    of these, and measure its training accuracy again.
    """
    if folds is None:
        thresholds.set_threshold(model, rule, like)
    else:
        from linsep.cross_validation import out_of_fold

        thresholds.check_two(model)
        found = out_of_fold(model, learned, folds)
        on = f"{folds.cv if isinstance(folds.cv, int) else 'the'} folds"
        rows = found.scores, found.truth, found.weights
        chosen = thresholds.chosen_threshold(model, rule, rows, on)
        thresholds.with_threshold(model, chosen)
    learned.stage = "measuring"
    found = scored(model, learned)
    right = found.predicted == found.truth
    model.training_accuracy_ = float(np.average(right, weights=found.weights))
    model.training_rows_, model.training_sampled_ = right.size, found.step > 1


def with_intercept(
    learner: str, formula: str | None, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the parameters of a learner with the intercept of a formula, or without a formula as
    they are; ParameterError if they contradict it.
    """
    given = dict(parameters)
    if formula is None:
        return given
    from linsep.sources.tables.formulas import parsed

    read = parsed(formula, ["other"])  # a dot stands for some columns
    if not read.terms and learner not in ("linear", "logistic"):
        raise ParameterError(
            f"The formula '{formula}' has no terms, as only linear and logistic regressions accept",
            "add a term, such as a column", hint("choose another {}", learner=None),
            code="bad-formula", option="formula", value=formula,
        )  # fmt: skip
    if "fit_intercept" not in parameters_of(ESTIMATORS[learner]):
        return given
    if given.get("fit_intercept") not in (None, read.intercept):
        has, change = ("an", "write - 1 in it") if read.intercept else ("no", "leave out its - 1")
        raise ParameterError(
            f"The formula '{formula}' has {has} intercept",
            change, hint("leave out {}", fit_intercept=given["fit_intercept"]),
            code="conflict", option="fit_intercept",
        )  # fmt: skip
    return given if read.intercept else given | {"fit_intercept": False}


def make_estimator(learner: str, given: Mapping[str, Any], usual: Mapping[str, Any] = USUAL) -> Any:
    """Return the named learner with the given parameters, and for online learners the ``usual``
    ones for the rest.
    """
    return ESTIMATORS[learner](**{**({} if learner in WITHOUT_PASSES else usual), **given})

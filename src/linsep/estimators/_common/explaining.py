"""Explanation of a row's score: the value, weight and product of every feature."""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.errors import DataError
from linsep.estimators._common.labels import (
    label_text,
    pairs,
    plain_labels,
    positive_code,
    standardized,
    target_name,
)
from linsep.parameters import fitted_parameter
from linsep.sources.base import Source


def _term(feature: str, value: float, weight: float, deviation: float | None) -> dict[str, Any]:
    """Return a term of a score as plain JSON: a feature with its value, its weight, the standard
    deviation of the weight if the learner estimates it, and their product, rounded.
    """
    known = {} if deviation is None else {"standard_deviation": deviation}
    plain = {"feature": feature, "value": value, "weight": weight}
    return plain | known | {"product": value * weight}


class Scored(NamedTuple):
    """One row: its number from 0, the model's columns and values, scores, class, offset."""

    number: int
    columns: np.ndarray
    values: np.ndarray
    scores: np.ndarray
    code: int | None
    offset: float = 0.0


def explained(model: Any, source: Source, number: int) -> dict[str, Any]:
    """Return the terms of the score of a row, largest product first, as plain JSON.

    With several classes, the score is for the predicted class, or the most probable class that has
    weights. Raises DataError if there are fewer rows, or if classes have no separate scores.
    """
    scored = scored_row(model, source, number)
    found = terms_of(model, scored, names_and_signs(model, source, scored))
    return {"row": source.where(number)} | found | source.gaps(number)


def terms_of(model: Any, scored: Scored, features: list[tuple[str, int]]) -> dict[str, Any]:
    """Return the terms of the score of a row with features of these names and signs, as plain JSON.

    A word hashed with a negative sign gets the negated value and weight of its column; their
    product is the same. Raises DataError as :func:`explained` does, and if a term is not finite.
    """
    machines, linear, values = machine_names(model), _linear(model), scored.values
    coef = np.reshape(linear.coef_, (len(machines), -1))
    intercept = np.atleast_1d(linear.intercept_)
    k, score = _machine(model, scored, len(machines))
    if fitted_parameter(model, "normalize"):
        from linsep.mistake_bounds.bounds import length

        values = values / (length(values) or 1.0)
    known = deviations(model)
    unsure = [None] * len(values) if known is None else known[0][k][scored.columns].tolist()
    weights = coef[k][scored.columns].tolist()
    terms = [
        _term(name, sign * value, sign * weight, deviation)
        for (name, sign), value, weight, deviation in zip(
            features, values.tolist(), weights, unsure, strict=True
        )
        if value * weight
    ]
    if scored.offset:
        terms.append(_term("offset", 1.0, scored.offset, None))
    if intercept[k]:
        own = None if known is None else float(known[1][k])
        terms.append(_term("intercept", 1.0, float(intercept[k]), own))
    products = [term["product"] for term in terms]
    if not np.isfinite([score, *products]).all():
        raise DataError("A product or the score of the row overflows float64.", code="overflow")
    terms.sort(key=lambda term: -abs(term["product"]))
    rest = Fraction(score) - sum(map(Fraction, products))
    label = None if scored.code is None else plain_labels(model.classes_)[scored.code]
    return {
        "prediction": score if label is None else label,
        "score_of": machines[k],
        "score": score,
        "terms": terms,
        "standardized": standardized(model),
        "rounding": float(rest),
        "without_effect": int(scored.columns.size + bool(intercept[k]) - len(terms)),
    }


def scored_row(model: Any, source: Source, number: int) -> Scored:
    """Return a row (from 0) with its scores; raise DataError if there are fewer rows."""
    prediction, seen = model.predictions(source), 0
    classes = hasattr(model, "classes_")
    for found in prediction.codes() if classes else prediction.rows():
        batch = found[0]
        seen = batch.first + batch.X.shape[0]
        if number >= seen:
            continue
        at = number - batch.first
        if batch.unanswered is not None and batch.unanswered[at]:
            raise DataError(
                source.where(number) + " has a missing value: provide a value.",
                code="missing-value",
            )
        offset = 0.0 if batch.offset is None else float(batch.offset[at])
        X, code = batch.X[at : at + 1], int(found[2][at]) if classes else None
        scores = found[1][at] if classes else prediction.values(found[1][at : at + 1]) + offset
        return scored_as(model, number, X, scores, code)._replace(offset=offset)
    raise DataError(
        f"{source.name} has {seen:,} rows, so there is no row {number + 1:,}.",
        code="out-of-range", path=source.name, row=number + 1,
    )  # fmt: skip


def scored_as(model: Any, number: int, X: Any, scores: Any, code: int | None) -> Scored:
    """Return a row, given as an array or matrix of one row, with known scores."""
    row = sp.csr_array(X)
    row.eliminate_zeros()
    known = row.indices < model.n_features_in_
    columns, values = row.indices[known], row.data[known].astype(np.float64)
    return Scored(number, columns, values, np.ravel(scores), code)


def is_curved(model: Any) -> bool:
    """Return whether a model is naive Bayes with separate variances per class, whose log-odds are
    quadratic, without weights.
    """
    return hasattr(model, "to_logistic") and np.ndim(model.variances_) == 2


def deviations(model: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the standard deviations of weights and intercepts, of shapes (binary classifiers,
    features) and (binary classifiers,), for a learner with variances; else None.
    """
    if not hasattr(model, "intercept_variances_"):
        return None
    return np.sqrt(np.atleast_2d(model.variances_)), np.sqrt(model.intercept_variances_)


def without_weights(model: Any) -> str | None:
    """Return why the features of a model have no weights; None if they have weights."""
    if fitted_parameter(model, "keep") == "vote":
        return "votes"
    if is_curved(model):
        return "has separate variances for each class"
    return None if hasattr(_linear(model), "coef_") else "has a kernel"


def machine_names(model: Any) -> list[str]:
    """Return the meaning of each row of ``coef_``: a class, or one class against another."""
    if not hasattr(model, "classes_"):
        return getattr(model, "targets_", None) or [target_name(model) or "y"]
    labels = [label_text(label) for label in model.classes_]
    if hasattr(model, "to_logistic"):
        model = model.to_logistic()
    if getattr(model, "reference_", None) is not None:
        reference = label_text(model.reference_)
        return [f"{label} against {reference}" for label in labels if label != reference]
    if fitted_parameter(model, "multiclass") == "ovo":
        return [f"{labels[b]} against {labels[a]}" for a, b in pairs(len(labels))]
    return labels


def _linear(model: Any) -> Any:
    return model.to_logistic() if hasattr(model, "to_logistic") else model


def _machine(model: Any, scored: Scored, n_machines: int) -> tuple[int, float]:
    """Return the row of ``coef_`` that scores the row, and the score."""
    if n_machines == 1:  # scores are positive for the larger class, whatever the weights mean
        turned = hasattr(model, "classes_") and not positive_code(_linear(model))
        return 0, float(0.0 - scored.scores[0] if turned else scored.scores[0])
    linear, code = _linear(model), scored.code
    assert code is not None
    if getattr(linear, "multiclass", "") == "ovo":
        raise DataError(
            "One-vs-one models have no per-class score: fit the model with --multiclass ovr.",
            code="unsupported", option="multiclass",
        )  # fmt: skip
    if n_machines == scored.scores.size:
        return code, float(scored.scores[code])
    reference = model.classes_.tolist().index(linear.reference_)
    others = [code for code in range(scored.scores.size) if code != reference]
    best = max(range(n_machines), key=lambda k: scored.scores[others[k]])
    return best, float(scored.scores[others[best]] - scored.scores[reference])


def names_and_signs(model: Any, source: Any, scored: Scored) -> list[tuple[str, int]]:
    """Return the names and signs of what the features of a row count."""
    columns = scored.columns.tolist()
    names, recipe = getattr(model, "feature_names_in_", None), getattr(model, "recipe_", {})
    if recipe.get("words") and names is None and not hasattr(source, "rules"):
        from linsep.sources.feature_names import FeatureNames

        known = FeatureNames(recipe)
        return [known.of(column) for column in columns]
    if hasattr(source, "rules"):
        found = _names_in_line(source, scored.number, columns)
    elif names is not None:
        found = [str(names[column]) for column in columns]
    else:
        first = recipe.get("index_base", 0)
        found = [str(column + first) for column in columns]
    return [(name, 1) for name in found]


def _names_in_line(source: Any, number: int, columns: list[int]) -> list[str]:
    """Return the names in a line of Vowpal Wabbit text; names that share a column are joined."""
    from linsep.sources.vw import parse_line

    line = parse_line(source.line(number)[2], source.rules, False)
    assert line is not None
    names: dict[int, list[str]] = {}
    for feature in line.features:
        own = names.setdefault(feature.column, [])
        if (name := feature.name.decode() or "(no name)") not in own:
            own.append(name)
    return [" + ".join(names[column]) for column in columns]

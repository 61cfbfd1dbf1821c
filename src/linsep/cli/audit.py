"""The command ``audit``: why one row has its score."""

from fractions import Fraction
from math import fsum
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import typer

from linsep.cli import options, report
from linsep.cli.inspect import machine_names
from linsep.cli.score import open_like
from linsep.cli.screen import label_text, plain_labels, print_pairs, print_table
from linsep.cli.standard_input import reads_data
from linsep.errors import DataError
from linsep.estimators._common.checking import Parameter
from linsep.model_files import format as model_file
from linsep.sources.base import Source

Row = Annotated[
    Any,
    typer.Option(
        "--row",
        parser=options.reader(Parameter("row", int, "", low=1)),
        help="Which row of DATA, counted from 1.",
        metavar="N",
    ),
]
Most = Annotated[
    Any,
    typer.Option(
        "--top",
        parser=options.reader(Parameter("top", int, "", low=1)),
        help="Show the N features with the largest products.  [default: 30]",
        metavar="N",
        show_default=False,
    ),
]


class Term(NamedTuple):
    """A part of a score: a feature, its value and its weight."""

    feature: str
    value: float
    weight: float

    @property
    def product(self) -> float:
        """Value times weight, rounded."""
        return self.value * self.weight


class Scored(NamedTuple):
    """One row: its number from 0, columns and values known to the model, scores, and class."""

    number: int
    columns: np.ndarray
    values: np.ndarray
    scores: np.ndarray
    code: int | None


@reads_data
def audit(
    model: options.ModelIn,
    data: options.Data,
    *,
    row: Row = 1,
    top: Most = None,
    format: options.DataFormat = None,
    delimiter: options.Delimiter = None,
    max_line: options.MaxLine = None,
    as_json: options.AsJson = False,
) -> None:
    """Show each feature's value, weight and product in one row of DATA, largest product first.

    The products, the intercept and the rounding of their sum add up to the score.

    Example: linsep audit species.linsep test.csv --row 3
    """
    estimator = model_file.load(model)
    if (why := _without_weights(estimator)) is not None:
        raise DataError(
            f"{model} is a {type(estimator).__name__} that {why}, so that its "
            "scores are no sums of one product for each feature: learn another model."
        )
    how = {"format": format, "delimiter": delimiter, "max_line": max_line}
    source = open_like(estimator, model, data, labelled=False, **how)
    found = explained(estimator, source, row - 1)
    if as_json:
        report.print_json(found)
    else:
        print_audit(found, top or 30)


def explained(model: Any, source: Source, number: int) -> dict[str, Any]:
    """Return the terms of the score of a row, largest product first, as plain JSON.

    Of several classes it is the score of the predicted one, or of the most probable one that has
    weights.
    """
    scored = scored_row(model, source, number)
    machines = machine_names(model)
    coef, intercept = (np.atleast_1d(part) for part in _weights(model))
    coef = coef.reshape(len(machines), -1)
    k, score = _machine(model, scored, len(machines))
    values = _scaled(model, scored.values)
    names = feature_names(model, source, scored)
    terms = [
        Term(name, float(value), float(weight))
        for name, value, weight in zip(names, values, coef[k][scored.columns], strict=True)
    ]
    terms = [term for term in terms if term.product]
    if intercept[k]:
        terms.append(Term("intercept", 1.0, float(intercept[k])))
    terms.sort(key=lambda term: -abs(term.product))
    rest = Fraction(score) - sum(Fraction(term.product) for term in terms)
    label = None if scored.code is None else plain_labels(model.classes_)[scored.code]
    return {
        "row": source.where(number),
        "prediction": score if label is None else label,
        "score_of": machines[k],
        "score": score,
        "terms": [term._asdict() | {"product": term.product} for term in terms],
        "rounding": float(rest),
        "without_effect": int(scored.columns.size + bool(intercept[k]) - len(terms)),
    }


def scored_row(model: Any, source: Source, number: int) -> Scored:
    """Return a row (from 0) with its scores; raise DataError if there are fewer rows."""
    prediction, seen = model._prediction(source), 0
    classes = hasattr(model, "classes_")
    for found in prediction.codes() if classes else prediction.rows():
        batch = found[0]
        seen = batch.first + batch.X.shape[0]
        if number >= seen:
            continue
        at = number - batch.first
        row = sp.csr_array(batch.X[at : at + 1])
        row.eliminate_zeros()
        known = row.indices < model.n_features_in_
        columns, values = row.indices[known], row.data[known].astype(np.float64)
        if classes:
            return Scored(number, columns, values, np.ravel(found[1][at]), int(found[2][at]))
        score = model._predict(found[1][at : at + 1], None, 0.5)
        return Scored(number, columns, values, np.ravel(score), None)
    raise DataError(f"{source.name} has {seen:,} rows, no row {number + 1:,}: choose another.")


def _without_weights(model: Any) -> str | None:
    """Return why the features of a model have no weights, None if they have."""
    if getattr(model, "keep", "") == "vote":
        return "votes"
    return None if hasattr(_linear(model), "coef_") else "has a kernel"


def _linear(model: Any) -> Any:
    return model.to_logistic() if hasattr(model, "to_logistic") else model


def _weights(model: Any) -> tuple[np.ndarray, np.ndarray]:
    linear = _linear(model)
    return linear.coef_, linear.intercept_


def _scaled(model: Any, values: np.ndarray) -> np.ndarray:
    """Return the values as the model takes them: of length 1 with ``normalize``."""
    length = float(np.linalg.norm(values)) if getattr(model, "normalize", False) else 0.0
    return values / length if length else values


def _machine(model: Any, scored: Scored, n_machines: int) -> tuple[int, float]:
    """Return the row of ``coef_`` that scores the row, and the score."""
    if n_machines == 1:
        return 0, float(scored.scores[0])
    linear, code = _linear(model), scored.code
    assert code is not None
    if getattr(linear, "multiclass", "") == "ovo":
        raise DataError(
            "The model has a machine for each pair of classes, which vote, so that no class has a "
            "score of its own: learn it with --multiclass ovr."
        )
    if n_machines == scored.scores.size:
        return code, float(scored.scores[code])
    reference = model.classes_.tolist().index(linear.reference_)
    others = [code for code in range(scored.scores.size) if code != reference]
    best = max(range(n_machines), key=lambda k: scored.scores[others[k]])
    return best, float(scored.scores[others[best]])


def feature_names(model: Any, source: Source, scored: Scored) -> list[str]:
    """Return the names of the features of a row."""
    columns = scored.columns.tolist()
    if hasattr(source, "rules"):
        return _names_in_line(source, scored.number, columns)
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return [str(names[column]) for column in columns]
    if model.recipe_.get("words"):
        from linsep.sources.text.stored import FeatureNames

        known = FeatureNames(model.recipe_)
        return [known.of(column)[0] for column in columns]
    first = model.recipe_.get("index_base", 0)
    return [str(column + first) for column in columns]


def _names_in_line(source: Any, number: int, columns: list[int]) -> list[str]:
    """Return the names in a line of Vowpal Wabbit's text; those that share a column are joined."""
    from linsep.sources.vw.plain import parse_line

    line = parse_line(source.line(number)[2], source.rules, False)
    assert line is not None
    names: dict[int, list[str]] = {}
    for feature in line.features:
        own = names.setdefault(feature.column, [])
        if (name := feature.name.decode() or "(no name)") not in own:
            own.append(name)
    return [" + ".join(names[column]) for column in columns]


def print_audit(found: dict[str, Any], top: int) -> None:
    """Print the output of ``linsep audit``."""
    prediction = found["prediction"]
    pairs = [("row", found["row"]), ("score", f"{found['score']!r}, {found['score_of']}")]
    if prediction != found["score"]:
        pairs.insert(1, ("prediction", label_text(prediction)))
    print_pairs(pairs)
    shown, rest = found["terms"][:top], found["terms"][top:]
    rows = [
        [t["feature"], f"{t['value']:.6g}", f"{t['weight']:+.6g}", f"{t['product']:+.6g}"]
        for t in shown
    ]
    if rest:
        total = fsum(term["product"] for term in rest)
        rows.append([f"and {len(rest):,} more", "", "", f"{total:+.6g}"])
    if found["rounding"]:
        rows.append(["rounding of the sum", "", "", f"{found['rounding']:+.6g}"])
    print_table(["feature", "value", "weight", "product"], rows)

"""Scores and predictions of learners as ONNX operators, all in float64."""

from typing import Any, NamedTuple

import numpy as np

from linsep.compiled.core.rows import HUGE, TINY
from linsep.exports.onnx_graph import Graph
from linsep.exports.onnx_kernels import kernel_values
from linsep.exports.scoring import ExportError, Rule, linear_scores, rule_of
from linsep.learners.keeping import KeepVote
from linsep.learners.vote_scoring import VoteScoring


class Predicted(NamedTuple):
    """Names of the values of a model.

    ``values`` are decision values as ``decision_function`` returns them, of two classes as a
    column; ``codes`` those of the classes, None for a regression.
    """

    values: str
    codes: str | None


class Rows(NamedTuple):
    """Features of rows and, with ``normalize``, what multiplies their products with weights.

    Products are scaled, not features, as in training, so that a score of zero stays zero.
    """

    X: str
    scales: str | None

    def scores(self, graph: Graph, weights: np.ndarray, intercept: np.ndarray) -> str:
        """Return products with the columns of ``weights``, plus intercepts."""
        products = graph.op("MatMul", self.X, weights)
        if self.scales is not None:
            products = graph.op("Mul", products, self.scales)
        return graph.op("Add", products, intercept)


def predictions(graph: Graph, model: Any, X: str) -> Predicted:
    """Add the predictions of a model (of :func:`linsep.exports.scoring.fitted`) for the float64
    features ``X``.
    """
    rule = rule_of(model)
    if hasattr(model, "dual_coef_"):
        X = kernel_values(graph, model, X)
    rows = Rows(X, scales(graph, X, model.n_features_in_) if rule.normalize else None)
    if hasattr(model, "fitted_run") and isinstance(model.fitted_run().keeping, KeepVote):
        scores = voted(graph, model, rows, rule)
    else:
        coef, intercept, centre = weights_of(model)
        if centre is not None:
            rows = rows._replace(X=graph.op("Sub", X, centre))
        scores = rows.scores(graph, coef.T, intercept)
    if rule.name == "pairs":
        return won_pairs(graph, rule, scores)
    return Predicted(scores, codes_of(graph, rule, scores))


def weights_of(model: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return weights, intercepts and a centre, of support vectors if there is a kernel."""
    if not hasattr(model, "dual_coef_"):
        return linear_scores(model)
    sign = -1.0 if model._turned else 1.0
    return sign * model.dual_coef_, np.zeros(len(model.dual_coef_)), None


def scales(graph: Graph, X: str, width: int) -> str:
    """Return 1 / ||x|| of the rows as a column, 1 for a row of zeros, as training computes it."""
    one = np.ones((1, 1))
    total = graph.row_sums(graph.op("Mul", X, X), width)
    plain = graph.op("And", graph.op("Greater", total, TINY), graph.op("Less", total, HUGE))
    largest = graph.largest(graph.op("Abs", X))
    empty = graph.op("Equal", largest, 0.0)
    largest = graph.op("Where", empty, one, largest)
    part = graph.op("Div", X, largest)  # so that no square is beyond floats
    careful = graph.op("Sqrt", graph.row_sums(graph.op("Mul", part, part), width))
    careful = graph.op("Mul", largest, graph.op("Where", empty, one, careful))
    root = graph.op("Sqrt", graph.op("Where", plain, total, one))
    return graph.op("Div", one, graph.op("Where", plain, root, careful))


def codes_of(graph: Graph, rule: Rule, values: str) -> str | None:
    """Return the codes of the predicted classes."""
    if rule.name == "number":
        return None
    if rule.name == "sign":
        kind = "GreaterOrEqual" if rule.ties_high else "Greater"
        above = graph.op(kind, graph.shaped(values, -1), 0.0)
        return graph.cast(above, "INT64")
    return graph.op("ArgMax", values, axis=1, keepdims=0, select_last_index=int(rule.ties_high))


def probabilities(graph: Graph, rule: Rule, values: str) -> str:
    """Return the probabilities of the classes from log-odds."""
    if rule.name == "sign":
        both = graph.op("Concat", graph.op("Neg", values), values, axis=1)
        return graph.op("Sigmoid", both)
    return graph.op("Softmax", values, axis=1)


def calibrated(graph: Graph, calibration: Any, values: str) -> str:
    """Return calibrated probabilities of the classes from decision values."""
    curves = calibration.curves
    if calibration.method == "sigmoid":
        a, b = np.array(curves).T
        powers = graph.op("Add", graph.op("Mul", values, a), b)
        shares = graph.op("Sigmoid", graph.op("Neg", powers))
    else:
        columns = [interpolated(graph, graph.column(values, k), *c) for k, c in enumerate(curves)]
        shares = graph.op("Concat", *columns, axis=1) if len(columns) > 1 else columns[0]
    if len(curves) == 1:
        return graph.op("Concat", graph.op("Sub", np.ones((1, 1)), shares), shares, axis=1)
    total = graph.row_sums(shares, len(curves))
    none = graph.op("Equal", total, 0.0)
    divided = graph.op("Div", shares, graph.op("Where", none, 1.0, total))
    return graph.op("Where", none, 1.0 / len(curves), divided)


def interpolated(graph: Graph, column: str, x: np.ndarray, y: np.ndarray) -> str:
    """Return the values of a curve through corners, which is constant beyond the outer ones."""
    if len(x) == 1:
        return graph.op("Add", graph.op("Mul", column, 0.0), y)
    slopes = np.diff(y) / np.diff(x)
    inside = graph.op("Min", graph.op("Max", column, x[:1]), x[-1:])
    # of all corners, so that there is always a first one
    passed = graph.cast(graph.op("GreaterOrEqual", inside, x[None, :-1]), "DOUBLE")
    last = graph.op("Sub", graph.row_sums(passed, len(x) - 1), 1.0)
    corner = graph.cast(last, "INT64")
    x_last, y_last, slope = (graph.op("Gather", part, corner) for part in (x[:-1], y[:-1], slopes))
    return graph.op("Add", graph.op("Mul", slope, graph.op("Sub", inside, x_last)), y_last)


def won_pairs(graph: Graph, rule: Rule, scores: str) -> Predicted:
    """Return decision values and codes of one-vs-one, see linsep.learners.deciding.decision."""
    k, pairs = len(rule.classes), rule.pairs
    gains, starts = np.zeros((len(pairs), k)), np.zeros(k)
    for machine, (a, b) in enumerate(pairs):
        gains[machine, a], gains[machine, b] = -1.0, 1.0
        starts[a] += 1.0
    kind = "GreaterOrEqual" if rule.ties_high else "Greater"
    won = graph.cast(graph.op(kind, scores, 0.0), "DOUBLE")
    wins = graph.op("Add", graph.op("MatMul", won, gains), starts)
    sums = graph.op("MatMul", scores, gains)
    most = graph.op("Equal", wins, graph.largest(wins))
    among = graph.op("Where", most, sums, -np.inf)
    winner = graph.op("And", most, graph.op("Equal", sums, graph.largest(among)))
    codes = codes_of(graph, rule, graph.cast(winner, "DOUBLE"))
    scaled = graph.op("Mul", graph.op("Add", graph.op("Abs", sums), 1.0), 3.0)
    return Predicted(graph.op("Add", wins, graph.op("Div", sums, scaled)), codes)


def voted(graph: Graph, model: Any, rows: Rows, rule: Rule) -> str:
    """Return the vote fractions of all versions of the weights as decision values."""
    state, keeping = model.fitted_run().state, model.fitted_run().keeping
    if keeping.tie == "random":
        raise ExportError("Votes whose ties are drawn at random cannot be exported.")
    voting = VoteScoring(state, keeping.changes(), keeping.tie)
    first, bias = state.split(keeping.first_weights(state))
    high, rounds = keeping.tie == "positive", np.maximum(voting.rounds, 1).astype(np.float64)
    if voting.joint:
        versions = np.arange(voting.survived.size)
        tracks = [
            running_scores(graph, model, voting, versions, column, rows, first, bias)
            for column in range(state.n_columns)
        ]
        survived = np.append(voting.at_first[0], voting.survived).astype(np.float64)
        return graph.op("Div", joint_votes(graph, tracks, survived, high), rounds[0])
    votes = []
    for machine in range(state.n_machines):
        versions = np.flatnonzero(voting.log["machines"] == machine)
        track = running_scores(graph, model, voting, versions, machine, rows, first, bias)
        survived = np.append(voting.at_first[machine], voting.survived[versions])
        signs = graph.op(
            "Where", graph.op("GreaterOrEqual" if high else "Greater", track, 0.0), 1.0, -1.0
        )
        total = graph.op("MatMul", signs, survived.astype(np.float64)[:, None])
        votes.append(graph.op("Div", total, rounds[machine]))
    shares = graph.op("Concat", *votes, axis=1) if len(votes) > 1 else votes[0]
    return graph.op("Neg", shares) if rule.name == "sign" and model._turned else shares


def running_scores(
    graph: Graph, model: Any, voting: VoteScoring, versions: np.ndarray, column: int, rows: Rows,
    first: np.ndarray, bias: np.ndarray,
) -> str:  # fmt: skip
    """Return the scores by all versions of a column of weights, shape (rows, 1 + versions): those
    of the first weights, and what each version adds.
    """
    state, log = model.fitted_run().state, voting.log
    changes = np.zeros((state.n_features + 1, 1 + versions.size))
    changes[:-1, 0], changes[-1, 0] = first[column], bias[column]
    number = np.full(voting.survived.size, -1)
    number[versions] = np.arange(versions.size)
    lengths = voting.ends - log["starts"]
    version = np.repeat(number, lengths)
    mine = (version >= 0) & (log["columns"] == column)
    np.add.at(changes, (log["features"][mine], version[mine] + 1), log["amounts"][mine])
    changes[-1, 1:] *= state.bias
    return graph.op("CumSum", rows.scores(graph, changes[:-1], changes[-1]), np.array(1))


def joint_votes(graph: Graph, tracks: list[str], survived: np.ndarray, high: bool) -> str:
    """Return the votes for each class; ``tracks`` are its scores by all versions."""
    stacked = [graph.op("Unsqueeze", track, np.array([2])) for track in tracks]
    scores = graph.op("Concat", *stacked, axis=2)
    chosen = graph.op("ArgMax", scores, axis=2, keepdims=0, select_last_index=int(high))
    votes = []
    for k in range(len(tracks)):
        mine = graph.cast(graph.op("Equal", chosen, np.array(k)), "DOUBLE")
        votes.append(graph.op("MatMul", mine, survived[:, None]))
    return graph.op("Concat", *votes, axis=1)

"""Learners as ONNX operators, for standalone files and for the converters of skl2onnx: graphs,
kernel values, scores and decisions.

Only operators of ONNX's own set are used, which onnxruntime computes in float64. The operators for
scikit-learn's models (LinearClassifier, SVMClassifier and others) always compute in float32, which
is not exact enough for rows near a boundary.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.compiled.rows import HUGE, TINY
from linsep.exports.scoring import ExportError, Rule, is_turned, linear_scores, rule_of
from linsep.kernels.base import Constant, Kernel, Product, Scaled, Sum
from linsep.kernels.normalizing import Normalized
from linsep.kernels.vectors import RBF, AllSubsets, Linear, Polynomial
from linsep.learners.keeping import KeepVote, VoteScoring

#: versions of the operators: read by onnxruntime 1.12 (2022) and later
OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
ML = "ai.onnx.ml"


class NoOnnx(ExportError, ImportError):
    """The packages that write ONNX are not installed."""

    code = "missing-package"


def onnx_package() -> Any:
    """Return the package onnx; raise NoOnnx if it is not installed."""
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise NoOnnx(
            "Export to ONNX needs a package that is not installed: pip install 'linsep[onnx]'."
        ) from None
    return onnx


class Graph(ABC):
    """A graph to add nodes to; values are known by their names."""

    #: version of ONNX's operators
    opset = OPSET

    @abstractmethod
    def new_name(self, about: str) -> str:
        """Return an unused name."""

    @abstractmethod
    def constant(self, array: Any) -> str:
        """Add a constant and return its name; ``array`` may have dtype object, for strings."""

    @abstractmethod
    def node(self, kind: str, inputs: list[str], output: str, domain: str, **how: Any) -> None:
        """Add a node with one output."""

    def op(self, kind: str, *inputs: Any, domain: str = "", **how: Any) -> str:
        """Add a node and return the name of its output; arrays become constants."""
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        output = self.new_name(kind)
        self.node(kind, names, output, domain, **how)
        return output

    def cast(self, name: str, kind: str) -> str:
        """Return the value in another type, such as "DOUBLE"."""
        return self.op("Cast", name, to=getattr(onnx_package().TensorProto, kind))

    def largest(self, name: str) -> str:
        """Return the largest value of each row as a column."""
        if self.opset >= 18:
            return self.op("ReduceMax", name, np.array([1]), keepdims=1)
        return self.op("ReduceMax", name, axes=[1], keepdims=1)

    def row_sums(self, name: str, width: int) -> str:
        """Return the sum of each row as a column."""
        return self.op("MatMul", name, np.ones((width, 1)))

    def shaped(self, name: str, *shape: int) -> str:
        """Return the value in another shape, with one length -1."""
        return self.op("Reshape", name, np.array(shape, dtype=np.int64))

    def column(self, name: str, number: int) -> str:
        """Return a column of a matrix, as a matrix."""
        return self.op("Gather", name, np.array([number]), axis=1)


def kernel_values(graph: Graph, model: Any, X: str) -> str:
    """Return the kernel values of rows and support vectors, shape (rows, support vectors)."""
    vectors = model.support_vectors_
    if model.kernel_.takes not in ("vectors", "anything") or getattr(vectors, "ndim", 1) != 2:
        raise cannot(model.kernel_)
    dense = vectors.toarray() if sp.issparse(vectors) else vectors
    rows = KernelRows(graph, X, dense.astype(np.float64), int(model.n_features_in_))
    return rows.gram(model.kernel_)


def cannot(kernel: Kernel) -> ExportError:
    """Return the error for a kernel without ONNX operators."""
    return ExportError(
        f"The kernel {kernel!r:.80} cannot be written as ONNX operators: train with a linear, "
        "polynomial, rbf or all-subsets kernel, or sums and products of these."
    )


class KernelRows:
    """Rows to compare with support vectors.

    Parameters
    ----------
    graph : Graph
    X : name of the float64 features
    vectors : array of shape (support vectors, features)
    width : number of features
    """

    def __init__(self, graph: Graph, X: str, vectors: np.ndarray, width: int):
        self.graph, self.X, self.vectors, self.width = graph, X, vectors, width
        self._made: dict[str, str] = {}

    def gram(self, kernel: Kernel) -> str:
        """Return K(x, v) for all rows and support vectors."""
        op = self.graph.op
        if isinstance(kernel, Linear):
            return self.once("products", lambda: op("MatMul", self.X, self.vectors.T))
        if isinstance(kernel, Polynomial):
            return self._power(kernel, self.gram(Linear()))
        if isinstance(kernel, RBF):
            return op("Exp", op("Mul", self.once("squares", self._distances), -kernel.factor))
        if isinstance(kernel, AllSubsets):
            return self.once("subsets", self._subsets)
        if isinstance(kernel, Constant):
            return self._constant(self.gram(Linear()), float(kernel.value))
        if isinstance(kernel, Sum | Product):
            kind = "Add" if isinstance(kernel, Sum) else "Mul"
            return op(kind, self.gram(kernel.left), self.gram(kernel.right))
        if isinstance(kernel, Scaled):
            return op("Mul", self.gram(kernel.kernel), float(kernel.factor))
        if isinstance(kernel, Normalized) and not isinstance(kernel.kernel, AllSubsets):
            return self._normalized(kernel.kernel)
        raise cannot(kernel)

    def diagonal(self, kernel: Kernel) -> str:
        """Return K(x, x) for all rows, as a column."""
        op = self.graph.op
        if isinstance(kernel, Linear):
            return self.once("lengths", self._squared_lengths)
        if isinstance(kernel, Polynomial):
            return self._power(kernel, self.diagonal(Linear()))
        if isinstance(kernel, Sum | Product):
            kind = "Add" if isinstance(kernel, Sum) else "Mul"
            return op(kind, self.diagonal(kernel.left), self.diagonal(kernel.right))
        if isinstance(kernel, Scaled):
            return op("Mul", self.diagonal(kernel.kernel), float(kernel.factor))
        if isinstance(kernel, RBF | Normalized):
            return self._constant(self.diagonal(Linear()), 1.0)
        if isinstance(kernel, Constant):
            return self._constant(self.diagonal(Linear()), float(kernel.value))
        raise cannot(kernel)

    def once(self, name: str, make: Callable[[], str]) -> str:
        """Return a value that is computed once for all kernels."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    def _constant(self, like: str, value: float) -> str:
        """Return a matrix of one value, of the shape of another."""
        return self.graph.op("Add", self.graph.op("Mul", like, 0.0), value)

    def _power(self, kernel: Polynomial, products: str) -> str:
        op = self.graph.op
        inner = op("Add", op("Mul", products, kernel.factor), float(kernel.coef0))
        power = inner
        for bit in bin(int(kernel.degree))[3:]:  # squares and products, as whole numbers stay exact
            power = op("Mul", power, power)
            power = op("Mul", power, inner) if bit == "1" else power
        return power

    def _squared_lengths(self) -> str:
        return self.graph.row_sums(self.graph.op("Mul", self.X, self.X), self.width)

    def _distances(self) -> str:
        """Return ||x - v||^2."""
        op, theirs = self.graph.op, (self.vectors**2).sum(axis=1)
        apart = op("Mul", self.gram(Linear()), -2.0)
        apart = op("Add", op("Add", apart, self.diagonal(Linear())), theirs)
        return op("Max", apart, np.zeros(()))

    def _subsets(self) -> str:
        """Return prod (1 + x_j v_j), one feature at a time: all at once would take rows times
        vectors times features of memory.
        """
        onnx = onnx_package()
        make, double = onnx.helper.make_node, onnx.TensorProto.DOUBLE
        made = [
            make("Reshape", ["x", "column"], ["x_column"]),
            make("Mul", ["x_column", "v"], ["product"]),
            make("Add", ["product", "one"], ["part"]),
            make("Mul", ["so_far", "part"], ["more"]),
        ]
        constants = {"column": np.array([-1, 1]), "one": np.array(1.0)}
        body = onnx.helper.make_graph(
            made, "feature",
            [
                onnx.helper.make_tensor_value_info(name, double, shape)
                for name, shape in (
                    ("so_far", [None, None]), ("x", [None]), ("v", [None])
                )
            ],
            [onnx.helper.make_tensor_value_info("more", double, [None, None])],
            [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
        )  # fmt: skip
        start = self._constant(self.gram(Linear()), 1.0)
        turned = self.graph.op("Transpose", self.X, perm=[1, 0])
        return self.graph.op("Scan", start, turned, self.vectors.T, body=body, num_scan_inputs=2)

    def _normalized(self, kernel: Kernel) -> str:
        """Return K(x, v) / sqrt(K(x, x) K(v, v)), 0 for a row with K(x, x) = 0."""
        op = self.graph.op
        theirs = np.sqrt(np.maximum(kernel.diagonal(kernel.prepare(self.vectors)), 0.0))
        theirs = np.divide(1.0, theirs, out=np.zeros(theirs.size), where=theirs > 0)
        ours = op("Sqrt", op("Max", self.diagonal(kernel), np.zeros(())))
        empty = op("Equal", ours, 0.0)
        inverse = op("Where", empty, 0.0, op("Div", 1.0, op("Where", empty, 1.0, ours)))
        return op("Mul", op("Mul", self.gram(kernel), inverse), theirs)


class Predicted(NamedTuple):
    """Names of the values of a model.

    ``values`` are decision values as returned by ``decision_function``, as a column for two
    classes; ``codes`` are class codes, None for a regression.
    """

    values: str
    codes: str | None


class ScaledRows(NamedTuple):
    """Features of rows and, with ``normalize``, the factors of their products with weights.

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
    if hasattr(model, "kernel_"):
        X = kernel_values(graph, model, X)
    rows = ScaledRows(X, scales(graph, X, model.n_features_in_) if rule.normalize else None)
    if hasattr(model, "fitted_run") and isinstance(model.fitted_run().keeping, KeepVote):
        scores = vote_fractions(graph, model, rows, rule)
    else:
        coef, intercept, center = weights_of(model)
        if center is not None:
            rows = rows._replace(X=graph.op("Sub", X, center))
        scores = rows.scores(graph, coef.T, intercept)
    if rule.name == "pairs":
        return won_pairs(graph, rule, scores)
    return Predicted(scores, codes_of(graph, rule, scores))


def weights_of(model: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return weights, intercepts and a center, of support vectors if there is a kernel."""
    if not hasattr(model, "kernel_"):
        return linear_scores(model)
    sign = -1.0 if is_turned(model) else 1.0
    intercept = getattr(model, "intercept_", np.zeros(len(model.dual_coef_)))
    return sign * model.dual_coef_, sign * intercept, None


def scales(graph: Graph, X: str, width: int) -> str:
    """Return 1 / ||x|| of the rows as a column, 1 for a row of zeros, as training computes it."""
    one = np.ones((1, 1))
    total = graph.row_sums(graph.op("Mul", X, X), width)
    plain = graph.op("And", graph.op("Greater", total, TINY), graph.op("Less", total, HUGE))
    largest = graph.largest(graph.op("Abs", X))
    empty = graph.op("Equal", largest, 0.0)
    largest = graph.op("Where", empty, one, largest)
    part = graph.op("Div", X, largest)  # so that no square overflows
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
        above = graph.op(kind, graph.shaped(values, -1), rule.cut)
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
    """Return decision values and codes of one-vs-one, see linsep.learners.state.decision."""
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


def vote_fractions(graph: Graph, model: Any, rows: ScaledRows, rule: Rule) -> str:
    """Return the vote fractions of all versions of the weights as decision values."""
    state, keeping = model.fitted_run().state, model.fitted_run().keeping
    if keeping.tie == "random":
        raise ExportError("Votes with random ties cannot be exported.", option="tie")
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
    return graph.op("Neg", shares) if rule.name == "sign" and is_turned(model) else shares


def running_scores(
    graph: Graph, model: Any, voting: VoteScoring, versions: np.ndarray, column: int,
    rows: ScaledRows, first: np.ndarray, bias: np.ndarray,
) -> str:  # fmt: skip
    """Return the scores by all versions of a column of weights, shape (rows, 1 + versions): the
    scores of the first weights, and the change by each version.
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

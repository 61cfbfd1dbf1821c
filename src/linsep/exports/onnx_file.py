"""Models as ONNX files, from the columns of a table to labels and scores."""

from typing import Any, NamedTuple

import numpy as np

import linsep
from linsep.exports.onnx_operators import (
    IR_VERSION,
    ML,
    ML_OPSET,
    OPSET,
    Graph,
    onnx_package,
    predictions,
    probabilities,
)
from linsep.exports.scoring import ExportError, ModelColumns, fitted, kind_of, read_columns, rule_of

#: most bytes of a file, with room for all but the weights
MOST_BYTES = (1 << 31) - (1 << 24)


class NamedValue(NamedTuple):
    """An input or output: its name, type, and shape (None: any number of rows)."""

    name: str
    kind: str
    shape: list[int | None]


class OwnGraph(Graph):
    """A graph for a standalone model.

    Parameters
    ----------
    taken : names of inputs and outputs
    """

    def __init__(self, taken: set[str]):
        self._onnx, self._taken = onnx_package(), set(taken)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._bytes = 0

    def new_name(self, about: str) -> str:
        """Return an unused name."""
        number = len(self._taken)
        while (name := f"{about}_{number}") in self._taken:
            number += 1
        self._taken.add(name)
        return name

    def constant(self, array: Any) -> str:
        """Add a constant and return its name."""
        array, name = (
            np.ascontiguousarray(array).reshape(np.shape(array)),
            self.new_name("constant"),
        )
        self._bytes += array.nbytes
        if self._bytes > MOST_BYTES:
            raise ExportError(
                "The model exceeds the 2 GB limit of ONNX files: train a model with fewer "
                "features, classes, versions or support vectors.",
                code="too-large", value=self._bytes,
            )  # fmt: skip
        self.constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, kind: str, inputs: list[str], output: str, domain: str, **how: Any) -> None:
        """Add a node with one output."""
        made = self._onnx.helper.make_node(kind, inputs, [output], domain=domain, **how)
        self.nodes.append(made)


def to_onnx(estimator: Any) -> Any:
    """Convert a fitted estimator to an ONNX model, for onnxruntime and other runtimes.

    Scores are computed in float64. Labels match ``predict``, except where scores tie to within
    rounding error.

    Parameters
    ----------
    estimator : fitted estimator of this library

    Returns
    -------
    onnx.ModelProto
        For a model trained on a table, there is one input per column, with its name and shape
        (rows, 1): float64 (NaN is missing) or text (a value not seen in training is missing). Else
        the input is ``X``, float64 of shape (rows, features). The outputs of a classifier are
        ``label`` of shape (rows,), integers also for labels such as 1.0, and ``scores`` as returned
        by ``decision_function`` or, for logistic regression and naive Bayes, ``probabilities`` of
        shape (rows, classes). The output of a linear regression is ``prediction`` of shape (rows,).

    Raises
    ------
    ExportError
        If ONNX does not support the model (kernels without ONNX operators, see
        docs/how-to/export.md; ``tie="random"``; words of texts, hashed values), or the package onnx
        is not installed.
    NotFittedError
        If the estimator is not fitted.

    Examples
    --------
    >>> from linsep import Perceptron, to_onnx
    >>> model = Perceptron().fit([[4.0, 0.0], [1.0, 1.0], [0.0, 1.0]], ["+", "-", "-"])
    >>> [output.name for output in to_onnx(model).graph.output]
    ['label', 'scores']
    """
    onnx, kind = onnx_package(), kind_of(estimator)
    model = fitted(estimator)
    inputs, columns = _inputs(model)
    graph = OwnGraph({value.name for value in inputs})
    X = inputs[0].name if columns is None else features(graph, columns)
    outputs = _outputs(graph, model, X, {value.name for value in inputs})
    made = onnx.helper.make_graph(
        graph.nodes,
        "linsep",
        [_info(onnx, value) for value in inputs],
        [_info(onnx, value) for value in outputs],
        graph.constants,
    )
    opsets = [onnx.helper.make_opsetid("", OPSET), onnx.helper.make_opsetid(ML, ML_OPSET)]
    whole = onnx.helper.make_model(
        made, opset_imports=opsets, ir_version=IR_VERSION, producer_name="linsep",
        producer_version=linsep.__version__, doc_string=f"{kind} of linsep",
    )  # fmt: skip
    onnx.checker.check_model(whole)
    return whole


def _info(onnx: Any, value: NamedValue) -> Any:
    kind = getattr(onnx.TensorProto, value.kind)
    shape = ["rows" if length is None else length for length in value.shape]
    return onnx.helper.make_tensor_value_info(value.name, kind, shape)


def _inputs(model: Any) -> tuple[list[NamedValue], ModelColumns | None]:
    """Return the inputs, and how columns become features; None if ``X`` has the features."""
    recipe = getattr(model, "recipe_", {"format": "arrays"})
    if recipe["format"] != "table":
        if recipe["format"] not in ("arrays", "svmlight"):
            read_columns(model)  # raises an error that says why
        width = getattr(model, "n_features_in_", None)
        return [NamedValue("X", "DOUBLE", [None, width])], None
    columns = read_columns(model)
    inputs = [NamedValue(str(column.name), "DOUBLE", [None, 1]) for column in columns.numeric]
    inputs += [NamedValue(name, "STRING", [None, 1]) for name in columns.text]
    if any(not value.name for value in inputs):
        raise ExportError("A column without a name cannot be an input of ONNX: give it a name.")
    return inputs, columns


def features(graph: Graph, columns: ModelColumns) -> str:
    """Return the features computed from the columns of a table."""
    parts = []
    if columns.numeric:
        parts.append(_numbers(graph, columns))
    for name, values in columns.text.items():
        if not values:
            continue
        known = sorted(values, key=lambda value: values[value])
        if len(set(values.values())) < len(values):  # rare ones share a feature
            name, known = _with_levels(graph, name, known, values)  # noqa: PLW2901
        found = graph.op("OneHotEncoder", name, domain=ML, cats_strings=known, zeros=1)
        parts.append(graph.shaped(graph.cast(found, "DOUBLE"), -1, len(known)))
    if not parts:
        raise ExportError("A model without features cannot be exported.", code="no-columns")
    return graph.op("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]


def _with_levels(
    graph: Graph, texts: str, known: list[str], features: dict[str, int]
) -> tuple[str, list[str]]:
    """Return texts with one for all that share a feature, and the list of these."""
    first = {features[value]: value for value in reversed(known)}
    unknown = max(known, key=len) + "?"
    found = graph.op(
        "LabelEncoder", texts, domain=ML, keys_strings=known, default_string=unknown,
        values_strings=[first[features[value]] for value in known],
    )  # fmt: skip
    return found, [first[feature] for feature in sorted(first)]


def _numbers(graph: Graph, columns: ModelColumns) -> str:
    """Return the numeric features: missing ones filled, scaled, in the precision of training."""
    kind = np.float32 if columns.single else np.float64
    names = [str(column.name) for column in columns.numeric]
    X = graph.op("Concat", *names, axis=1) if len(names) > 1 else names[0]
    if columns.single:
        X = graph.cast(X, "FLOAT")
    fills = [column.fill for column in columns.numeric]
    if None not in fills:
        X = graph.op("Where", graph.op("IsNaN", X), np.array([fills], dtype=kind), X)
    divide = [column.divide for column in columns.numeric]
    if None not in divide:
        subtract = [column.subtract for column in columns.numeric]
        X = graph.op("Sub", X, np.array([subtract], dtype=kind))
        X = graph.op("Div", X, np.array([divide], dtype=kind))
    return graph.cast(X, "DOUBLE") if columns.single else X


def labels(graph: Graph, classes: list[Any], codes: str) -> tuple[str, str]:
    """Return the labels of the codes, and their type."""
    if all(isinstance(label, str) for label in classes):
        array, kind = np.array(classes, dtype=object), "STRING"
    elif all(isinstance(label, bool) for label in classes):
        array, kind = np.array(classes), "BOOL"
    elif all(isinstance(label, int) and -(2**63) <= label < 2**63 for label in classes):
        array, kind = np.array(classes, dtype=np.int64), "INT64"
    elif all(isinstance(label, int) and 0 <= label < 2**64 for label in classes):
        array, kind = np.array(classes, dtype=np.uint64), "UINT64"
    elif all(isinstance(label, int | float) and label == float(label) for label in classes):
        array, kind = np.array(classes, dtype=np.float64), "DOUBLE"
    else:
        raise ExportError(
            "Labels of different types cannot be written to ONNX: convert all to text, or all to "
            "numbers.", code="label-type",
        )  # fmt: skip
    return graph.op("Gather", array, codes), kind


def _outputs(graph: OwnGraph, model: Any, X: str, taken: set[str]) -> list[NamedValue]:
    """Add predictions, with names that differ from all inputs."""
    rule = rule_of(model)
    found = predictions(graph, model, X)
    if found.codes is None:
        values, wanted = graph.shaped(found.values, -1), NamedValue("prediction", "DOUBLE", [None])
        return [_named(graph, values, wanted, taken)]
    label, kind = labels(graph, list(rule.classes), found.codes)
    outputs = [_named(graph, label, NamedValue("label", kind, [None]), taken)]
    values, wanted = found.values, NamedValue("scores", "DOUBLE", [None, len(rule.classes)])
    if rule.probabilities:
        values = probabilities(graph, rule, values)
        wanted = wanted._replace(name="probabilities")
    elif rule.name == "sign":
        values, wanted = graph.shaped(values, -1), wanted._replace(shape=[None])
    return [*outputs, _named(graph, values, wanted, taken)]


def _named(graph: OwnGraph, value: str, wanted: NamedValue, taken: set[str]) -> NamedValue:
    """Give a value the name of an output, with underscores added if a column has this name."""
    while wanted.name in taken:
        wanted = wanted._replace(name=f"{wanted.name}_")
    graph.node("Identity", [value], wanted.name, "")
    return wanted

"""ONNX through skl2onnx: models of linear scores, alone and in scikit-learn's pipelines.

Nodes are of ONNX's own operators, which onnxruntime computes in float64; LinearClassifier and the
like, which skl2onnx uses for scikit-learn's models, compute in float32.
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from linsep import TablePipeline
from linsep.catalog import ESTIMATORS
from linsep.estimators.thresholds import Calibration
from linsep.exports.scoring import ExportError, ModelColumns, Rule, Scoring, read_scoring
from linsep.steps import of_learner
from linsep.validation.checks import check_prepared

ML = "ai.onnx.ml"
#: versions of the operators: read by onnxruntime 1.12 (2022) and later
OPSETS = {"": 17, ML: 3}
#: types of skl2onnx for numpy's kinds of labels
LABELS = {"U": "String", "b": "Boolean", "i": "Int64", "f": "Double"}
#: options of classifiers that skl2onnx deals with itself
OPTIONS = {
    "zipmap": [True, False, "columns"],
    "nocl": [True, False],
    "output_class_labels": [False, True],
    "raw_scores": [True, False],
}


class Whole(BaseEstimator):
    """A model with its columns, as skl2onnx sees it; ``places`` are those of an array that are the
    columns.
    """

    def __init__(self, scoring: Scoring, places: Any = None):
        self.scoring, self.places = scoring, places


@of_learner
def to_onnx(estimator: Any) -> Any:
    """Convert a fitted estimator with linear scores to an ONNX model, for onnxruntime and others.

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
        If scores are not linear (kernels, votes), only linsep can compute the features (see
        docs/how-to/export.md), or a package is not installed.
    NotFittedError
        If the estimator is not fitted.

    Examples
    --------
    >>> from linsep import Perceptron, to_onnx
    >>> model = Perceptron().fit([[4.0, 0.0], [1.0, 1.0], [0.0, 1.0]], ["+", "-", "-"])
    >>> [output.name for output in to_onnx(model).graph.output]
    ['label', 'scores']
    """
    register()
    import skl2onnx
    from onnx.compose import add_prefix_graph
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    scoring = read_scoring(estimator)
    columns = scoring.columns
    names, kinds = ["X"], [DoubleTensorType([None, len(columns.numeric)])]
    if columns.kind == "table" and hasattr(estimator, "recipe_"):
        names = [*(str(column.name) for column in columns.numeric), *columns.text]
        kinds = [DoubleTensorType([None, 1])] * len(columns.numeric)
        kinds += [StringTensorType([None, 1])] * len(columns.text)
    if "" in names:
        raise ExportError("A column without a name cannot be an input of ONNX: give it a name.")
    if not scoring.coef.size:
        raise ExportError("A model without features cannot be exported.", code="no-columns")
    inputs = [(f"input_{k}", kind) for k, kind in enumerate(kinds)]
    made = skl2onnx.convert_sklearn(Whole(scoring), "linsep", inputs, target_opset=OPSETS)
    # skl2onnx refuses or changes names that are not identifiers
    renamed = {name: f"linsep/{name}" for node in made.graph.node for name in node.output}
    renamed |= {f"input_{k}": name for k, name in enumerate(names)}
    for output in made.graph.output:
        name = output.name
        while name in names:
            name += "_"
        renamed[output.name] = name
    add_prefix_graph(
        made.graph, "linsep/", rename_edges=False, rename_inputs=False, rename_outputs=False,
        inplace=True, name_map=renamed,
    )  # fmt: skip
    return made


def register() -> None:
    """Register converters with skl2onnx for linsep's estimators, alone and in pipelines.

    Call it once before ``skl2onnx.to_onnx``. The second output of a classifier is ``predict_proba``
    if available: for logistic regression (also online), naive Bayes, and other classifiers after
    :func:`linsep.calibrate`. Else it is ``decision_function``, for two classes with the columns
    (-score, score); likewise with skl2onnx's option ``raw_scores``, which its converters of
    scikit-learn's meta-estimators set.

    Raises
    ------
    ExportError
        If skl2onnx is not installed.

    Examples
    --------
    >>> from linsep.exports import sklearn_onnx
    >>> sklearn_onnx.register()
    """
    try:
        from skl2onnx import update_registered_converter
        from skl2onnx.common import shape_calculator as shapes
    except ImportError:
        said = "Export to ONNX needs packages that are not installed: pip install 'linsep[onnx]'."
        raise ExportError(said, code="missing-package") from None
    for kind in ESTIMATORS.values():
        shape, options = shapes.calculate_linear_regressor_output_shapes, None
        if hasattr(kind, "decision_function"):
            shape, options = shapes.calculate_linear_classifier_output_shapes, OPTIONS
        alias = f"Linsep{kind.__name__}"
        update_registered_converter(kind, alias, shape, convert_step, options=options)
    update_registered_converter(
        Whole, "LinsepWhole", lambda operator: None, convert_whole, parser=declare_whole
    )
    update_registered_converter(
        TablePipeline, "LinsepTable", lambda operator: None, convert_whole, parser=declare_pipeline
    )


class Graph:
    """A graph that skl2onnx builds; values are known by their names."""

    def __init__(self, scope: Any, container: Any):
        self._scope, self._container = scope, container

    def op(self, kind: str, *inputs: Any, into: str = "", domain: str = "", **how: Any) -> str:
        """Add a node and return the name of its output; arrays become constants."""
        from onnx.numpy_helper import from_array

        names = [
            one if isinstance(one, str) else self.op("Constant", value=from_array(np.asarray(one)))
            for one in inputs
        ]
        output = into or str(self._scope.get_unique_variable_name(kind))
        name = self._scope.get_unique_operator_name(kind)
        self._container.add_node(kind, names, [output], op_domain=domain, name=name, **how)
        return output

    def cast(self, name: str, kind: str) -> str:
        """Return the value in another type, such as "DOUBLE"."""
        from onnx import TensorProto

        return self.op("Cast", name, to=getattr(TensorProto, kind))

    def row_sums(self, name: str, width: int) -> str:
        """Return the sum of each row as a column."""
        return self.op("MatMul", name, np.ones((width, 1)))

    def shaped(self, name: str, *shape: int) -> str:
        """Return the value in another shape, with one length -1."""
        return self.op("Reshape", name, np.array(shape, dtype=np.int64))


def declare_whole(scope: Any, model: Whole, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare the outputs of a model."""
    from skl2onnx.common import data_types

    rule, double = model.scoring.rule, data_types.DoubleTensorType
    operator = scope.declare_local_operator("LinsepWhole", model)
    operator.inputs = list(inputs)
    if rule.name == "number":
        outputs = {"prediction": double([None])}
    else:
        label = getattr(data_types, f"{label_array(rule.classes)[1]}TensorType")([None])
        outputs = {"label": label, "scores": double([None])}
        if rule.probabilities or rule.name != "sign":
            values = "probabilities" if rule.probabilities else "scores"
            outputs = {"label": label, values: double([None, len(rule.classes)])}
    for name, kind in outputs.items():
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def declare_pipeline(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare the outputs of a pipeline of a table, with an input for each column, by its name, or
    one of all, if these are numbers.
    """
    scoring, given = read_scoring(model.learner), {value.raw_name: value for value in inputs}
    names = [*(str(column.name) for column in scoring.columns.numeric), *scoring.columns.text]
    if len(inputs) == 1 and not scoring.columns.text and given.keys() != {*names}:
        places = [model[0].feature_names_in_.tolist().index(name) for name in names]
        return declare_whole(scope, Whole(scoring, places), inputs)
    if absent := [name for name in names if name not in given]:
        raise ExportError(
            f"There is no input for column '{absent[0]}': pass the first rows of a data frame, or "
            "an input of shape (rows, 1) for each column.", code="unknown-column",
        )  # fmt: skip
    return declare_whole(scope, Whole(scoring), [given[name] for name in names])


def convert_whole(scope: Any, operator: Any, container: Any) -> None:
    """Add the predictions of a model for the columns of rows."""
    graph, scoring = Graph(scope, container), operator.raw_operator.scoring
    names = [
        graph.cast(value.full_name, "DOUBLE") if "Int64" in type(value.type).__name__
        else value.full_name
        for value in operator.inputs
    ]  # fmt: skip
    if (places := operator.raw_operator.places) is not None:
        names = [graph.op("Gather", *names, np.array(places), axis=1)]
    values, codes = decisions(graph, scoring, names)
    outputs = [output.full_name for output in operator.outputs]
    if codes is not None:
        graph.op("Gather", label_array(scoring.rule.classes)[0], codes, into=outputs[0])
    if scoring.rule.probabilities:
        values = probabilities(graph, scoring.rule, values)
    elif scoring.rule.name in ("number", "sign"):
        values = graph.shaped(values, -1)
    graph.op("Identity", values, into=outputs[-1])


def convert_step(scope: Any, operator: Any, container: Any) -> None:
    """Add the outputs of an estimator that is given its features."""
    model, graph = operator.raw_operator, Graph(scope, container)
    check_prepared(model, "skl2onnx leaves that out: call linsep.to_onnx(model)")
    scoring = read_scoring(model)
    rule = scoring.rule
    X = graph.cast(operator.inputs[0].full_name, "DOUBLE")
    values, codes = decisions(graph, scoring, [X])
    if codes is not None:
        labels, kind = label_array(rule.classes)
        if kind == "Double":  # which skl2onnx takes for whole numbers
            raise ExportError(
                "skl2onnx supports only text and integer labels: convert the labels first, or "
                "export the model alone with linsep.to_onnx.", code="label-type",
            )  # fmt: skip
        labels = labels.astype(int) if kind == "Boolean" else labels
        graph.op("Gather", labels, codes, into=operator.outputs[0].full_name)
        calibration = getattr(model, "calibration_", None)
        if calibration is None and getattr(model, "scores_are_log_odds", False):  # of one-vs-rest
            calibration = Calibration("sigmoid", [np.array([-1.0, 0.0])] * len(labels))
        raw = _asks_for_scores(scope, container, model)
        if rule.probabilities and not raw:
            values = probabilities(graph, rule, values)
        elif calibration is not None and not raw:
            values = calibrated(graph, calibration, values)
        elif rule.name == "sign":
            values = graph.op("Concat", graph.op("Neg", values), values, axis=1)
    output = operator.outputs[-1]  # float64 if the inputs are, else float32
    values = graph.cast(values, "DOUBLE" if "Double" in type(output.type).__name__ else "FLOAT")
    graph.op("Identity", values, into=output.full_name)


def _asks_for_scores(scope: Any, container: Any, estimator: Any) -> bool:
    """Return whether an estimator, or a pipeline that ends with it, has the option raw_scores,
    which skl2onnx does not pass to the last step.
    """
    asked = [estimator]
    for operator in scope.operators.values():
        steps = getattr(operator.raw_operator, "steps", None)
        if steps and any(steps[-1][1] is one for one in asked):
            asked.append(operator.raw_operator)
    none = {"raw_scores": False}
    return any(container.get_options(one, none)["raw_scores"] for one in asked)


def label_array(classes: Any) -> tuple[np.ndarray, str]:
    """Return the labels as an array, and the type that skl2onnx has for it."""
    kind = np.array(classes).dtype.kind
    if kind not in LABELS:
        raise ExportError("ONNX has integers of 64 bits: make labels text.", code="label-type")
    return np.array(classes, dtype=object if kind == "U" else None), LABELS[kind]


def _numbers(graph: Graph, columns: ModelColumns, X: str) -> str:
    """Return numeric features: missing ones filled, scaled, in the precision of training."""
    kind = np.float32 if columns.single else np.float64
    fills, subtract, divide = (
        np.array([[getattr(column, name) for column in columns.numeric]], dtype=object)
        for name in ("fill", "subtract", "divide")
    )
    X = graph.cast(X, "FLOAT") if columns.single else X
    if columns.kind == "table" and None not in fills:
        X = graph.op("Where", graph.op("IsNaN", X), fills.astype(kind), X)
    if columns.single and None in divide:  # centers have more digits than the numbers
        X, kind = graph.cast(X, "DOUBLE"), np.float64
    X = graph.op("Sub", X, subtract.astype(kind)) if subtract.any() else X
    X = graph.op("Div", X, divide.astype(kind)) if None not in divide else X
    return graph.cast(X, "DOUBLE") if columns.single else X


def decisions(graph: Graph, scoring: Scoring, names: list[str]) -> tuple[str, str | None]:
    """Return decision values as of ``decision_function``, as a column for two classes, and the
    codes of the classes, None for a regression; of inputs ``names``, one per column or all in one.
    """
    rule, columns, coef = scoring.rule, scoring.columns, scoring.coef.T
    (d, k), count = coef.shape, len(columns.numeric)
    parts, squares = [], []
    if count:
        X = graph.op("Concat", *names[:count], axis=1) if len(names[:count]) > 1 else names[0]
        X = _numbers(graph, columns, X)
        parts.append(graph.op("MatMul", X, coef[:count]))
        if rule.normalize:
            squares.append(graph.row_sums(graph.op("Mul", X, X), count))
    if any(columns.text.values()):
        weights = graph.op("Identity", np.vstack([coef, np.zeros(k)]))  # zeros of unknown text
    for name, known in zip(names[count:], columns.text.values(), strict=True):
        if known:
            feature = graph.op(
                "LabelEncoder", name, domain=ML, keys_strings=list(known),
                values_int64s=list(known.values()), default_int64=d,
            )  # fmt: skip
            parts.append(graph.shaped(graph.op("Gather", weights, feature), -1, k))
            if rule.normalize:
                squares.append(graph.cast(graph.op("Less", feature, np.int64(d)), "DOUBLE"))
    scores = graph.op("Sum", *parts)
    if rule.normalize:  # products, not features, as in training, so that zero stays zero
        length, one = graph.op("Sqrt", graph.op("Sum", *squares)), np.ones((1, 1))
        length = graph.op("Where", graph.op("Equal", length, 0.0), one, length)
        scores = graph.op("Mul", scores, graph.op("Div", one, length))
    scores = graph.op("Add", scores, scoring.intercept)
    above = "GreaterOrEqual" if rule.ties_high else "Greater"
    if rule.name == "number":
        return scores, None
    if rule.name == "sign":
        return scores, graph.cast(graph.op(above, graph.shaped(scores, -1), rule.cut), "INT64")
    values = ranks = scores
    if rule.name == "pairs":
        values, ranks = _won_pairs(graph, rule, scores, above)
    last = int(rule.ties_high)
    return values, graph.op("ArgMax", ranks, axis=1, keepdims=0, select_last_index=last)


def _won_pairs(graph: Graph, rule: Rule, scores: str, above: str) -> tuple[str, str]:
    """Return decision values and ranks of one-vs-one, see linsep.learners.state.decision."""
    gains = np.zeros((len(rule.pairs), len(rule.classes)))
    for machine, (a, b) in enumerate(rule.pairs):
        gains[machine, a], gains[machine, b] = -1.0, 1.0
    starts = np.count_nonzero(gains < 0.0, axis=0) * 1.0
    won = graph.cast(graph.op(above, scores, 0.0), "DOUBLE")
    wins = graph.op("Add", graph.op("MatMul", won, gains), starts)
    sums = graph.op("MatMul", scores, gains)
    first = graph.op("ArgMax", wins, axis=1, keepdims=1)
    most = graph.op("Equal", wins, graph.op("GatherElements", wins, first, axis=1))
    ranks = graph.op("Where", most, sums, -np.inf)
    scaled = graph.op("Mul", graph.op("Add", graph.op("Abs", sums), 1.0), 3.0)
    return graph.op("Add", wins, graph.op("Div", sums, scaled)), ranks


def probabilities(graph: Graph, rule: Rule, values: str) -> str:
    """Return the probabilities of the classes from log-odds."""
    if rule.name == "sign":
        return graph.op("Sigmoid", graph.op("Concat", graph.op("Neg", values), values, axis=1))
    return graph.op("Softmax", values, axis=1)


def calibrated(graph: Graph, calibration: Any, values: str) -> str:
    """Return calibrated probabilities of the classes from decision values."""
    curves = calibration.curves
    if calibration.method == "sigmoid":
        a, b = np.array(curves).T
        powers = graph.op("Add", graph.op("Mul", values, a), b)
        shares = graph.op("Sigmoid", graph.op("Neg", powers))
    else:
        columns = [
            _interpolated(graph, graph.op("Gather", values, np.array([k]), axis=1), *curve)
            for k, curve in enumerate(curves)
        ]
        shares = graph.op("Concat", *columns, axis=1) if len(columns) > 1 else columns[0]
    if len(curves) == 1:
        return graph.op("Concat", graph.op("Sub", np.ones((1, 1)), shares), shares, axis=1)
    total = graph.row_sums(shares, len(curves))
    none = graph.op("Equal", total, 0.0)
    divided = graph.op("Div", shares, graph.op("Where", none, 1.0, total))
    return graph.op("Where", none, 1.0 / len(curves), divided)


def _interpolated(graph: Graph, column: str, x: np.ndarray, y: np.ndarray) -> str:
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

"""Converters of linsep's estimators for skl2onnx, for pipelines."""

from typing import Any

import numpy as np

from linsep.catalog import ESTIMATORS
from linsep.estimators._common.calibration import Calibration
from linsep.exports.onnx_file import labels
from linsep.exports.onnx_operators import (
    Graph,
    NoOnnx,
    calibrated,
    onnx_package,
    predictions,
    probabilities,
)
from linsep.exports.scoring import ExportError, fitted, rule_of
from linsep.validation.values import check_prepared

#: what skl2onnx does with how a model makes its features
LEFT_OUT = "skl2onnx leaves that out: call linsep.to_onnx(model)"
#: options of classifiers that skl2onnx deals with itself
OPTIONS = {
    "zipmap": [True, False, "columns"],
    "nocl": [True, False],
    "output_class_labels": [False, True],
    "raw_scores": [True, False],
}


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
    onnx_package()
    try:
        from skl2onnx import update_registered_converter
        from skl2onnx.common.shape_calculator import (
            calculate_linear_classifier_output_shapes,
            calculate_linear_regressor_output_shapes,
        )
    except ImportError:
        raise NoOnnx(
            "Pipelines need skl2onnx, which is not installed: pip install 'linsep[onnx]'."
        ) from None
    for kind in ESTIMATORS.values():
        if hasattr(kind, "decision_function"):
            update_registered_converter(
                kind, f"Linsep{kind.__name__}", calculate_linear_classifier_output_shapes,
                convert_classifier, options=OPTIONS,
            )  # fmt: skip
        else:
            update_registered_converter(
                kind, f"Linsep{kind.__name__}", calculate_linear_regressor_output_shapes,
                convert_regressor,
            )  # fmt: skip


class ConvertedGraph(Graph):
    """A graph that skl2onnx builds: ``scope`` has the names, ``container`` the nodes."""

    def __init__(self, scope: Any, container: Any):
        self._scope, self._container = scope, container
        self.opset = container.target_opset_any_domain("")
        self._onnx = onnx_package()

    def new_name(self, about: str) -> str:
        """Return an unused name."""
        return str(self._scope.get_unique_variable_name(about))

    def constant(self, array: Any) -> str:
        """Add a constant and return its name."""
        name = self.new_name("constant")
        array = np.asarray(array)
        if array.dtype == object:
            kind, content = self._onnx.TensorProto.STRING, [text.encode() for text in array]
            self._container.add_initializer(name, kind, array.shape, content)
        else:
            array = np.ascontiguousarray(array).reshape(array.shape)
            tensor = self._onnx.numpy_helper.from_array(array, name)
            self._container.add_initializer(name, None, None, tensor)
        return name

    def node(self, kind: str, inputs: list[str], output: str, domain: str, **how: Any) -> None:
        """Add a node with one output."""
        self._container.add_node(
            kind, inputs, [output], op_domain=domain,
            name=self._scope.get_unique_operator_name(kind), **how,
        )  # fmt: skip


def convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    """Add labels, and probabilities or scores, for a fitted classifier."""
    check_prepared(operator.raw_operator, LEFT_OUT)
    graph, model = ConvertedGraph(scope, container), fitted(operator.raw_operator)
    rule, classes = rule_of(model), list(rule_of(model).classes)
    found = predictions(graph, model, graph.cast(operator.inputs[0].full_name, "DOUBLE"))
    assert found.codes is not None
    if not all(isinstance(label, str) for label in classes):
        # skl2onnx takes all numbers for whole ones
        if any(label != int(label) for label in classes):
            raise ExportError(
                "skl2onnx supports only text and integer labels: convert the labels first, or "
                "export the model alone with linsep.to_onnx.", code="label-type",
            )  # fmt: skip
        classes = [int(label) for label in classes]
    label, _ = labels(graph, classes, found.codes)
    values, calibration = found.values, getattr(model, "calibration_", None)
    raw = _asks_for_scores(scope, container, operator.raw_operator)
    if rule.probabilities and not raw:
        values = probabilities(graph, rule, values)
    elif calibration is not None and not raw:
        values = calibrated(graph, calibration, values)
    elif getattr(model, "scores_are_log_odds", False) and not raw:  # of one-vs-rest
        plain = Calibration("sigmoid", [np.array([-1.0, 0.0])] * len(classes))
        values = calibrated(graph, plain, values)
    elif rule.name == "sign":
        values = graph.op("Concat", graph.op("Neg", values), values, axis=1)
    graph.node("Identity", [label], operator.outputs[0].full_name, "")
    _give(graph, values, operator.outputs[1])


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


def convert_regressor(scope: Any, operator: Any, container: Any) -> None:
    """Add the predictions of a fitted regression."""
    check_prepared(operator.raw_operator, LEFT_OUT)
    graph, model = ConvertedGraph(scope, container), fitted(operator.raw_operator)
    X = graph.cast(operator.inputs[0].full_name, "DOUBLE")
    _give(graph, predictions(graph, model, X).values, operator.outputs[0])


def _give(graph: ConvertedGraph, values: str, output: Any) -> None:
    """Write values to an output in its type: float64 if the inputs are, else float32."""
    kind = "DOUBLE" if "Double" in type(output.type).__name__ else "FLOAT"
    graph.node("Identity", [graph.cast(values, kind)], output.full_name, "")

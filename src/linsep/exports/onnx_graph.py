"""Graphs of ONNX operators, for files of our own and for the converters of skl2onnx.

Operators are those of ONNX's own set that onnxruntime computes in float64. Those for scikit-learn's
models (LinearClassifier, SVMClassifier and others) compute in float32 whatever they are given,
which is not exact enough for rows near a boundary.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from linsep.exports.scoring import ExportError

#: versions of the operators: read by onnxruntime 1.12 (2022) and later
OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
ML = "ai.onnx.ml"
#: most bytes of a file, with room for all but the weights
MOST_BYTES = (1 << 31) - (1 << 24)


class NoOnnx(ExportError, ImportError):
    """The packages that write ONNX are not installed."""


def onnx_package() -> Any:
    """Return the package onnx; NoOnnx if it is not installed."""
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise NoOnnx("ONNX needs a package that is missing: pip install 'linsep[onnx]'.") from None
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


class OwnGraph(Graph):
    """A graph that becomes a model of its own.

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
                "An ONNX file holds less than 2 GB, and this model is larger: learn one with fewer "
                "features, classes, versions or support vectors."
            )
        self.constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, kind: str, inputs: list[str], output: str, domain: str, **how: Any) -> None:
        """Add a node with one output."""
        made = self._onnx.helper.make_node(kind, inputs, [output], domain=domain, **how)
        self.nodes.append(made)

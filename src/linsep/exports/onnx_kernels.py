"""Kernel values as ONNX operators."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.exports.onnx_graph import Graph, onnx_package
from linsep.exports.scoring import ExportError
from linsep.kernels.base import Kernel
from linsep.kernels.combined import Constant, Normalized, Product, Scaled, Sum
from linsep.kernels.vectors import RBF, AllSubsets, Laplacian, Linear, Polynomial


def kernel_values(graph: Graph, model: Any, X: str) -> str:
    """Return the kernel values of rows and support vectors, shape (rows, support vectors)."""
    vectors = model.support_vectors_
    if model.kernel_.takes not in ("vectors", "anything") or getattr(vectors, "ndim", 1) != 2:
        raise cannot(model.kernel_)
    dense = vectors.toarray() if sp.issparse(vectors) else vectors
    rows = KernelRows(graph, X, dense.astype(np.float64), int(model.n_features_in_))
    return rows.gram(model.kernel_)


def cannot(kernel: Kernel) -> ExportError:
    """Return the error for a kernel that ONNX cannot hold."""
    return ExportError(
        f"The kernel {kernel!r:.80} cannot be written as ONNX operators: learn with a linear, "
        "polynomial, rbf, laplacian or all-subsets kernel, or sums and products of these."
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
        if isinstance(kernel, Laplacian):
            return op("Exp", op("Mul", self.once("sums", self._differences), -kernel.factor))
        if isinstance(kernel, AllSubsets):
            return self.once("subsets", lambda: self._scan("Mul", self._one_more))
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
        if isinstance(kernel, RBF | Laplacian | Normalized):
            return self._constant(self.diagonal(Linear()), 1.0)
        if isinstance(kernel, Constant):
            return self._constant(self.diagonal(Linear()), float(kernel.value))
        raise cannot(kernel)

    def once(self, name: str, make: Callable[[], str]) -> str:
        """Return a value that is made once, however many kernels need it."""
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

    def _differences(self) -> str:
        """Return the sums of |x_j - v_j|."""
        return self._scan(
            "Add", lambda x, v: [("Sub", [x, v], "apart"), ("Abs", ["apart"], "part")]
        )

    @staticmethod
    def _one_more(x: str, v: str) -> list[tuple[str, list[str], str]]:
        """Return nodes that make 1 + x_j v_j."""
        return [("Mul", [x, v], "product"), ("Add", ["product", "one"], "part")]

    def _scan(self, kind: str, nodes: Callable[[str, str], list[Any]]) -> str:
        """Return a sum ("Add") or product ("Mul") over the features, one feature at a time: all at
        once would take rows times vectors times features of memory.
        """
        onnx = onnx_package()
        make, double = onnx.helper.make_node, onnx.TensorProto.DOUBLE
        made = [make("Reshape", ["x", "column"], ["x_column"])]
        made += [make(name, inputs, [output]) for name, inputs, output in nodes("x_column", "v")]
        made += [make(kind, ["so_far", "part"], ["more"])]
        constants = {"column": np.array([-1, 1])}
        if kind == "Mul":
            constants["one"] = np.array(1.0)
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
        start = self._constant(self.gram(Linear()), 1.0 if kind == "Mul" else 0.0)
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

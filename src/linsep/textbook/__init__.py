"""The same algorithms in plain Python: to read, to trace, and to test the compiled ones against."""

from linsep.textbook.perceptron import (
    Step,
    binary_perceptron,
    native_perceptron,
    ovo_perceptron,
    ovr_perceptron,
    predict_binary,
    predict_native,
    predict_ovo,
    predict_ovr,
)

__all__ = [
    "Step",
    "binary_perceptron",
    "native_perceptron",
    "ovo_perceptron",
    "ovr_perceptron",
    "predict_binary",
    "predict_native",
    "predict_ovo",
    "predict_ovr",
]

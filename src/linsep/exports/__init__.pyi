from . import sklearn_onnx as sklearn_onnx
from .exporting import export as export, format_of as format_of
from .scoring import ExportError as ExportError, prediction_rule as prediction_rule
from .sklearn_onnx import to_onnx as to_onnx

"""Write models for other programs: ONNX, JSON, CSV, SQL and Python.

``exporting`` chooses the format by the file extension. ``scoring`` describes linear scores and how
columns become features; ``sql``, ``python_code`` and ``onnx_file`` (with ``onnx_operators``) write
them. ``sklearn_onnx`` has the converters for pipelines.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

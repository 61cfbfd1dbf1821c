"""Write models for other programs: ONNX, JSON, CSV, SQL and Python.

``exporting`` chooses by the ending of the name. ``scoring`` describes linear scores, and how
columns are read; ``sql``, ``python_code``, ``onnx_file`` (of ``onnx_operators``) write them.
``sklearn_onnx`` has the converters for pipelines.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

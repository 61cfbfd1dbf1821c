"""Write models for other programs: SQL, JSON, CSV and ONNX.

``scoring`` describes linear scores and how columns become features; ``exporting`` (JSON, CSV),
``sql`` and ``sklearn_onnx`` (ONNX through skl2onnx, alone and in pipelines) write them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

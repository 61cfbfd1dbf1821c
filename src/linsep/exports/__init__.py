"""Write models for other programs: ONNX, JSON, CSV, SQL and Python."""

"""Write models for other programs: ONNX, JSON, CSV, SQL, Python and C; one file a format."""

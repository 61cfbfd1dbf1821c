"""Save and load models as safetensors and JSON, without code; one module per kind of model."""

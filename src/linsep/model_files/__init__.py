"""Save and load models: safetensors and JSON, nothing executed; one file a kind of model."""

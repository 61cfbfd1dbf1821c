"""What model files say of each kind of model, and how it comes back."""

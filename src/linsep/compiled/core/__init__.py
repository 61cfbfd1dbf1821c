"""What every compiled loop shares: decorators, rows, weights, and the one pass loop."""

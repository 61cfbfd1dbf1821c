"""Proofs about data and runs: separability, margins, bounds, cycles. Without the engine."""

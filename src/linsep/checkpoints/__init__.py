"""Checkpoints: fits that go on in another process."""

"""Checkpoints: fits that go on in another process.

``saving`` is a checkpoint: when it is written, who may, what fits call. ``fits`` are locked and
read, and refused if something was another.
"""

"""Checkpoints: fits that resume in another process.

``saving`` has the checkpoint: when it is written, its lock, and the calls of fits. ``fits`` locks
and reads it, and refuses it if something has changed.
"""

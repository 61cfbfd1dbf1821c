"""Checkpoints: fits that resume in another process. ``saving`` has the file and the calls of fits;
``fits`` reads it, and refuses it if something has changed.
"""

"""Data written again: in another format, or in parts."""

"""Parsed rows on disk, in checked blocks that can be read in any order."""

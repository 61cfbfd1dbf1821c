"""Deciding linear separability: the search for a verdict, and its proof."""

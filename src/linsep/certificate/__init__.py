"""Verdicts, and the check of them in whole numbers: nothing here knows how verdicts are found."""

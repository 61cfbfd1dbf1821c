"""Numbers and sentences are compared, so tables are wide enough to show them whole."""

import pytest


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """Lay tables out in 1,000 columns."""
    monkeypatch.setenv("COLUMNS", "1000")

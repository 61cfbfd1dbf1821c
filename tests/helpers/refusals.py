"""Errors by their class, code and fields; sentences may change."""

from contextlib import contextmanager

import pytest


@contextmanager
def refused(kind, code, **fields):
    """The block raises an error of this class with this code and these fields."""
    with pytest.raises(kind) as caught:
        yield caught
    assert caught.value.code == code, caught.value
    found = {name: getattr(caught.value, name) for name in fields}
    assert found == fields, caught.value

"""The textbook says which row has a label that is none, instead of learning something else."""

import re

import numpy as np
import pytest

from linsep.teaching.textbook import (
    Perceptron,
    binary_perceptron,
    native_perceptron,
    ovo_perceptron,
    ovr_perceptron,
    run,
)

pytestmark = pytest.mark.compiled

X = [(1, 2), (-1, -2), (3, 1)]
SEVERAL = [native_perceptron, ovr_perceptron, ovo_perceptron]


def assert_refused(said, learn, *given):
    with pytest.raises(ValueError, match=re.escape(said)):
        list(learn(*given))


@pytest.mark.parametrize("label", [0, 2, True, False, np.bool_(True), 0.5, "+1", None])
def test_two_classes(label):
    said = f"Row 1 has the label {label!r}: binary_perceptron needs -1 and +1."
    assert_refused(said, binary_perceptron, X, [1, label, -1])
    for one in (1, 1.0, np.int64(1), np.float32(1)):
        assert next(binary_perceptron(X, [one, -1, 1])).weights == [1, 2]


@pytest.mark.parametrize("learn", SEVERAL)
@pytest.mark.parametrize("code", [-1, 3, 0.5, 1.0, "1", None])
def test_several_classes(learn, code):
    said = f"Row 2 has the class {code!r}: classes are the whole numbers from 0 to 2 (n_classes 3)."
    assert_refused(said, learn, X, [0, 1, code], 3)
    assert list(learn(np.array(X), np.array([0, 1, 2]), 3))


def test_run():
    assert_refused("Row 0 has the class -1", run, Perceptron(), "binary", X, [-1, 1, 1])
    assert_refused("Row 1 has the class 2", run, Perceptron(), "native", X, [0, 2, 1])
    assert_refused("binary", run, Perceptron(), "binary", X, [0, 2, 1], 3)
    assert_refused("no rows", run, Perceptron(), "binary", [], [])


@pytest.mark.parametrize("y", [[1], [1, 1, 1, 1]])
def test_as_many_labels_as_rows(y):
    said = f"X has 3 rows, but y has {len(y)} labels: pass one label per row."
    assert_refused(said, binary_perceptron, X, y)
    assert_refused(said, run, Perceptron(), "binary", X, y)
    assert_refused(said, native_perceptron, X, y, 2)

"""Labels of every kind: text of numpy, bytes, lists of text and numbers, zeros, sets of classes."""

import numpy as np
import pytest

from linsep import GaussianNaiveBayes, KernelPerceptron, Perceptron, separation
from linsep.errors import DataError
from refusals import refused

X = np.arange(8.0)[:, None] * [1.0, -0.5] + np.eye(8, 2)
every = pytest.mark.parametrize("model", [Perceptron(), GaussianNaiveBayes(), KernelPerceptron()])
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@every
def test_text_of_numpy_is_text(model):
    y = np.array(["no", "yes"] * 4, dtype=np.dtypes.StringDType())
    found = model.fit(X, y)
    assert found.classes_.tolist() == ["no", "yes"]
    same = type(model)(**model.get_params()).fit(X, ["no", "yes"] * 4)
    assert found.predict(X).tolist() == same.predict(X).tolist()
    assert found.score(X, y) == same.score(X, ["no", "yes"] * 4)


def test_missing_text_of_numpy_is_refused():
    y = np.array(["no", np.nan] * 4, dtype=np.dtypes.StringDType(na_object=np.nan))
    with refused(DataError, "missing-value", row=2):
        Perceptron().fit(X, y)


@every
def test_bytes_are_refused(model):
    for y in [np.array([b"no", b"yes"] * 4), [b"no", b"yes"] * 4]:
        with refused(DataError, "label-type"):
            model.fit(X, y)


@every
def test_lists_of_text_and_numbers_are_refused_as_arrays_of_objects_are(model):
    for y in [[1, "no"] * 4, (True, "no") * 4]:
        for given in (y, np.array(y, dtype=object)):
            with refused(DataError, "label-type"):
                model.fit(X, given)
            with refused(DataError, "label-type"):
                separation(X, given)


def test_long_numbers_in_lists_are_not_merged():
    y = [2**63, 2**63 + 1] * 4
    with refused(DataError, "not-exact", row=2):
        Perceptron().fit(X, [-1, *y[1:]])
    assert Perceptron().fit(X, y).classes_.tolist() == y[:2]


@every
def test_zeros_of_both_signs_are_one_class(model):
    for zeros in [[-0.0, 0.0], [0, -0.0], np.array([-0.0, 0], dtype=object)]:
        y = [zeros[0], 1, zeros[1], 1] * 2
        found = model.fit(X, y)
        assert [str(label) for label in found.classes_] == ["0.0", "1.0"]
        assert not np.signbit(found.predict(X)).any()

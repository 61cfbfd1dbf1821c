"""The signs of coefficients that have no finite estimate."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from linsep import LogisticRegression, separation
from linsep.certificate.constraints import Subject, question_of
from linsep.errors import SeparationWarning
from linsep.logistic.no_maximum import Contrasts
from linsep.separability import recession
from linsep.separability.data import data_of
from linsep.separability.recession import Cone, both_signs, cone_of
from thoroughness import some

pytestmark = pytest.mark.compiled


def separable(seed, classes):
    """Few rows of small whole numbers, many of them on a boundary."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (16, 3)).astype(float)
    scores = np.column_stack([X @ rng.normal(size=(3, classes - 1)), np.zeros(16)])
    return X, scores.argmax(axis=1)


def contrasts(X, y):
    data = data_of(X, y)
    verdict = separation(data, formulations=("multinomial",))
    verdict = getattr(verdict, "multinomial", verdict)
    classes = len(data.classes)
    return Contrasts(verdict, data, [1, 0] if classes == 2 else list(range(classes)), 4)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("seed", some(range(6), 2))
def test_functions_of_both_signs_have_no_sign(seed, classes):
    X, y = separable(seed, classes)
    about = contrasts(X, y)
    cone = cone_of(about.verdict, about.data)
    functions = [about.functional(row, j) for row, j in np.ndindex(len(set(y)) - 1, 4)]
    both = both_signs(about.data, cone.working.question, functions)
    moving = [bool(cone.boundary.remainder(f)) for f in functions]
    expected = [runs and cone.sign(f) is None for runs, f in zip(moving, functions, strict=True)]
    assert both.tolist() == expected
    said = about.limits()
    for _ in range(2):
        order = np.random.default_rng(seed).permutation(16)
        assert (contrasts(X[order], y[order]).limits() == said).all()


def test_few_functions_are_asked_about_exactly(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    asked, sign = [], Cone.sign

    def noting(self, function):
        asked.append(function)
        return sign(self, function)

    monkeypatch.setattr(recession.Cone, "sign", noting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        model = LogisticRegression().fit(X, y)
    assert len(asked) == 10  # of 31: the others have both
    words, counts = np.unique(model.limits_, return_counts=True)
    assert dict(zip(words.tolist(), counts.tolist(), strict=True)) == {
        "+inf": 5,
        "-inf": 5,
        "infinite": 21,
    }


def test_where_nothing_is_seen_all_are_asked():
    X, y = separable(0, 2)
    about = contrasts(X * [1.0, 1e300, 1e-300], y)
    assert about.limits().shape == (1, 4)
    wide = data_of(np.eye(200)[:, :150], np.arange(200) % 2)
    question = question_of(Subject((0, 1), (), (), True, 200, 150, None, ""))
    assert not both_signs(wide, question, [{0: 1}]).any()

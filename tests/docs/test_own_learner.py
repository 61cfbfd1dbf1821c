"""The page on learners of one's own: its learner runs, and does what the paper says."""

import pickle
import re
import warnings
from importlib import import_module

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from documents import ROOT
from linsep.sources import ArraySource
from scikit_learn_checks import expected
from storages import blobs, replayed, weights

pytestmark = pytest.mark.thorough

PAGE = "docs/how-to/write-your-own-learner.md"


@pytest.fixture(scope="module")
def relaxation(tmp_path_factory):
    """The module that the page shows."""
    (program,) = re.findall(r"```python\n(\"\"\".*?)```", (ROOT / PAGE).read_text("utf-8"), re.S)
    assert len([line for line in program.splitlines() if line]) <= 40
    folder = tmp_path_factory.mktemp("own")
    (folder / "relaxation.py").write_text(program, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield import_module("relaxation")


def by_definition(X, y, passes, seed, rate, margin):
    """Weights after each step of relaxation, and their mean over all rounds."""
    w, total, order = np.zeros(X.shape[1] + 1), np.zeros(X.shape[1] + 1), replayed(len(X), seed)
    for number in range(passes):
        for i in order(number):
            x, side = np.append(X[i], 1.0), 1 if y[i] else -1
            missing = margin - side * (w @ x)
            if missing > 0:
                w = w + rate * missing / (x @ x) * side * x
            total += w
    return w, total / (passes * len(X))


def test_two_classes_get_the_weights_of_the_definition(relaxation):
    X, y = blobs(60, 3, 2, spread=4.0)
    last, mean = by_definition(X, y, 4, 5, 0.7, 2.0)
    for keep, expected_weights in (("last", last), ("average", mean)):
        how = {"rate": 0.7, "margin": 2.0, "keep": keep, "max_iter": 4, "random_state": 5}
        model = relaxation.Relaxation(**how).fit(X, y)
        found = np.append(model.coef_[0], model.intercept_)
        np.testing.assert_allclose(found, expected_weights, rtol=1e-9)


@pytest.mark.parametrize("multiclass", ["native", "ovr", "ovo"])
def test_several_classes_and_sources(relaxation, multiclass):
    X, y = blobs(60, 4, 3, spread=1.5)
    model = relaxation.Relaxation(multiclass=multiclass, keep="average", max_iter=3)
    from_source = relaxation.Relaxation(**model.get_params()).fit(ArraySource(X, y))
    assert weights(model.fit(X, y)) == weights(from_source)
    assert model.score(X, y) > 0.8
    assert pickle.loads(pickle.dumps(model)).predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.compiled
def test_scikit_learn_accepts_it(relaxation):
    model = relaxation.Relaxation(max_iter=30)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.filterwarnings("ignore", "All rows of class")
        found = check_estimator(model, expected_failed_checks=expected(model), on_skip=None)
    assert {check["status"] for check in found} <= {"passed", "xfail", "skipped"}
    assert repr(model) == "Relaxation(max_iter=30)"

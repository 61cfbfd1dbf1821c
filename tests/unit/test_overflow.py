"""Values beyond floating point, labels beyond whole floats, many classes: refused or told."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from command_line import here
from linsep import (
    BalancedWinnow,
    GaussianNaiveBayes,
    LinearRegression,
    LogisticRegression,
    MarginPerceptron,
    Perceptron,
)
from linsep.errors import DataError
from linsep.sources.arrays import ArraySource
from refusals import refused

MODELS = [
    GaussianNaiveBayes(),
    LogisticRegression(),
    Perceptron(max_iter=3),
    MarginPerceptron(gamma=0.1, max_iter=3),
    BalancedWinnow(max_iter=3),
]
rng = np.random.default_rng(0)
ROWS, LABELS = np.clip(rng.standard_normal((40, 3)), -1, 1), np.arange(40) % 2


def spread(size):
    return ROWS * [1.0, size, 1.0]


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_feature_beyond_floating_point_is_named(model):
    model, X = clone(model), spread(1e200)
    with refused(DataError, "overflow"):
        model.fit(pd.DataFrame(X, columns=["a", "huge", "c"]), LABELS)
    for rows in (sp.csr_matrix(X), X):
        with refused(DataError, "overflow", column=1):
            clone(model).fit(rows, LABELS)
    with refused(DataError, "overflow"):
        clone(model).fit(ArraySource(X, LABELS))


def test_predictions_beyond_floating_point_are_refused():
    for interval in [None, "confidence", "prediction"]:
        model = LinearRegression().fit(ROWS, ROWS @ [1.0, 2.0, 3.0] + LABELS)
        rows = [[0.0, 0.0, 0.0], [1e308, 1e308, 1e308]]
        with refused(DataError, "overflow"):
            model.predict(rows, interval=interval)
        with refused(DataError, "overflow"):
            model.predict(ArraySource(rows), interval=interval)
        if interval:
            with refused(DataError, "overflow"):
                model.predict([[1e200, 0.0, 0.0]], interval=interval)
        else:
            assert np.isfinite(model.predict([[1e200, 0.0, 0.0]])).all()


SAID = "30 different numbers in 60 rows, and each is treated as a class"


def test_classes_that_look_like_a_target_of_numbers_are_told_once(tmp_path):
    X, y = np.arange(120.0).reshape(60, 2) % 7, np.repeat(np.arange(30), 2)
    for learner in (Perceptron(max_iter=1), LogisticRegression(max_iter=1, l2=1.0)):
        for labels, told in ((y, 1), (y.astype(str), 0), (y % 10, 0)):
            with warnings.catch_warnings(record=True, action="always") as caught:
                learner.fit(X, labels)
            assert sum(SAID in str(one.message) for one in caught) == told
    rows = zip(X.tolist(), y.tolist(), strict=True)
    lines = [f"{k} 1:{a} 2:{b}" for (a, b), k in rows]
    (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
    for command in (["separate", "--time-limit", "0.1"], ["fit", "--max-iter", "1"]):
        done = here(*command, "rows.svm", cwd=tmp_path)
        assert done.stderr.count(SAID) == 1, done.stderr

"""A measurement that is taken for classes is told so, in Python and on the command line."""

import sys
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits

from command_line import here, run
from linsep import GaussianNaiveBayes, LogisticRegression, Perceptron, open_source, separation
from linsep.logistic import fitting

pytestmark = pytest.mark.compiled
SAID = "30 different numbers in 60 rows, and each is treated as a class"
LEARNERS = [
    Perceptron(max_iter=1),
    LogisticRegression(max_iter=1, l2=1.0),
    GaussianNaiveBayes(),
]


def measured(folder=None):
    X = np.arange(120.0).reshape(60, 2) % 7
    y = np.repeat(np.arange(30), 2)
    if folder is not None:
        lines = [f"{k} 1:{a} 2:{b}" for (a, b), k in zip(X.tolist(), y.tolist(), strict=True)]
        (folder / "rows.svm").write_text("\n".join(lines) + "\n")
        return open_source(str(folder / "rows.svm"))
    return X, y


def messages(act):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        act()
    return [str(one.message) for one in told if "different numbers" in str(one.message)]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_classifiers_warn(learner, tmp_path):
    for act in (lambda: learner.fit(*measured()), lambda: learner.fit(measured(tmp_path))):
        (said,) = messages(act)
        assert SAID in said
        assert "linear regression" in said


def test_verdicts_warn():
    (said,) = messages(lambda: separation(*measured(), formulations=()))
    assert SAID in said
    X, y = load_diabetes(return_X_y=True)
    (said,) = messages(lambda: separation(X, y, formulations=("multinomial",), time_limit=0.01))
    assert "214 different numbers in 442 rows" in said


@pytest.mark.parametrize("change", [lambda y: y.astype(str), lambda y: y % 10])
def test_texts_and_few_numbers_are_classes(change):
    X, y = measured()
    assert messages(lambda: Perceptron(max_iter=1).fit(X, change(y))) == []
    assert messages(lambda: separation(X, change(y), formulations=("ovr",))) == []
    digits = load_digits()
    assert messages(lambda: Perceptron(max_iter=1).fit(digits.data, digits.target)) == []


def test_the_command_line_says_so_once(tmp_path):
    measured(tmp_path)
    for command in (["separate", "--time-limit", "0.1"], ["fit", "--max-iter", "1"]):
        done = run(*command, "rows.svm", cwd=tmp_path)
        assert done.stderr.count(SAID) == 1, done.stderr
        assert "Warning" not in done.stderr


def test_a_title_names_some_classes_only():
    X, y = measured()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        title = LogisticRegression(max_iter=1, l2=1.0).fit(X, y).summary().title
        few = LogisticRegression(l2=1.0).fit(X, y % 3).summary().title
    assert title.endswith("of 0, 1, 2, 3, 4, 5, 6, 7, 8, ... (29 classes) against 29")
    assert few == "Logistic regression of 0, 1 against 2"


def test_the_command_warns_before_the_work(tmp_path, monkeypatch):
    """And once, though more than one part of the work sees it."""
    measured(tmp_path)
    climb, said = fitting.newton, []

    def climbing(*given, **how):
        said.append(sys.stderr.getvalue())
        return climb(*given, **how)

    monkeypatch.setattr(fitting, "newton", climbing)
    done = here("fit", "rows.svm", "--learner", "logistic", "--l2", 1, cwd=tmp_path)
    assert SAID in said[0]
    assert done.stderr.count(SAID) == 1

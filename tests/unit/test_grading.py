"""Exercises: a student's step beside the twin's, and checks that raise."""

import numpy as np
import pytest

from linsep import textbook
from linsep.errors import ParameterError
from linsep.teaching import WrongAnswer, check, check_function, grade


def learn(w, x, y):
    return w + y * x if y * (w @ x) <= 0 else w


def passive_aggressive(w, x, y):
    return w + y * x * min(1, max(0, 1 - y * (w @ x)) / (x @ x))


def margin(w, x, y):
    z = y * x / np.linalg.norm(x)
    return w + z if w @ z <= np.linalg.norm(w) / 4 else w


def winnow(w, x, y):
    return w * 2 ** (y * x) if y * (w @ x - len(x) / 2) <= 0 else w


def joint(W, x, y):
    signs = np.eye(len(W))[y] - np.eye(len(W))[np.argmax(W @ x)]
    return W + np.outer(signs, x)


@pytest.mark.parametrize(("step", "rule", "classes"), [
    (learn, "perceptron", 2), (joint, "perceptron", 4), (passive_aggressive, "pa", 2),
    (margin, "margin", 2), (winnow, "winnow", 2),
    (lambda w, x, y: w + 0.5 * (learn(w, x, y) - w), textbook.Perceptron(0.5), 2),
])  # fmt: skip
def test_right_steps_get_all_points(step, rule, classes):
    for seed in range(20):
        graded = grade(step, rule, n_classes=classes, seed=seed, points=3)
        assert graded[:3] == (3, "", 3)
        assert sum(graded.changing) + sum(graded.others) == 2 * 40


@pytest.mark.parametrize(("step", "some"), [
    (lambda w, x, y: w + y * x if y * (w @ x) < 0 else w, True),  # zero is a mistake
    (lambda w, x, y: w, False), (lambda w, x, y: w + y * x, False), (lambda w, x, y: None, False),
    (lambda w, x, y: 1 / 0, False), (lambda w, x, y: [[1], [1, 2]], False), (None, False),
])  # fmt: skip
def test_wrong_steps_are_named(step, some):
    for seed in range(20):
        graded = grade(step, seed=seed, points=2)
        assert (0 < graded.points < 2) if some else graded.points == 0
        assert graded.difference
        shares = [good / many for good, many in (graded.changing, graded.others)]
        assert graded.points == pytest.approx(2 * min(shares))
        assert f"{graded.points:g} of 2 " in str(graded)
        with pytest.raises(WrongAnswer):
            graded.check()


def test_rules_that_store_more_than_weights_are_refused():
    for rule in ("arow", "scw", "online-logistic", "none", textbook.BatchPerceptron(), None):
        with pytest.raises(ParameterError) as refused:
            grade(learn, rule)
        assert refused.value.option == "rule"


def test_checks_raise_unless_the_answer_is_right(capsys):
    check(0.333, 1 / 3)
    check([3.001, 0.0], np.array([3, 0]))
    check("a", str.islower)
    check_function(np.add, lambda a, b: a + b, [(1, 2), (np.ones(2), 2.0)])
    assert capsys.readouterr().out == "right\n" * 4
    for answer, right in ((..., 1), (None, 1), (0.3, 1 / 3), ([3], 3), ("3", 3), ("A", str.islower),
                          (3, str.islower), ([1, 2], [1, 3])):  # fmt: skip
        with pytest.raises(WrongAnswer, match="think") as raised:
            check(answer, right, "think")
        assert raised.value._render_traceback_() == [str(raised.value)]
    with pytest.raises(WrongAnswer, match="case 1"):
        check_function(np.subtract, np.add, [(0, 0), (1, 2)])

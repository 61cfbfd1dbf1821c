"""The adversary of Novikoff's bound: as many mistakes as the bound allows, from every learner."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Perceptron as TheirPerceptron, SGDClassifier
from sklearn.tree import DecisionTreeClassifier

from linsep import (
    Adversary,
    BalancedWinnow,
    MarginPerceptron,
    PassiveAggressive,
    Perceptron,
    Winnow,
    geometric_margin,
)

OURS = [
    Perceptron(fit_intercept=False),
    Perceptron(fit_intercept=False, tie="positive"),
    Perceptron(fit_intercept=False, keep="average"),
    MarginPerceptron(fit_intercept=False),
    MarginPerceptron(fit_intercept=False, gamma=0.125),
    PassiveAggressive(fit_intercept=False),
    PassiveAggressive(fit_intercept=False, loss="squared_hinge"),
    BalancedWinnow(fit_intercept=False),
    Winnow(),
]


@pytest.mark.parametrize("learner", [*OURS, TheirPerceptron(fit_intercept=False), SGDClassifier()])
@pytest.mark.parametrize("m", [2, 64])
def test_every_learner_makes_all_mistakes(learner, m):
    game = Adversary(m**-0.5)
    learner = clone(learner)
    assert game.run(learner) == game.n_rows == m
    assert set(game.y.tolist()) <= {-1, 1}
    assert np.linalg.norm(game.separator) == pytest.approx(1)
    assert geometric_margin(game.separator, game.X, game.y) == pytest.approx(game.gamma)
    if isinstance(learner, Perceptron) and learner.keep == "last":
        assert learner.n_updates_ == m
        # Novikoff's bound is met with equality; the one on the margin, too.
        found = learner.bounds(game.X, game.y)
        assert found["Novikoff"].ratio == pytest.approx(1)
        assert found["||w||/M"].value == pytest.approx(game.gamma)
        assert found.kept


def test_games_can_be_repeated():
    game, learner = Adversary(0.25), Perceptron(fit_intercept=False)
    assert game.run(learner) == 16
    first = game.y
    assert game.run(Perceptron(fit_intercept=False)) == 16
    assert game.y.tolist() == first.tolist()
    assert game.run(learner) == 16  # answers opposite to what it has learned
    assert game.y.tolist() == (-first).tolist()


@pytest.mark.parametrize(("gamma", "said"), [
    (0, "in .0, 1]"), (1.5, "in .0, 1]"), (0.3, "try gamma = 0.301511"),
    (float("nan"), "in .0, 1]"), ([0.5], "in .0, 1]"),
])  # fmt: skip
def test_bad_gamma(gamma, said):
    with pytest.raises(ValueError, match=said):
        Adversary(gamma)


def test_opponents_that_cannot_play():
    with pytest.raises(TypeError, match="DecisionTreeClassifier has no partial_fit"):
        Adversary(0.5).run(DecisionTreeClassifier())

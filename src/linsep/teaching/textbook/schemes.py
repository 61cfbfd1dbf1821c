"""Schemes that combine binary classifiers for two or more classes: the examples of each, and the
prediction.

A scheme does not depend on the rule. Classes are numbered 0, 1, 2, ... everywhere.
"""

from collections.abc import Callable, Sequence
from math import exp, log
from typing import Any, NamedTuple

from linsep.teaching.textbook.machine import (
    Example,
    Machine,
    Number,
    Row,
    Rows,
    score,
    scores,
    total,
)

#: what a score of zero is in training
ZEROS = ("mistake", "negative", "correct")


class Shown(NamedTuple):
    """An example for one binary classifier: the target label y = -1 or +1, the score, and whether
    it is wrong.
    """

    machine: int
    example: Example
    y: int
    score: Number
    wrong: bool


class Scheme:
    """Base class: binary classifiers, each with a weight vector and an intercept."""

    #: whether one machine learns all classes
    joint = False

    def __init__(self, n_classes: int, tie: str = "negative"):
        self.n_classes, self.tie = n_classes, tie

    @property
    def n_vectors(self) -> int:
        """Number of weight vectors."""
        return self.n_classes

    def same(self, n_features: int, weight: Number, intercept: Number) -> tuple[Any, Any]:
        """Return equal weights and intercepts, in the same shape as in steps."""
        return [[weight] * n_features] * self.n_vectors, [intercept] * self.n_vectors

    def machines(self, weights: Any, intercept: Any) -> list[Machine]:
        """Return binary classifiers with these weights, given in the same shape as in steps."""
        return [Machine(w, [b]) for w, b in zip(weights, intercept, strict=True)]

    def weights(self, machines: list[Machine]) -> tuple[Any, Any]:
        """Return copies of weights and intercepts, one per vector."""
        return [list(m.weights) for m in machines], [m.intercept[0] for m in machines]

    def scores(self, machines: list[Machine], x: Row) -> Any:
        """Return the score of every weight vector."""
        return scores(x, *self.weights(machines))

    def listed(self, scores: Any) -> list:
        """Return scores as a list, one per weight vector."""
        return list(scores)

    def bare(self, scores: list) -> Any:
        """Return a list of scores in the scheme's shape."""
        return scores

    def show(self, machines: list[Machine], x: Row, one: int, code: int) -> list[Shown]:
        """Return the examples of a row of class ``code`` for its binary classifiers."""
        shown, scored = [], scores(x, *Scheme.weights(self, machines))
        for machine, y in self.sides(code):
            s = scored[machine]
            shown.append(Shown(machine, Example(x, [one]), y, s, y * s <= 0))
        return shown

    def sides(self, code: int) -> list[tuple[int, int]]:
        """Return the binary classifiers trained on rows of this class, and labels -1 or +1."""
        raise NotImplementedError

    def learning(self, code: int) -> list[int]:
        """Return the binary classifiers trained on rows of this class."""
        return [0] if self.joint else [machine for machine, _ in self.sides(code)]

    def predict(self, scores: Any) -> int:
        """Return the class predicted by the scores of a row."""
        raise NotImplementedError


class Binary(Scheme):
    """Two classes, one binary classifier; a score of zero is wrong unless the rule accepts it."""

    def same(self, n_features: int, weight: Number, intercept: Number) -> tuple[list, Number]:
        """Return one list of weights and one intercept."""
        return [weight] * n_features, intercept

    def machines(self, weights: Row, intercept: Number) -> list[Machine]:
        """Return the only binary classifier."""
        return [Machine(weights, [intercept])]

    def weights(self, machines: list[Machine]) -> tuple[list, Number]:
        """Return its weights and its intercept."""
        return list(machines[0].weights), machines[0].intercept[0]

    def scores(self, machines: list[Machine], x: Row) -> Number:
        """Its score."""
        return score(x, *self.weights(machines))

    def listed(self, scores: Number) -> list:
        """Return a list of the only score."""
        return [scores]

    def bare(self, scores: list) -> Number:
        """Return the only score."""
        return scores[0]

    def sides(self, code: int) -> list[tuple[int, int]]:
        """Return +1 for class 1, else -1."""
        return [(0, +1 if code == 1 else -1)]

    def predict(self, scores: Number) -> int:
        """Predict by the sign of the score."""
        return (predict_binary(scores, self.tie) + 1) // 2


class OneVsRest(Scheme):
    """One binary classifier per class, which labels its own rows +1 and all others -1."""

    def sides(self, code: int) -> list[tuple[int, int]]:
        """Return all binary classifiers: each is trained on every row."""
        return [(k, +1 if k == code else -1) for k in range(self.n_classes)]

    def predict(self, scores: Row) -> int:
        """Predict the only positive score, else the highest."""
        return predict_ovr(scores, self.tie)


class OneVsOne(Scheme):
    """One binary classifier per pair of classes, the larger +1, trained only on their rows."""

    @property
    def n_vectors(self) -> int:
        """One per pair."""
        return len(pairs(self.n_classes))

    def sides(self, code: int) -> list[tuple[int, int]]:
        """Return the binary classifiers of this class."""
        matches = enumerate(pairs(self.n_classes))
        return [(k, +1 if match[1] == code else -1) for k, match in matches if code in match]

    def predict(self, scores: Row) -> int:
        """Predict the class with most wins."""
        return predict_ovo(scores, self.n_classes, self.tie)


class Native(Scheme):
    """One joint rule for all classes, which predicts the class with the highest score.

    Kesler's construction (Duda and Hart 1973): the weights of all classes are stacked, and a row of
    class c against its rival r becomes the long example with the row in part c, minus the row in
    part r, and zeros elsewhere. Its score is the score of c minus the score of r and should be
    positive. Every binary rule therefore becomes a rule for several classes.
    """

    joint = True

    def machines(self, weights: Rows, intercept: Row) -> list[Machine]:
        """Return one classifier with all weights stacked."""
        return [Machine([v for w in weights for v in w], intercept)]

    def weights(self, machines: list[Machine]) -> tuple[list, list]:
        """Return the parts of its weights, one per class."""
        joint, k = machines[0], self.n_classes
        d = len(joint.weights) // k
        return [joint.weights[c * d : (c + 1) * d] for c in range(k)], list(joint.intercept)

    def show(self, machines: list[Machine], x: Row, one: int, code: int) -> list[Shown]:
        """Return the true class against its rival: the predicted class, else the second best."""
        s = self.scores(machines, x)
        predicted = worst_draw(s, code) if self.tie == "random" else self.predict(s)
        wrong, rival = predicted != code, predicted
        if not wrong:
            rival = max((k for k in range(self.n_classes) if k != code), key=lambda k: s[k])
        signs = [(c == code) - (c == rival) for c in range(self.n_classes)]
        long = Example([sign * v for sign in signs for v in x], [sign * one for sign in signs])
        return [Shown(0, long, +1, s[code] - s[rival], wrong)]

    def predict(self, scores: Row) -> int:
        """Predict the class of the highest score."""
        return predict_native(scores, self.tie)


class Softmax(Native):
    """One joint rule for all classes: each row against all its rivals, weighted by their
    probabilities.

    A row of class c becomes the long example with the row in part c, and minus the row times pi_k
    in part k: the probability of class k among those other than c, exp(s_k) / sum of exp(s_r). Its
    score is m = s_c - ln(sum of exp(s_r)), the logit of the probability of c. So the logistic loss
    of the example, ln(1 + exp(-m)), equals the softmax loss, and so does its gradient.
    """

    def show(self, machines: list[Machine], x: Row, one: int, code: int) -> list[Shown]:
        """Return the true class against all the others."""
        s = self.scores(machines, x)
        predicted = worst_draw(s, code) if self.tie == "random" else self.predict(s)
        most = max(v for k, v in enumerate(s) if k != code)
        masses = [0.0 if k == code else exp(v - most) for k, v in enumerate(s)]
        whole = total(masses)
        signs = [1 if k == code else -mass / whole for k, mass in enumerate(masses)]
        long = Example([sign * v for sign in signs for v in x], [sign * one for sign in signs])
        logit = s[code] - most - log(whole)
        return [Shown(0, long, +1, logit, predicted != code)]


SCHEMES: dict[str, Callable[[int, str], Scheme]] = {
    "binary": Binary,
    "native": Native,
    "softmax": Softmax,
    "ovr": OneVsRest,
    "ovo": OneVsOne,
}


def spares(zero: str, y: int) -> bool:
    """Return whether a score of zero is right for the label y = -1 or +1: never ("mistake"), as a
    prediction of -1 ("negative"), or always ("correct").
    """
    return zero == "correct" or (zero == "negative" and y < 0)


def predict_binary(score: Number, tie: str = "negative") -> int:
    """Return -1 or +1 by the sign of the score; ``tie`` decides at 0."""
    if score == 0:
        return +1 if tie == "positive" else -1
    return +1 if score > 0 else -1


def predict_native(scores: Sequence[Number], tie: str = "negative") -> int:
    """Return the class of the highest score; of equals the first, or with "positive" the last."""
    best = [k for k, s in enumerate(scores) if s == max(scores)]
    return best[-1] if tie == "positive" else best[0]


def worst_draw(scores: Sequence[Number], truth: int) -> int:
    """Return the first wrong class with the highest score, if any, else the true class."""
    wrong = [k for k, s in enumerate(scores) if s == max(scores) and k != truth]
    return wrong[0] if wrong else truth


def predict_ovr(scores: Sequence[Number], tie: str = "negative") -> int:
    """Return the only class with a positive score, else the class of the highest score."""
    claims = [k for k, s in enumerate(scores) if s > 0]
    return claims[0] if len(claims) == 1 else predict_native(scores, tie)


def predict_ovo(scores: Sequence[Number], n_classes: int, tie: str = "negative") -> int:
    """Return the class that wins most matches; of equals the one of the highest summed score.

    ``tie`` decides a match with a score of 0 ("random": half a win for each) and where even the
    summed scores are equal ("random": the smallest, of those that might be drawn).
    """
    at_zero: Number = {"negative": 0, "positive": 1, "random": 0.5}[tie]
    won: list[Number] = [0] * n_classes
    summed: list[Number] = [0] * n_classes
    for s, (smaller, larger) in zip(scores, pairs(n_classes), strict=True):
        share = at_zero if s == 0 else int(s > 0)
        won[larger] += share
        won[smaller] += 1 - share
        summed[larger] += s
        summed[smaller] -= s
    return predict_native(list(zip(won, summed, strict=True)), tie)


def pairs(n_classes: int) -> list[tuple[int, int]]:
    """Return the pairs of one-vs-one: (0,1), (0,2), ..., (1,2), ..."""
    return [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]

"""Schemes that combine binary classifiers for two or more classes: the examples of each, and the
prediction.

A scheme does not depend on the rule. Classes are numbered 0, 1, 2, ... everywhere.
"""

from collections.abc import Callable, Sequence
from math import exp, log
from typing import Any

from linsep.teaching.textbook.machine import Example, Machine, Number, Row, Rows, scores, total

#: what a score of zero is in training
ZEROS = ("mistake", "negative", "correct")


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

    def listed(self, values: Any) -> list:
        """Return scores, weights or intercepts as a list, one per weight vector."""
        return list(values)

    def bare(self, values: list) -> Any:
        """Return a list, one per weight vector, in the shape of steps."""
        return values

    def machines(self, weights: Any, intercept: Any) -> list[Machine]:
        """Return binary classifiers with these weights, given in the shape of steps."""
        vectors = zip(self.listed(weights), self.listed(intercept), strict=True)
        return [Machine(w, [b]) for w, b in vectors]

    def vectors(self, machines: list[Machine]) -> tuple[list, list]:
        """Return copies of the weight vectors, and the intercept of each."""
        return [list(m.weights) for m in machines], [m.intercept[0] for m in machines]

    def weights(self, machines: list[Machine]) -> tuple[Any, Any]:
        """Return copies of weights and intercepts, in the shape of steps."""
        W, b = self.vectors(machines)
        return self.bare(W), self.bare(b)

    def scores(self, machines: list[Machine], x: Row) -> Any:
        """Return the score of every weight vector, in the shape of steps."""
        return self.bare(scores(x, *self.vectors(machines)))

    def show(self, machines: list[Machine], x: Row, one: int, code: int) -> list[Example]:
        """Return the examples of a row of class ``code`` for its binary classifiers."""
        scored = self.listed(self.scores(machines, x))
        return [
            Example(x, [one], y, scored[k], y * scored[k] <= 0, machine=k)
            for k, y in self.sides(code)
        ]

    def sides(self, code: int) -> list[tuple[int, int]]:
        """Return the binary classifiers trained on rows of this class, and labels -1 or +1."""
        raise NotImplementedError

    def predict(self, scores: Any) -> int:
        """Return the class predicted by the scores of a row."""
        raise NotImplementedError


class Binary(Scheme):
    """Two classes, one binary classifier; a score of zero is wrong unless the rule accepts it."""

    n_vectors = 1

    def listed(self, values: Any) -> list:
        return [values]

    def bare(self, values: list) -> Any:
        return values[0]

    def sides(self, code: int) -> list[tuple[int, int]]:
        return [(0, +1 if code == 1 else -1)]

    def predict(self, scores: Number) -> int:
        return (predict_binary(scores, self.tie) + 1) // 2


class OneVsRest(Scheme):
    """One binary classifier per class, which labels its own rows +1 and all others -1."""

    def sides(self, code: int) -> list[tuple[int, int]]:
        return [(k, +1 if k == code else -1) for k in range(self.n_classes)]

    def predict(self, scores: Row) -> int:
        return predict_ovr(scores, self.tie)


class OneVsOne(Scheme):
    """One binary classifier per pair of classes, the larger +1, trained only on their rows."""

    @property
    def n_vectors(self) -> int:
        return len(pairs(self.n_classes))

    def sides(self, code: int) -> list[tuple[int, int]]:
        matches = enumerate(pairs(self.n_classes))
        return [(k, +1 if match[1] == code else -1) for k, match in matches if code in match]

    def predict(self, scores: Row) -> int:
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

    def vectors(self, machines: list[Machine]) -> tuple[list, list]:
        """Return the parts of its weights, one per class."""
        joint, k = machines[0], self.n_classes
        d = len(joint.weights) // k
        return [joint.weights[c * d : (c + 1) * d] for c in range(k)], list(joint.intercept)

    def sides(self, code: int) -> list[tuple[int, int]]:
        return [(0, +1)]

    def show(self, machines: list[Machine], x: Row, one: int, code: int) -> list[Example]:
        """Return the long example of the true class."""
        s = self.scores(machines, x)
        predicted = worst_draw(s, code) if self.tie == "random" else self.predict(s)
        factors, score = self.against(s, code, predicted)
        long, ones = [f * v for f in factors for v in x], [f * one for f in factors]
        return [Example(long, ones, +1, score, predicted != code)]

    def against(self, s: Row, code: int, predicted: int) -> tuple[list, Number]:
        """Return the factor of each class in the example, and its score; the rival is the
        predicted class, or else the second best.
        """
        rival = predicted
        if predicted == code:
            rival = max((k for k in range(self.n_classes) if k != code), key=lambda k: s[k])
        return [(c == code) - (c == rival) for c in range(self.n_classes)], s[code] - s[rival]

    def predict(self, scores: Row) -> int:
        return predict_native(scores, self.tie)


class Softmax(Native):
    """One joint rule for all classes: each row against all its rivals, weighted by their
    probabilities.

    A row of class c becomes the long example with the row in part c, and minus the row times pi_k
    in part k: the probability of class k among those other than c, exp(s_k) / sum of exp(s_r). Its
    score is m = s_c - ln(sum of exp(s_r)), the logit of the probability of c. So the logistic loss
    of the example, ln(1 + exp(-m)), equals the softmax loss, and so does its gradient.
    """

    def against(self, s: Row, code: int, predicted: int) -> tuple[list, Number]:
        """Return 1 for the true class and minus the probabilities of the others."""
        most = max(v for k, v in enumerate(s) if k != code)
        masses = [0.0 if k == code else exp(v - most) for k, v in enumerate(s)]
        whole = total(masses)
        factors = [1 if k == code else -mass / whole for k, mass in enumerate(masses)]
        return factors, s[code] - most - log(whole)


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
    return +1 if score > 0 or (score == 0 and tie == "positive") else -1


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

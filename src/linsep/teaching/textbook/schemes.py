"""How binary machines learn two classes or several: what each is shown, and what they predict.

A scheme knows no rule. Classes are numbered 0, 1, 2, ... everywhere.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from linsep.teaching.textbook.machine import Example, Machine, Number, Row, Rows, score, scores


class Shown(NamedTuple):
    """One example for one machine: the label y = -1 or +1 it should give, the score it gives,
    and whether that counts as wrong.
    """

    machine: int
    example: Example
    y: int
    score: Number
    wrong: bool


class Scheme:
    """Base of all: machines that each have a weight vector and an intercept of their own."""

    #: whether one machine learns all classes
    joint = False

    def __init__(self, n_classes: int, tie: str = "negative"):
        self.n_classes, self.tie = n_classes, tie

    @property
    def n_vectors(self) -> int:
        """How many weight vectors there are."""
        return self.n_classes

    def same(self, n_features: int, weight: Number, intercept: Number) -> tuple[Any, Any]:
        """Weights and intercepts that are all the same, in the shape that steps have."""
        return [[weight] * n_features] * self.n_vectors, [intercept] * self.n_vectors

    def machines(self, weights: Any, intercept: Any) -> list[Machine]:
        """Machines with these weights, in the shape that steps have."""
        return [Machine(w, [b]) for w, b in zip(weights, intercept, strict=True)]

    def weights(self, machines: list[Machine]) -> tuple[Any, Any]:
        """Copies of weights and intercepts, one a vector."""
        return [list(m.weights) for m in machines], [m.intercept[0] for m in machines]

    def scores(self, machines: list[Machine], x: Row) -> Any:
        """The score of every weight vector."""
        return scores(x, *self.weights(machines))

    def listed(self, scores: Any) -> list:
        """Scores as a list, one a weight vector."""
        return list(scores)

    def bare(self, scores: list) -> Any:
        """Such a list as scores are given."""
        return scores

    def show(self, machines: list[Machine], x: Row, one: int, code: int) -> list[Shown]:
        """What a row of class ``code`` is to each machine that sees it."""
        shown, scored = [], scores(x, *Scheme.weights(self, machines))
        for machine, y in self.sides(code):
            s = scored[machine]
            shown.append(Shown(machine, Example(x, [one]), y, s, y * s <= 0))
        return shown

    def sides(self, code: int) -> list[tuple[int, int]]:
        """The machines that see rows of this class, each with the label -1 or +1 it should give."""
        raise NotImplementedError

    def predict(self, scores: Any) -> int:
        """The class by the scores of a row."""
        raise NotImplementedError


class Binary(Scheme):
    """Two classes, one machine; a score of zero is a mistake."""

    def same(self, n_features: int, weight: Number, intercept: Number) -> tuple[list, Number]:
        """One list of weights and one intercept."""
        return [weight] * n_features, intercept

    def machines(self, weights: Row, intercept: Number) -> list[Machine]:
        """The one machine."""
        return [Machine(weights, [intercept])]

    def weights(self, machines: list[Machine]) -> tuple[list, Number]:
        """Its weights and its intercept."""
        return list(machines[0].weights), machines[0].intercept[0]

    def scores(self, machines: list[Machine], x: Row) -> Number:
        """Its score."""
        return score(x, *self.weights(machines))

    def listed(self, scores: Number) -> list:
        """The score alone."""
        return [scores]

    def bare(self, scores: list) -> Number:
        """The only score."""
        return scores[0]

    def sides(self, code: int) -> list[tuple[int, int]]:
        """Class 1 is +1."""
        return [(0, +1 if code == 1 else -1)]

    def predict(self, scores: Number) -> int:
        """By the sign."""
        return (predict_binary(scores, self.tie) + 1) // 2


class OneVsRest(Scheme):
    """One machine a class, which calls its own rows +1 and all others -1."""

    def sides(self, code: int) -> list[tuple[int, int]]:
        """Everyone sees every row."""
        return [(k, +1 if k == code else -1) for k in range(self.n_classes)]

    def predict(self, scores: Row) -> int:
        """The only claim, else the highest score."""
        return predict_ovr(scores, self.tie)


class OneVsOne(Scheme):
    """One machine for every two classes, the larger +1; it sees no other rows."""

    @property
    def n_vectors(self) -> int:
        """One a pair."""
        return len(pairs(self.n_classes))

    def sides(self, code: int) -> list[tuple[int, int]]:
        """The matches of this class."""
        matches = enumerate(pairs(self.n_classes))
        return [(k, +1 if match[1] == code else -1) for k, match in matches if code in match]

    def predict(self, scores: Row) -> int:
        """Most matches won."""
        return predict_ovo(scores, self.n_classes, self.tie)


class Native(Scheme):
    """One machine learns all classes; the class of the highest score is predicted.

    Kesler's construction (Duda and Hart 1973): its weights are those of all classes, one after the
    other, and a row of class c that is up against class r is the long example with the row in part
    c, minus the row in part r, and zeros elsewhere. The score of that example is the score of c
    less that of r, and it should be positive. So every binary rule is a rule for several classes.
    """

    joint = True

    def machines(self, weights: Rows, intercept: Row) -> list[Machine]:
        """One machine with all weights in a row."""
        return [Machine([v for w in weights for v in w], intercept)]

    def weights(self, machines: list[Machine]) -> tuple[list, list]:
        """The parts of its weights, one a class."""
        joint, k = machines[0], self.n_classes
        d = len(joint.weights) // k
        return [joint.weights[c * d : (c + 1) * d] for c in range(k)], list(joint.intercept)

    def show(self, machines: list[Machine], x: Row, one: int, code: int) -> list[Shown]:
        """The true class against its rival: the one predicted instead, else the second best."""
        s = self.scores(machines, x)
        predicted = worst_draw(s, code) if self.tie == "random" else self.predict(s)
        wrong, rival = predicted != code, predicted
        if not wrong:
            rival = max((k for k in range(self.n_classes) if k != code), key=lambda k: s[k])
        signs = [(c == code) - (c == rival) for c in range(self.n_classes)]
        long = Example([sign * v for sign in signs for v in x], [sign * one for sign in signs])
        return [Shown(0, long, +1, s[code] - s[rival], wrong)]

    def predict(self, scores: Row) -> int:
        """The highest score."""
        return predict_native(scores, self.tie)


SCHEMES: dict[str, Callable[[int, str], Scheme]] = {
    "binary": Binary,
    "native": Native,
    "ovr": OneVsRest,
    "ovo": OneVsOne,
}


def predict_binary(score: Number, tie: str = "negative") -> int:
    """-1 or +1 by the sign of the score; 0 has no sign, so ``tie`` decides."""
    if score == 0:
        return +1 if tie == "positive" else -1
    return +1 if score > 0 else -1


def predict_native(scores: Sequence[Number], tie: str = "negative") -> int:
    """The class of the highest score; of equals the smallest, or with "positive" the largest."""
    best = [k for k, s in enumerate(scores) if s == max(scores)]
    return best[-1] if tie == "positive" else best[0]


def worst_draw(scores: Sequence[Number], truth: int) -> int:
    """The lowest class of the highest score that is not the true one, which must win alone."""
    wrong = [k for k, s in enumerate(scores) if s == max(scores) and k != truth]
    return wrong[0] if wrong else truth


def predict_ovr(scores: Sequence[Number], tie: str = "negative") -> int:
    """The one class that says "mine" (a positive score), else the class of the highest score."""
    claims = [k for k, s in enumerate(scores) if s > 0]
    return claims[0] if len(claims) == 1 else predict_native(scores, tie)


def predict_ovo(scores: Sequence[Number], n_classes: int, tie: str = "negative") -> int:
    """The class that wins most matches; of equals the one of the highest summed score.

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
    """The matches of one-vs-one: (0,1), (0,2), ..., (1,2), ..."""
    return [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]

"""The arithmetic of the steps of a trace, as it is written on a board."""

from collections.abc import Sequence
from typing import Any

from linsep.layout import table_lines, wrapped
from linsep.teaching.tables import short_number
from linsep.teaching.textbook.schemes import SCHEMES, pairs
from linsep.words import escaped

#: terms of a sum beyond which those of weight 0 are left out
MOST_TERMS = 8
#: relative difference of quotients that are the same number
ROUNDING = 1e-9


def arithmetic_lines(trace: Any, examples: Sequence[Sequence[float]], width: int) -> list[str]:
    """Return a table of the sums, the tests and the updates of every step, and the stop reason."""
    names, two = trace.vectors, not trace.vectors
    heads = ["round", "row", *(["y", "y <w, x>", "update"] if two else ["class", "update"]), "sum"]
    lines, before, dual = [heads], trace.start, hasattr(trace.estimator, "kernel_")
    for one, step, product in zip(trace, trace.steps, trace.products, strict=True):
        z = [1.0] * trace.with_intercept + list(examples[step.row])
        own = [vector[not trace.with_intercept :] for vector in before]
        sums = [_sum(w, z, s) for w, s in zip(own, one.scores, strict=True)]
        x = [float(j == step.row) for j in range(len(z))] if dual else z
        moves = [_move(vector[not trace.with_intercept :], x, dual) for vector in one.change]
        if two:
            sign = "-1" if one.label == trace.classes[0] else "+1"
            case = f"w {moves[0]}" if one.updates else ""
            lines.append([str(one.round), one.row, sign, short_number(product), case, *sums])
        else:
            changed = zip(names, moves, strict=True)
            case = ", ".join(f"{name} {move}" for name, move in changed if move)
            said = "; ".join(f"{name}: {text}" for name, text in zip(names, sums, strict=True))
            said += f"; {_decision(trace, step.score)}"
            lines.append([str(one.round), one.row, one.label, case, said])
        before = one.weights
    right = [True, False, *([True, True] if two else [False]), False, False]
    table = table_lines(lines, right, width=width, first=2, sentences=True)
    return [*table, *wrapped(escaped(trace.stopped), width)]


def _sum(w: Sequence[float], z: Sequence[float], score: float) -> str:
    pairs_of = list(zip(w, z, strict=True))
    used = pairs_of if len(pairs_of) <= MOST_TERMS else [pair for pair in pairs_of if pair[0]]
    terms = ["*".join(map(_factor, pair)) for pair in used]
    return f"{' + '.join(terms) or '0'} = {short_number(score)}"


def _factor(value: float) -> str:
    return f"({short_number(value)})" if value < 0 else short_number(value)


def _move(change: Sequence[float], z: Sequence[float], dual: bool) -> str:
    """Return an update as a multiple of the example, if it is one: "+ x" or "- 0.5 x"."""
    if not any(change):
        return ""
    k = max(range(len(z)), key=lambda j: abs(z[j]))
    amount = change[k] / z[k] if z[k] else 0.0
    near = ROUNDING * max(map(abs, change))
    if any(abs(d - amount * v) > near for d, v in zip(change, z, strict=True)):
        return f"+ [{', '.join(map(short_number, change))}]"
    size = short_number(float(f"{abs(amount):.6g}"))
    return ("- " if amount < 0 else "+ ") + f"{size} " * (size != "1") + ("phi(x)" if dual else "x")


def _decision(trace: Any, scores: Any) -> str:
    """Return which of several classes is predicted, and of one-vs-one the votes before that."""
    model, classes = trace.estimator, trace.classes
    said = classes[SCHEMES[model.multiclass](len(classes), model.tie).predict(scores)]
    if model.multiclass != "ovo":
        return f"predicted {said}"
    matches = zip(scores, pairs(len(classes)), strict=True)
    votes = [classes[match[s > 0 or (s == 0 and model.tie == "positive")]] for s, match in matches]
    return f"votes {', '.join(votes)}: predicted {said}"

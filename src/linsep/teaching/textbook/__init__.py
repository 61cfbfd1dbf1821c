"""The algorithms in plain Python: to read, to trace, and to test the compiled ones against.

A rule (:class:`Perceptron`, :class:`MarginPerceptron`, ...) handles one example, a scheme
("binary", "native", "ovr", "ovo") distributes examples over several machines, :func:`run` is the
loop, which yields every step, and :func:`kept` selects the weights to predict with.
"""

from linsep.teaching.textbook.dual import KernelPerceptron, dual_row, dual_rows
from linsep.teaching.textbook.keeping import Kept, kept
from linsep.teaching.textbook.logistic import gradient_ascent, log_likelihood, newton, penalised
from linsep.teaching.textbook.machine import Rule, score, scores, unit_rows
from linsep.teaching.textbook.margin import MarginPerceptron, most_updates
from linsep.teaching.textbook.mixing import Epoch, parameter_mixing
from linsep.teaching.textbook.passive_aggressive import PassiveAggressive
from linsep.teaching.textbook.perceptron import (
    BatchPerceptron,
    Perceptron,
    binary_perceptron,
    native_perceptron,
    ovo_perceptron,
    ovr_perceptron,
)
from linsep.teaching.textbook.running import Step, run
from linsep.teaching.textbook.schemes import (
    pairs,
    predict_binary,
    predict_native,
    predict_ovo,
    predict_ovr,
)
from linsep.teaching.textbook.text import (
    counted_row,
    grams,
    hashed_row,
    inverse_frequencies,
    learnt_vocabulary,
    murmurhash3,
    weighted_row,
)
from linsep.teaching.textbook.winnow import BalancedWinnow, Winnow

__all__ = [
    "BalancedWinnow",
    "BatchPerceptron",
    "Epoch",
    "Kept",
    "KernelPerceptron",
    "MarginPerceptron",
    "PassiveAggressive",
    "Perceptron",
    "Rule",
    "Step",
    "Winnow",
    "binary_perceptron",
    "counted_row",
    "dual_row",
    "dual_rows",
    "gradient_ascent",
    "grams",
    "hashed_row",
    "inverse_frequencies",
    "kept",
    "learnt_vocabulary",
    "log_likelihood",
    "most_updates",
    "murmurhash3",
    "native_perceptron",
    "newton",
    "ovo_perceptron",
    "ovr_perceptron",
    "pairs",
    "parameter_mixing",
    "penalised",
    "predict_binary",
    "predict_native",
    "predict_ovo",
    "predict_ovr",
    "run",
    "score",
    "scores",
    "unit_rows",
    "weighted_row",
]

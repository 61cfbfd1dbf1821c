"""Public names, loaded lazily by :mod:`lazy_loader` and read by type checkers."""

from .arow import AROW as AROW
from .covariance import Covariance as Covariance
from .dual import (
    KernelPerceptron as KernelPerceptron,
    dual_row as dual_row,
    dual_rows as dual_rows,
)
from .keeping import (
    Kept as Kept,
    kept as kept,
)
from .logistic import (
    gradient_ascent as gradient_ascent,
    log_likelihood as log_likelihood,
    newton as newton,
    penalized as penalized,
)
from .machine import (
    Rule as Rule,
    score as score,
    scores as scores,
    unit_rows as unit_rows,
)
from .margin import (
    MarginPerceptron as MarginPerceptron,
    most_updates as most_updates,
)
from .mixing import (
    Epoch as Epoch,
    parameter_mixing as parameter_mixing,
)
from .online_logistic import (
    OnlineLogistic as OnlineLogistic,
    invariant_step as invariant_step,
)
from .passive_aggressive import PassiveAggressive as PassiveAggressive
from .perceptron import (
    BatchPerceptron as BatchPerceptron,
    Perceptron as Perceptron,
    binary_perceptron as binary_perceptron,
    native_perceptron as native_perceptron,
    ovo_perceptron as ovo_perceptron,
    ovr_perceptron as ovr_perceptron,
    plain_perceptron as plain_perceptron,
)
from .running import (
    Step as Step,
    run as run,
)
from .schemes import (
    pairs as pairs,
    predict_binary as predict_binary,
    predict_native as predict_native,
    predict_ovo as predict_ovo,
    predict_ovr as predict_ovr,
)
from .scw import SCW as SCW
from .text import (
    counted_row as counted_row,
    grams as grams,
    hashed_row as hashed_row,
    inverse_frequencies as inverse_frequencies,
    learned_vocabulary as learned_vocabulary,
    murmurhash3 as murmurhash3,
    weighted_row as weighted_row,
)
from .winnow import (
    BalancedWinnow as BalancedWinnow,
    Winnow as Winnow,
)

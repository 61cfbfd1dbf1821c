"""The perceptron as a scikit-learn estimator."""

from typing import Any

from linsep.compiled.steps import PerceptronRule
from linsep.estimators.base import LinearClassifier
from linsep.estimators.facts import COMMON, LEARNING_RATE


class Perceptron(LinearClassifier):
    """Rosenblatt's perceptron: on a mistake, add the example to the weights.

    It stops at the first pass without a mistake (``stop_reason_ == "converged"``), which comes
    exactly when the rows are linearly separable, or after ``max_iter`` passes. A score of zero is
    a mistake while learning.

    Parameters
    ----------
    multiclass : {"native", "ovr", "ovo"}, default="native"
        More than two classes: one joint rule (on a mistake the true class gains the example, the
        predicted one loses it), one machine a class against the rest, or one machine a pair.
    fit_intercept : bool, default=True
        Learn an intercept, that is the weight of one more feature that is always 1.
    max_iter : int, default=1000
        At most this many passes over the data.
    shuffle : bool, default=True
        Visit the rows in random order in every pass after the first.
    random_state : int, RandomState or None, default=0
        Seed of the shuffling, of the held-out rows and of random ties.
    learning_rate : float, default=1.0
        What an update is multiplied by. Starting from zero weights it changes no prediction.
    early_stopping : bool, default=False
        Hold rows out and stop when their accuracy has not improved for ``n_iter_no_change``
        passes; the weights of the best pass are kept, unless a clean pass ended the run.
    validation_fraction : float, default=0.1
        Share of every class to hold out, with ``early_stopping``.
    n_iter_no_change : int, default=5
        Passes without improvement before stopping early.
    class_weight : dict, "balanced" or None, default=None
        Updates for a class are multiplied by its weight.
    warm_start : bool, default=False
        ``fit`` goes on from the weights of the last fit.
    verbose : int, default=0
        1 prints a line a pass.
    tie : {"negative", "positive", "random"}, default="negative"
        The class of a row whose score is exactly zero, or the same for several classes: the
        smaller, the larger, or a draw. Native learning counts a tie that might be drawn as a
        mistake; a match of one-vs-one at zero that might be drawn is half a win for each.

    Attributes
    ----------
    coef_ : array of shape (1, features), (classes, features) or (pairs, features)
    intercept_ : array of shape (1,), (classes,) or (pairs,)
    classes_ : array of the labels, sorted
    n_iter_ : passes made
    mistakes_ : array of shape (n_iter_,), mistakes in each pass; with ovr and ovo, summed over
        the machines
    n_updates_ : int, how often the weights were changed
    stop_reason_ : "converged", "max_iter", "early_stop" or "interrupted"; its ``sentence`` says
        it in words; None after partial_fit
    progressive_accuracy_ : share of the rows of the first pass predicted rightly before learning
    n_features_in_ : number of features
    feature_names_in_ : their names, when X had names that are all strings

    References
    ----------
    F. Rosenblatt, The perceptron, Psychological Review 65 (1958). A. Novikoff, On convergence
    proofs for perceptrons (1962): at most (R / margin)^2 mistakes on separable rows.

    Examples
    --------
    >>> from linsep import Perceptron
    >>> X = [[4, 0], [1, 1], [0, 1], [-2, -2]]
    >>> p = Perceptron(fit_intercept=False, shuffle=False).fit(X, ["+", "-", "-", "+"])
    >>> p.coef_.tolist(), p.mistakes_.tolist(), str(p.stop_reason_)
    ([[-1.0, 3.0]], [3, 0], 'converged')
    """

    _parameters = (*COMMON, LEARNING_RATE)

    def __init__(
        self,
        *,
        multiclass: str = "native",
        fit_intercept: bool = True,
        max_iter: int = 1000,
        shuffle: bool = True,
        random_state: Any = 0,
        learning_rate: float = 1.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        tie: str = "negative",
    ):
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose
        self.tie = tie

    def _rule(self) -> PerceptronRule:
        return PerceptronRule(float(self.learning_rate))

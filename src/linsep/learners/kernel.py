"""The perceptron in the space of a kernel, as a scikit-learn estimator."""

import warnings
from typing import Any, Literal

import numpy as np
from sklearn.callback import with_callbacks

from linsep.checkpoints.saving import Saving
from linsep.errors import ParameterError, hint
from linsep.estimators._common.checking import brings_labels
from linsep.interrupts import held
from linsep.kernels.base import Kernel
from linsep.kernels.definite import NotPositiveSemidefiniteWarning, check_gram
from linsep.kernels.naming import NAMES, as_kernel, described
from linsep.label_faults import check_beside
from linsep.learners.checkpointing import saving_of
from linsep.learners.classifier import OnlineClassifier
from linsep.learners.keeping import KeepLast, keeping_of
from linsep.learners.kernel_rows import Grams, KernelStream
from linsep.learners.passes import Run
from linsep.learners.perceptron import PerceptronLearner, Schedule
from linsep.learners.state import Learner, State
from linsep.learners.support_vectors import Supported, checked, fit_source
from linsep.parameters import check_parameters, parameter
from linsep.sources.base import Source

KernelKeep = Literal["last", "average", "vote"]


class KernelPerceptron(Supported, OnlineClassifier):
    """The perceptron in the space of a kernel: on a mistake, the row becomes a support vector.

    Scores are f(x) = sum_i a_i K(x_i, x), without an intercept; use ``RBF() + 1`` for one. Rows are
    learnt in blocks of 512 with one Gram matrix each. The mistakes are those of the algorithm that
    scores one row at a time: exactly if kernel values are whole numbers, else up to rounding, which
    decides a score that is zero in exact arithmetic. (Tenths are not exact in floats; 10 X is.)

    Parameters
    ----------
    kernel : str, callable or kernel of :mod:`linsep.kernels`, default="rbf"
        "linear", "poly" (gamma <x, y> + coef0)^degree, "rbf" exp(-gamma |x - y|^2), "laplacian"
        exp(-gamma |x - y|_1), "all-subsets" prod(1 + x_i y_i), "precomputed" (X is a Gram matrix),
        a name of ``sklearn.metrics.pairwise.kernel_metrics()``, a function of two rows, or a
        kernel such as ``RBF(0.1) + Polynomial(2)`` or ``Spectrum(3)`` on strings.
    degree : int, default=3
    gamma : float, "scale" or None, default=None
        "scale" is 1 / (features * variance of X). None is 1 for "poly", else "scale".
    coef0 : float, default=1.0
    multiclass : {"native", "ovr", "ovo"}, default="native"
        For more than two classes: one joint rule (a mistake adds the row to the true class and
        subtracts it from the predicted one), one machine per class against the rest, or one machine
        per pair.
    keep : {"last", "average", "vote"}, default="last"
        The weights to predict with; each takes one pass over the support vectors. "average": the
        mean over all rounds (rows seen). "vote": each version votes with the number of rounds it
        survived.
    max_iter : int, default=100
        Maximum number of passes over the data.
    budget : int or None, default=None
        Maximum number of support vectors. Those beyond it whose removal changes the weights least
        are projected onto the others (as is their part in an average): at the end of every pass or
        call, and whenever there are 512 too many (for a function, twice the budget if that is
        less). Not with ``keep="vote"``.
    cache_mb : float, default=200
        If the Gram matrix of all rows (8 bytes per value) fits in so many megabytes, its values are
        cached; otherwise none are kept between blocks.
    shuffle : bool, default=True
        Visit the rows in random order in every pass after the first.
    random_state : int, RandomState or None, default=0
        Seed for shuffling, held-out rows and random ties.
    early_stopping, validation_fraction, n_iter_no_change, class_weight, reference, warm_start,
    verbose, tie
        As in :class:`linsep.Perceptron`.

    Attributes
    ----------
    support_ : array of shape (support vectors,)
        Row numbers of the support vectors, ascending; after partial_fit counted over all calls, -1
        for those of an earlier fit with warm_start.
    support_vectors_ : array, CSR matrix or array of objects
        The support vectors; empty for "precomputed".
    dual_coef_ : array of shape (1, support vectors), (classes, ...) or (pairs, ...)
        The a_i; with ``keep="vote"`` those of the last version.
    cycle_ : the cycle that ended the run, with ``verify(K, y)`` on the Gram matrix, or None
        Detected with ``shuffle=False``, ``keep="last"``, no weights and no budget, for up to 1,024
        rows times machines whose kernel values are cached (``cache_mb``).
    kernel_ : the kernel with the parameters it took from the data
    classes_, reference_, n_iter_, mistakes_, n_updates_, stop_reason_, stop_sentence_,
    validation_scores_, validation_curve_, progressive_accuracy_, n_features_in_,
    feature_names_in_
        As in :class:`linsep.Perceptron`.

    References
    ----------
    M. Aizerman, E. Braverman and L. Rozonoer, Theoretical foundations of the potential function
    method in pattern recognition learning, Automation and Remote Control 25 (1964). Y. Freund and
    R. Schapire, Large margin classification using the perceptron algorithm, Machine Learning 37
    (1999). For the budget: F. Orabona, J. Keshet and B. Caputo, Bounded kernel-based online
    learning, JMLR 10 (2009).

    Examples
    --------
    >>> from linsep import KernelPerceptron
    >>> X = [[1, 1], [1, -1], [-1, 1], [-1, -1]]
    >>> p = KernelPerceptron(kernel="poly", degree=2).fit(X, [1, 0, 0, 1])
    >>> p.predict(X).tolist(), str(p.stop_reason_)
    ([1, 0, 0, 1], 'converged')
    """

    kernel: Any = parameter(
        default="rbf",
        choices=NAMES,
        called_with="two rows, or a kernel of linsep.kernels",
        help="kernel, the similarity of two rows",
    )
    degree: int = parameter(default=3, at_least=1, help="degree of the polynomial kernel")
    gamma: float | Literal["scale"] | None = parameter(
        default=None, above=0.0, help="factor of the product or distance in the kernel"
    )
    coef0: float = parameter(
        default=1.0,
        at_least=0.0,
        help="constant added to the product in the polynomial kernel",
    )
    keep: KernelKeep = parameter(
        default="last", help="weights to predict with: the last, the mean, or a vote of all"
    )
    max_iter: int = parameter(
        default=100, at_least=1, help="maximum number of passes over the data"
    )
    budget: int | None = parameter(
        default=None, at_least=1, help="maximum number of support vectors"
    )
    cache_mb: float = parameter(
        default=200.0, at_least=0.0, help="memory in MB for kernel values to reuse"
    )

    def _learner(self) -> Learner:
        if self.budget is not None and self.keep == "vote":
            raise ParameterError(
                "A vote needs every support vector there ever was, and a budget drops some",
                hint("choose {}", keep="average"),
                hint("{}", keep="last"),
            )
        return DualLearner()

    def _chosen_kernel(self) -> Kernel:
        return as_kernel(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kernel = described(self.kernel)
        tags.input_tags.pairwise = kernel.takes == "gram"
        tags.input_tags.sparse = kernel.sparse
        tags.input_tags.positive_only = kernel.positive_only
        tags.input_tags.string = kernel.takes == "strings"
        return tags

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, checkpoint: Any = None) -> Any:
        """Fit by passes over all rows until a stopping criterion holds.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), list of strings, or a Source
            Of the type the kernel takes; a Gram matrix of shape (rows, rows) for "precomputed". A
            source is read into memory as a whole; for streams use :meth:`partial_fit`.
        y : array of shape (rows,)
            Labels of any type; of two, the one that is not the ``reference`` is +1. Omit it for a
            source.
        sample_weight : array of shape (rows,), default ones
            Multiplies the row's update and, if held out, its part in ``early_stopping``; rows of
            weight 0 are skipped.
        checkpoint : path or :class:`linsep.Checkpoint`, default None
            As in :meth:`linsep.Perceptron.fit`; cached kernel values are saved, too.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, row, label, weight or kernel value is invalid; the message says which,
            where, and what to do.
        """
        check_parameters(self)
        with saving_of(checkpoint, self) as saving:
            if brings_labels(X, y, sample_weight):
                saving.check_source(X)
                fit_source(self, X, saving)
            else:
                self._fit_rows(X, y, sample_weight, saving)
        return self

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any, saving: Saving) -> None:
        """Fit to rows in memory."""
        learner, kernel = self._learner(), self._chosen_kernel()
        rows = checked(self, kernel, X, reset=True)
        y = self._labels_checked(y, rows.shape[0])
        classes, codes, counted = self._labelled(y, sample_weight)
        if kernel.takes == "gram" and (why := check_gram(rows)) is not None:
            warnings.warn(why, NotPositiveSemidefiniteWarning, stacklevel=2)
        saving.check_arrays(rows, classes, codes, counted)
        self._seed(saving)
        with held():
            run, stream = self._prepared_run(
                learner, kernel, rows, classes, codes, counted, sample_weight
            )
            with self._forgetting():
                self._fit(run, stream, X, y, sample_weight, saving)

    def _prepared_run(
        self,
        learner: Learner,
        kernel: Kernel,
        rows: Any,
        classes: np.ndarray,
        codes: np.ndarray,
        counted: np.ndarray,
        sample_weight: Any,
    ) -> tuple[Run, KernelStream]:
        """Return the run and the stream of the checked rows."""
        self._start(kernel, classes, rows)
        seed, n_old = self._run_seed, self._state.n_features
        self._add(rows, np.arange(codes.size))
        cache = self.cache_mb * 1e6 if self.max_iter > 1 else 0.0
        grams = Grams(self.kernel_, self._prepared, n_old + codes.size, cache)
        hold = self._hold_out(classes.size, sample_weight, codes.size)
        stream = KernelStream(grams, self.budget, codes, counted, seed, bool(self.shuffle), hold)
        stream.begin(self._state, self._keeping)
        self._weighted = bool(counted.size)
        return Run(self._state, learner, self._keeping, self._passes), stream

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Learn from these rows once, in their order.

        Without a budget, one call with many rows and many calls with one row make the same
        mistakes, up to rounding if kernel values are not whole numbers. With a budget, support
        vectors are removed at the end of each call: pass some hundred rows at once.

        Parameters
        ----------
        X : rows as for :meth:`fit`, but no Gram matrix and no Source
            Parameters that a kernel takes from the data (``gamma="scale"``) come from the first
            call.
        y : array of shape (rows,)
        classes : array of all labels that will occur; required in the first call only
        sample_weight : array of shape (rows,), default ones

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As in ``fit``, and if ``classes`` or a parameter that shapes the weights (``kernel``,
            ``multiclass``, ``keep``, ``reference``, ``tie``) has changed.
        """
        learner, first = self._check_partial(classes), not hasattr(self, "_state")
        kernel = self._chosen_kernel() if first else self.kernel_
        if kernel.takes == "gram":
            raise ParameterError(
                "A precomputed Gram matrix cannot grow by rows that come later: give partial_fit "
                "rows and a kernel"
            )
        if isinstance(X, Source):
            raise ValueError("partial_fit takes rows: give it X and y of each of X.batches().")
        check_beside(X, y=y, sample_weight=sample_weight)
        rows = checked(self, kernel, X, reset=first)
        y = self._labels_checked(y, rows.shape[0])
        known, codes, counted = self._labelled_so_far(y, classes, sample_weight)
        with held():
            if first:
                self._start(kernel, known, rows)
            self._check_same("partial_fit")
            self._weighted = self._weighted or bool(counted.size)
            self._add(rows, self._rows_seen + np.arange(codes.size))
            grams = Grams(self.kernel_, self._prepared, self._state.n_features)
            stream = KernelStream(grams, self.budget, codes, counted, 0, False)
            stream.begin(self._state, self._keeping)
            with self._forgetting():
                self._learn_once(Run(self._state, learner, self._keeping, []), stream)
        return self

    def separation(self, X: Any, y: Any, **how: Any) -> Any:
        """Decide whether this kernel separates the rows, with a proof: :func:`linsep.separation`.

        Parameters
        ----------
        X : rows as for :meth:`fit`, a few thousand at most
        y : array of shape (rows,)
        **how : ``formulations`` of :func:`linsep.separation`

        Returns
        -------
        linsep.certificate.verdicts.Verdict
            About K = ``kernel.exact(X)`` of the kernel, without rounding, for linear, polynomial
            and all-subsets kernels, counts of substrings, and sums, products and multiples of
            these. Other kernels have values in floats only, K = ``kernel(X)``: the first line says
            so. Check it with ``verify(K, y)``. The estimator need not be fitted and is not changed.

        Raises
        ------
        ValueError
            As in :func:`linsep.separation`.
        """
        from linsep.separability.deciding import separation

        check_beside(X, y=y)
        kernel = self._chosen_kernel()
        K = X if kernel.takes == "gram" else kernel.exact(X)
        return separation(K=kernel(X) if K is None else K, y=y, **how)

    def _start(self, kernel: Kernel, classes: np.ndarray, rows: Any) -> None:
        """Set the initial state: empty, or with warm_start that of the last fit."""
        warm = self.warm_start and hasattr(self, "_state") and kernel.takes != "gram"
        if warm:
            if not np.array_equal(classes, self.classes_):
                raise ValueError("warm_start needs the classes of the last fit; y has others.")
            self._check_same("warm_start", but=("keep", "tie"))
            state = self._state
            state.forget()
            self._select(KeepLast().features_in_use(state), KeepLast())
            self.support_ = np.full(self.support_.size, -1)
        else:
            state = State(self.multiclass, classes.size, 0, fit_intercept=False)
            self.kernel_ = kernel.fitted(rows)
            self._examples, self.support_ = rows[:0], np.empty(0, np.int64)
        self._keeping = keeping_of(self.keep, np.inf, self.tie)
        self._begin(state, classes, fresh=not warm)
        self._rows_seen = 0

    def _shaping(self) -> dict[str, Any]:
        names = ("kernel", "degree", "gamma", "coef0")
        return super()._shaping() | {name: getattr(self, name) for name in names}


class DualLearner(PerceptronLearner):
    """The kernel perceptron, for which the learning rate changes nothing but the scale."""

    step = ""

    def __init__(self) -> None:
        super().__init__(Schedule(1.0, "constant"))

"""The perceptron in the space of a kernel, as a scikit-learn estimator."""

from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp

from linsep import kernels
from linsep._system.threads import one_blas_thread
from linsep.errors import DataError, ParameterError, hint, refuse, warn_caller
from linsep.estimators.fitted_state import calls_back, count
from linsep.estimators.frames import in_memory, source_of, to_learn
from linsep.estimators.labels import label_a_row
from linsep.kernels.naming import NAMES
from linsep.learners.kernel_rows import KernelStream
from linsep.learners.online import OnlineClassifier
from linsep.learners.passes import Run
from linsep.learners.perceptron import PerceptronLearner
from linsep.learners.state import Learner, State
from linsep.learners.support_vectors import HasSupportVectors, checked_for_kernel
from linsep.parameters import check_parameters, parameter
from linsep.rows.arrays import MemoryStream
from linsep.sources.base import Source
from linsep.validation.checks import check_beside


class KernelPerceptron(HasSupportVectors, OnlineClassifier):
    """The perceptron in the space of a kernel: on a mistake, the row becomes a support vector.

    Scores are ``f(x) = sum_i a_i K(x_i, x)``, without an intercept; use ``RBF() + 1`` for one.
    Kernel values are computed in blocks, which changes mistakes by rounding at most.

    Parameters
    ----------
    kernel : str, callable or kernel of :mod:`linsep.kernels`, default="rbf"
        Kernel, the similarity of two rows. "linear" is <x, y>, "poly" (gamma <x, y> +
        coef0)^degree, "rbf" ``exp(-gamma |x - y|^2)``, "all-subsets" prod(1 + x_i y_i); X is a Gram
        matrix for "precomputed". Others are a function of two rows, or a kernel such as ``RBF(0.1)
        + Polynomial(2)`` or ``Spectrum(3)`` on strings.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : float, "scale" or None, default=None
        Factor of the product or distance in the kernel. "scale" is 1 / (features * variance of X).
        None is 1 for "poly", else "scale".
    coef0 : float, default=1.0
        Constant added to the product in the polynomial kernel.
    keep : {"last", "average", "vote"}, default="last"
        Weights to predict with: the last, the mean over all rows seen, or a vote of all versions,
        each with the number of rows it survived.
    max_iter : int, default=100
        Maximum number of passes over the data.
    budget : int or None, default=None
        Maximum number of support vectors, at the end of every pass or call. Not with
        ``keep="vote"``. Those whose removal changes the weights least are projected on the others.
    cache_mb : float, default=200
        Memory in MB for kernel values to reuse. If the Gram matrix of all rows (8 bytes per value)
        fits, the values needed are cached; otherwise, and with a ``budget``, no values are kept
        between blocks of rows.

    Attributes
    ----------
    support_ : array of shape (support vectors,)
        Row numbers of the support vectors in the data as given, from 0, ascending; after
        partial_fit counted over all calls.
    support_vectors_ : array, CSR matrix or array of objects
        The support vectors; empty for "precomputed".
    dual_coef_ : array of shape (1, support vectors), (classes, ...) or (pairs, ...)
        The coefficients a_i; with ``keep="vote"`` of the last version.
    cycle_ : the cycle that ended the run, with ``verify(K, y)`` on the Gram matrix, or None
        Detected with ``shuffle=False``, ``keep="last"`` and no weights, for up to 1,024 rows times
        binary classifiers with cached kernel values (``cache_mb``).
    kernel_ : the kernel with the parameters computed from the data

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

    shaping = (*OnlineClassifier.shaping, "kernel", "degree", "gamma", "coef0")

    kernel: Any = parameter(
        default="rbf", choices=NAMES, called_with="two rows, or a kernel of linsep.kernels"
    )
    degree: int = parameter(default=3, at_least=1)
    gamma: float | Literal["scale"] | None = parameter(default=None, above=0.0)
    coef0: float = parameter(default=1.0, at_least=0.0)
    keep: Literal["last", "average", "vote"] = parameter(default="last")
    max_iter: int = parameter(default=100, at_least=1)
    budget: int | None = parameter(default=None, at_least=1)
    cache_mb: float = parameter(default=200.0, at_least=0.0)

    def learner(self) -> Learner:
        refuse(ParameterError, (
            self.budget is not None and self.keep == "vote",
            "A vote needs every support vector, but a budget drops some",
            "conflict", "budget", hint("choose {}", keep="average"),
        ))  # fmt: skip
        return PerceptronLearner()  # another changes the scale only

    @calls_back
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, checkpoint: Any = None) -> Self:
        """Fit by passes over all rows until a stopping criterion holds.

        As :meth:`linsep.Perceptron.fit`, which has ``y``, ``sample_weight`` and ``checkpoint``.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), list of strings, or a Source
            For "precomputed" a Gram matrix of shape (rows, rows). A source is read into memory.
        """
        from linsep.learners.from_source import fit_in_memory

        check_parameters(self)
        with self.saving(checkpoint) as saving:
            if self.chosen_kernel().takes == "vectors":
                source = to_learn(self, X, y, sample_weight)
            else:
                source = source_of(X, y=y, sample_weight=sample_weight)
            if source is not None:
                if saving is not None:
                    saving.check_source(source)
                fit_in_memory(self, source, lambda X, y, w, g: self.fit_rows(X, y, w, saving, g))
            else:
                self.fit_rows(X, y, sample_weight, saving)
        return self

    def checked_rows(
        self, X: Any, y: Any, learner: Learner, *, reset: bool, checked: bool
    ) -> tuple[Any, np.ndarray]:
        kernel = self.chosen_kernel() if reset else self.kernel_
        gram = kernel.takes == "gram"
        rows_only = "partial_fit takes rows: a Gram matrix cannot grow, and a source has batches()."
        known = checked and (gram or isinstance(X, Source))
        refuse(ParameterError, (known, rows_only, "unsupported", "kernel" if gram else "X"))
        rows = checked_for_kernel(self, kernel, X, reset=reset)
        if gram and (why := kernels.check_gram(rows)) is not None:
            warn_caller(kernels.NotPositiveSemidefiniteWarning(why))
        return rows, label_a_row(self, y, rows.shape[0])

    def start_run(self, learner: Learner, classes: np.ndarray, rows: Any, *given: Any) -> Run:
        self.kernel_, self._rows_seen = self.chosen_kernel().fitted(rows), 0
        self._examples, self.support_ = rows[:0], np.empty(0, np.int64)
        return super().start_run(learner, classes, 0)

    def _stream(self, rows: Any, again: bool, codes: np.ndarray, *how: Any) -> MemoryStream:
        state = self._run.state
        state.grow(state.n_features + codes.size)
        self.support_ = np.append(self.support_, self._rows_seen + np.arange(codes.size))
        self._rows_seen += codes.size
        if not self._examples.shape[0]:
            self._examples = rows
        elif sp.issparse(rows) or sp.issparse(self._examples):
            self._examples = sp.vstack([self._examples, rows], format="csr")
        else:
            self._examples = np.concatenate([self._examples, rows])
        examples, cached = self.kernel_.prepare(self._examples), self.cache_mb * 1e6 * again
        return KernelStream(
            self.kernel_, examples, cached, self.budget, state, self._run.keeping, codes, *how
        )

    @one_blas_thread  # bit-identical with any number of processors
    def run_passes(self, *given: Any) -> None:
        super().run_passes(*given)

    def _select(self) -> None:
        self.__dict__.pop("support_positions_", None)
        if hasattr(self, "_run"):
            self.__dict__.update(self._selected(self._run.state))

    def _selected(self, state: State) -> dict[str, Any]:
        used = state.features_in_use()
        state.select(used)
        return self._support(self._examples[used], self.support_[used])

    def _snapshot(self) -> dict[str, Any]:
        attributes = super()._snapshot()
        return attributes | self._selected(attributes["_run"].state) | {"kernel_": self.kernel_}

    def separation(self, X: Any, y: Any, **how: Any) -> Any:
        """Return :func:`linsep.separation` of these rows in the space of the kernel, about K =
        ``kernel.exact(X)``: check it with ``verify(K, y)``. Kernels with floating-point values only
        (radial, normalized, functions) are refused.
        """
        from linsep.separability.deciding import separation

        check_beside(X, y=y)
        kernel = self.chosen_kernel()
        if kernel.takes == "vectors":
            X, y, *_ = in_memory(X, y)
        K = X if kernel.takes == "gram" else kernel.exact(X)
        if K is None:
            raise DataError(
                "This kernel has values in floats only, or too long ones, and rounding makes any "
                "rows separable: use an exact kernel.", code="not-exact", option="kernel",
            )  # fmt: skip
        return separation(K=K, y=y, **how)

    @property
    def dual_coef_(self) -> np.ndarray:
        return self.fitted_run().weights()[0]

    def set_state(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        super().set_state(arrays, facts)
        self._rows_seen = count(facts["training"]["rows_seen"])

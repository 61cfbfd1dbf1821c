"""Prediction methods of the online classifiers, and the draws that break their ties."""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import assert_all_finite, check_is_fitted

from linsep.batches import Batch
from linsep.errors import DataError
from linsep.estimators.frames import to_predict
from linsep.estimators.labels import HasReference
from linsep.estimators.predicting import Prediction, decided, probabilities_of, share_right
from linsep.estimators.reading import StopReason
from linsep.estimators.showing import PlotsDecision
from linsep.learners.passes import Run
from linsep.learners.state import Draws, decision, predicted
from linsep.parameters import fitted_parameter
from linsep.rows.arrays import mixed_bits
from linsep.sources.base import Source
from linsep.validation.checks import as_csr, faults_named
from linsep.words import row_text


def numbered(X: Any, n_features: int | None) -> np.ndarray:
    """Hash rows, of numbers by their first ``n_features`` values; uint64 of shape (rows,)."""
    if X.ndim == 1:  # strings or other objects
        texts = (r if isinstance(r, bytes) else str(r).encode("utf-8", "surrogatepass") for r in X)
        digests = b"".join(blake2b(text, digest_size=8).digest() for text in texts)
        return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
    X = sp.csr_matrix(X[:, :n_features])
    X.sum_duplicates()
    values, columns = X.data.astype(np.float64), X.indices.astype(np.uint64)
    hashes = mixed_bits(values.view(np.uint64) ^ mixed_bits(columns + np.uint64(1)))
    hashes[values == 0] = 0  # stored zeros do not matter
    # Sums do not depend on the order of values, so that dense and sparse rows hash alike.
    sums = np.append(np.uint64(0), np.cumsum(hashes, dtype=np.uint64))
    return sums[X.indptr[1:]] - sums[X.indptr[:-1]]


class OnlinePrediction(Prediction):
    """Predictions of an online classifier for the rows of a source."""

    def codes(self) -> Iterator[tuple[Batch, np.ndarray, np.ndarray]]:
        model, draws = self.model, self.model.draws()
        for batch in self.batches():
            known = self.fitted_width(batch.X, model.n_features_in_)
            scores, codes = model.scored(known, batch.X, draws, self.source, batch.first)
            scores = batch.answers(scores)
            yield batch, scores, decided(model, scores, codes)


class PredictsOnline(PlotsDecision, HasReference):
    """Scores, classes and accuracy on rows, using the weights that a run kept."""

    _run: Run
    stop_reason_: StopReason | None
    random_state: Any
    n_features_in_: int
    #: returns rows as they are scored
    _rows_to_score: Any
    #: returns the scores of all machines for X and ``whole``, X with features not seen in training
    machine_scores: Any

    def fitted_run(self) -> Run:
        """Return the fit; raise NotFittedError (an AttributeError) if there is no fit."""
        if "_run" not in self.__dict__:
            check_is_fitted(self)
        return self._run

    def predictions(self, source: Source) -> Prediction:
        return OnlinePrediction(self, source)

    def draws(self) -> Draws | None:
        if fitted_parameter(self, "tie") != "random":
            return None
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        salt = mixed_bits(np.array([seed], dtype=np.uint64))
        return lambda X: mixed_bits(numbered(X, self.__dict__.get("n_features_in_")) ^ salt)

    def scored(
        self, X: Any, whole: Any, draws: Draws | None = None, source: Source | None = None,
        first: int = 0,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Return the decision values and class codes of rows, of a source from row ``first`` on."""
        scores = self.machine_scores(X, whole)
        bad = np.argwhere(~np.isfinite(scores))
        if bad.size:
            with faults_named(X, self):
                assert_all_finite(as_csr(X), input_name="X")
            row = first + int(bad[0, 0])
            where = row_text(row).capitalize() if source is None else source.where(row)
            raise DataError(
                f"{where}: the score overflows float64; scale the features.",
                code="overflow", **{"row": row + 1} | getattr(where, "fields", {}),
            )  # fmt: skip
        tie = fitted_parameter(self, "tie")
        values = decision(self._run.state, scores, tie)
        codes = predicted(values, tie, draws and (lambda rows: draws(whole[rows])))
        return self.scores_turned(values), self.codes_turned(codes)

    def decision_function(self, X: Any, missing: str | None = None) -> np.ndarray:
        """Return scores, computed exactly as in training.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source
            A source is read batch by batch; open it with ``recipe=model.recipe_``.
        missing : None, or "skip" for NaN in rows with a missing value

        Returns
        -------
        array of shape (rows,) for two classes, else (rows, classes)
            For two classes, positive for the larger one. For one-vs-one, the number of pairs won
            plus the summed scores, scaled to break ties only. With ``keep="vote"``, the share of
            the votes.
        """
        self.fitted_run()
        X = to_predict(self, X, missing)
        if isinstance(X, Source):
            return np.concatenate([values for _, values, _ in self.predictions(X).codes()])
        X = self._rows_to_score(X)
        return self.scored(X, X)[0]

    @available_if(lambda m: hasattr(m, "calibration_") or getattr(m, "scores_are_log_odds", False))
    def predict_proba(self, X: Any, missing: str | None = None) -> np.ndarray:
        """Return the probabilities that :func:`linsep.calibrate` fitted, or those of
        :class:`linsep.OnlineLogistic`, shape (rows, classes); arguments as for ``predict``.
        """
        return probabilities_of(self, self.decision_function(X, missing))

    def predict(self, X: Any, missing: str | None = None) -> np.ndarray:
        """Predict the class with the highest score for each row; ``tie`` decides equal scores.

        With ``tie="random"`` the draw depends on ``random_state`` and the values of the row only.
        After :func:`linsep.set_threshold`, the positive of two classes is predicted for scores of
        at least the threshold.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source
        missing : None, or "skip" for None in rows with a missing value

        Returns
        -------
        array of shape (rows,), with the type of the labels, or of objects if a row is skipped
        """
        self.fitted_run()
        X = to_predict(self, X, missing)
        if isinstance(X, Source):
            return self.predictions(X).labels()
        X = self._rows_to_score(X)
        return self.classes_[decided(self, *self.scored(X, X, self.draws()))]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy on rows X with labels y, weighted by ``sample_weight``; or, without
        both, on a Source, data frame or path with the training columns and labels.
        """
        return share_right(self, X, y, sample_weight)

"""The models of a grid, and the fits that train them."""

from typing import Any

import numpy as np

from linsep.estimators._common.stop_reasons import StopReason
from linsep.learners.keeping import KeepLast
from linsep.learners.passes import (
    Progress,
    Run,
    check_some_rows,
    checked,
    close_pass,
    infinite_weight,
    learn_batch,
    without_mistakes,
)
from linsep.rows.arrays import RowBatch
from linsep.rows.source_stream import SourceStream
from linsep.tuning.held_out import Missed, own_buffer


class Model:
    """A model of the grid and how good it is.

    Attributes
    ----------
    values : its parameters of the grid
    estimator : an estimator with them
    passes : passes it has made
    missed : which held-out rows it predicts wrongly, after the last of them
    behind : how far its accuracy is behind the best, and the standard error of the difference, when
        it was dropped; None if it was not
    stop_reason : why it was done, None before
    """

    def __init__(self, values: dict[str, Any], estimator: Any):
        self.values, self.estimator = values, estimator
        self.begin()

    def begin(self) -> None:
        """Reset passes and score."""
        self.passes, self.missed = 0, Missed()
        self.behind: tuple[float, float] | None = None
        self.stop_reason: StopReason | None = None

    @property
    def dropped(self) -> bool:
        """Whether it was dropped before it was done."""
        return self.behind is not None

    @property
    def running(self) -> bool:
        """Whether it will make another pass."""
        return not self.dropped and self.stop_reason is None


class Fit:
    """Trains one model, or two that differ only in keeping last or averaged weights.

    Parameters
    ----------
    model : the model that decides which weights are kept

    Attributes
    ----------
    models : this one, and the other if any
    progress : counts of the running pass
    passes : passes made
    """

    def __init__(self, model: Model):
        self.models, self.progress, self.passes = [model], Progress(), 0

    @property
    def running(self) -> list[Model]:
        """The models that will make another pass."""
        return [model for model in self.models if model.running]

    def start(self, stream: SourceStream) -> None:
        """Create the state before the first pass."""
        estimator = self.models[0].estimator
        width = max(stream.n_features, len(stream.feature_names or ()))
        self.run: Run = estimator.start_run(
            estimator.learner(), np.sort(stream.classes), width, None, None
        )
        self.tie, self.max_iter = estimator.tie, estimator.max_iter
        self.progress, self.passes = Progress(), 0

    def begin_pass(self, n_rows: int | None) -> None:
        """Start a pass over ``n_rows`` rows, None if unknown."""
        self.progress.begin(self.passes, n_rows)
        self._scheme = self.run.state.scheme(self.tie, count_errors=self.passes == 0)

    def learn(self, row_batch: RowBatch) -> None:
        """Learn the rows of a batch."""
        own = iter([row_batch._replace(rows=own_buffer(row_batch.rows))])
        for batch in own if self.passes else checked(own, self.run.learner):
            learn_batch(self.run, self._scheme, batch, self.progress)

    def close_pass(self, stream: SourceStream) -> None:
        """Finish a pass; DataError if no row was learnt."""
        check_some_rows(self.progress)
        close_pass(self.run, self._scheme)
        self.run.keeping.close_pass(self.run.state, stream.learnt, self.tie)
        self.passes += 1
        for model in self.running:
            model.passes, model.missed = self.passes, Missed()

    def score(self, rows: RowBatch) -> None:
        """Predict held-out rows."""
        for model in self.running:
            keeping = self.run.keeping if model is self.models[0] else KeepLast()
            model.missed.add(keeping.missed(self.run.state, rows, self.tie), rows.importance)

    def decide(self) -> None:
        """Find out whether it is done, or starts again with other parameters."""
        state, learner, keeping = self.run.state, self.run.learner, self.run.keeping
        reason = None
        if self.progress.mistakes == 0:
            reason = without_mistakes(learner, state)
        elif self.passes == self.max_iter:
            reason = StopReason.MAX_ITER
        elif learner.restarts(state):
            keeping.start_again(state)
        if reason and not np.isfinite([state.W.min(), state.W.max()]).all():
            raise infinite_weight(state.W, True, learner.step)
        for model in self.running:
            model.stop_reason = reason


def fits_of(models: list[Model]) -> list[Fit]:
    """Return the fits that the models need."""
    averages: dict[str, Fit] = {}
    fits: list[Fit] = []
    for model in sorted(models, key=lambda model: model.estimator.keep == "last"):
        others = repr(model.estimator.get_params(deep=False) | {"keep": None})
        if model.estimator.keep == "last" and others in averages:
            averages[others].models.append(model)
            continue
        fits.append(Fit(model))
        if model.estimator.keep == "average":
            averages[others] = fits[-1]
    return fits

"""Rows that ``partial_fit`` learns one by one, without checks that the call before has made."""

from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from linsep.batches import NO_IMPORTANCE
from linsep.compiled.jit import direct
from linsep.compiled.loop import pass_loop
from linsep.compiled.rows import as_rows
from linsep.learners.keeping import KeepBest, KeepVote
from linsep.learners.passes import nothing_counted
from linsep.learners.state import Learner


class OneRow:
    """Learns rows of 64-bit floats, one in each call, as ``partial_fit`` does, with ``classes`` as
    given to the call that learned the row before.
    """

    def __init__(self, model: Any, classes: Any):
        run = self.run = model.fitted_run()
        state, self.classes = run.state, list(classes) if isinstance(classes, list) else None
        self._parameters = itemgetter(*model._learned_with)
        self.parameters = self._parameters(vars(model))
        codes = model.codes_turned(np.arange(model.classes_.size)).tolist()
        self.codes = dict(zip(model.classes_.tolist(), codes, strict=True))
        self.row, self.code = np.zeros((1, state.n_features)), np.zeros(1, np.int32)
        self.tally = nothing_counted()
        given = (
            state.scheme(model.tie, count_errors=False), run.learner.rule(state),
            run.keeping.compiled(state, 0), state.W, state.bias, as_rows(self.row), self.code,
            NO_IMPORTANCE, np.zeros(1, np.int64),
        )  # fmt: skip
        self._learn = partial(direct(pass_loop, *given, 0, self.tally), *given)
        self.begun = run.open_mistakes, state.n_updates, state.rounds

    def __reduce__(self) -> Any:
        return type(None), ()  # the weights of a copy of the model are others

    def learn(self, model: Any, X: Any, y: Any, classes: Any) -> bool:
        """Learn a row; return False, with nothing changed, unless it is like the one before."""
        known, run = vars(model), self.run
        like = (
            type(X) is np.ndarray and X.shape == self.row.shape and X.dtype == np.float64
            and type(y) in (np.ndarray, list) and len(y) == 1
            and (classes is None or (type(classes) is list and classes == self.classes))
            and known.get("_run") is run and "calibration_" not in known
            and "threshold_" not in known and self._parameters(known) == self.parameters
        )  # fmt: skip
        try:
            code = self.codes[y[0]] if like else None
        except (KeyError, TypeError):  # TypeError: of an array, which has no hash
            code = None
        if code is None:
            return False
        self.code[0], self.row[0] = code, X[0]
        state, (mistakes, updates, rounds) = run.state, self.begun
        try:
            # A row without a finite score changes nothing.
            return bool(self._learn(state.rounds, self.tally))
        finally:  # also where Ctrl-C comes between the weights and their counts
            run.open_mistakes = mistakes + self.tally.item(0)
            state.n_updates = updates + self.tally.item(1)
            state.rounds = rounds + self.tally.item(3)


def one_row(model: Any, classes: Any) -> OneRow | None:
    """Return what learns the next rows of a model; None if each needs more than to be learned."""
    run, known = model.fitted_run(), vars(model)
    learner = run.learner
    alone = (
        not isinstance(run.keeping, KeepVote | KeepBest)
        and not (learner.by_pass or learner.rows_at_once)
        and type(learner).check is Learner.check
        and model.class_weight is None and not getattr(model, "normalize", True)
        and not known.keys() & {"feature_names_in_", "recipe_"}
    )  # fmt: skip
    return OneRow(model, classes) if alone else None

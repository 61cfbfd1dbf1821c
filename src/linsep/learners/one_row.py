"""Rows that ``partial_fit`` learns one by one, without checks that the call before has made."""

from collections.abc import Callable
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


def one_row(model: Any, classes: Any) -> Callable[[Any, Any, Any, Any], bool] | None:
    """Return a function that learns a row of 64-bit floats as ``partial_fit`` does, if all else is
    like in the call before, which had these ``classes``, and returns whether it did; None if the
    rows of a model need more than to be learned.
    """
    run, known = model.fitted_run(), vars(model)
    learner, state = run.learner, run.state
    alone = (
        not isinstance(run.keeping, KeepVote | KeepBest)
        and not (learner.by_pass or learner.rows_at_once)
        and type(learner).check is Learner.check
        and model.class_weight is None and not getattr(model, "normalize", True)
        and not known.keys() & {"feature_names_in_", "recipe_"}
    )  # fmt: skip
    if not alone:
        return None
    before = list(classes) if isinstance(classes, list) else None
    parameters_of = itemgetter(*model._learned_with)
    parameters = parameters_of(known)
    codes = model.codes_turned(np.arange(model.classes_.size)).tolist()
    code_of = dict(zip(model.classes_.tolist(), codes, strict=True))
    row, code, tally = np.zeros((1, state.n_features)), np.zeros(1, np.int32), nothing_counted()
    given = (
        state.scheme(model.tie, count_errors=False), learner.rule(state),
        run.keeping.compiled(state, 0), state.W, state.bias, as_rows(row), code, NO_IMPORTANCE,
        np.zeros(1, np.int64),
    )  # fmt: skip
    learned = partial(direct(pass_loop, *given, 0, tally), *given)
    mistakes, updates, rounds = run.open_mistakes, state.n_updates, state.rounds

    def learn(model: Any, X: Any, y: Any, classes: Any) -> bool:
        known = vars(model)
        like = (
            type(X) is np.ndarray and X.shape == row.shape and X.dtype == np.float64
            and type(y) in (np.ndarray, list) and len(y) == 1
            and (classes is None or (type(classes) is list and classes == before))
            and known.get("_run") is run and "calibration_" not in known
            and "threshold_" not in known and parameters_of(known) == parameters
        )  # fmt: skip
        if not like:
            return False
        try:
            code[0] = code_of[y[0]]
        except (KeyError, TypeError):  # TypeError: of an array, which has no hash
            return False
        row[0] = X[0]
        try:
            # A row without a finite score changes nothing.
            return bool(learned(state.rounds, tally))
        finally:  # also where Ctrl-C comes between the weights and their counts
            run.open_mistakes = mistakes + tally.item(0)
            state.n_updates = updates + tally.item(1)
            state.rounds = rounds + tally.item(3)

    return learn

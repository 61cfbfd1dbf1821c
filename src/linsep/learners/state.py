"""The state of a linear learner, the classes that scores mean, the base class of learners, and the
weights to predict with: the last, the average, the best, or a vote of all versions; all that is
kept is in the state.
"""

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from linsep.compiled import loop
from linsep.compiled.rows import Block, Csr, Dense, Unit, values_of
from linsep.compiled.rules.perceptron import SparingRule
from linsep.compiled.weights import Average, Best, Last, Vote
from linsep.errors import DataError, LinsepError, Located, hint
from linsep.estimators.fitted_state import Array
from linsep.estimators.labels import pairs
from linsep.rows.arrays import RowBatch, rows_per_slice, slices

Weights = np.ndarray | None
#: arrays by name
Arrays = dict[str, np.ndarray]
#: how arrays of shards become one: their changes add up, their mean, or the largest
Mix = Literal["sum", "mean", "largest"]
#: function from row numbers to a 64-bit number each
Draws = Callable[[np.ndarray], np.ndarray]
SIMD_WIDTH = 8
TIES = {"negative": loop.LOWEST, "positive": loop.HIGHEST, "random": loop.RANDOM}
#: arrays like the weights that hold sums of changes; the others hold weights
SUMS = ("sums", "asked_for")
#: arrays of a vote, see :class:`linsep.compiled.weights.Vote`
VOTES = {
    "features": Array("changes", np.int32), "columns": Array("changes", np.int32),
    "amounts": Array("changes"), "starts": Array("versions", np.int64),
    "rounds": Array("versions", np.int64), "machines": Array("versions", np.int32),
}  # fmt: skip
NO_VOTES = Vote._make([*(np.empty(0, part.dtype) for part in VOTES.values()), np.zeros(2, int)])


def columns_of(multiclass: str, n_classes: int) -> int:
    """Return the number of weight vectors."""
    several = n_classes * (n_classes - 1) // 2 if multiclass == "ovo" else n_classes
    return 1 if n_classes == 2 else several


class State:
    """Weights and counters of one linear learner, for two classes or several.

    ``W`` has shape (features + 1,) for two classes, else (features + 1, columns), with the number
    of columns rounded up to a multiple of 8; the last row is the intercept. Features may be added
    later, with a weight of ``fill``.
    """

    def __init__(
        self, multiclass: str, n_classes: int, n_features: int, fit_intercept: bool,
        fill: float = 0.0,
    ):  # fmt: skip
        self.multiclass, self.n_classes, self.n_features = multiclass, n_classes, n_features
        self.bias, self.fill, self.n_updates = float(fit_intercept), fill, 0
        self.n_columns = columns_of(multiclass, n_classes)
        padded = -(-self.n_columns // SIMD_WIDTH) * SIMD_WIDTH
        self.columns: tuple[int, ...] = () if n_classes == 2 else (padded,)
        #: number of binary classifiers; 1 for the native rule
        self.n_machines = 1 if multiclass == "native" else self.n_columns
        self.clear()

    def clear(self, rounds: int = 0) -> None:
        """Set the weights of the features there are to their first values, and drop the rest."""
        #: arrays of the shape of the weights, by name: they grow with them
        self.shaped: Arrays = {"W": np.full((self.n_features + 1, *self.columns), self.fill)}
        self.W[-1] = 0.0
        #: arrays with one number per machine, by name; "spared" scores of zero are no mistakes
        self.counts: Arrays = {}
        #: all versions of the weights, as changes of those named "first"; -1 is the constant one
        self.votes = NO_VOTES
        #: number of examples learned
        self.rounds = rounds

    def snapshot(self) -> "State":
        """Return a copy that later learning does not change; votes, which only grow, are shared."""
        other = copy(self)
        other.shaped = {name: array.copy() for name, array in self.shaped.items()}
        other.counts = {name: array.copy() for name, array in self.counts.items()}
        return other

    def restore(self, before: "State") -> None:
        """Return to the weights of before, but count on."""
        vars(self).update(vars(before) | {"n_updates": self.n_updates})

    @property
    def W(self) -> np.ndarray:
        return self.shaped["W"]

    def like_weights(self, name: str) -> np.ndarray:
        if name not in self.shaped:
            self.shaped[name] = np.zeros_like(self.W)
        return self.shaped[name]

    def per_machine(self, name: str, kind: type = np.int64) -> np.ndarray:
        if name not in self.counts:
            self.counts[name] = np.zeros(self.n_machines, dtype=kind)
        return self.counts[name]

    def own(self) -> None:
        """Copy arrays that are read-only or mapped from a file: joblib maps large ones."""
        for arrays in (self.shaped, self.counts):
            for name, array in arrays.items():
                if type(array) is not np.ndarray or not array.flags.writeable:
                    arrays[name] = np.array(array)

    def grow(self, n_features: int) -> None:
        room = self.W.shape[0] - 1
        if n_features > room:
            shape = max(n_features, 2 * room) + 1, *self.columns
            own = np.append(np.arange(self.n_features), -1)
            for name, array in self.shaped.items():
                self.shaped[name] = np.full(shape, 0.0 if name in SUMS else self.fill)
                self.shaped[name][own] = array[own]
        self.n_features = max(self.n_features, n_features)

    def features_in_use(self) -> np.ndarray:
        used = np.zeros(self.n_features + 1, dtype=bool)  # the last for the constant feature, -1
        for array in self.shaped.values():
            used[:-1] |= array[: self.n_features].reshape(self.n_features, -1).any(axis=1)
        used[self.votes.features] = True
        return np.flatnonzero(used[:-1])

    def select(self, features: np.ndarray) -> None:
        places = np.full(self.n_features + 1, -1, np.int32)
        places[features] = np.arange(features.size)
        self.votes = self.votes._replace(features=places[self.votes.features])
        for name, array in self.shaped.items():
            self.shaped[name] = np.ascontiguousarray(array[np.append(features, -1)])
        self.n_features = features.size

    def machine_rounds(self) -> np.ndarray:
        """Return the examples that each machine has seen: of one-vs-one, those of two classes."""
        if self.n_classes > 2 and self.multiclass == "ovo":
            return self.per_machine("rounds")
        return np.full(self.n_machines, self.rounds)

    def per_column(self, numbers: np.ndarray) -> np.ndarray:
        return np.resize(numbers, self.columns or 1)  # any number for columns that are not used

    def split(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return views of an array like W: coefficients (columns, features) and intercepts."""
        columns = weights.reshape(len(weights), -1)[:, : self.n_columns]
        return columns[: self.n_features].T, columns[-1]

    def machines(self) -> list[np.ndarray]:
        W = self.W.reshape(len(self.W), -1)[:, : self.n_columns]
        return [W] if self.n_machines < self.n_columns else list(W.T)

    def set_weights(self, coef: Weights, intercept: Weights) -> None:
        for own, given in zip(self.split(self.W), (coef, intercept), strict=True):
            if given is not None:
                own[:] = given

    def arrays(self) -> Arrays:
        """Return everything by name, as :mod:`linsep.learners.stored` has it."""
        found = {f"counts.{name}": array for name, array in self.counts.items()}
        for name, array in self.shaped.items():
            key = "last" if name == "W" else f"weights.{name}"
            found[f"{key}.coef"], found[f"{key}.intercept"] = self.split(array)
        if "first" in self.shaped:
            found |= {f"vote.{name}": getattr(self.votes, name) for name in VOTES}
        return found

    def with_arrays(self, arrays: Arrays, rounds: int) -> "State":
        state = copy(self)
        state.clear(rounds)
        for key, array in arrays.items():
            place, _, part = key.rpartition(".")
            if place == "counts":
                kind = np.float64 if array.dtype.kind == "f" else np.int64
                own = state.per_machine(part, kind)
            elif place == "last" or place.startswith("weights."):
                name = "W" if place == "last" else place.removeprefix("weights.")
                own = state.split(state.like_weights(name))[part == "intercept"]
            else:
                continue
            if (array.shape, array.dtype) != (own.shape, own.dtype):
                raise ValueError(f"{key} of {array.dtype} {array.shape}")
            own[:] = array
        if "first" not in state.shaped:
            return state
        sizes: dict[str, int] = {}
        found = [part.checked(f"vote.{name}", arrays, sizes) for name, part in VOTES.items()]
        state.votes = votes = Vote._make([*found, np.array([sizes["changes"], sizes["versions"]])])
        parts = np.diff(votes.starts, prepend=0, append=sizes["changes"])
        for numbers, low, high in (
            (votes.features, -1, self.n_features), (votes.columns, 0, self.n_columns),
            (votes.machines, 0, self.n_machines), (parts, 0, sizes["changes"] + 1),
        ):  # fmt: skip
            if not ((numbers >= low) & (numbers < high)).all():
                raise ValueError("votes that do not match the weights")
        return state

    def scheme(self, tie: str, count_errors: bool, learning: bool = True) -> Any:
        """Return the multiclass scheme; without ``learning`` it does not change the state. To count
        errors of one-vs-one, it computes all scores of each row.
        """
        equals, k = TIES[tie], self.n_classes
        if k == 2:
            return loop.Binary(equals)
        scores = np.zeros(self.columns)
        if self.multiclass != "ovo":
            scheme = loop.OneVsRest if self.multiclass == "ovr" else loop.Native
            return scheme(k, equals, scores)
        matches = pairs(k)
        mine = [[m for m, match in enumerate(matches) if c in match] for c in range(k)]
        sides = np.array([[1.0 if matches[m][1] == c else -1.0 for m in mine[c]] for c in range(k)])
        rounds = self.per_machine("rounds") if learning else np.zeros(self.n_machines, np.int64)
        return loop.OneVsOne(
            k, equals, np.array(mine), sides, count_errors, rounds, scores, np.zeros((2, k))
        )

    def scores(self, rows: Dense | Csr | Unit, n_rows: int, weights: np.ndarray) -> np.ndarray:
        """Return scores by ``weights`` (like W), (rows,) for two classes, else (rows, columns)."""
        out = np.empty((n_rows, *self.columns))
        score = loop.score_vector if self.n_classes == 2 else loop.score_matrix
        score(rows, n_rows, weights, self.bias, out)
        return out if self.n_classes == 2 else out[:, : self.n_columns]


# Win of the larger class in a one-vs-one match with score zero, and the range of scaled sums of
# scores, smaller than the least difference in wins.
ZERO_MATCH = {"negative": (0.0, 3), "positive": (1.0, 3), "random": (0.5, 6)}


def decision(state: State, scores: np.ndarray, tie: str) -> np.ndarray:
    """Return the decision values: scores, or for one-vs-one the matches that a class wins, where a
    score of zero is a win of the class given by ``tie``, or half a win for each with "random". The
    summed scores, scaled into (-1/3, 1/3), or (-1/6, 1/6) with half wins, are added to break ties;
    if they are too large to differ when scaled, the last bit raises the class with the highest sum.
    """
    if state.n_classes == 2 or state.multiclass != "ovo":
        return scores
    at_zero, part = ZERO_MATCH[tie]
    won = np.where(scores == 0, at_zero, scores > 0)
    wins = np.zeros((scores.shape[0], state.n_classes))
    sums = np.zeros_like(wins)
    for machine, (a, b) in enumerate(pairs(state.n_classes)):
        score = scores[:, machine]
        wins[:, b] += won[:, machine]
        wins[:, a] += 1 - won[:, machine]
        sums[:, b] += score
        sums[:, a] -= score
    values = wins + sums / (part * (np.abs(sums) + 1))
    most = wins == wins.max(axis=1, keepdims=True)
    winner = most & (sums == np.where(most, sums, -np.inf).max(axis=1, keepdims=True))
    top = np.where(winner, values, -np.inf).max(axis=1, keepdims=True)
    return np.where(winner, values, np.minimum(values, np.nextafter(top, -np.inf)))


def predicted(scores: np.ndarray, tie: str, draws: Draws | None = None) -> np.ndarray:
    """Return the winning class of each row; ``tie`` and ``draws`` decide between equal scores."""
    if scores.ndim == 1 and tie != "random":
        return (scores > 0 if tie == "negative" else scores >= 0).astype(np.intp)
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    if tie == "negative":
        return scores.argmax(axis=1)
    if tie == "positive":
        return scores.shape[1] - 1 - scores[:, ::-1].argmax(axis=1)
    codes, best = scores.argmax(axis=1), scores == scores.max(axis=1, keepdims=True)
    tied = np.flatnonzero(best.sum(axis=1) > 1)
    if tied.size and draws is not None:
        equals = best[tied]
        chosen = draws(tied) % equals.sum(axis=1).astype(np.uint64)
        codes[tied] = (equals.cumsum(axis=1) > chosen[:, None]).argmax(axis=1)
    return codes


# A sum of weights may be rounded upwards, which keeps the bounds valid.
ROUNDING = 1.0 + 1e-9
SCALE = "scale the features, or choose smaller steps"
TOO_LARGE = f"the score overflows float64; {SCALE}"


class Unlearnable(LinsepError):
    """A row or a weight that a learner cannot use; the name of the feature in a column stands for
    ``{feature}`` in the message.
    """

    def __init__(
        self, row: int | None, message: str = TOO_LARGE, column: int | None = None,
        code: str = "overflow",
    ):  # fmt: skip
        super().__init__(message.format(feature=f"feature {column}"), code=code)
        self.row, self.column, self._message = row, column, message

    def beyond(self, first: int | None) -> "Unlearnable":
        self.row = None if first is None or self.row is None else first + self.row
        return self

    def message_for(self, feature: str) -> str:
        return self._message.format(feature=feature)

    def in_source(self, source: Any) -> DataError:
        whole = Located(source.name, path=source.name)
        where = whole if self.row is None else source.where(self.row)
        name = "" if self.column is None else source.feature(self.column)
        return DataError(where + f": {self.message_for(name)}.", code=self.code)


class Learner:
    """Base class of learners: parameters and their effect on a state. Here the rule is constant."""

    #: how cycle detection replays updates: "single" or "batch"; and the rate, if it is constant
    replayed: str | None = None
    constant_rate: float | None = None

    #: parameters of the estimator, if they have changed since the first rows
    made_of: dict[str, Any] | None = None
    #: initial weight of a feature
    fill = 0.0
    #: arrays of a state that belong to its weights and are kept with them; how arrays of shards are
    #: mixed
    beside: Mapping[str, Mix] = MappingProxyType({})
    #: most rows to learn with one rule
    rows_at_once: int | None = None
    #: whether there is one update per pass, at its end
    by_pass = False
    #: whether the number of features must be known before learning
    needs_width = False
    #: whether the norms of rows matter, so that duplicate columns have to be summed
    needs_lengths = False

    def __init__(self, rule: Any = None):
        self._rule = rule

    def start(self, state: State, coef: Weights, intercept: Weights) -> None:
        """Prepare a new state with initial weights; raise ValueError if they are invalid."""

    def rule(self, state: State) -> Any:
        """Return the compiled rule for the next rows."""
        return self._rule

    def check(self, rows: Dense | Csr | Unit) -> None:
        """Raise Unlearnable for the first row that cannot be used."""

    def complaint(self, rows: Dense | Csr | Unit, row: int) -> Unlearnable:
        """Return why the loop stopped before this row: its score overflows."""
        rows = rows.rows if isinstance(rows, Unit) else rows
        values = np.empty(0) if isinstance(rows, Block) else values_of(rows, row)
        if not values.size or not np.isfinite(values).all():
            return Unlearnable(row)
        at = int(np.argmax(np.abs(values)))
        column = int(rows.columns[rows.starts[row] + at]) if isinstance(rows, Csr) else at
        message = f"the score overflows float64 ({{feature}} is {values[at]:.3g}); {SCALE}"
        return Unlearnable(row, message, column)

    def check_updates(self, state: State) -> None:
        """Raise if an invalid update was applied to the rows so far."""

    def close_pass(self, state: State, scheme: Any, keep: Any) -> int:
        """Finish a pass and return the number of updates made now."""
        return 0

    def restarts(self, state: State) -> bool:
        """Return whether training restarts with other parameters after a pass with mistakes."""
        return False

    # Shards of a cluster, which :mod:`linsep.learners.mixing` mixes. Arrays are those ``beside``
    # the weights, "W", and "average", if that is kept.

    def say(self, before: Arrays, after: Arrays) -> np.ndarray:
        """Return the share of a shard in the mean of each weight; one number if all are equal."""
        return np.ones(())

    def units(self, state: State, arrays: Arrays) -> Any:
        """Return what weights are multiplied by before they are mixed."""
        return 1.0


def count_mistakes(
    state: State, weights: np.ndarray, row_batches: Iterable[RowBatch], tie: str,
    zero: str = "mistake",
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return the weighted mistakes of each machine, and the tally of the loop."""
    watch, tally = loop.Watch(np.zeros(state.n_machines)), np.zeros(4, np.int64)
    spared = np.zeros(state.n_machines, np.int64)
    rule = watch if zero == "mistake" else SparingRule(watch, zero == "correct", spared)
    scheme = state.scheme(tie, count_errors=True, learning=False)
    for row_batch in row_batches:
        for piece in slices(row_batch.order, rows_per_slice(row_batch.rows, state.n_columns)):
            done = loop.pass_loop(
                scheme, rule, Last(), weights, state.bias, row_batch.rows, row_batch.codes,
                row_batch.importance, piece, 0, tally,
            )  # fmt: skip
            if done < piece.size:
                raise Unlearnable(int(piece[done])).beyond(row_batch.first)
    return watch.mistakes, tally


class KeepLast:
    """Keep the last weights: :meth:`weights` and :meth:`scores` are those to predict with."""

    def compiled(self, state: State, most_changes: int) -> Any:
        """Return the recorder of the compiled loop for up to ``most_changes`` weight changes."""
        return Last()

    def take(self, state: State) -> None:
        """Check what the compiled loop has recorded."""

    def close_pass(self, state: State, learned: Callable[[], Any], tie: str) -> None:
        """Finish a pass; ``learned`` returns its training rows, if kept."""

    def weights(self, state: State) -> np.ndarray:
        return state.W

    def scores(self, state: State, rows: Dense | Csr | Unit, n_rows: int) -> np.ndarray:
        return state.scores(rows, n_rows, self.weights(state))

    def accuracy(self, state: State, row_batches: Iterable[RowBatch], tie: str) -> float | None:
        """Return the share of the rows, or of their weights, predicted right; None without rows."""
        wrong = right = 0.0
        for row_batch in row_batches:
            order, weights = np.asarray(row_batch.order), row_batch.importance
            if weights.size or isinstance(self, KeepVote):
                missed = self.missed(state, row_batch, tie)
                weights = weights[order] if weights.size else np.ones(missed.size)
                # Row by row, so that no digit depends on the batches.
                wrong = float(np.cumsum(np.append(wrong, weights[missed]))[-1])
                right = float(np.cumsum(np.append(right, weights[~missed]))[-1])
            else:
                _, tally = count_mistakes(state, self.weights(state), [row_batch], tie)
                wrong, right = (
                    wrong + tally[loop.ERRORS],
                    right + tally[loop.ROWS] - tally[loop.ERRORS],
                )
        return float(1.0 - wrong / (wrong + right)) if wrong + right else None

    def missed(self, state: State, row_batch: RowBatch, tie: str) -> np.ndarray:
        """Return which visited rows are predicted wrongly, of random ties as the lowest class."""
        chosen = np.asarray(row_batch.order)
        scores = self.scores(state, row_batch.rows, row_batch.codes.size)[chosen]
        if not np.isfinite(scores).all():
            raise Unlearnable(None)
        codes = predicted(decision(state, scores, tie), "negative" if tie == "random" else tie)
        return codes != row_batch.codes[chosen]


class KeepAverage(KeepLast):
    """Keep the mean of the weights over all steps, from changes times their step numbers."""

    def compiled(self, state: State, most_changes: int) -> Any:
        return Average(state.like_weights("sums"))

    def weights(self, state: State) -> np.ndarray:
        rounds = np.maximum(state.per_column(state.machine_rounds()), 1)
        return state.W - state.like_weights("sums") / rounds


class KeepBest(KeepLast):
    """Keep the best weights (pocket algorithm with ratchet): after every pass the mistakes of the
    longest-surviving and the last weights on all rows are counted, and the best so far are kept.
    During the first pass, and with partial_fit, these are the longest-surviving weights.
    """

    def __init__(self, zero: str = "mistake"):
        self.zero = zero

    def compiled(self, state: State, most_changes: int) -> Any:
        counts = state.per_machine("record"), state.per_machine("created")
        return Best(state.like_weights("longest_surviving"), *counts)

    def close_pass(self, state: State, learned: Callable[[], Any], tie: str) -> None:
        last = state.machine_rounds() - state.per_machine("created")
        longest = np.maximum(last, state.per_machine("record"))
        for candidate, survived in ((self._longest_surviving(state), longest), (state.W, last)):
            if (rows := learned()) is None:  # the rows were not kept
                return
            fewest = state.per_machine("pocket_mistakes", np.float64)
            if "pocket" not in state.shaped:
                fewest[:] = np.inf
            found, _ = count_mistakes(state, candidate, rows, tie, self.zero)
            better = found < fewest
            fewest[better] = found[better]
            state.per_machine("pocket_record")[better] = survived[better]
            _choose(state, better, candidate, state.like_weights("pocket"))
        state.per_machine("record")[:] = 0

    def weights(self, state: State) -> np.ndarray:
        return state.shaped.get("pocket", self._longest_surviving(state))

    def open_pocket(self, state: State) -> None:
        """Continue from the weights in the pocket without ratchet, for rows that come only once."""
        pocket = state.shaped.pop("pocket", None)
        if pocket is not None:
            state.like_weights("longest_surviving")[:] = pocket
            state.per_machine("record")[:] = state.per_machine("pocket_record")

    def _longest_surviving(self, state: State) -> np.ndarray:
        running = state.machine_rounds() - state.per_machine("created")
        longest_surviving = state.like_weights("longest_surviving").copy()
        _choose(state, running > state.per_machine("record"), state.W, longest_surviving)
        return longest_surviving


def _choose(state: State, chosen: np.ndarray, weights: np.ndarray, into: np.ndarray) -> None:
    columns = np.flatnonzero(state.per_column(chosen))
    into.reshape(len(into), -1)[:, columns] = weights.reshape(len(into), -1)[:, columns]


class KeepVote(KeepLast):
    """Keep all versions: the first weights, and all changes, up to so many megabytes."""

    def __init__(self, megabytes: float, tie: str):
        self.most_bytes, self.tie = megabytes * 1e6, tie
        self._taken = self._room = NO_VOTES

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_taken": NO_VOTES, "_room": NO_VOTES}

    def compiled(self, state: State, most_changes: int) -> Any:
        if "first" not in state.shaped:
            state.shaped["first"] = state.W.copy()
        size = int(state.votes.used.max()) + most_changes
        if state.votes is not self._taken or size > self._room.amounts.size:
            used = state.votes.used
            parts = [np.resize(part, size + int(used.max())) for part in state.votes[:-1]]
            self._room = Vote._make([*parts, used.copy()])
        return self._room

    def take(self, state: State) -> None:
        before, (changes, versions) = int(state.votes.used[0]), self._room.used.tolist()
        fresh = self._room.features[before:changes]
        fresh[fresh == state.W.shape[0] - 1] = -1
        ends = [changes if part.shape == "changes" else versions for part in VOTES.values()]
        parts = [part[:end] for part, end in zip(self._room, ends, strict=False)]
        state.votes = self._taken = Vote._make([*parts, self._room.used.copy()])
        if 16 * changes + 20 * versions > self.most_bytes:
            raise DataError(
                f"A vote has to store more than {self.most_bytes / 1e6:g} MB of updates",
                hint("raise {}", vote_mb=None),
                hint("use {}, which needs only one more vector", keep="average"),
                code="too-large", option="vote_mb",
            )  # fmt: skip

    def scores(self, state: State, rows: Dense | Csr | Unit, n_rows: int) -> np.ndarray:
        from linsep.compiled.votes import AT_ONCE, count_votes  # compiled where votes are counted

        first = state.scores(rows, n_rows, state.shaped.get("first", state.W)).reshape(n_rows, -1)
        total, votes = state.machine_rounds(), np.empty_like(first)
        joint = state.n_machines < state.n_columns
        at_zero = {"negative": -1.0, "positive": 1.0, "random": 0.0}[self.tie]
        values = np.zeros((state.n_features + 1, AT_ONCE))
        count_votes(rows, state.bias, values, state.votes, first, total, joint, at_zero, votes)
        votes /= np.maximum(total, 1)
        return votes[:, 0] if state.n_classes == 2 else votes


def keeping_of(model: Any) -> KeepLast:
    """Return a new keeper for the ``keep`` parameter of a model."""
    if model.keep == "vote":
        return KeepVote(getattr(model, "vote_mb", np.inf), model.tie)
    if model.keep == "best":
        return KeepBest(getattr(model, "zero", "mistake"))
    return KeepAverage() if model.keep == "average" else KeepLast()

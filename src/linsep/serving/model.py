"""A served model: its answers to rows."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

import linsep
from linsep import model_files
from linsep.batches import Batch
from linsep.errors import DataError, LinsepError, ModelFileError
from linsep.estimators.labels import has_offset, plain_labels
from linsep.estimators.predicting import probabilities_of
from linsep.estimators.showing import terms_of, without_weights
from linsep.estimators.thresholds import threshold_of
from linsep.naive_bayes import scoring_regression
from linsep.serving.limits import Budget, Limits, Refused
from linsep.serving.log import digest_of
from linsep.serving.rows import VALUE_BYTES, Bodies, PairReader, TableReader, columns_of, text_of
from linsep.sources.base import Source
from linsep.sources.tables.columns import to_recipe
from linsep.sources.tables.reading_options import ReadingOptions
from linsep.words import a

#: bytes of memory of a number in an answer, as an object of Python and as text; of a term of an
#: explanation
NUMBER_BYTES, TERM_BYTES = 60, 500


class Wanted(NamedTuple):
    """Optional parts of an answer."""

    scores: Annotated[
        bool,
        "Return the score of each class; for two classes one score, positive for the second class.",
    ] = False
    probabilities: Annotated[
        bool, "Return the probability of each class, if the model has probabilities."
    ] = False
    explanations: Annotated[
        bool, "Return each feature's value, weight and their product, largest first."
    ] = False
    missing: Annotated[
        Literal["error", "skip"],
        "Handling of rows with a missing value: reject the request, or return null for them "
        "(skip).",
    ] = "error"


class Served:
    """A fitted model that reads rows and answers requests.

    Parameters
    ----------
    model : fitted estimator of linsep
    name : str, of its file, for messages
    digest : str, SHA-256 of its file in hexadecimal
    limits : Limits

    Raises
    ------
    LinsepError
        If rows of the model cannot be sent as JSON.
    """

    def __init__(self, model: Any, name: str, digest: str, limits: Limits):
        if getattr(getattr(model, "kernel_", None), "takes", "vectors") in ("strings", "gram"):
            raise LinsepError(
                f"{name} has a kernel of strings or of a Gram matrix, which linsep serve does not "
                "support: use it in Python.", code="unsupported",
            )  # fmt: skip
        self.name, self.digest, self.limits, self.learned = name, digest, limits, 0
        self.recipe = getattr(model, "recipe_", None) or {"format": "arrays"}
        self.names = getattr(model, "feature_names_in_", None)
        self.text = {"svmlight": "svmlight", "vw": "vw"}.get(self.recipe["format"])
        self.reader: TableReader | PairReader | None = None
        self.file_recipe: dict[str, Any] | None = self.recipe
        if found := columns_of(model):
            columns, others = found
            named = self.recipe["format"] == "table" or self.names is not None
            spelling = ReadingOptions().or_of(self.recipe).spelling
            self.reader = TableReader(columns, others, named, spelling)
            if self.recipe["format"] == "arrays":
                self.file_recipe = to_recipe(columns) if named else None
        elif self.text == "svmlight":
            self.reader = PairReader(model.n_features_in_, self.recipe.get("index_base", 1))
        self.answer_by(model)

    def answer_by(self, model: Any) -> None:
        """Replace the model."""
        self.model = model
        self.is_classifier = hasattr(model, "classes_")
        self.labels: list[Any] = plain_labels(model.classes_) if self.is_classifier else []
        self._scorer: tuple[int, Any] = -1, None

    def scorer(self) -> Any:
        """Return the model, or an equivalent one that computes the same scores faster."""
        if self._scorer[0] != self.learned:
            self._scorer = self.learned, _scorer_of(self.model)
        return self._scorer[1]

    @property
    def version(self) -> str:
        """The beginning of the checksum of the file, and the number of rows learned since."""
        return self.version_after(self.learned)

    def version_after(self, learned: int) -> str:
        """Return the version after a number of rows was learned."""
        return self.digest[:16] + (f"+{learned}" if learned else "")

    def copied(self, learns: bool) -> "Served":
        """Return a copy for another thread; if it learns, the model is copied, too."""
        other = copy.copy(self)
        other.reader = copy.deepcopy(self.reader)
        if learns:
            other.answer_by(copy.deepcopy(self.model))
        return other

    @contextmanager
    def opened(
        self, rows: list[Any], bodies: Bodies, budget: Budget, missing: str = "error"
    ) -> Iterator[Source]:
        """Open JSON rows as a source; raise LinsepError or Refused if they cannot be read."""
        if isinstance(self.reader, TableReader):
            yield self.reader.read(rows, budget, missing)
            return
        if self.reader is not None:
            rows = self.reader.lines(rows, budget)
        content = text_of(rows, self.text or "vw")
        with self.opened_body(content, "text", bodies, budget) as source:
            yield source

    def values(self, row: Any) -> Any:
        """Return the values of a row of JSON, equal for the same row written differently."""
        return row if self.reader is None else self.reader.values(row)

    @contextmanager
    def opened_body(
        self, content: bytes, format: str, bodies: Bodies, budget: Budget, missing: str = "error"
    ) -> Iterator[Source]:
        """Open a body in a format of files as a source."""
        if format == "text":
            format = self.text or "text"
        if (format in ("svmlight", "vw", "text")) != (self.text is not None):
            kind = {"svmlight": "svmlight text", "vw": "Vowpal Wabbit's text", None: "a table"}
            accepted = "text/plain" if self.text else "text/csv, JSON lines or Arrow"
            raise Refused(
                415, f"The model was trained on {kind[self.text]}: send {accepted}, or JSON."
            )
        if self.file_recipe is None:
            raise Refused(
                415, "The columns of this model have no names: send its rows as lists in JSON."
            )
        if not content.strip():
            raise DataError("The body has no rows: send at least one.", code="no-rows")
        with bodies.opened(content, format, self.file_recipe, budget, missing) as source:
            yield source

    def answer(self, source: Source, wanted: Wanted, budget: Budget) -> dict[str, Any]:
        """Return predictions for the rows of a source, and the optional parts that are wanted.

        Raises LinsepError or Refused if the rows are invalid or exceed the budget.
        """
        self._check(wanted)
        source.warns = False  # the answer counts unknown values
        prediction = self.scorer().predictions(source)
        try:
            return self._answered(prediction, source, wanted, budget)
        except ValueError as problem:
            if isinstance(problem, LinsepError) or not hasattr(self.model, "kernel_"):
                raise
            # scikit-learn's checks of rows for kernels
            raise Refused(422, str(problem).partition("\n")[0].rstrip(".") + ".") from None

    def _answered(
        self, prediction: Any, source: Source, wanted: Wanted, budget: Budget
    ) -> dict[str, Any]:
        found: dict[str, Any] = {"predictions": []}
        for batch, values, codes in self._scored(prediction):
            scores = values if batch.unanswered is None else np.where(np.isnan(values), 0.0, values)
            none = [] if batch.unanswered is None else np.flatnonzero(batch.unanswered).tolist()
            self._check_rows(source, batch, scores, budget)
            budget.hold(scores.size * NUMBER_BYTES * (wanted.scores + wanted.probabilities))
            chosen: list[Any] = [None] * len(scores) if codes is None else codes.tolist()
            labels = [] if codes is None else [self.labels[code] for code in chosen]
            parts: dict[str, list[Any]] = {"predictions": labels or scores.tolist()}
            if wanted.scores:
                parts["scores"] = scores.tolist()
            if wanted.probabilities:
                parts["probabilities"] = probabilities_of(self.model, scores).tolist()
            if wanted.explanations:
                parts["explanations"] = [*self._explained(source, batch, scores, chosen, budget)]
            for name, part in parts.items():
                for row in none:
                    part[row] = None
                found.setdefault(name, []).extend(part)
        if wanted.scores or wanted.probabilities:
            found["classes"] = self.labels
        if prediction.unknown:
            found["unknown_values"] = prediction.unknown
        return found

    def _scored(self, prediction: Any) -> Iterator[tuple[Batch, np.ndarray, Any]]:
        """Yield each batch with its scores and the codes of their classes, None for a number."""
        if self.is_classifier:
            yield from prediction.codes()
        else:
            for batch, X in prediction.rows():
                yield batch, prediction.values(X), None

    def _check_rows(self, source: Source, batch: Batch, scores: np.ndarray, budget: Budget) -> None:
        X: Any = batch.X
        budget.check_rows(batch.first + X.shape[0])
        held = X.nnz if sp.issparse(X) else X.size
        budget.hold(VALUE_BYTES * held + len(scores) * NUMBER_BYTES)
        if not np.isfinite(scores).all():  # JSON has no infinity
            row = batch.first + int(np.argwhere(~np.isfinite(scores))[0, 0])
            raise DataError(source.where(row) + ": the score overflows float64.", code="overflow")

    def _check(self, wanted: Wanted) -> None:
        """Raise Refused if the model does not have a wanted part."""
        kind = type(self.model).__name__
        if not self.is_classifier and (wanted.scores or wanted.probabilities):
            raise Refused(
                422, f"The model is {a(kind)}, which predicts numbers and has no classes."
            )
        if wanted.probabilities and not hasattr(self.model, "predict_proba"):
            raise Refused(
                422,
                f"The model is {a(kind)} without probabilities: request scores, or fit it with "
                "linsep fit --calibrate.",
            )
        if wanted.explanations and (why := without_weights(self.model)) is not None:
            raise Refused(
                422, f"The model {why}, so its scores are not sums of one product per feature."
            )

    def _explained(
        self, source: Source, batch: Any, scores: Any, codes: Any, budget: Budget
    ) -> Iterator[Any]:
        if batch.first + len(codes) > self.limits.explained:
            raise Refused(
                413, f"Explanations are limited to {self.limits.explained} rows: ask for fewer."
            )
        for at, code in enumerate(codes):
            row = batch.X[at : at + 1]
            budget.hold(int(sp.csr_array(row).nnz) * TERM_BYTES)
            found = terms_of(self.model, source, batch.first + at, row, scores[at], code)
            del found["prediction"]
            yield found

    def features(self, source: Source) -> Any:
        """Return all rows of a source with the features of the model, without other features."""
        parts: list[Any] = [batch.X for batch in source.batches()]
        width = self.model.n_features_in_
        if not sp.issparse(parts[0]):
            return np.concatenate(parts)
        for part in parts:
            part.resize((part.shape[0], max(width, part.shape[1])))
        return sp.vstack([part[:, :width] for part in parts], format="csr")

    def warm_up(self, bodies: Bodies) -> None:
        """Answer one row of zeros, to compile the loops of predictions."""
        rows: list[Any] = ["| a"] if self.reader is None else [{}]
        if isinstance(self.reader, TableReader):
            rows = [["" if kind == "text" else 0.0 for kind in self.reader.kinds.values()]]
        budget = Budget(self.limits)
        with suppress(LinsepError, Refused), self.opened(rows, bodies, budget) as source:
            self.answer(source, Wanted(scores=self.is_classifier), budget)

    def about(self) -> dict[str, Any]:
        """Return the description of the model as plain JSON."""
        columns = None
        if isinstance(self.reader, TableReader) and self.file_recipe is not None:
            columns = [{"name": name, "type": kind} for name, kind in self.reader.kinds.items()]
        return {
            "version": self.version,
            "sha256": self.digest,
            "rows_learned": self.learned,
            "learner": type(self.model).__name__,
            "classes": self.labels if self.is_classifier else None,
            "features": int(self.model.n_features_in_),
            "format": self.recipe["format"],
            "columns": columns,
            "probabilities": hasattr(self.model, "predict_proba"),
            "explanations": without_weights(self.model) is None,
            **({"threshold": None} | threshold_of(self.model)),
            "linsep": linsep.__version__,
        }


def _scorer_of(model: Any) -> Any:
    """Return a model with the same scores and precomputed weights."""
    if hasattr(model, "to_logistic"):  # naive Bayes
        return scoring_regression(model)
    if getattr(model, "keep", "") != "average" or hasattr(model, "kernel_"):
        return model
    return model.scoring_copy()


def read_model(path: Path, limits: Limits) -> Served:
    """Load a model file to serve; raise ModelFileError if it is not a model file or changes
    meanwhile.
    """
    before = signature(path)
    model = model_files.loaded(path)
    if has_offset(model):
        raise DataError(
            f"{path} was fitted with an offset, which requests cannot have: predict with `linsep "
            "predict`, or fit the model without an offset.", code="unsupported", path=path,
        )  # fmt: skip
    digest = digest_of(path)
    if signature(path) != before:
        raise ModelFileError(
            f"{path} changed while it was read: try again.", code="file-changed", path=path
        )
    return Served(model, str(path), digest, limits)


def signature(path: Path) -> tuple[int, ...] | None:
    """Return a value that changes when a file is replaced or written to; None without a file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino

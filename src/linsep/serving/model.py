"""A served model: its answers to rows."""

import copy
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import linsep
from linsep import model_files
from linsep.batches import Batch, join
from linsep.errors import DataError, LinsepError
from linsep.estimators import has_offset, plain_labels, probabilities_of, threshold_of
from linsep.estimators.showing import terms_of, without_weights
from linsep.naive_bayes import scoring_regression
from linsep.serving.limits import Budget, Limits, Refused
from linsep.serving.log import digest_of
from linsep.serving.requests import JSON, Wanted, fields_of
from linsep.serving.rows import VALUE_BYTES, LineReader, Opened, TableReader, opened_file
from linsep.sources import Source
from linsep.words import a

#: bytes of memory of a number in an answer, as an object of Python and as text; of a term of an
#: explanation
NUMBER_BYTES, TERM_BYTES = 60, 500


class Served:
    """A fitted model of linsep that reads rows and answers requests; it never changes.

    ``name`` is its file, for messages, and ``digest`` the SHA-256 of that in hexadecimal. Raises
    LinsepError if rows of the model cannot be sent as JSON.
    """

    def __init__(self, model: Any, name: str, digest: str, limits: Limits):
        if getattr(getattr(model, "kernel_", None), "takes", "vectors") in ("strings", "gram"):
            why = f"{name} has a kernel of strings or of a Gram matrix: use it in Python."
            raise LinsepError(why, code="unsupported")
        if has_offset(model):
            why = f"{name} was fitted with an offset, which requests have not: use linsep predict."
            raise DataError(why, code="unsupported", path=name)
        self.model, self.name, self.digest, self.limits = model, name, digest, limits
        self.learned = 0  # rows since the model was read
        recipe = getattr(model, "recipe_", None) or {"format": "arrays"}
        reader = LineReader if recipe["format"] in ("svmlight", "vw") else TableReader
        self.recipe, self.reader = recipe, reader(model, recipe)
        self.labels: list[Any] = plain_labels(model.classes_) if hasattr(model, "classes_") else []

    def after(self, model: Any, learned: int) -> "Served":
        """Return the same with a model that has learned a number of rows."""
        other = copy.copy(self)
        vars(other).pop("scorer", None)
        other.model, other.learned = model, learned
        return other

    @cached_property
    def scorer(self) -> Any:
        """The model, or an equivalent one that computes the same scores faster."""
        if hasattr(self.model, "to_logistic"):  # naive Bayes
            return scoring_regression(self.model)
        if getattr(self.model, "keep", "") != "average" or hasattr(self.model, "kernel_"):
            return self.model
        return self.model.scoring_copy()

    @property
    def version(self) -> str:
        """The beginning of the checksum of the file, and the number of rows learned since."""
        return self.digest[:16] + (f"+{self.learned}" if self.learned else "")

    def opened(self, kind: bytes, body: bytes, missing: str, budget: Budget) -> Opened:
        """Open a body as a source; raise LinsepError or Refused if it cannot be read."""
        if kind == JSON:
            (rows,) = fields_of(body, ("rows",), self.limits)
            return self.reader.opened(self.reader.normal(rows, budget), budget, missing)
        format = self.reader.formats.get(kind)
        if format is None:
            known = ", ".join(kind.decode() for kind in (JSON, *self.reader.formats))
            found = kind.decode("ascii", "replace")[:60]
            raise Refused(415, f"The Content-Type is {found!r}: send {known}.")
        if not body.strip():
            raise DataError("The body has no rows: send at least one.", code="no-rows")
        if isinstance(self.reader, TableReader) and format == "jsonl":  # of rows without values
            lines = body.count(b"\n")
            budget.check_rows(lines)
            budget.hold(lines * len(self.reader.kinds) * VALUE_BYTES)
        return opened_file(body, format, self.reader.recipe, budget, missing)

    def answer(self, source: Source, wanted: Wanted, budget: Budget) -> dict[str, Any]:
        """Return predictions for the rows of a source, and the optional parts that are wanted;
        raise LinsepError or Refused if the rows are invalid or exceed the budget.
        """
        self._check(wanted)
        source.warns = False  # the answer counts unknown values
        prediction = self.scorer.predictions(source)
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
        for batch, scores, codes in self._scored(prediction):
            gaps = [] if batch.unanswered is None else np.flatnonzero(batch.unanswered).tolist()
            scores[gaps] = 0
            budget.check_rows(batch.first + batch.size)
            held = VALUE_BYTES * (batch.X.nnz if sp.issparse(batch.X) else batch.X.size)
            budget.hold(held + scores.size * NUMBER_BYTES * (1 + sum(wanted[:2])))
            if not np.isfinite(scores).all():  # JSON has no infinity
                row = batch.first + int(np.argwhere(~np.isfinite(scores))[0, 0])
                raise DataError(f"{source.where(row)}: the score overflows.", code="overflow")
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
                for row in gaps:
                    part[row] = None
                found.setdefault(name, []).extend(part)
        if wanted.scores or wanted.probabilities:
            found["classes"] = self.labels
        if prediction.unknown:
            found["unknown_values"] = prediction.unknown
        return found

    def _scored(self, prediction: Any) -> Iterator[tuple[Batch, np.ndarray, Any]]:
        """Yield each batch with its scores and the codes of their classes, None for a number."""
        if self.labels:
            return prediction.codes()
        return ((batch, prediction.values(X), None) for batch, X in prediction.rows())

    def _check(self, wanted: Wanted) -> None:
        """Raise Refused if the model does not have a wanted part."""
        kind, why = a(type(self.model).__name__), None
        if wanted.probabilities and not hasattr(self.model, "predict_proba"):
            why = f"is {kind} without probabilities: request scores, or fit with --calibrate"
        if not self.labels and (wanted.scores or wanted.probabilities):
            why = f"is {kind}, which predicts numbers and has no classes"
        if wanted.explanations and (how := without_weights(self.model)) is not None:
            why = f"{how}, so its scores are not sums of one product per feature"
        if why is not None:
            raise Refused(422, f"The model {why}.")

    def _explained(
        self, source: Source, batch: Any, scores: Any, codes: Any, budget: Budget
    ) -> Iterator[Any]:
        for at, code in enumerate(codes):
            row = batch.X[at : at + 1]
            budget.hold(int(sp.csr_array(row).nnz) * TERM_BYTES)
            found = terms_of(self.model, source, batch.first + at, row, scores[at], code)
            del found["prediction"]
            yield found

    def features(self, rows: list[Any], budget: Budget) -> Any:
        """Return rows of the reader with the features of the model, without other features."""
        with self.reader.opened(rows, budget) as source:
            parts, width = [batch.X for batch in source.batches()], self.model.n_features_in_
        return join(parts, max(width, *(part.shape[1] for part in parts)))[:, :width]

    def warm_up(self) -> None:
        """Answer an example row, to compile the loops of predictions."""
        budget, row = Budget(self.limits), self.reader.example()
        with suppress(LinsepError, Refused):
            rows = self.reader.normal([row], budget)
            with self.reader.opened(rows, budget) as source:
                self.answer(source, Wanted(scores=bool(self.labels)), budget)

    def about(self) -> dict[str, Any]:
        """Return the description of the model as plain JSON."""
        kinds = self.reader.kinds if isinstance(self.reader, TableReader) else {}
        columns = [{"name": name, "type": kind} for name, kind in kinds.items()]
        return {
            "version": self.version,
            "sha256": self.digest,
            "rows_learned": self.learned,
            "learner": type(self.model).__name__,
            "classes": self.labels or None,
            "features": int(self.model.n_features_in_),
            "format": self.recipe["format"],
            "columns": columns if b"text/csv" in self.reader.formats else None,
            "probabilities": hasattr(self.model, "predict_proba"),
            "explanations": without_weights(self.model) is None,
            **({"threshold": None} | threshold_of(self.model)),
            "linsep": linsep.__version__,
        }


def read_model(path: Path, limits: Limits) -> Served:
    """Load a model file to serve; raise LinsepError if it is not a model file."""
    return Served(model_files.loaded(path), str(path), digest_of(path), limits)

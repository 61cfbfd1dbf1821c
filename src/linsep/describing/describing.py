"""Describe files: columns, labels, separability and the next command."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from linsep.batches import Batch, joined
from linsep.describing.advice import learner_for, left_out, next_call, next_command, spelling_of
from linsep.describing.tables import MOST_LABELS, OF_KIND, Column, SpreadSample, TableDescription
from linsep.errors import DataError, LinsepError, hint
from linsep.fitting import like_texts
from linsep.separability.data import Data, data_of
from linsep.separability.deciding import decide
from linsep.separability.time_limit import Task
from linsep.sources import Source, open_source
from linsep.sources.base import is_frame
from linsep.sources.formats import LABEL, format_of
from linsep.sources.opening import find_files, kind_of, names_in, of_kind
from linsep.sources.tables import ReadingOptions, check_separated, open_tables, to_arrow

#: what makes the sample for the test, the number of rows with a label, and columns left out
Sample = tuple[Callable[[], Data], int, list[str]]
#: seconds for the separability test, and the numbers of classes and features up to which it runs
SECONDS, MOST_CLASSES, MOST_FEATURES = 5.0, 10, 1000
#: whole numbers are classes if there are so few, and each occurs so often on average
FEW_LABELS, OFTEN = 20, 10
#: share of the rows without a missing value below which columns with missing values are left out
LEAST_COMPLETE = 0.5


def label_of(own: dict[str, Any], column: str | None, rows: int, who: str) -> dict[str, Any]:
    """Return what is known of the labels of some rows, which are described as a column: classes, as
    text always is, and whole numbers if they are few; or numbers. DataError for almost as many
    classes as rows.
    """
    counts, kind = own["counts"], own["type"]
    some: Counter[Any] = counts or Counter()
    few = len(some) <= 2 or (len(some) <= FEW_LABELS and len(some) * OFTEN <= some.total())
    classes = kind == "text" or (kind != "number" and counts is not None and few)
    if classes and (counts is None or (len(some) > FEW_LABELS and 2 * len(some) > rows)):
        raise DataError(
            f"{who}, column '{column}' has {len(some) or 'too many'} different values in {rows:,} "
            "rows, so it looks like an ID or free text, not a label",
            hint("name the column of classes with {}", target=None),
            code="class-count", column=column,
        )  # fmt: skip
    listed = [{"label": label, "rows": n} for label, n in some.most_common() if classes]
    known = {"column": column, "kind": "classes" if classes else "numbers", "classes": listed}
    return known | {key: own.get(key) for key in ("missing", "min", "max")}


def sample_of_table(sample: SpreadSample, target: str, out: list[str], how: dict[str, Any]) -> Data:
    """Return the rows of a table with labels and without missing values, without the columns
    ``out``, to which columns with missing values are added if few rows have none of them.
    """
    rows = sample.rows.filter(pc.is_valid(sample.rows[target]))
    used = rows.drop_columns([name for name in out if name in rows.column_names])
    if used.drop_null().num_rows < LEAST_COMPLETE * used.num_rows:
        gaps = [name for name in used.column_names if used[name].null_count]
        out += gaps
        used = used.drop_columns(gaps)
    return data_of(open_source(used, target=target, missing="drop", **how))


def sample_of_vectors(sample: SpreadSample, source: Source) -> Data:
    """Return the rows of a sample without unused features."""
    X, y, *_ = sample.rows
    used = np.unique(X.indices)
    data, known = data_of(X[:, used], y), source.feature_names
    base = source.recipe().get("index_base", 0)
    data.names = [f"x{j + base}" if known is None else known[j] for j in used.tolist()]
    return data


def at_a_glance(sample: Callable[[], Data], rows_in_all: int, without: list[str]) -> dict[str, Any]:
    """Return whether a hyperplane separates the classes of a sample of all rows, within some
    seconds. If the sample overlaps, so do all rows.
    """
    unknown = dict.fromkeys(("verdict", "of_sample", "finding", "alone", "chance"))
    told: dict[str, Any] = {"rows": 0, "features": 0, "without": without, **unknown}
    try:
        data = sample()
        if len(data.classes) > MOST_CLASSES or data.n_features > MOST_FEATURES:
            return told
        found: Any = decide(data, formulations=("multinomial",), task=Task(SECONDS))
    except LinsepError:  # only one class in the sample, or rows that no fit accepts
        return told
    found = getattr(found, "multinomial", None) or found
    if found.kind not in ("separable", "quasi-separable", "overlapping"):
        return told
    lines, every = dict(found.described()), data.n_rows == rows_in_all
    return told | {
        "verdict": found.kind if every or found.kind == "overlapping" else None,
        "of_sample": found.kind,
        "finding": lines["verdict"],
        "alone": lines.get("alone"),
        "chance": lines.get("chance"),
        "rows": data.n_rows,
        "features": data.n_features,
    }


class Description:
    """The description of files, made by :meth:`read` in one reading with bounded memory.

    Arguments are those of :func:`linsep.describe`; ``typed`` are the names of the data for the next
    command, if they differ. ``source`` is what is read, for progress displays.
    """

    def __init__(
        self, data: Any, *, target: str | None = None, index_base: int | None = None,
        format: str | None = None, max_line: int | str | None = None,
        typed: list[str] | None = None, **of_csv: Any,
    ):  # fmt: skip
        self._is_frame, self.format = is_frame(data), "in memory"
        given = ReadingOptions(**of_csv, max_line=max_line)
        self._typed: dict[str, Any] = {
            "target": target, "index_base": index_base, "format": format, **vars(given),
            "max_line": max_line,
        }  # fmt: skip
        if self._is_frame:
            of_kind("the table", "frame", self._typed)
            files = open_tables([to_arrow(data)], None, given, mixed=False)
            self.source: Any = TableDescription(files, target)
            return
        data = names_in(data)
        self._data, paths = typed or data, find_files(data, format)
        self.format, kind = format_of(paths[0], format), kind_of(paths, format)
        if kind != "table":
            self.source = open_source(data, labeled=False, **self._typed)
            return
        of_kind(paths[0], kind, {"index_base": index_base})
        reading = given.or_of({})
        files = open_tables(paths, format, reading, mixed=False)
        check_separated(paths[0], [format_of(path, format) for path in paths], reading)
        if self.format == "folder" and LABEL in files[0].columns():
            target = self._typed["target"] = target or LABEL
        self.source = TableDescription(files, target, reading.spelling)

    def read(self) -> dict[str, Any]:
        """Return the description, as plain JSON."""
        source, is_table = self.source, isinstance(self.source, TableDescription)
        found: dict[str, Any] = {"data": source.name, "format": self.format, "bytes": source.size}
        found |= {"label": None, "separable": None, "like_texts": None, "learner": None}
        describe = self._describe_table if is_table else self._describe_vectors
        sample, rows, out = describe(source, found)
        if rows and found["label"] and len(found["label"]["classes"]) > 1:
            found["separable"] = at_a_glance(sample, rows, out)
        if self._is_frame:
            found["next"] = next_call({"target": source.target}, found)
        else:
            found["next"] = next_command(self._data, self._typed, found)
        if found["next"] is not None and found["label"] is not None:
            chosen, reason = learner_for(found)
            found["learner"] = {"name": chosen["learner"], "reason": reason}
        return found

    def _describe_table(self, source: TableDescription, found: dict[str, Any]) -> Sample:
        found |= source.describe()
        columns, target, rows = found["columns"], source.target or "", found["rows"]
        for own in columns:
            if own["name"] == target:
                rows -= own["missing"]
                found["label"] = label_of(own, target, rows, source.name)
            del own["counts"]
        found["left_out"], found["words"] = left_out(columns, found["label"])
        spelling, out = spelling_of(columns, target), [*found["left_out"], *found["words"]]
        marked = [c["name"] for c in columns if "null_values" in c["read_with"]]
        out += [name for name in marked if name not in (target, *out)]
        spelling.pop("null_values", None)
        return partial(sample_of_table, source.sample, target, out, spelling), rows, out

    def _describe_vectors(self, source: Source, found: dict[str, Any]) -> Sample:
        found |= {"columns": None, "left_out": [], "words": [], "like_texts": like_texts(source)}
        labels, sample = None, SpreadSample(Batch.rows, joined)
        rows = unlabeled = stored = width = 0
        low, high = np.inf, -np.inf
        for batch in source.batches():
            X: Any = batch.X if sp.issparse(batch.X) else sp.csr_matrix(batch.X)
            rows, stored, width = rows + batch.size, stored + X.nnz, max(width, X.shape[1])
            low, high = min(low, X.data.min(initial=low)), max(high, X.data.max(initial=high))
            if batch.y is None:
                unlabeled += batch.size
                continue
            weighed = batch._replace(X=X)
            if batch.weights is not None:
                weighed = weighed.rows(batch.weights > 0)
            sample.add(weighed, weighed.size)
            kind = {"b": "bool", "f": "number", "i": "number"}.get(batch.y.dtype.kind, "text")
            labels = labels or OF_KIND.get(kind, Column)("label", kind, MOST_LABELS)
            labels.add(pa.table({"label": batch.y}), str)
        found |= {"rows": rows, "features": width, "stored": stored / rows}
        found |= {"min": float(low), "max": float(high)} if stored else {"min": None, "max": None}
        if labels is not None and not unlabeled:
            found["label"] = label_of(labels.described(), None, rows, source.name)
        return partial(sample_of_vectors, sample, source), sample.n_rows, []

"""Describe files: columns, labels, separability and the next command."""

from collections import Counter
from typing import Any

import pyarrow as pa

from linsep.certificate.verdicts import QuasiSeparable
from linsep.describing.advice import learner_for, left_out, next_call, next_command, spelling_of
from linsep.describing.tables import MOST_LABELS, TableDescription
from linsep.describing.vectors import VectorDescription
from linsep.errors import DataError, LinsepError, hint
from linsep.fitting import like_texts
from linsep.separability.data import Data, data_of
from linsep.separability.deciding import decide
from linsep.separability.time_limit import Task
from linsep.sources.base import Source, is_frame
from linsep.sources.formats import LABEL, format_of
from linsep.sources.opening import find_files, kind_of, names_in, of_kind, open_source
from linsep.sources.tables.arrow_files import FrameFile
from linsep.sources.tables.conversions import NO_NUMBER
from linsep.sources.tables.files import check_separated, open_tables
from linsep.sources.tables.frames import to_arrow
from linsep.sources.tables.reading_options import ReadingOptions

#: seconds for the separability test, and the numbers of classes and features up to which it runs
SECONDS, MOST_CLASSES, MOST_FEATURES = 5.0, 10, 1000
#: whole numbers are classes if there are so few, and each occurs so often on average
FEW_LABELS, OFTEN = 20, 10
#: share of the rows without a missing value from which they are like the others
MOST_COMPLETE = 0.5


def labels_of(counts: Counter[Any] | None, kind: str, missing: int) -> dict[str, Any]:
    """Return the kind of labels: classes with their rows, or numbers.

    Parameters
    ----------
    counts : how often each label occurs, None if there are too many to count
    kind : "text", "bool", "int" or "number"; text is always classes
    missing : rows without a label
    """
    some = counts or Counter()
    few = counts is not None and (
        len(some) <= 2 or (len(some) <= FEW_LABELS and len(some) * OFTEN <= sum(some.values()))
    )
    if kind != "text" and (kind == "number" or not few):
        return {"kind": "numbers", "missing": missing, "classes": []}
    listed = [{"label": label, "rows": rows} for label, rows in some.most_common()]
    return {"kind": "classes", "missing": missing, "classes": None if counts is None else listed}


def at_a_glance(
    rows: Any, rows_in_all: int, target: str | None, without: list[str], how: dict[str, Any]
) -> dict[str, Any]:
    """Return whether a hyperplane separates the classes of a sample, within some seconds.

    Parameters
    ----------
    rows : a pa.Table with the column ``target``, or X, y and feature names
    rows_in_all : number of rows of the data; if the sample overlaps, so do the data
    without : columns of the table to leave out
    how : other arguments of :func:`linsep.open_source`
    """
    undecided: dict[str, Any] = {"verdict": None, "rows": 0, "without": without}
    try:
        if isinstance(rows, pa.Table):
            out = [name for name in without if name in rows.column_names]
            source = open_source(rows, target=target, exclude=out, missing="drop", **how)
            data, drawn = data_of(source), rows.num_rows
            data.names = source.feature_names
        else:
            data, drawn = data_of(*rows[:2]), rows[0].shape[0]
            data.names = rows[2]
        if len(data.classes) > MOST_CLASSES or data.n_features > MOST_FEATURES:
            return undecided
        found = _of_all_classes(data)
    except LinsepError:  # only one class in the sample, or rows that no fit accepts
        return undecided
    verdict = found.kind if found.kind in ("separable", "quasi-separable", "overlapping") else None
    if verdict != "overlapping" and data.n_rows < MOST_COMPLETE * drawn:
        return undecided  # rows without a missing value are few, and may be like no others
    decided = {} if verdict != "quasi-separable" else {"decided": _decided(found, data)}
    deciding = found.deciding_columns if verdict == "separable" else None
    alone = () if deciding is None else deciding.alone
    return {
        "verdict": verdict if data.n_rows == rows_in_all or verdict == "overlapping" else None,
        "of_sample": verdict,
        "alone": [found.subject.feature_names[j] for j in alone],
        "chance": dict(found.chance_line()).get("chance"),
        "rows": data.n_rows,
        "without": without,
        **decided,
    }


def _of_all_classes(data: Data) -> Any:
    """Return the verdict on all classes together, within some seconds."""
    found: Any = decide(data, formulations=("multinomial",), task=Task(SECONDS))
    return getattr(found, "multinomial", None) or found


def _decided(found: QuasiSeparable, data: Data) -> dict[str, Any]:
    """Return how many rows are off the boundary of a hyperplane, and which columns cause it:
    columns that quasi-separate alone if they leave no more rows on it, else columns whose
    coefficients diverge.
    """
    columns: list[str] = []
    if found.deciding_columns is not None and (alone := found.deciding_columns.touching):
        by_them = _of_all_classes(data.with_columns(alone))
        if getattr(by_them, "boundary", None) == found.boundary:
            columns = [found.subject.feature_names[j] for j in alone]
    if not columns:
        kinds = ("finite", "dependent")
        columns = [name for name, kind in found.limits().items() if kind not in kinds]
        columns = [name for name in columns if not name.endswith("intercept")]
    return {"rows": data.n_rows - len(found.boundary), "columns": columns}


class Description:
    """The description of files, made by :meth:`read` in one reading with bounded memory.

    Parameters
    ----------
    data : files, folders or globs, or a data frame
    target : label column of a table, or None
    index_base, format, max_line : see :func:`linsep.open_source`
    typed : names of the data for the next command, if they differ
    **of_csv : how CSV is read, see :func:`linsep.open_source`

    Raises DataError as that does.

    Attributes
    ----------
    source : what is read, for progress displays
    """

    def __init__(
        self, data: Any, *, target: str | None = None, index_base: int | None = None,
        format: str | None = None, max_line: int | str | None = None,
        typed: list[str] | None = None, **of_csv: Any,
    ):  # fmt: skip
        self._data, self._target, self._is_frame = typed or data, target, is_frame(data)
        given = ReadingOptions(**of_csv, max_line=max_line)
        self._typed: dict[str, Any] = {
            "target": target, "index_base": index_base, "format": format, **vars(given),
            "max_line": max_line, "null_values": given.null_values or None,
        }  # fmt: skip
        self.source: Source | TableDescription
        if self._is_frame:
            of_kind("the table", "frame", self._typed)
            self.format = "in memory"
            self.source = TableDescription([FrameFile(to_arrow(data))], target)
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
        if target is None and self.format == "folder" and LABEL in files[0].columns():
            self._target = self._typed["target"] = LABEL
        self.source = TableDescription(files, self._target, reading.spelling)

    def read(self, separable: bool = True) -> dict[str, Any]:
        """Return the description of the files, as plain JSON. Without ``separable``, separability
        is not tested. Memory is bounded: it grows with columns, but not with rows.
        """
        source = self.source
        found: dict[str, Any] = {"data": source.name, "format": self.format, "bytes": source.size}
        found |= {"label": None, "separable": None, "like_texts": None, "learner": None}
        if isinstance(source, TableDescription):
            self._describe_table(source, found, separable)
        else:
            self._describe_vectors(source, found, separable)
        found["next"] = (
            next_call(self._target, found)
            if self._is_frame
            else next_command(self._data, self._typed, found)
        )
        if found["next"] is not None and found["label"] is not None:
            chosen, reason = learner_for(found)
            found["learner"] = {"name": chosen["learner"], "reason": reason}
        return found

    def _describe_table(
        self, source: TableDescription, found: dict[str, Any], separable: bool
    ) -> None:
        found |= source.describe()
        columns, target = found["columns"], self._target
        counts = {column["name"]: column.pop("counts") for column in columns}
        found["left_out"], found["words"] = left_out(columns, target)
        found["constant"] = [c["name"] for c in columns if c["constant"] and c["name"] != target]
        if target is None:
            return
        (own,) = (column for column in columns if column["name"] == target)
        if own["type"] not in ("text", "number", "int", "bool"):
            raise DataError(
                f"{source.name}, label column '{target}' holds values of type {own['type']}: make "
                "it a number or text.", code="label-type", column=target,
            )  # fmt: skip
        values = counts[target]
        if own["type"] == "bool" and values is not None:
            values = Counter({bool(label): rows for label, rows in values.items()})
        label = labels_of(values, own["type"], own["missing"])
        labeled = found["rows"] - own["missing"]
        self._check_label(label, labeled)
        found["label"] = {
            "column": target, **label, "min": own.get("min"), "max": own.get("max"),
            "marks": [one for one in values or () if str(one).strip() in NO_NUMBER],
        }  # fmt: skip
        if separable and label["classes"] and len(label["classes"]) > 1:
            spelling = spelling_of(columns, target)
            marked = spelling.pop("null_values", None) and [
                c["name"] for c in columns if "null_values" in (c.get("read_with") or ())
            ]
            without = [*found["left_out"], *found["words"], *(marked or [])]
            found["separable"] = at_a_glance(source.sample, labeled, target, without, spelling)

    def _check_label(self, label: dict[str, Any], rows: int) -> None:
        """Raise DataError for a column with almost one class per row."""
        known = label["classes"] is not None
        classes = len(label["classes"]) if known else MOST_LABELS
        if label["kind"] == "classes" and classes > FEW_LABELS and 2 * classes > rows:
            raise DataError(
                f"{self.source.name}, column '{self._target}' has {'' if known else 'more than '}"
                f"{classes:,} different values in {rows:,} rows, so it looks like an ID or free "
                "text, not a label",
                hint("name the column of classes with {}", target=None),
                code="class-count", column=self._target,
            )  # fmt: skip

    def _describe_vectors(self, source: Source, found: dict[str, Any], separable: bool) -> None:
        reader = VectorDescription(source)
        found |= reader.describe() | {"columns": None, "left_out": [], "words": []}
        found["like_texts"] = like_texts(source)
        if (labels := reader.labels) is None:
            return
        numbers = all(isinstance(label, int | float) for label in labels)
        whole = numbers and all(float(label).is_integer() for label in labels)
        label = labels_of(labels, "int" if whole else "number" if numbers else "text", 0)
        ends = (min(labels), max(labels)) if numbers else (None, None)
        found["label"] = {"column": None, **label, "min": ends[0], "max": ends[1], "marks": []}
        if separable and label["classes"] and len(label["classes"]) > 1 and reader.weighed:
            found["separable"] = at_a_glance(reader.sample, reader.weighed, None, [], {})

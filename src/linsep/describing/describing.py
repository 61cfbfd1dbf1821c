"""Describe files: columns, labels, separability and the next command."""

import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from linsep._system.files import scratch_folder
from linsep.catalog import OF_TEXT
from linsep.certificate.verdicts import Overlapping, QuasiSeparable, Separable
from linsep.describing.columns import MOST_LABELS
from linsep.describing.tables import TableDescription
from linsep.describing.vectors import VectorDescription
from linsep.errors import DataError, LinsepError, hint
from linsep.fitting import like_texts
from linsep.separability.data import Data, data_of
from linsep.separability.deciding import decide
from linsep.separability.time_limit import Task
from linsep.sources.base import Source, is_frame
from linsep.sources.formats import LABEL, format_of
from linsep.sources.limits import MAX_LINE, bytes_of
from linsep.sources.opening import find_files, kind_of, names_in, of_kind, open_source
from linsep.sources.remote.address import shown
from linsep.sources.tables.columns import is_row_label
from linsep.sources.tables.files import check_separated, open_tables
from linsep.sources.tables.reading_options import ReadingOptions

#: seconds for the separability test, and the numbers of classes and features up to which it runs
SECONDS, MOST_CLASSES, MOST_FEATURES = 5.0, 10, 1000
#: whole numbers are classes if there are so few, and each occurs so often on average
FEW_LABELS, OFTEN = 20, 10
#: flags of columns that `fit` refuses, or that cannot help a model
UNUSABLE = ("unique", "refused", "infinite")
#: share of a column that may be missing where rows with a missing value are dropped
MOST_DROPPED = 0.5
#: rows and weights up to which a logistic regression is fitted in seconds
SMALL_ROWS, SMALL_WEIGHTS = 200_000, 500
#: words per cell from which text is read word by word
WORDS = 3.0


def labels_of(counts: Counter[Any] | None, kind: str, missing: int) -> dict[str, Any]:
    """Return the kind of labels: classes with their rows, or numbers.

    Parameters
    ----------
    counts : how often each label occurs, None if there are too many to count
    kind : "text", "bool", "int" or "number"; text is always classes
    missing : rows without a label
    """
    rows = None if counts is None else sum(counts.values())
    few = counts is not None and (
        len(counts) <= 2 or (len(counts) <= FEW_LABELS and len(counts) * OFTEN <= (rows or 0))
    )
    if not (kind == "text" or (few and kind != "number")):
        return {"kind": "numbers", "missing": missing, "classes": []}
    listed = None
    if counts is not None:
        listed = [{"label": label, "rows": rows} for label, rows in counts.most_common()]
    return {
        "kind": "classes",
        "missing": missing,
        "classes": listed,
    }


def left_out(columns: list[dict[str, Any]], target: str | None) -> tuple[list[str], list[str]]:
    """Return the columns that a fit has to leave out, and the columns whose words it should
    read."""
    out, words = [], []
    options = spelling_of(columns, target)
    for column in columns:
        read_with = column.get("read_with")
        if column["name"] == target or (read_with and not read_with.keys() - options.keys()):
            continue
        text = column["type"] == "text"
        other = column["type"] not in ("text", "number", "int", "bool")
        empty = column["missing"] and column.get("min", 0) is None
        if is_row_label(column["name"]):
            out.append(column["name"])
        elif text and (column["words"] or 0) >= WORDS:
            words.append(column["name"])
        elif other or empty or any(column.get(what) for what in UNUSABLE):
            out.append(column["name"])
    return out, words


def spelling_of(columns: list[dict[str, Any]], target: str | None) -> dict[str, Any]:
    """Return the reading options that turn columns of text into numbers, as far as they agree."""
    found: dict[str, Any] = {}
    for column in columns:
        for name, value in (column.get("read_with") or {}).items():
            if column["name"] == target:
                continue
            if isinstance(value, list):
                listed = found.setdefault(name, [])
                listed += [one for one in value if one not in listed]
            elif found.setdefault(name, value) != value:
                return {}
    return found


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
    try:
        with scratch_folder() as folder:
            if isinstance(rows, pa.Table):
                path = Path(folder) / "sample.parquet"
                pq.write_table(rows, path)
                out = [name for name in without if name in rows.column_names]
                source = open_source(path, target=target, exclude=out, missing="drop", **how)
                data = data_of(source)
                data.names = source.feature_names
            else:
                data = data_of(*rows[:2])
                data.names = rows[2]
            if len(data.classes) > MOST_CLASSES or data.n_features > MOST_FEATURES:
                return {"verdict": None, "rows": 0, "without": without}
            found = _of_all_classes(data)
    except LinsepError:  # only one class in the sample, or rows that no fit accepts
        return {"verdict": None, "rows": 0, "without": without}
    kinds = {Separable: "separable", QuasiSeparable: "quasi-separable", Overlapping: "overlapping"}
    verdict = kinds.get(type(found))
    whole = data.n_rows == rows_in_all
    decided = {} if verdict != "quasi-separable" else {"decided": _decided(found, data)}
    return {
        "verdict": verdict if whole or verdict == "overlapping" else None,
        "of_sample": verdict,
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
            columns = found.deciding_columns.named(alone)
    if not columns:
        kinds = ("finite", "dependent")
        columns = [name for name, kind in found.limits().items() if kind not in kinds]
        columns = [name for name in columns if not name.endswith("intercept")]
    return {"rows": data.n_rows - len(found.boundary), "columns": columns}


def learner_for(found: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the learner for data with a label and its options, and the reason in words."""
    label, glance = found["label"], found["separable"] or {}
    if label["kind"] == "numbers":
        return {"learner": "linear"}, "the label is a number"
    if found["words"] or found["like_texts"]:
        reason = "its steps are long for rare features, such as words"
        return {"learner": OF_TEXT}, reason
    if glance.get("of_sample") == "separable":
        return {"learner": "perceptron"}, "it stops when its weights separate the classes"
    weights = _features_in(found) * (len(label["classes"] or ()) - 1)
    if glance.get("of_sample") and found["rows"] <= SMALL_ROWS and 0 < weights <= SMALL_WEIGHTS:
        reason = "the classes overlap, so probabilities are more informative than classes"
        if glance["of_sample"] == "quasi-separable":  # the sample's verdict holds for all rows
            reason = "no hyperplane separates all rows, and the penalty keeps every weight finite"
        scale = {} if found["columns"] is None else {"scale": "standard"}
        return {"learner": "logistic", "l2": 1, **scale}, reason
    return {"learner": "perceptron"}, "it trains on any number of rows without tuning"


def _features_in(found: dict[str, Any]) -> int:
    """Return the number of features, 0 if it is not known or there are none."""
    if found["columns"] is None:
        return found["used"] or 0
    if found["words"]:
        return 0
    each = [
        c["values"] if c["type"] == "text" and not c.get("read_with") else 1
        for c in _features(found)
    ]
    return 0 if None in each else sum(each)


def next_command(data: list[str], how: dict[str, Any], found: dict[str, Any]) -> str | None:
    """Return the next command; None for rows without labels and columns, for a single class, and if
    no feature column is left.

    Parameters
    ----------
    data : names of the files, as they were typed; credentials are left out
    how : other options that were typed, by name
    found : the description
    """
    data = [shown(str(name)) for name in data]
    if found["label"] is None:
        if found["columns"] is None:
            return None
        words = ["linsep", "describe", *data, *_options(_given(how)), "--target"]
        return shlex.join(words) + " COLUMN"
    typed = _next_fit(how, found)
    if typed is None:
        return None
    stem = Path(data[0]).name.split(".")[0]
    typed["model"] = f"{stem if stem not in ('', '-') else 'model'}.linsep"
    return shlex.join(["linsep", "fit", *data, *_options(typed)])


def next_call(target: str | None, found: dict[str, Any]) -> str | None:
    """Return the next call in Python for a data frame, as :func:`next_command` does."""
    if found["label"] is None:
        return "linsep.describe(frame, target=...)"
    typed = _next_fit({"target": target}, found)
    if typed is None:
        return None
    return f"linsep.fit({', '.join(['frame', *(f'{n}={x!r}' for n, x in typed.items())])})"


def _given(how: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in how.items() if value is not None}


def _next_fit(how: dict[str, Any], found: dict[str, Any]) -> dict[str, Any] | None:
    """Return the options of the next fit, or None."""
    typed, label = _given(how), found["label"]
    if label["classes"] is not None and len(label["classes"]) == 1:
        return None
    chosen, _ = learner_for(found)
    if found["separable"] is not None or chosen["learner"] == "linear":
        typed |= chosen
    # least squares cannot handle so many features
    words_as = "exclude" if chosen["learner"] == "linear" else "text"
    features = _features(found)
    sparse = []
    if label["missing"]:  # rows without a label can only be dropped
        sparse = [c["name"] for c in features if c["missing"] > MOST_DROPPED * found["rows"]]
    words_read = words_as == "text" and found["words"]
    if found["columns"] and len(sparse) == len(features) and not words_read:
        return None
    spelling = spelling_of(found["columns"] or [], label["column"])
    typed |= spelling
    for name in [*found["left_out"], *sparse]:
        typed.setdefault("exclude", []).append(name)
    for name in found["words"]:
        typed.setdefault(words_as, []).append(name)
    if label["missing"]:
        typed["missing"] = "drop"
    elif any(c["missing"] for c in features) or "null_values" in spelling:
        typed["missing"] = "mean"
    return typed


def _features(found: dict[str, Any]) -> list[dict[str, Any]]:
    out = {*found["left_out"], *found["words"], found["label"]["column"]}
    return [column for column in found["columns"] or [] if column["name"] not in out]


def _options(typed: dict[str, Any]) -> list[str]:
    words: list[str] = []
    for name, value in typed.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
            continue
        for each in value if isinstance(value, list) else [value]:
            words += [f"--{flag}", str(each)]
    return words


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
        self,
        data: Any,
        *,
        target: str | None = None,
        index_base: int | None = None,
        format: str | None = None,
        max_line: int | str | None = None,
        typed: list[str] | None = None,
        **of_csv: Any,
    ):
        self._data, self._target, self._is_frame = typed or data, target, is_frame(data)
        self._typed: dict[str, Any] = {
            "target": target, "index_base": index_base, "format": format,
        }  # fmt: skip
        given = ReadingOptions(**of_csv, max_line=bytes_of(max_line or MAX_LINE))
        self._typed |= given._asdict() | {"max_line": max_line}
        self._typed["null_values"] = given.null_values or None
        self.source: Source | TableDescription
        if self._is_frame:
            from linsep.sources.tables.frames import FrameFile, to_arrow

            of_kind("the table", "frame", self._typed)
            self.paths, self._is_table, self.format = [], True, "in memory"
            self.source = TableDescription([FrameFile(to_arrow(data))], target)
            return
        data = names_in(data)
        self._data, self.paths = typed or data, find_files(data, format)
        kind = kind_of(self.paths, format)
        self._is_table, self.format = kind == "table", format_of(self.paths[0], format)
        if not self._is_table:
            self.source = open_source(data, labeled=False, **self._typed)
            return
        of_kind(self.paths[0], kind, {"index_base": index_base})
        reading = given.or_of({})
        files = open_tables(self.paths, format, reading, mixed=False)
        check_separated(self.paths[0], [format_of(path, format) for path in self.paths], reading)
        if target is None and self.format == "folder" and LABEL in files[0].columns():
            self._target = self._typed["target"] = LABEL
        self.source = TableDescription(files, self._target, reading.spelling)

    def read(self, separable: bool = True) -> dict[str, Any]:
        """Return the description of the files, as plain JSON. Without ``separable``, separability
        is not tested. Memory is bounded: it grows with columns, but not with rows.
        """
        found = {
            "data": self.source.name,
            "format": self.format,
            "bytes": self.source.size,
        } | (self._of_table(separable) if self._is_table else self._of_vectors(separable))
        found["learner"] = None
        found["next"] = (
            next_call(self._target, found)
            if self._is_frame
            else next_command(self._data, self._typed, found)
        )
        if found["next"] is not None and found["label"] is not None:
            chosen, reason = learner_for(found)
            found["learner"] = {"name": chosen["learner"], "reason": reason}
        return found

    def _of_table(self, separable: bool) -> dict[str, Any]:
        assert isinstance(self.source, TableDescription)
        found = self.source.describe()
        columns, target = found["columns"], self._target
        counts = {column["name"]: column.pop("counts") for column in columns}
        out, words = left_out(columns, target)
        found |= {"left_out": out, "words": words, "label": None, "separable": None}
        found["like_texts"] = None
        found["constant"] = [c["name"] for c in columns if c["constant"] and c["name"] != target]
        if target is not None:
            (own,) = (column for column in columns if column["name"] == target)
            if own["type"] not in ("text", "number", "int", "bool"):
                raise DataError(
                    f"{self.source.name}, label column '{target}' holds values of type "
                    f"{own['type']}: make it a number or text.", code="label-type", column=target,
                )  # fmt: skip
            values = counts[target]
            if own["type"] == "bool" and values is not None:
                values = type(values)({bool(label): rows for label, rows in values.items()})
            label = labels_of(values, own["type"], own["missing"])
            self._check_label(label, found["rows"] - own["missing"])
            found["label"] = {
                "column": target,
                **label,
                "min": own.get("min"),
                "max": own.get("max"),
            }
            if separable and label["classes"] and len(label["classes"]) > 1:
                spelling = spelling_of(columns, target)
                marked = spelling.pop("null_values", None) and [
                    c["name"] for c in columns if "null_values" in (c.get("read_with") or ())
                ]
                without, labeled = [*out, *words, *(marked or [])], found["rows"] - own["missing"]
                found["separable"] = at_a_glance(
                    self.source.sample, labeled, target, without, spelling
                )
        return found

    def _check_label(self, label: dict[str, Any], rows: int) -> None:
        """Raise DataError for a column with almost one class per row."""
        if label["kind"] != "classes":
            return
        classes = MOST_LABELS if label["classes"] is None else len(label["classes"])
        if classes > FEW_LABELS and 2 * classes > rows:
            values = f"more than {classes:,}" if label["classes"] is None else f"{classes:,}"
            raise DataError(
                f"{self.source.name}, column '{self._target}' has {values} different values in "
                f"{rows:,} rows, so it looks like an ID or free text, not a label",
                hint("name the column of classes with {}", target=None),
                code="class-count", column=self._target,
            )  # fmt: skip

    def _of_vectors(self, separable: bool) -> dict[str, Any]:
        assert isinstance(self.source, Source)
        reader = VectorDescription(self.source)
        found = reader.describe() | {"columns": None, "left_out": [], "words": []}
        found |= {"label": None, "separable": None, "like_texts": like_texts(self.source)}
        labels = reader.labels
        if labels is None:
            return found
        numbers = all(isinstance(label, int | float) for label in labels)
        whole = numbers and all(float(label).is_integer() for label in labels)
        label = labels_of(labels, "int" if whole else "number" if numbers else "text", 0)
        found["label"] = {
            "column": None,
            **label,
            "min": min(labels) if numbers else None,
            "max": max(labels) if numbers else None,
        }
        if separable and label["classes"] and len(label["classes"]) > 1 and reader.weighed:
            found["separable"] = at_a_glance(reader.sample, reader.weighed, None, [], {})
        return found

"""Describe files: what each column holds, the labels, separability, what to do next."""

from typing import Any

from linsep.describing.advice import at_a_glance, labels_of, left_out, next_command
from linsep.describing.tables import TableDescription
from linsep.describing.vectors import VectorDescription
from linsep.errors import DataError, hint
from linsep.sources.base import Source
from linsep.sources.formats import LABEL, format_of
from linsep.sources.limits import MAX_LINE, bytes_of
from linsep.sources.opening import find_files, kind_of, open_source
from linsep.sources.tables.csv_records import Fields
from linsep.sources.tables.files import check_separated, open_tables


class Description:
    """What files hold, found out by :meth:`read` in one reading with bounded memory.

    Parameters
    ----------
    data : files, folders or globs
    target : label column of a table, or None
    index_base, format, delimiter, quotes, header, null_values, max_line :
        see :func:`linsep.open_source`
    typed : names of the data for the command to type next, if they are others

    Raises DataError as that does.

    Attributes
    ----------
    source : what is read, for progress displays
    """

    def __init__(
        self,
        data: list[str],
        *,
        target: str | None = None,
        index_base: int | None = None,
        format: str | None = None,
        delimiter: str | None = None,
        quotes: bool | None = None,
        header: bool | None = None,
        null_values: list[str] | None = None,
        max_line: int | None = None,
        typed: list[str] | None = None,
    ):
        paths = find_files(list(data), format)
        self._data, self._target = typed or data, target
        self._typed = {
            "target": target, "index_base": index_base, "format": format, "delimiter": delimiter,
            "quotes": quotes, "header": header, "null_values": null_values or None,
            "max_line": max_line,
        }  # fmt: skip
        self.paths, self._is_table = paths, kind_of(paths, format) == "table"
        self.format = format_of(paths[0], format)
        self.source: Source | TableDescription
        if not self._is_table:
            how: Any = {name: value for name, value in self._typed.items() if name != "target"}
            self.source = open_source(data, target=target, labelled=False, **how)
            return
        if index_base is not None:
            message = f"{paths[0]} is a table, whose columns have names"
            raise DataError(message, hint("leave out {}", index_base=None))
        limit = bytes_of(max_line or MAX_LINE)
        fields = Fields(delimiter, quotes, header, null_values).or_of({})
        files = open_tables(paths, format, fields, limit, mixed=False)
        check_separated(paths[0], [format_of(path, format) for path in paths], fields)
        if target is None and self.format == "folder" and LABEL in files[0].columns():
            self._target = self._typed["target"] = LABEL
        self.source = TableDescription(files, self._target)

    def read(self, separable: bool = True) -> dict[str, Any]:
        """Return what the files hold, as plain JSON; without ``separable`` nothing of that.

        Memory is bounded: it grows with columns, but not with rows.
        """
        found = {
            "data": self.source.name,
            "format": self.format,
            "bytes": self.source.size,
        } | (self._of_table(separable) if self._is_table else self._of_vectors(separable))
        found["next"] = next_command(self._data, self._typed, found)
        return found

    def _of_table(self, separable: bool) -> dict[str, Any]:
        assert isinstance(self.source, TableDescription)
        found = self.source.describe()
        columns, target = found["columns"], self._target
        counts = {column["name"]: column.pop("counts") for column in columns}
        out, words = left_out(columns, target)
        found |= {"left_out": out, "words": words, "label": None, "separable": None}
        found["constant"] = [c["name"] for c in columns if c["constant"] and c["name"] != target]
        if target is not None:
            (own,) = (column for column in columns if column["name"] == target)
            if own["type"] not in ("text", "number", "int", "bool"):
                raise DataError(
                    f"{self.source.name}, label column '{target}' holds values of type "
                    f"{own['type']}: make it a number or text."
                )
            values = counts[target]
            if own["type"] == "bool" and values is not None:
                values = type(values)({bool(label): rows for label, rows in values.items()})
            label = labels_of(values, own["type"], own["missing"])
            found["label"] = {
                "column": target,
                **label,
                "min": own.get("min"),
                "max": own.get("max"),
            }
            if separable and label["classes"] and len(label["classes"]) > 1:
                without, labelled = [*out, *words], found["rows"] - own["missing"]
                found["separable"] = at_a_glance(self.source.sample, labelled, target, without)
        return found

    def _of_vectors(self, separable: bool) -> dict[str, Any]:
        assert isinstance(self.source, Source)
        reader = VectorDescription(self.source)
        found = reader.describe() | {"columns": None, "left_out": [], "words": []}
        found |= {"label": None, "separable": None}
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
            found["separable"] = at_a_glance(reader.sample, reader.weighed, None, [])
        return found

"""Tables of tests: printed, as plain JSON and as a data frame."""

from dataclasses import dataclass, field
from html import escape
from typing import Any

from linsep.inference.summary import as_frame, fact, plain, statistic_text, two_a_line
from linsep.layout import table_lines, wrapped
from linsep.words import escaped

#: headings of columns whose names are longer
HEADINGS = {
    "standard_error": "std. error", "p_value": "p", "adjusted_p_value": "adjusted p",
    "df_residual": "residual df", "log_likelihood": "log-likelihood", "aic": "AIC", "bic": "BIC",
    "rss": "residual SS", "sum_of_squares": "sum of squares", "f": "F",
}  # fmt: skip
#: columns that a table which is too wide is first to lose
LEAST = ("log_likelihood", "df_residual")


@dataclass(frozen=True)
class Table:
    """A table of tests: ``print`` it, show it in a notebook, or call :meth:`to_dict` or
    :meth:`tidy`.

    Attributes
    ----------
    title : str
    header : list of (str, str, int or float)
        Statistics of the whole table.
    columns : dict of str to list
        The cells by column: text, int, float (NaN if undefined) or None. The first column has the
        names of the rows.
    notes : list of str
        Sentences below the table.
    """

    title: str
    header: list[tuple[str, str | int | float]]
    columns: dict[str, list[Any]]
    notes: list[str] = field(default_factory=list)

    def _cells(self) -> list[list[str]]:
        """Return the headings, without the heading of the names, and the rows as text."""
        headings = [HEADINGS.get(name, name.replace("_", " ")) for name in self.columns]
        columns = [[_text(name, cell) for cell in cells] for name, cells in self.columns.items()]
        return [["", *headings[1:]], *map(list, zip(*columns, strict=True))]

    def __str__(self) -> str:
        header = [(escaped(name), escaped(fact(name, value))) for name, value in self.header]
        lines = [*wrapped(escaped(self.title)), *two_a_line(header), *[""] * bool(header)]
        least = [k for k, name in enumerate(self.columns) if name in LEAST]
        lines += [*table_lines(self._cells(), least=least), *[""] * bool(self.notes)]
        return "\n".join(
            [*lines, *(line for note in self.notes for line in wrapped(escaped(note)))]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def line(cells: list[str], kind: str) -> str:
            return "<tr>" + "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in cells) + "</tr>"

        head, *rows = self._cells()
        header = [line([name, fact(name, value)], "td") for name, value in self.header]
        body = "".join(line(row, "td") for row in rows)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return (
            f"<table><caption>{escape(self.title)}</caption>{''.join(header)}</table>"
            f"<table>{line(head, 'th')}{body}</table>{notes}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON: numbers unrounded, None if not finite."""
        names = list(self.columns)
        rows = zip(*self.columns.values(), strict=True)
        return {
            "title": self.title,
            "header": {name: plain(value) for name, value in self.header},
            "rows": [dict(zip(names, map(plain, row), strict=True)) for row in rows],
            "notes": list(self.notes),
        }

    def tidy(self) -> Any:
        """Return the rows as a data frame of pandas, or an Arrow table where it is missing."""
        return as_frame(self.columns)


def _text(column: str, cell: Any) -> str:
    """Return a cell as text; None is empty."""
    if cell is None:
        return ""
    if column in ("t", "z"):
        return statistic_text(cell)
    return escaped(fact("p " * ("p_value" in column), cell))

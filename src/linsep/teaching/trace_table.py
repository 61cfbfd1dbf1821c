"""The table of a trace, as rows and as text, CSV, Markdown, LaTeX and HTML."""

import sys
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pkgutil import resolve_name
from typing import Any, NamedTuple, overload

import linsep
from linsep.drawing import beside, display
from linsep.estimators.reading import StopReason
from linsep.layout import room, table_lines, table_width, wrapped
from linsep.teaching.arithmetic import arithmetic_lines
from linsep.teaching.tables import (
    escaped_latex,
    escaped_markdown,
    exact_number,
    latex_table,
    markdown_table,
    short_number,
)
from linsep.teaching.textbook.running import Step
from linsep.words import counted, csv_cell, csv_text, escaped

#: mistakes that are drawn by default
MOST_DRAWN = 9
#: rounds of a table that a notebook shows with its picture
MOST_ROUNDS = 100
#: the line around the headings in LaTeX
RULE = r"\hline"

Vectors = tuple[tuple[float, ...], ...]
Shown = Callable[[float], str]


class TraceRow(NamedTuple):
    """One step.

    Attributes
    ----------
    round, pass_number : int
        Counted from 1.
    row, label : str
        Name and class of the row.
    scores : tuple
        The scores before the update: one, or with several classes one per class or pair.
    mistakes, updates : int
        Numbers of binary classifiers that made a mistake, and an update.
    change, weights : tuple of tuples
        The change by the update, and the weights afterward: for each score the intercept, then one
        number per feature.
    errors : int or None
        Number of rows that the weights afterward misclassify; None if ``rounds`` was not given.
    margin : pair of numbers or None
        What the rule tested before the update, positive on the right side, and the least value that
        needs no update; None if the rule tests the score.
    """

    round: int
    pass_number: int
    row: str
    label: str
    scores: tuple[float, ...]
    mistakes: int
    updates: int
    change: Vectors
    weights: Vectors
    errors: int | None = None
    margin: tuple[float, float] | None = None


class Trace(Sequence):
    """The steps of a fit: a sequence of TraceRow that prints as a table.

    ``print(trace)`` aligns the table, ``rich.print(trace)`` draws it, and a notebook shows HTML.

    Attributes
    ----------
    columns : list of str
        Column headings.
    stop_reason : StopReason or None
        Why the fit ends; None if the trace was truncated.
    stopped : str
        The stop reason as text.
    steps : list of linsep.textbook.Step
        The textbook steps behind the table.
    start : tuple of tuples
        The initial weights: for each score the intercept, then one number per feature.
    products : list of float
        y <w, x> of every step, the score times the target: of two classes only.
    vectors, classes : list of str
        Names of the weight vectors, none for two classes; and of the classes, of two -1 first.
    with_intercept : bool
        Whether weights begin with an intercept.
    """

    def __init__(
        self,
        rows: list[TraceRow],
        features: Sequence[Any],
        classes: list[str],
        vectors: list[str],
        with_intercept: bool,
        stop_reason: StopReason | None,
        sentence: str | None = None,
        given: dict[str, Any] | None = None,
        steps: Sequence[Step] = (),
        start: Vectors = (),
        examples: Sequence[Sequence[float]] = (),
    ):
        self._rows, self.vectors, self.with_intercept = rows, vectors, with_intercept
        self.classes, self._examples = classes, examples
        # Labels do not show that the second of two classes is +1.
        signs = {classes[0]: " (-1)", classes[1]: " (+1)"} if classes != ["-1", "1"] else {}
        self._signs = signs if len(classes) == 2 else {}
        self.stop_reason, self._given = stop_reason, given or {}
        self.steps, self.start = list(steps), start
        self._sentence = sentence or (stop_reason.sentence if stop_reason else "")
        weights = ["intercept", *map(str, features)][not with_intercept :]
        heads = [f"{vector} " for vector in vectors] or [""]
        self.columns = ["round", "pass", "row", "class", *(f"{head}score" for head in heads)]
        self._with_margin = rows[0].margin is not None
        self.columns += ["margin", "needed"] * self._with_margin
        self.columns += ["mistakes" if len(vectors) > 1 else "mistake", "update"]
        self._with_errors = rows[0].errors is not None
        self.columns += ["errors"] * self._with_errors
        self.columns += [head + name for head in heads for name in weights]

    @overload
    def __getitem__(self, index: int) -> TraceRow: ...

    @overload
    def __getitem__(self, index: slice) -> list[TraceRow]: ...

    def __getitem__(self, index: int | slice) -> TraceRow | list[TraceRow]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<Trace of {len(self):,} steps; {self.stopped}>"

    @property
    def stopped(self) -> str:
        """Why the fit ends, as text."""
        if self.stop_reason is None:
            return f"first {counted(len(self), 'step')} shown; training continues"
        return f"{self.stop_reason}: {self._sentence}"

    @property
    def estimator(self) -> Any:
        """The traced estimator (unfitted)."""
        return self._given.get("estimator")

    @property
    def products(self) -> list[float]:
        """y <w, x> of every step."""
        return [-r.scores[0] if r.label == self.classes[0] else r.scores[0] for r in self._rows]

    def plot(self, *, mistake: int = 1, n_mistakes: int | None = None, **kwargs: Any) -> Any:
        """Draw mistakes: the weights and their line before and after, and the update.

        Parameters
        ----------
        mistake : int, default=1
            The first mistake to draw, counted from 1.
        n_mistakes : int, default None
            Number of mistakes to draw; None draws up to nine.
        **kwargs : passed to :meth:`linsep.plot.UpdateDisplay.from_estimator`

        Returns
        -------
        linsep.plot.UpdateDisplay
        """
        left = sum(row.updates > 0 for row in self._rows) - mistake + 1
        shown = max(1, min(MOST_DRAWN, left)) if n_mistakes is None else n_mistakes
        return display("UpdateDisplay").from_estimator(
            **self._given, run=self, mistake=mistake, n_mistakes=shown, **kwargs
        )

    def animate(self, ax: Any = None, **kwargs: Any) -> Any:
        """Draw the run as an animation, with a frame for every update.

        Parameters
        ----------
        ax : matplotlib Axes, default None
            Where to draw; None creates a new figure.
        **kwargs : passed to :meth:`linsep.plot.RunDisplay.from_trace`, such as ``max_frames=30``,
            or for more than two features ``features=["petal length (cm)", 3]``

        Returns
        -------
        linsep.plot.RunDisplay
            A notebook plays it; ``save("run.gif")`` writes a GIF, and ``show(3)`` draws a frame.

        Raises
        ------
        DataError
            For several classes and more than two features, unless ``features`` names two.
        """
        rows = {name: self._given[name] for name in ("X", "y", "feature_names")}
        return display("RunDisplay").from_trace(self, **rows, ax=ax, **kwargs)

    def cells(self, shown: Shown | None = None) -> Iterator[list[str]]:
        """Yield the rows as texts, numbers with up to six digits or formatted by ``shown``."""
        shown = shown or short_number
        for row in self._rows:
            label = row.label + self._signs.get(row.label, "")
            cells = [str(row.round), str(row.pass_number), row.row, label]
            cells += [shown(score) for score in row.scores]
            cells += [shown(value) for value in row.margin or ()]
            cells += [self._mistakes(row), self._update(row)]
            cells += [str(row.errors)] * self._with_errors
            yield cells + [shown(w) for vector in row.weights for w in self._visible(vector)]

    def _visible(self, vector: tuple[float, ...]) -> tuple[float, ...]:
        return vector[not self.with_intercept :]

    def _mistakes(self, row: TraceRow) -> str:
        return str(row.mistakes) if len(self.vectors) > 1 else "yes" if row.mistakes else "no"

    def _update(self, row: TraceRow) -> str:
        """Return the change of each changed vector, without digits beyond the accuracy of
        differences.
        """
        if not row.updates:
            return ""
        texts = []
        for name, vector in zip(self.vectors or [""], row.change, strict=True):
            if any(vector):
                numbers = ", ".join(short_number(v) for v in self._visible(vector))
                texts.append(f"{name} [{numbers}]".strip())
        return "; ".join(texts)

    def __str__(self) -> str:
        return self.to_text(room())

    def to_text(self, width: int | None = None) -> str:
        """Return aligned columns, numbers to the right, and why the fit stopped.

        If it is wider than ``width`` columns of text, the weights follow as a second table; then
        names are shortened and weights hidden. None shows everything in one. ``str`` uses the width
        of the terminal, or 80.
        """
        wide, first = sys.maxsize if width is None else width, self._n_first()
        lines, right = [self.columns, *self.cells()], self._to_the_right()
        every = list(range(len(right)))
        parts = [every[:first], [0, *every[first:]]] if table_width(lines) > wide else [every]
        shown = []
        for part in parts:
            own = [[line[k] for k in part] for line in lines]
            shown += table_lines(
                own,
                [right[k] for k in part],
                width=wide,
                least=(1,) * (part[1] == 1),  # the pass
            )
        return "\n".join([*shown, *wrapped(escaped(self.stopped), wide)]) + "\n"

    def to_arithmetic(self, width: int | None = None) -> str:
        """Return the arithmetic of every step: the sum that is the score, y <w, x>, and the update
        as a multiple of the example x (with an intercept, [1; x]).

        Of several classes, there is a sum for each, and which is predicted; for one-vs-one also the
        votes of the pairs. The weights of a kernel belong to rows, so x are the kernel values.
        """
        wide = room() if width is None else width
        return "\n".join(arithmetic_lines(self, self._examples, wide)) + "\n"

    def to_csv(self) -> str:
        """Return the table as CSV, with numbers in full precision.

        Text that a spreadsheet would treat as a formula is prefixed by a quote.
        """
        return csv_text(map(csv_cell, line) for line in (self.columns, *self.cells(exact_number)))

    def to_markdown(self) -> str:
        """Return a Markdown table, and why the fit stopped."""
        table = markdown_table([self.columns, *self.cells()], self._to_the_right())
        return f"{table}\n{escaped_markdown(self.stopped)}\n"

    def to_latex(self) -> str:
        """Return a LaTeX tabular, and why the fit stopped."""
        lines = [self.columns, *self.cells()]
        return f"{latex_table(lines, self._to_the_right(), RULE)}\n{escaped_latex(self.stopped)}\n"

    def to_html(self, *, interactive: bool = False) -> str:
        """Return an HTML table with why the fit stopped as its foot.

        With ``interactive``, return a page of the lab: a self-contained file that steps through the
        run, forward and back, and works offline. It requires two features; a notebook shows the
        saved file with ``IPython.display.IFrame``.
        """
        if interactive:
            page: str = resolve_name(linsep.TOOLS["page"])(self, self._given["X"], self._given["y"])
            return page
        aligns = [' style="text-align:right"' if right else "" for right in self._to_the_right()]

        def line(cells: list[str], tag: str) -> str:
            return "<tr>" + "".join(
                f"<{tag}{align}>{escape(cell)}</{tag}>"
                for cell, align in zip(cells, aligns, strict=True)
            ) + "</tr>\n"  # fmt: skip

        body = "".join(line(cells, "td") for cells in self.cells())
        return (
            f"<table>\n<thead>\n{line(self.columns, 'th')}</thead>\n<tbody>\n{body}</tbody>\n"
            f'<tfoot>\n<tr><td colspan="{len(self.columns)}">{escape(self.stopped)}</td></tr>\n'
            "</tfoot>\n</table>\n"
        )

    def _repr_html_(self) -> str:
        return beside(self.to_html(), self.plot if len(self) <= MOST_ROUNDS else None)

    def __rich__(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table(caption=Text(escaped(self.stopped)), caption_justify="left")
        for name, right in zip(self.columns, self._to_the_right(), strict=True):
            table.add_column(Text(escaped(name)), justify="right" if right else "left")
        for line in self.cells():
            table.add_row(*(Text(escaped(cell)) for cell in line))
        return table

    def _to_the_right(self) -> list[bool]:
        """Return which columns are numbers."""
        words = {"row", "class", "mistake", "update"}
        places, first = range(len(self.columns)), self._n_first()
        return [place >= first or self.columns[place] not in words for place in places]

    def _n_first(self) -> int:
        """Return the number of columns before the weights."""
        return self.columns.index("update") + 1 + self._with_errors

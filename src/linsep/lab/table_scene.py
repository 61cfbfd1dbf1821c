"""Scenes of files, and of CSV that the page sends, read as other commands read data."""

import glob
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep._system.files import scratch_folder
from linsep.errors import DataError, Hint, hint
from linsep.lab.own_points import (
    KEPT,
    READING,
    Columns,
    Own,
    chosen_columns,
    how_said,
    is_header,
    rows_said,
    scene_of_rows,
    standardized,
    suspect,
)
from linsep.lab.scene import MOST_POINTS, Scene
from linsep.sources.base import Source
from linsep.sources.opening import open_source
from linsep.sources.tables.csv import CsvFile
from linsep.sources.tables.reading_options import ReadingOptions
from linsep.words import counted

#: options that are tried if an error suggests them
_TRIED = {"delimiter", "encoding", "skip_rows", "comment", "decimal", "thousands", "units"}
#: options of the page that do not concern the reading of its columns
_OWN = ("missing", "scale")
#: errors that suggest these are about a column that is not numeric
_OTHERWISE = {"date", "text", "numeric", "null_values"}


def scene_of_file(path: Path, say: Callable[[str], None] = lambda text: None, **how: Any) -> Scene:
    """Return the first 500 rows of a file as points: the first two numeric columns and the labels.

    Parameters
    ----------
    path : Path
    say : function that receives a sentence on rows that are not shown
    how : arguments of :func:`linsep.open_source`; ``include`` chooses columns, and ``scale`` (by
        default as needed) is about the two coordinates

    Raises
    ------
    DataError
        For invalid files, fewer than two numeric columns, or too many classes.
    """
    scale = how.pop("scale", None)
    source = open_source(path, **how)
    X, labels, more = _first_rows(source)
    names = _columns_of(source, X.shape[1])
    if len(names) < 2:
        raise DataError(
            f"{source.name} has fewer than two numeric columns for the coordinates",
            hint("read more columns as numbers with {}", numeric=None),
            code="no-columns",
            option="numeric",
        )
    target = str(source.layout().get("target") or "label")
    axes, places, why = standardized(names[:2], X[:, :2].tolist(), Scene(), scale)
    scene = scene_of_rows(Scene(), axes, places, labels, source.where, target)
    dropped = int(getattr(source, "dropped", 0))
    if more:
        say(f"The first {counted(len(labels), 'row')} of {source.name} are shown; it has more.")
    if dropped:
        say(f"{counted(dropped, 'row')} of {source.name} with missing values left out.")
    if why:
        say(f"{why}; --scale none keeps the numbers.")
    return scene


def _first_rows(source: Source) -> tuple[np.ndarray, list[Any], bool]:
    """Return features and labels of the rows shown, and whether there are more."""
    parts: list[np.ndarray] = []
    labels: list[Any] = []
    more = False
    for batch in source.batches():
        left = MOST_POINTS - len(labels)
        more = batch.X.shape[0] > left
        X = batch.X[:left]
        parts.append(X.toarray() if sp.issparse(X) else X)
        labels += [] if batch.y is None else batch.y[: X.shape[0]].tolist()
        if more:
            break
    width = max(part.shape[1] for part in parts)
    X = np.vstack([np.pad(p, ((0, 0), (0, width - p.shape[1]))) for p in parts])
    return X, labels, more


def _columns_of(source: Source, width: int) -> list[str]:
    """Return the names of the numeric columns, which come first."""
    recipe = source.recipe()
    if "numeric" in recipe:
        return list(recipe["numeric"])
    first = recipe.get("index_base", 0)
    return [f"x{j + first}" for j in range(width)]


def scene_of_csv(own: Own, scene: Scene) -> tuple[Scene, Columns]:
    """Return the scene with the points of CSV text, and the columns that they come from.

    Options of reading that the user has not set are taken from the advice of errors; ``said``
    describes them.
    """
    with scratch_folder() as folder:
        path = Path(folder) / own.name
        path.write_bytes(own.content)
        try:
            return _Table(path, own).scene(scene)
        except DataError as problem:
            said = problem.render(_hint_of_page).replace(f"{folder}{os.sep}", "")
            raise DataError(
                said, code=problem.code, **problem.fields | {"path": own.name}
            ) from None


def _hint_of_page(hint: Hint) -> str | None:
    """Return advice in the terms of the page, None if the page has no such option."""
    shown = []
    for name, value in hint.settings.items():
        label, words = READING.get(name, ("", {}))
        text = ("no", "yes")[value] if isinstance(value, bool) else value
        if not isinstance(text, str) or text not in words:
            return None
        shown.append(f"“{label}: {words[text]}”")
    texts = iter(shown)
    return hint.render(lambda name, value: next(texts))


class _Table:
    """A CSV file: its columns, its numeric columns, and how it is read.

    Attributes
    ----------
    names : list of str
    numeric, others : lists of int
        Numeric columns, and the rest.
    how : dict
        Arguments of :func:`linsep.open_source`.
    """

    def __init__(self, path: Path, own: Own):
        self.path, self.own = path, own
        self._missing = own.reading.get("missing", "error")
        self.how = {n: value for n, value in own.reading.items() if n not in _OWN}
        self._refused: dict[str, DataError] = {}
        while True:
            try:
                self.names = self._header()
                source = self._opened(labeled=False, exclude=list(self._refused))
                break
            except DataError as problem:
                self._follow(problem)
        layout = source.layout()
        found = set(layout["numeric"]) - set(layout.get("bool", ()))
        self.numeric = [j for j, name in enumerate(self.names) if name in found]
        # a column without a name, such as row numbers that pandas wrote, is nothing
        self.others = [j for j, name in enumerate(self.names) if name and j not in self.numeric]
        self.how["missing"] = self._missing
        if not own.chosen:
            self._check_others(source)

    def _header(self) -> list[str]:
        """Return the names of the columns; a first line with a number is a point."""
        options = {n: value for n, value in self.how.items() if n in ReadingOptions._fields}
        names = list(CsvFile(self.path, ReadingOptions(**options).or_of({})).columns())
        if "header" not in self.how and not is_header(names):
            self.how["header"] = False
            return self._header()
        return names

    def _opened(self, **how: Any) -> Source:
        return open_source(self.path, format="csv", **self.how, **how)

    def _follow(self, problem: DataError) -> None:
        """Follow the advice of an error (other options, or one column less), or raise it."""
        advice = [hint.settings for hint in problem.hints if isinstance(hint, Hint)]
        if {"header": True} in advice and "header" not in self.how:
            self.how["header"] = False
            return
        for settings in advice:
            tried = _TRIED | {"null_values"} if self._missing == "drop" else _TRIED
            told = all(self.how.get(name, value) == value for name, value in settings.items())
            if told and settings.keys() <= tried and settings.keys() - self.how.keys() and (
                None not in settings.values()
            ):  # fmt: skip
                self.how |= settings
                return
        column = next((s["exclude"][0] for s in advice if s.get("exclude")), None)
        if column is None:
            column = next((s["categorical"][0] for s in advice if "categorical" in s), None)
        may_be = any(_OTHERWISE & settings.keys() for settings in advice) or column == ""
        if column is None or column in self._refused or not (may_be or self.own.chosen):
            raise problem
        self._refused[column] = problem

    def _check_others(self, source: Source) -> None:
        """Raise DataError for a column of mostly numbers, except the column of the class."""
        few = len(self.numeric) < 2
        cells = {j: [str(cell) for cell in _cells(source, self.names[j])] for j in self.others}
        if (j := suspect(cells, few)) is not None:
            self._check_numbers(j)
        if few and self._refused:
            raise next(iter(self._refused.values()))

    def _check_numbers(self, j: int) -> None:
        """Raise DataError, which names the row, unless a column is numeric."""
        for _ in self._of([j], labeled=False).batches():
            pass

    def _of(self, columns: list[int], **how: Any) -> Source:
        """Return the rows of some numeric columns."""
        names = [glob.escape(self.names[j]) for j in columns]
        return self._opened(include=names, numeric=names, **how)

    def scene(self, scene: Scene) -> tuple[Scene, Columns]:
        """Return the scene of the chosen columns."""
        own = self.own
        for axis in ("x", "y"):
            j = own.chosen.get(axis)
            if isinstance(j, int) and 0 <= j < len(self.names) and j in self.others:
                self._check_numbers(j)
        columns = chosen_columns(self.names, self.numeric, own, self.others)
        flat = isinstance(columns.x, str)
        taken: list[Any] = [j for j in self.numeric if j != columns.label]
        taken = taken if flat else [columns.x, columns.y]
        target = self.names[columns.label]
        source = self._of(taken, target=target)
        parts = list(source.batches())
        order = list(source.layout()["numeric"])
        X = np.vstack([part.X for part in parts])[:, [order.index(self.names[j]) for j in taken]]
        y = [label for part in parts for label in part.y.tolist()]
        shown, names = y[:MOST_POINTS], [self.names[j] for j in taken]
        places, scale = X[:MOST_POINTS], own.reading.get("scale")
        if flat:
            places, names = _projected(places)
            scale = "none"
        axes, Z, why = standardized(names, places.tolist(), scene, scale)
        found = scene_of_rows(scene, axes, Z, shown, source.where, target)
        tried = {n: v for n, v in self.how.items() if n not in own.reading and n != "missing"}
        classes = (len(set(shown)), len(set(y)))
        said = rows_said(len(shown), len(y), int(getattr(source, "dropped", 0)), classes)
        if why:
            said += (f"{why}. {KEPT}",)
        return found, columns._replace(said=(*how_said(tried), *said))


def _cells(source: Source, name: str) -> Iterator[Any]:
    for table in source.cells([glob.escape(name)]):
        yield from table.column(0).to_pylist()


def _projected(X: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the first two principal components of columns, and their names."""
    with np.errstate(over="ignore", invalid="ignore"):
        wide = X.std(axis=0)
    vary = np.isfinite(wide) & (wide > 0)
    if vary.sum() < 2:
        raise DataError("A projection needs two numeric columns that vary.", code="no-columns")
    Z = ((X - X.mean(axis=0)) / np.where(vary, wide, 1.0))[:, vary]
    _, sizes, directions = np.linalg.svd(Z, full_matrices=False)
    # A direction and its opposite are as good: the largest part of each points up.
    largest = np.abs(directions).argmax(axis=1)
    directions *= np.sign(directions[np.arange(len(directions)), largest])[:, None]
    shares = 100 * sizes**2 / (sizes**2).sum()
    return Z @ directions[:2].T, [f"component {k + 1} ({shares[k]:.0f}%)" for k in (0, 1)]

"""The command ``trace``: every round of learning from a small file."""

import shutil
from collections.abc import Sequence
from functools import partial
from typing import Any, TextIO

import numpy as np
import scipy.sparse as sp

import linsep
from linsep.catalog import LEARNERS
from linsep.cli import file_options, learners, options
from linsep.cli.file_options import Files
from linsep.cli.initial_weights import InitialWeights
from linsep.cli.output import check_all_free, never_overwrite, open_output
from linsep.cli.pictures import PlotFile, write_picture
from linsep.cli.screen import label_text, on_terminal
from linsep.cli.standard_input import reads_data
from linsep.errors import DataError
from linsep.escaping import escaped
from linsep.sources.base import Source
from linsep.sources.opening import find_files, kind_of, open_source
from linsep.teaching.trace.table import Trace
from linsep.teaching.trace.tracer import MOST_NUMBERS


@reads_data
@learners.options_of(LEARNERS)
@partial(file_options.added, format=file_options.TraceDataFormat)
def trace(
    data: options.Data,
    *,
    target: options.Target = None,
    learner: options.TraceLearner = "perceptron",
    written: options.TraceFormat = "text",
    output: options.Output = None,
    force: options.Force = False,
    plot: PlotFile = None,
    max_rounds: options.MaxRounds = 1000,
    rounds: options.Rounds = None,
    row_names: options.RowNames = None,
    missing: options.Missing = "error",
    hash_bits: options.HashBits = None,
    exclude: options.Exclude = None,
    index_base: options.IndexBase = None,
    files: Files,
    random_state: options.RandomState = 0,
    class_weight: options.ClassWeight = None,
    init_weights: options.InitWeights = None,
    reference: options.Reference = None,
    **parameters: Any,
) -> None:
    """Show every round of training on small DATA: score, mistake, update, weights afterwards.

    Example: linsep trace students.csv --target grade --row-names name --no-shuffle
    """
    check_all_free(force, output, plot)
    source, X, y, names = read_rows(
        data, row_names, target=target, missing=missing, hash_bits=hash_bits, exclude=exclude,
        index_base=index_base, **files,
    )  # fmt: skip
    never_overwrite(source.paths, output, plot)
    estimator = learners.make_learner(
        "trace", learner, parameters, random_state=random_state,
        class_weight=learners.class_weights(class_weight, source),
        reference=learners.reference_class(reference, source),
    )  # fmt: skip
    learners.check_effects(estimator, parameters)
    start = InitialWeights(init_weights, learner, estimator, source)
    with start.checked():
        made = linsep.trace(
            estimator, X, y, max_rounds=max_rounds, rounds=rounds, row_names=names,
            feature_names=feature_names(source, X.shape[1]), **start.arguments,
        )  # fmt: skip
    with open_output(output, force) as out:
        write_trace(out, made, written, to_screen=output is None)
    if plot is not None:
        write_picture(made.plot(), plot, force)


def read_rows(
    data: list[str],
    names: str | None,
    *,
    exclude: list[str] | None,
    format: str | None,
    **how: Any,
) -> tuple[Source, np.ndarray, np.ndarray, Sequence[str]]:
    """Return the source, all of its rows, their labels and their names.

    ``names`` is a column of a table that is not learnt from, or None to name rows by their lines;
    the other arguments are those of :func:`linsep.open_source`.
    """
    how["format"] = format
    if names is not None and kind_of(find_files(list(data), format), format) != "table":
        raise DataError(
            "--row-names names a column of a table; svmlight text has none: leave it out."
        )
    left_out = [*(exclude or []), *([] if names is None else [names])]
    source = open_source(data, exclude=left_out, **how)
    X, y, *_ = whole(source)
    if names is None:
        return source, X, y, LineNames(source, len(y))
    # Read the rows again, with the names as labels.
    other = open_source(data, exclude=exclude, **how | {"target": names})
    _, named, *_ = whole(other)
    if len(named) != len(y):
        raise DataError(f"{source.name} has rows without a name in column '{names}'.")
    return source, X, y, [label_text(name) for name in named]


def whole(source: Source) -> tuple[np.ndarray, np.ndarray]:
    """Return all rows of a small source as an array, and their labels."""
    parts: list[np.ndarray] = []
    labels: list[Any] = []
    rows = 0
    for batch in source.batches():
        X: Any = batch.X
        rows += X.shape[0]
        if rows * X.shape[1] > MOST_NUMBERS:
            raise DataError(
                f"{source.name} has more than {MOST_NUMBERS:,} numbers, too many for a trace: give "
                "it fewer rows or columns."
            )
        parts.append(X.toarray() if sp.issparse(X) else X)
        labels.append(batch.y)
    width = parts[-1].shape[1]
    wide = [np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts]
    return np.vstack(wide), np.concatenate(labels)


class LineNames(Sequence):
    """Names of rows by their line in the file, looked up on access."""

    def __init__(self, source: Source, count: int):
        self._source, self._count = source, count
        self._only = f"{source.paths[0]} " if len(source.paths) == 1 else ""
        self._known: dict[int, str] = {}
        word, _, number = self._place(0).rpartition(" ")
        # Consecutive lines, the usual case, need no second look at the file.
        last = f"{word} {int(number) + count - 1}"
        self._follow = (word, int(number)) if self._place(count - 1) == last else None

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, row: Any) -> Any:
        if self._follow is not None:
            word, first = self._follow
            return f"{word} {first + row}"
        if row not in self._known:
            self._known[row] = self._place(row)
        return self._known[row]

    def _place(self, row: int) -> str:
        return self._source.where(row).removeprefix(self._only)


def feature_names(source: Source, n_features: int) -> list[str]:
    """Return the names of the columns, or x and the index of svmlight text; a minus before the name
    of a hashed word that counts negatively.
    """
    if source.feature_names is not None:
        return source.feature_names
    recipe = source.recipe()
    if recipe.get("words"):
        from linsep.sources.text.stored import FeatureNames

        names, signs = FeatureNames(recipe).all()
        return [name if sign > 0 else f"-{name}" for name, sign in zip(names, signs, strict=True)]
    first = recipe.get("index_base", 0)
    return [f"x{j + first}" for j in range(n_features)]


def write_trace(out: TextIO, trace: Trace, format: str, *, to_screen: bool) -> None:
    """Write the trace; text is drawn as a table if it fits the terminal."""
    if format == "text" and to_screen and on_terminal():
        from rich.console import Console
        from rich.measure import Measurement

        console = Console()
        table = trace.__rich__()
        if (
            Measurement.get(console, console.options, table).maximum
            < shutil.get_terminal_size().columns
        ):
            console.print(table)
            return
    written = getattr(trace, f"to_{format}")()
    out.write(escaped(written, lines=True) if to_screen and on_terminal() else written)

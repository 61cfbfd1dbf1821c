"""The command ``trace``: every step of training on a small file."""

import shutil
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import scipy.sparse as sp

import linsep
from linsep.batches import Batch
from linsep.catalog import LEARNERS
from linsep.cli import learner_options as learners, options
from linsep.cli.learner_options import LearningCommand, initial_weights, told_by_option
from linsep.cli.look import LOOK, Look
from linsep.cli.options import Option, command
from linsep.cli.output import (
    check_all_free,
    label_text,
    never_overwrite,
    on_terminal,
    open_output,
    write_picture,
)
from linsep.cli.reading import LineNames, feature_names, gathered
from linsep.errors import DataError
from linsep.estimators.labels import InitialShape, source_labels
from linsep.sources.base import Source
from linsep.sources.opening import find_files, kind_of, open_source
from linsep.teaching import MOST_NUMBERS, Trace
from linsep.words import escaped

MAX_ROUNDS = Option(
    "--max-rounds", options.number(at_least=1), "Stop the trace after N steps.",
    section="Learner", default=1000,
)  # fmt: skip
ROUNDS = Option(
    "--rounds", options.number(at_least=1),
    "Run N steps, however many passes that takes, even beyond a cycle.", section="Learner",
)  # fmt: skip
FORMAT = Option(
    "--format written", options.choice(("text", "csv", "markdown", "latex", "html")),
    "Output format.  [default: inferred from --output, such as trace.csv, else text]",
)  # fmt: skip
#: formats by the endings of files
ENDINGS = {".csv": "csv", ".md": "markdown", ".tex": "latex", ".html": "html", ".htm": "html"}


@command(
    options.DATA, options.TRACEABLE_LEARNER, FORMAT, options.OUTPUT, options.FORCE, options.PLOT,
    LOOK, MAX_ROUNDS, ROUNDS, options.ROW_NAMES, options.ROWS_OF_TRACE, options.RANDOM_STATE,
    options.CLASS_WEIGHT, options.INIT_WEIGHTS, options.REFERENCE,
    cls=partial(LearningCommand, learners=LEARNERS),
)  # fmt: skip
def trace(
    data: list[str], *, learner: str, written: str | None, output: Path | None, force: bool,
    plot: Path | None, look: Look, max_rounds: int, rounds: int | None, row_names: str | None,
    how: dict[str, Any], random_state: int, class_weight: list[str] | None, init_weights: Any,
    reference: str | None, parameters: dict[str, Any],
) -> None:  # fmt: skip
    """Show every step of training on small DATA: score, mistake, update and new weights.

    Example: linsep trace students.csv --target grade --row-names name --no-shuffle
    """
    check_all_free(force, output, plot)
    written = written or ENDINGS.get("" if output is None else output.suffix.lower(), "text")
    source, X, y, names = _read_rows(data, row_names, **how)
    never_overwrite(source.paths, output, plot)
    estimator = learners.make_learner(
        "trace", learner, parameters,
        **learners.common_parameters(source, class_weight, reference, random_state),
    )  # fmt: skip
    learners.check_effects(estimator, parameters)
    start = initial_weights(init_weights, learner, estimator)
    try:
        made = linsep.trace(
            estimator, X, y, max_rounds=max_rounds, rounds=rounds, row_names=names,
            feature_names=feature_names(source, X.shape[1]), **start,
        )  # fmt: skip
    except InitialShape as problem:
        raise told_by_option(problem) from None
    with open_output(output, force) as out:
        _write_trace(out, made, written, to_screen=output is None)
    if plot is not None:
        with look.colors():
            write_picture(made.plot(), plot, force, **look.saved())


def _read_rows(
    data: list[str],
    names: str | None,
    *,
    exclude: list[str] | None,
    format: str | None,
    **how: Any,
) -> tuple[Source, np.ndarray, np.ndarray, Sequence[str]]:
    """Return the source, all of its rows, their labels and their names.

    ``names`` is a column of a table that is not a feature, or None to name rows by their lines; the
    other arguments are passed to :func:`linsep.open_source`.
    """
    how["format"] = format
    if names is not None and kind_of(find_files(list(data), format), format) != "table":
        raise DataError(
            "--row-names needs a table; svmlight text has no columns: leave it out.",
            code="unsupported",
            option="row_names",
        )
    left_out = [*(exclude or []), *([] if names is None else [names])]
    source = open_source(data, exclude=left_out, **how)
    X, y, *_ = _whole(source)
    source_labels(source, y)
    if names is None:
        return source, X, y, LineNames(source, len(y))
    # Read the rows again, with the names as labels.
    other = open_source(data, exclude=exclude, **how | {"target": names})
    _, named, *_ = _whole(other)
    if len(named) != len(y):
        raise DataError(
            f"{source.name} has rows without a name in column '{names}': fill them in.",
            code="missing-value",
            column=names,
        )
    return source, X, y, [label_text(name) for name in named]


def _whole(source: Source) -> tuple[np.ndarray, Any]:
    """Return all rows of a small source as an array, and their labels."""
    X, y, _ = gathered(_small(source))
    return X.toarray() if sp.issparse(X) else X, y


def _small(source: Source) -> Iterator[Batch]:
    """Yield the batches of a source; raise DataError for more numbers than a trace may have."""
    rows = 0
    for batch in source.batches():
        rows += batch.X.shape[0]
        if rows * batch.X.shape[1] > MOST_NUMBERS:
            raise DataError(
                f"{source.name} has more than {MOST_NUMBERS:,} numbers, too many for a trace: "
                "use fewer rows or columns.",
                code="too-large",
            )
        yield batch


def _write_trace(out: TextIO, trace: Trace, format: str, *, to_screen: bool) -> None:
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
    written = str(trace) if format == "text" and to_screen else getattr(trace, f"to_{format}")()
    out.write(escaped(written, lines=True) if to_screen and on_terminal() else written)

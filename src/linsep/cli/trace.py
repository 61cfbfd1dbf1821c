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
from linsep.catalog import LEARNERS, LINEAR, USUAL_LEARNER
from linsep.cli import learner_options as learners, options
from linsep.cli.learner_options import LearningCommand, initial_weights
from linsep.cli.options import choice, command, number, option
from linsep.cli.output import (
    LOOK,
    Look,
    check_outputs,
    label_text,
    on_terminal,
    open_output,
)
from linsep.cli.reading import LineNames, feature_names, gathered
from linsep.errors import DataError
from linsep.estimators.labels import source_labels
from linsep.sources.base import Source
from linsep.sources.formats import FORMATS
from linsep.sources.opening import find_files, kind_of, open_source
from linsep.teaching import MOST_NUMBERS, Trace
from linsep.words import escaped

#: --format is of the output
ROWS: Any = options.Gathered("how", (
    *options.TABLE_ROWS, options.of_data("--data-format format", choice(FORMATS)),
    *options.FILES.options[1:],
))  # fmt: skip
#: formats by the endings of files
ENDINGS = {".csv": "csv", ".md": "markdown", ".tex": "latex", ".html": "html", ".htm": "html"}


@command(cls=partial(LearningCommand, learners=LEARNERS))
def trace(
    data: list[str] = options.DATA,
    learner: str = option(  # kernel learners have a weight per row
        "--learner", options.typed(options.LearnerNames(LINEAR), "NAME"),
        f"Learning algorithm: {', '.join(LINEAR)}.", section="Learner", default=USUAL_LEARNER,
    ),
    written: str | None = option(
        "--format written", choice(("text", "csv", "markdown", "latex", "html")),
        "Output format.  [default: inferred from --output, such as trace.csv, else text]",
    ),
    output: Path | None = options.OUTPUT, force: bool = options.FORCE,
    plot: Path | None = options.PLOT, look: Look = LOOK,
    max_rounds: int = option(
        "--max-rounds", number(at_least=1), "Stop the trace after N steps.",
        section="Learner", default=1000,
    ),
    rounds: int | None = option(
        "--rounds", number(at_least=1),
        "Run N steps, however many passes that takes, even beyond a cycle.", section="Learner",
    ),
    row_names: str | None = options.of_data(
        "--row-names",
        help="Column of row names, not a feature; tables only.  [default: row numbers]",
    ),
    how: dict[str, Any] = ROWS, random_state: int = options.RANDOM_STATE,
    class_weight: list[str] | None = options.CLASS_WEIGHT, init_weights: Any = options.INIT_WEIGHTS,
    reference: str | None = options.REFERENCE,
    parameters: Any = None,
) -> None:  # fmt: skip
    """Show every step of training on small DATA: score, mistake, update and new weights.

    Example: linsep trace students.csv --target grade --row-names name --no-shuffle
    """
    written = written or ENDINGS.get("" if output is None else output.suffix.lower(), "text")
    source, X, y, names = _read_rows(data, row_names, **how)
    check_outputs(force, source.paths, output, plot)
    estimator = learners.make_learner(
        "trace", learner, parameters,
        **learners.common_parameters(source, class_weight, reference, random_state),
    )  # fmt: skip
    learners.check_effects(estimator, parameters)
    start = initial_weights(init_weights, learner, estimator)
    made = linsep.trace(
        estimator, X, y, max_rounds=max_rounds, rounds=rounds, row_names=names,
        feature_names=feature_names(source, X.shape[1]), **start,
    )  # fmt: skip
    with open_output(output, force) as out:
        _write_trace(out, made, written, to_screen=output is None)
    if plot is not None:
        look.write(made.plot, plot, force)


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
            code="unsupported", option="row_names",
        )  # fmt: skip
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
            code="missing-value", column=names,
        )  # fmt: skip
    return source, X, y, [label_text(name) for name in named]


def _whole(source: Source) -> tuple[np.ndarray, Any]:
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

"""The command ``trace``: every step of training on a small file."""

from functools import partial
from pathlib import Path
from typing import Any

import linsep
from linsep.catalog import LEARNERS, LINEAR, USUAL_LEARNER
from linsep.cli import learner_options as learners, options
from linsep.cli.learner_options import LearningCommand, initial_weights
from linsep.cli.options import choice, command, number, option
from linsep.cli.output import LOOK, Look, check_outputs, label_text, on_terminal, open_output
from linsep.cli.reading import features_of, numbered, rows_of
from linsep.errors import DataError
from linsep.estimators.labels import source_labels
from linsep.sources.base import Source
from linsep.sources.formats import FORMATS
from linsep.sources.opening import find_files, kind_of, open_source
from linsep.teaching import check_size
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
        "--learner", choice(LINEAR, "NAME"),
        f"Learning algorithm: {', '.join(LINEAR)}.", section="Learner", default=USUAL_LEARNER,
    ),
    written: str | None = option(
        "--format written", choice(("text", "arithmetic", "csv", "markdown", "latex", "html")),
        "Output format.  [default: that of --output, such as trace.csv, else text]",
    ),
    to: Path | None = options.OUTPUT, force: bool = options.FORCE,
    plot: Path | None = options.PLOT, look: Look = LOOK,
    max_rounds: int = option(
        "--max-rounds", number(at_least=1), "Most steps.", section="Learner", default=1000
    ),
    rounds: int | None = option(
        "--rounds", number(at_least=1), "Run N steps, even beyond a cycle.", section="Learner"
    ),
    row_names: str | None = options.of_data(
        "--row-names", help="Column of row names, not a feature.  [default: row numbers]"
    ),
    how: dict[str, Any] = ROWS, random_state: int = options.RANDOM_STATE,
    class_weight: list[str] | None = options.CLASS_WEIGHT, init_weights: Any = options.INIT_WEIGHTS,
    reference: str | None = options.REFERENCE,
    parameters: Any = None,
) -> None:  # fmt: skip
    """Show every step of training on small DATA: score, mistake, update and new weights.

    Example: linsep trace students.csv --target grade --row-names name --no-shuffle
    """
    written = written or ENDINGS.get("" if to is None else to.suffix.lower(), "text")
    files = find_files(list(data), how["format"])
    if row_names is not None and kind_of(files, how["format"]) == "table":
        how["exclude"] = [*(how["exclude"] or []), row_names]
    source = open_source(data, **how)
    rows = rows_of(source, most=None)
    source_labels(source, rows.y)
    check_outputs(force, source.paths, to, plot)
    estimator = learners.make_learner(
        "trace", learner, parameters,
        **learners.common_parameters(source, class_weight, reference, random_state),
    )  # fmt: skip
    learners.check_effects(estimator, parameters)
    start = initial_weights(init_weights, learner, estimator)
    check_size(rows.X.shape, 1, rounds or max_rounds)
    made = linsep.trace(
        estimator, rows.dense(), rows.y, max_rounds=max_rounds, rounds=rounds,
        row_names=_names(source, row_names, rows.size),
        feature_names=features_of(source, rows.X.shape[1]), **start,
    )  # fmt: skip
    text = written in ("text", "arithmetic")
    with open_output(to, force) as out:
        shown = str(made) if written == "text" and to is None else getattr(made, f"to_{written}")()
        out.write(escaped(shown, lines=True) if to is None and on_terminal() else shown)
        if text and estimator.shuffle and made[-1].pass_number > 1:
            out.write("later passes are in random order; --no-shuffle keeps that of the file\n")
    if plot is not None:
        look.write(made.plot, plot, force, text or to is not None)


def _names(source: Source, column: str | None, rows: int) -> list[str]:
    if column is None:
        return numbered(source, rows)
    cells = [cell for table in source.cells([column]) for cell in table.column(0).to_pylist()]
    found = [cells[number] for number in source.numbers(rows).tolist()]
    if {None, ""} & {*found}:
        told = f"{source.name} has rows without a name in column '{column}': fill them in."
        raise DataError(told, code="missing-value", column=column)
    return [label_text(name) for name in found]

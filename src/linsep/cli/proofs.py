"""The commands ``separate`` and ``verify``: deciding separability, and checking proofs."""

import json
import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from linsep.cli import cluster as clusters, column_options, file_options, options, report
from linsep.cli.failures import fail, in_options
from linsep.cli.file_options import Files
from linsep.cli.output import check_all_free, never_overwrite, open_output
from linsep.cli.pictures import PlotFile, rows_of, write_picture
from linsep.cli.progress import watching
from linsep.cli.screen import label_text, labels_text, print_pairs, print_table
from linsep.cli.standard_input import as_given, reads_data
from linsep.errors import DataError
from linsep.escaping import escaped
from linsep.parameters import Parameter
from linsep.sources.base import Source
from linsep.sources.opening import open_source
from linsep.sources.remote.address import shown

Margin = Annotated[
    Any,
    typer.Option(
        "--margin",
        parser=options.reader(Parameter(name="margin", kind=str, choices=("max",))),
        help="Improve a separator until its margin is within a millionth of the widest.",
        metavar="max",
        show_default=False,
    ),
]
FitIntercept = Annotated[
    bool,
    typer.Option(
        "--fit-intercept/--no-fit-intercept",
        help="Whether the hyperplane has an intercept.",
    ),
]
ProofOut = Annotated[
    Path | None,
    typer.Option(
        "--proof",
        help="Write the proof here, as JSON.",
        callback=options.no_screen,
        metavar="FILE",
        show_default=False,
    ),
]
ProofIn = Annotated[
    Path, typer.Argument(help="A proof saved by `linsep separate --proof`.", metavar="PROOF")
]

Within = Annotated[
    float,
    typer.Option(
        "--time-limit",
        help="Seconds for all questions together; the final check may take as long again.",
        metavar="SECONDS",
    ),
]
TimeLimit = Annotated[
    float,
    typer.Option(
        "--time-limit",
        help="Seconds that exact arithmetic may take, not counting the reading of DATA.",
        metavar="SECONDS",
        min=0,
    ),
]

#: added for numbers read from text
NEAREST = "; decimals in text are read as the nearest doubles"
#: most characters of a difference that are shown
MOST_TEXT = 200
#: most witness rows that are shown, and most values of each
MOST_ROWS, MOST_VALUES = 12, 5


@reads_data
@partial(column_options.added, without=("group",))
@file_options.added
def separate(
    data: options.Data,
    *,
    target: options.Target = None,
    margin: Margin = None,
    fit_intercept: FitIntercept = True,
    proof: ProofOut = None,
    force: options.Force = False,
    missing: options.Missing = "error",
    hash_bits: options.HashBits = None,
    exclude: options.Exclude = None,
    index_base: options.IndexBase = None,
    files: Files,
    time_limit: Within = 60.0,
    cluster: clusters.Readers = None,
    shard_mb: clusters.ReadSize = None,
    as_json: options.AsJson = False,
    plot: PlotFile = None,
    **more: Any,
) -> None:
    """Decide whether a hyperplane separates the classes of DATA, and prove it.

    Exit code 3: undecided within the time limit, or not checked within it.

    Example: linsep separate train.csv --target species --proof species.json
    """
    from linsep.certificate.verdicts import Separations, Undecided
    from linsep.separability.deciding import decide
    from linsep.separability.time_limit import Task

    check_all_free(force, proof, plot)
    how = {
        "target": target, "missing": missing, "hash_bits": hash_bits, "exclude": exclude,
        "index_base": index_base,
    }  # fmt: skip
    source = open_source(data, **how, **files, **more["columns"])
    never_overwrite(source.paths, proof, plot)
    with _opened(source, cluster, shard_mb) as opened:
        task = Task(time_limit)
        with watching(source, task=task):
            claim = decide(opened, fit_intercept, margin, task=task)
            task.doing = "the check of the proof"
            checked = _checked(claim, opened if cluster is None else source, time_limit)
        written = claim.to_json(source.recipe())
        undecided = isinstance(claim, Undecided)
        if proof is not None and not undecided:
            with open_output(proof, force) as out:
                out.write(written)
        if as_json:
            report.print_json(json.loads(written) | {"checked": checked.reason})
        if undecided:
            fail(_undecided([claim]), 3)
        if not as_json:
            print_claim(claim, opened, source, checked.reason)
    if proof is not None and not as_json:
        typed = how | files | column_options.as_typed(more["columns"])
        print("\n" + escaped(f"{_command(proof, as_given(data), typed)}   checks it"))
    if plot is not None:
        _draw(claim, source, opened.n_features, plot, force)
    if checked.holds is None:
        verdicts = claim.verdicts() if isinstance(claim, Separations) else []
        fail(_undecided(verdicts) or checked.reason, 3)


def _checked(claim: Any, rows: Any, limit: float) -> Any:
    """Check a claim about rows; it may only be undecided whether it holds."""
    checked = claim.verify(rows, time_limit=limit)
    if checked.holds is False:
        raise AssertionError(f"A proof of linsep's own does not hold: {checked.reason}")
    return checked


@contextmanager
def _opened(source: Source, cluster: str | None, shard_mb: float | None) -> Iterator[Any]:
    """Read a source once, for its classes and the names of its features, here or on a cluster."""
    from linsep.cli.trace import feature_names  # not needed by other commands
    from linsep.separability.data import data_of

    with ExitStack() as stack:
        if cluster is None:
            if shard_mb is not None:
                raise typer.BadParameter("--shard-mb needs --cluster, where shards are read.")
            with watching(source):
                opened = data_of(source)
        else:
            with clusters.dask_needed():
                from linsep.distributed.verdicts import check_data, opened_by
            size = 64.0 if shard_mb is None else shard_mb
            check_data(source, size)
            client = stack.enter_context(clusters.connected_to(cluster))
            with watching(source):
                opened = opened_by(client, source, None, size)
        opened.names = feature_names(source, opened.n_features)
        yield opened


def _draw(claim: Any, source: Source, width: int, path: Path, force: bool) -> None:
    """Write the picture of a verdict on two classes."""
    from linsep.certificate.verdicts import Separations

    if isinstance(claim, Separations):
        raise DataError("Verdicts on several classes are not drawn: give the rows of two.")
    write_picture(claim.plot(*rows_of(source, width, None)[:2]), path, force)


def _undecided(verdicts: list[Any]) -> str:
    """Return how many questions are undecided and why; empty if none is."""
    from linsep.certificate.verdicts import Undecided

    reasons = [verdict.reason for verdict in verdicts if isinstance(verdict, Undecided)]
    if not reasons:
        return ""
    many = f"{len(reasons):,} of {len(verdicts):,} questions are " * (len(verdicts) > 1)
    return f"{many}undecided: {reasons[0]} (--time-limit sets the limit)."


def _command(proof: Path, data: list[str], how: dict[str, Any]) -> str:
    """Return the command that checks a proof of data read in this way."""
    given = {name: value for name, value in how.items() if value not in (None, [], "error")}
    words = [shlex.quote(word) for word in (str(proof), *map(shown, data))]
    return " ".join(["linsep verify", *words, *(in_options(*pair) for pair in given.items())])


def print_claim(claim: Any, opened: Any, source: Source, checked: str) -> None:
    """Print the verdict, the witness rows with their positions and values, and the check."""
    from linsep.certificate.verdicts import Blocked, Separations

    if isinstance(claim, Separations):
        head, *rows = claim.table()
        print_table(head, rows)
        print()
        print_pairs([("checked", checked)])
        return
    print_pairs([*claim.described(), ("checked", checked)])
    if isinstance(claim, Blocked):
        print()
        print_table(*witness_table(claim.witness, opened, source))


def witness_table(witness: Any, opened: Any, source: Source) -> tuple[list[str], list[list[str]]]:
    """Return a table of the rows of a witness: position, class, share and values."""
    labels = opened.labels()
    names = opened.names or [f"x{j}" for j in range(opened.n_features)]
    share = {row: f"{x:.3g}" for row, x in zip(witness.rows, witness.shares(), strict=True)}
    wanted = np.unique(np.array(witness.rows))[:MOST_ROWS]
    rows = []
    for number, piece, place in opened.rows(wanted):
        columns, values = piece.row(place)
        shown = [
            f"{names[j]} {float(value):g}"
            for j, value in zip(columns.tolist(), values.tolist(), strict=True)
            if value
        ]
        dots = ", ..." if len(shown) > MOST_VALUES else ""
        label = label_text(labels[piece.codes[place]])
        text = ", ".join(shown[:MOST_VALUES]) + dots
        rows.append([source.where(number), label, share[number], text])
    width = max(len(row[-1]) for row in rows)
    rows = [[*row[:-1], row[-1].ljust(width)] for row in rows]
    if len(witness.rows) > MOST_ROWS:
        rows.append([f"and {len(witness.rows) - MOST_ROWS} more", "", "", ""])
    return ["witness", "class", "share", "values".ljust(width)], rows


@reads_data
@partial(column_options.added, without=("group",))
@file_options.added
def verify(
    proof: ProofIn,
    data: options.Data,
    *,
    target: options.Target = None,
    missing: options.Missing = "error",
    hash_bits: options.HashBits = None,
    exclude: options.Exclude = None,
    index_base: options.IndexBase = None,
    files: Files,
    time_limit: TimeLimit = 60.0,
    as_json: options.AsJson = False,
    **more: Any,
) -> None:
    """Check a proof against DATA, in exact arithmetic. Exit code 0: it holds; 1: it does not.

    The options say how DATA is read; a proof about data that were read differently is refused.

    Example: linsep verify species.json train.csv --target species
    """
    from linsep.certificate.verdicts import AS_STORED

    claim, recipe = read_proof(proof)
    source = open_source(
        data, target=target, missing=missing, hash_bits=hash_bits, exclude=exclude,
        index_base=index_base, **files, **more["columns"],
    )  # fmt: skip
    with watching(source):
        checked = _check(claim, recipe, source, time_limit)
        lines = claim.lines() + (_lines_about(source) if checked and _is_cycle(claim) else [])
    if source.is_text:
        lines = [(heading, text + NEAREST * (text == AS_STORED)) for heading, text in lines]
    if as_json:
        report.print_json({"holds": checked.holds, "reason": checked.reason, "claim": lines})
        raise typer.Exit(0 if checked else 1)
    if not checked:
        fail(checked.reason)
    print(escaped(checked.reason) + "\n")
    print_pairs(lines)


def _is_cycle(claim: Any) -> bool:
    from linsep.certificate.cycles import Cycle, Cycles

    return isinstance(claim, Cycle | Cycles)


def _lines_about(source: Source) -> list[tuple[str, str]]:
    """Return labels and hash of the rows, which the proof of a cycle does not contain."""
    from linsep.certificate.canonical import read_whole

    rows = read_whole(source)
    return [("labels", labels_text(sorted(rows.labels))), ("sha256", rows.sha256())]


def read_proof(path: Path) -> Any:
    """Return the claim in a file, and how the files of its data were read."""
    from linsep.certificate.proofs import read

    if path.exists() and not path.is_file():
        raise DataError(f"{path} is no file: name a proof.")
    try:
        return read(path.read_bytes())
    except DataError as problem:
        raise problem.at(f"{path}: ") from None


def _check(claim: Any, recipe: dict[str, Any] | None, source: Source, limit: float) -> Any:
    """Check a claim about rows that are read by the user's options."""
    from linsep.certificate.checking import Check
    from linsep.cli.trace import feature_names

    difference = _difference(recipe, source.recipe(), LEARNT)
    if difference is None:
        checked = claim.verify(source, time_limit=limit)
        if not checked:
            return checked
        difference = _difference(recipe, source.recipe(), ())
        names = claim.names()
        if names is not None and list(names) != feature_names(source, len(names)):
            difference = "the features have other names"
    return checked if difference is None else Check(False, f"It does not hold: {difference}.")


#: settings of a recipe to compare first
FIRST = ("format", "target", "exclude", "missing", "hash_bits")
#: settings of a recipe that do not change numbers
STORAGE = ("delimiter", "quotes", "header", "null_values", "dtype")
#: settings known only after all rows have been read
LEARNT = ("target_kind", "text", "seen")


def _difference(
    recipe: dict[str, Any] | None, ours: dict[str, Any], but: tuple[str, ...]
) -> str | None:
    """Return how the data of a proof were read differently, as a phrase, or None."""
    if recipe is None:
        return None
    names = dict.fromkeys([*FIRST, *recipe, *ours])
    for name in [name for name in names if name not in (*STORAGE, *but)]:
        wanted, given = (json.dumps(one.get(name)) for one in (recipe, ours))
        if wanted != given:
            if max(len(wanted), len(given)) > MOST_TEXT:
                return f"its data were read with another {name}"
            return f"its data were read with {name} {wanted}, here it is {given}"
    return None

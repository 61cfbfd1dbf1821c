"""Commands about data: ``describe``, ``convert`` and ``split``."""

import lzma
from contextlib import ExitStack, nullcontext, suppress
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import click
import pyarrow as pa

from linsep._system.files import written_whole
from linsep.cli import options, output
from linsep.cli.errors import NAME, flag_of, note
from linsep.cli.options import argument, command, gathered, option, valid
from linsep.describing import Description, Facts, next_command
from linsep.errors import DataError, LinsepError
from linsep.rewriting import PARTS, Split, Table, write_parquet, write_svmlight
from linsep.sources.formats import CODECS, format_by_name, format_of
from linsep.sources.opening import find_files, kind_of, open_source
from linsep.sources.remote.file import File
from linsep.sources.tables.files import check_separated, open_tables
from linsep.sources.tables.reading_options import ReadingOptions
from linsep.words import counted, percent, size_text


@command()
def describe(
    data: list[str] = options.DATA, target: str | None = options.TARGET,
    index_base: int | None = options.INDEX_BASE, files: dict[str, Any] = options.FILES,
    as_json: bool = options.AS_JSON,
) -> None:  # fmt: skip
    """Show what DATA holds: rows, classes, types, ranges, missing values, and the next command.

    Example: linsep describe train.csv --target species
    """
    description = Description(
        data, target=target, index_base=index_base, **files, typed=options.as_given(data)
    )
    with output.watching(description.source):
        found = description.read()
    output.tell(Facts(**found), as_json)


#: what writes each format
WRITERS: dict[str, Any] = {"svmlight": write_svmlight, "parquet": write_parquet}


@command()
def convert(
    data: list[str] = options.DATA,
    out: Path = argument(
        "out", "OUT",
        "The file to write: svmlight text (.svm, also .svm.gz and the like) or .parquet.",
        required=True, type=options.LocalPath(dash=False),
    ),
    how: dict[str, Any] = gathered("how", (
        options.TARGET, options.MISSING_VALUES, options.HASH_BITS, options.EXCLUDE,
        options.MIN_COUNT, *options.TYPES, options.SCALE,
    )),
    index_base: int | None = options.INDEX_BASE, files: dict[str, Any] = options.FILES,
    columns: dict[str, Any] = options.COLUMNS, force: bool = options.FORCE,
    as_json: bool = options.AS_JSON,
) -> None:  # fmt: skip
    """Write DATA to OUT as svmlight text or Parquet; the ending of OUT selects the format.

    Numbers keep every bit. Parquet keeps the columns of a table unchanged; svmlight text holds the
    features that `linsep fit --scale none` makes of them.

    Example: linsep convert train.csv train.svm --target species
    """
    started, written = perf_counter(), format_by_name(out)
    if written not in WRITERS:
        raise click.BadParameter(f"{out} has no format: end it in .svm or .parquet.")
    how |= {**columns, "scale": how["scale"] or "none"}
    reader: Any
    paths = find_files(list(data), files["format"])
    if written == "parquet" and kind_of(paths, files["format"]) == "table":
        reader = _table(paths, how | {"index_base": index_base}, files)
    else:
        reader = open_source(
            data, **how, **files, index_base=index_base, labeled=written != "parquet"
        )
    output.check_outputs(force, paths, out)
    whole = output.finishing(written_whole(out, force=force))
    with whole as (file,), output.watching(reader), _compressed(file, out) as target:
        rows, lost = WRITERS[written](reader, target)
    size, seconds = out.stat().st_size, perf_counter() - started
    if as_json:
        found = {"rows": rows, "written": str(out), "bytes": size, "lost": lost}
        output.print_json(found | {"seconds": round(seconds, 4)})
        return
    output.print_pairs([
        ("written", f"{out}, {counted(rows, 'row')}, {size_text(size)}"),
        ("time", f"total {seconds:.2f} s"),
    ])  # fmt: skip
    for sentence in lost:
        note(f"{sentence}.", "warning")


def _table(paths: list[File], how: dict[str, Any], files: dict[str, Any]) -> Table:
    roles = {"target", "weight", "group", "exclude"}
    spelling = {name: files[name] for name in ("thousands", "units")}
    for name, value in (how | spelling).items():
        if name not in roles and value not in (None, "error", "none", False):
            told = f"{flag_of(name)} is about features, but Parquet keeps columns: leave it out."
            raise click.BadParameter(told)
    reading = ReadingOptions.among(files)
    check_separated(paths[0], [format_of(path, files["format"]) for path in paths], reading)
    opened = open_tables(paths, files["format"], reading, mixed=True)
    needed = [how[name] for name in ("target", "weight", "group") if how[name] is not None]
    return Table(opened, how["exclude"] or [], needed)


def _compressed(file: Any, out: Path) -> Any:
    """Return a context of a file compressed as ``out`` says, which leaves ``file`` open."""
    codec = CODECS.get(out.suffix.lower())
    opened: Any = SimpleNamespace(
        write=file.write, flush=file.flush, close=lambda: None, closed=False
    )
    if codec is None:
        return nullcontext(file)
    if codec == "xz":
        return lzma.LZMAFile(opened, "w")
    return pa.CompressedOutputStream(pa.PythonFile(opened, "w"), codec)


SHARE = options.parsed(
    "SHARE", "a share between 0 and 1", lambda text: valid(Fraction(text), 0 < Fraction(text) < 1)
)


@command()
def split(
    data: list[str] = options.DATA,
    test_share: Fraction = option("--test test_share", SHARE, "Share to hold out.", required=True),
    validation: Fraction | None = option("--validation", SHARE, "Share for a third file."),
    target: str | None = option(
        "--target", "COLUMN", "Label column; files get the same shares of the classes.",
    ),
    group: str | None = option(
        "--group", "COLUMN", "Column of groups to keep whole.", excludes=["time", "in_order"]
    ),
    time: str | None = option(
        "--time", "COLUMN", "Column of dates or numbers, of which the latest rows are held out.",
        excludes=["in_order"],
    ),
    in_order: bool = option("--in-order", None, "Hold out the last rows."),
    folder: Path | None = option(
        "--output -o folder", options.typed(options.LocalPath(), "FOLDER"),
        "Folder for the files.  [default: the folder of DATA]",
    ),
    random_state: int = options.RANDOM_STATE, files: dict[str, Any] = options.FILES,
    force: bool = options.FORCE, as_json: bool = options.AS_JSON,
) -> None:  # fmt: skip
    """Split the rows of DATA, unchanged, into a training file and held-out files.

    Example: linsep split patients.csv --test 0.2 --target ill --group patient
    """
    started = perf_counter()
    shares = [test_share, *([] if validation is None else [validation])]
    if sum(shares) >= 1:
        raise click.BadParameter("--test and --validation leave no training rows.")
    paths = find_files(list(data), files["format"])
    kind = _kind(paths, files["format"], target or group or time)
    outs = _parts(paths[0], folder, len(shares) + 1, kind)
    output.check_outputs(force, paths, *outs)
    parts = Split(
        paths, kind, shares, seed=random_state, target=target, group=group, time=time,
        in_order=in_order, reading=ReadingOptions.among(files),
    )  # fmt: skip
    written = (written_whole(out, force=force) for out in outs)
    with output.finishing(*written) as files_out, output.watching(parts), ExitStack() as streams:
        compressed = [_compressed(file, outs[0]) for file in files_out]
        parts.write([streams.enter_context(file) for file in compressed])
    told = [*zip(PARTS, outs, parts.rows, strict=False)]
    found = {
        "files": [{"part": name, "file": str(out), "rows": rows} for name, out, rows in told],
        "next": _next(data, outs, group, {"target": target, **files}),
        "seconds": round(perf_counter() - started, 4),
    }
    if as_json:
        output.print_json(found)
        return
    total = sum(parts.rows)
    output.print_pairs([
        *[(name, f"{out}, {counted(rows, 'row')} ({percent(rows / total)})")
          for name, out, rows in told],
        ("time", f"total {found['seconds']:.2f} s"),
        ("next", found["next"]),
    ])  # fmt: skip


def _next(data: list[str], outs: list[Path], group: str | None, how: dict[str, Any]) -> str | None:
    with suppress(LinsepError, KeyboardInterrupt):  # the files are there
        description = Description(data, **how)  # of all rows, as `describe` recommends
        if getattr(description.source, "index_base", None) == 0:
            how["index_base"] = 0  # which rows of one part may not show
        with output.watching(description.source):
            found = description.read()
        found["left_out"] += [group] * (group not in (None, how["target"], *found["left_out"]))
        more = {} if found["label"] is None else {"test": str(outs[1])}
        return next_command([str(outs[0])], how | more, found)
    return None


def _kind(paths: list[File], format: str | None, column: str | None) -> str:
    kind, *others = dict.fromkeys(format_of(path, format) for path in paths)
    why = None
    if kind == "folder":
        why = "is a folder of texts: `linsep convert` writes one file, which can be split."
    if kind in ("svmlight", "vw") and column is not None:
        why = "has no named columns: leave out options that name columns."
    if others:
        why = f"is {kind}, another file {others[0]}: split files of one format at a time."
    if why is not None:
        code = "mixed-formats" if others else "unsupported"
        raise DataError(f"{paths[0]} {why}", code=code, path=paths[0], column=column)
    return kind


def _parts(path: File, folder: Path | None, parts: int, kind: str) -> list[Path]:
    """Return the files to write: STEM-train.csv for STEM.csv."""
    if path.name == NAME:
        path = Path(f"data.{kind}")
        folder = folder or Path()
    endings = "".join(path.suffixes[-2:] if path.suffix.lower() in CODECS else path.suffixes[-1:])
    stem = path.name.removesuffix(endings)
    return [(folder or path.parent) / f"{stem}-{part}{endings}" for part in PARTS[:parts]]

"""Commands about data: ``describe``, ``convert`` and ``split``."""

import lzma
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any

import click
import pyarrow as pa

from linsep._system.files import written_whole
from linsep.cli import options
from linsep.cli.errors import NAME, flag_of, note
from linsep.cli.options import Argument, Gathered, Option, command, typed
from linsep.cli.output import (
    LeftOpen,
    check_all_free,
    finishing,
    label_text,
    never_overwrite,
    print_json,
    print_pairs,
    print_table,
    watching,
)
from linsep.cli.standard_input import as_given
from linsep.describing import Description, next_command, pairs_of, table_of
from linsep.errors import DataError, LinsepError
from linsep.rewriting import (
    PARTS,
    RowsWriter,
    Split,
    SvmlightWriter,
    TableWriter,
    VectorWriter,
)
from linsep.sources.formats import CODECS, format_by_name, format_of
from linsep.sources.opening import find_files, kind_of, open_source
from linsep.sources.remote.file import File
from linsep.sources.svmlight import SvmlightSource
from linsep.sources.tables.files import check_separated, open_tables
from linsep.sources.tables.reading_options import ReadingOptions
from linsep.suspecting import suspicious_labels
from linsep.words import counted, percent, size_text

SUSPICIOUS = Option(
    "--suspicious", None,
    "Also list rows whose labels may be wrong, with reasons: rows in contradictions, "
    "and rows that narrow the margin. Takes up to 10 s; the rows must fit in memory.",
)  # fmt: skip
#: suspicious rows that are shown
MOST_SUSPICIOUS = 10


@command(
    options.DATA, options.TARGET, SUSPICIOUS, options.INDEX_BASE, options.FILES, options.AS_JSON
)
def describe(
    data: list[str], *, target: str | None, suspicious: bool, index_base: int | None,
    files: dict[str, Any], as_json: bool,
) -> None:  # fmt: skip
    """Show what DATA holds: rows, classes, types, ranges, missing values, and the next command.

    Example: linsep describe train.csv --target species
    """
    description = Description(
        data, target=target, index_base=index_base, **files,
        typed=as_given(data),
    )  # fmt: skip
    with watching(description.source):  # type: ignore[arg-type]
        found = description.read()
    if suspicious:
        found["suspicious"] = _suspicious_rows(data, target, index_base, files, found)
    if as_json:
        print_json(found)
    else:
        _print_description(found)


def _suspicious_rows(
    data: list[str], target: str | None, index_base: int | None, files: dict[str, Any],
    found: dict[str, Any],
) -> list[dict[str, Any]]:  # fmt: skip
    """Return rows whose labels may be wrong; rows with missing values are left out."""
    if not (found["label"] or {}).get("classes"):
        raise DataError(
            f"{found['data']} has no class labels, which --suspicious needs: name the label "
            "column of a table with --target.",
            code="no-labels",
        )
    how: dict[str, Any] = {"index_base": index_base}
    if found["columns"] is not None:
        how = {"missing": "drop", "exclude": [*found["left_out"], *found["words"]]}
    source = open_source(data, target=target, **how, **files)
    with watching(source):
        rows = suspicious_labels(source)
        return [row._asdict() | {"row": row.row + 1} for row in rows[:MOST_SUSPICIOUS]]


def _print_description(found: dict[str, Any]) -> None:
    print_pairs(pairs_of(found))
    if found["columns"] is not None:
        header, rows, more = table_of(found["columns"])
        print()
        print_table(header, rows)
        if more:
            print(more)
    if "suspicious" in found:
        lines = [
            [str(row["row"]), label_text(row["label"]), f"{row['score']:.2f}", row["reason"]]
            for row in found["suspicious"]
        ]
        print()
        if lines:
            head = ["row", "label", "score", "why the label may be wrong"]
            print_table(head, lines, [False, True, True, False], sentences=True)
        else:
            print("no label is suspicious")


OUT = Argument(
    "out", "OUT",
    "The file to write: svmlight text (.svm .svmlight .libsvm .txt, also with .gz .bz2 "
    ".xz .zst), Parquet (.parquet .pq), or rows that are read without parsing (.rows).",
    required=True, type=options.LocalPath(dash=False),
)  # fmt: skip
#: what writes rows of numbers in each format
WRITERS: dict[str, Any] = {
    "svmlight": SvmlightWriter, "parquet": VectorWriter, "rows": RowsWriter,
}  # fmt: skip


@command(
    options.DATA, OUT, options.TARGET, options.MISSING_VALUES, options.HASH_BITS, options.EXCLUDE,
    Gathered("types", (options.MIN_COUNT, *options.TYPES)), options.SCALE,
    options.INDEX_BASE, options.FILES, options.COLUMNS, options.FORCE, options.AS_JSON,
)  # fmt: skip
def convert(
    data: list[str], out: Path, *, target: str | None, missing: str, hash_bits: int | None,
    exclude: list[str] | None, types: dict[str, Any], scale: str | None, index_base: int | None,
    files: dict[str, Any], columns: dict[str, Any], force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Write DATA to OUT as svmlight text, Parquet or rows; the ending of OUT selects the format.

    Numbers keep every bit. Parquet keeps the columns of a table unchanged; svmlight text and rows
    hold the features that `linsep fit --scale none` makes of them.

    Example: linsep convert train.csv train.svm --target species
    """
    started, written = perf_counter(), format_by_name(out)
    if written not in WRITERS:
        raise click.BadParameter(
            f"The name {out} does not determine a format: end it in .svm (svmlight text), "
            ".parquet or .rows."
        )
    check_all_free(force, out)
    how: dict[str, Any] = {
        "target": target,
        "missing": missing,
        "hash_bits": hash_bits,
        "exclude": exclude,
    }
    how |= {**columns, **types, "scale": scale or "none"}
    writer: Any
    reader: Any
    paths = find_files(list(data), files["format"])
    if written == "parquet" and kind_of(paths, files["format"]) == "table":
        writer = reader = _table_writer(paths, how | {"index_base": index_base}, files)
    else:
        reader = open_source(
            data, **how, **files, index_base=index_base, labeled=written != "parquet"
        )
        if isinstance(reader, SvmlightSource):
            reader.mends = True
        writer = WRITERS[written](reader)
    never_overwrite(paths, out)
    if written == "rows":
        with finishing(), watching(reader):
            writer.write_to(out)
    else:
        with (
            finishing(written_whole(out, force=force)) as (file,),
            watching(reader),
            _compressed(file, out) as stream,
        ):
            writer.write(stream)
    lost = writer.lost + getattr(reader, "mended", [])
    _print(writer.rows, lost, out, perf_counter() - started, as_json)


def _table_writer(paths: list[File], how: dict[str, Any], files: dict[str, Any]) -> TableWriter:
    """Return the writer of an unchanged table; BadParameter for options about features."""
    roles = {"target", "weight", "group", "exclude"}
    spelling = {name: files[name] for name in ("thousands", "units")}
    for name, value in (how | spelling).items():
        if name not in roles and value not in (None, "error", "none", False):
            raise click.BadParameter(
                f"{flag_of(name)} is about features, but Parquet keeps the columns as they are; "
                "leave it out."
            )
    reading = ReadingOptions.among(files)
    check_separated(paths[0], [format_of(path, files["format"]) for path in paths], reading)
    opened = open_tables(paths, files["format"], reading, mixed=True)
    needed = [how[name] for name in ("target", "weight", "group") if how[name] is not None]
    return TableWriter(opened, how["exclude"] or [], needed)


@contextmanager
def _compressed(file: Any, out: Path) -> Iterator[Any]:
    """Context manager of a file whose content is compressed as the ending of ``out`` implies."""
    codec = CODECS.get(out.suffix.lower())
    if codec is None:
        yield file
        return
    if codec == "xz":
        opened: Any = LeftOpen(file)
        with lzma.LZMAFile(opened, "w") as stream:
            yield stream
        return
    with pa.CompressedOutputStream(pa.PythonFile(LeftOpen(file), "w"), codec) as stream:
        yield stream


def _print(rows: int, lost: list[str], out: Path, seconds: float, as_json: bool) -> None:
    size = out.stat().st_size
    if as_json:
        found = {"rows": rows, "written": str(out), "bytes": size, "lost": lost}
        print_json(found | {"seconds": round(seconds, 4)})
        return
    print_pairs(
        [
            ("written", f"{out}, {counted(rows, 'row')}, {size_text(size)}"),
            ("time", f"total {seconds:.2f} s"),
        ]
    )
    for sentence in lost:
        note(f"{sentence}.", "warning")


def _share(text: Any) -> Fraction:
    if re.fullmatch(r"0?\.\d{1,18}", str(text)) and Fraction(text):
        return Fraction(text)
    raise click.BadParameter(f"must be a share between 0 and 1, such as 0.2, not {text!r}.")


SPLIT_OPTIONS = (
    Option(
        "--test test_share", typed(_share, "SHARE"), "Share of the rows for the test file.",
        required=True,
    ),
    Option(
        "--validation", typed(_share, "SHARE"),
        "Share of the rows for a third file, for model selection.",
    ),
    Option(
        "--target", "COLUMN",
        "Label column; each file gets the same share of every class (tables only).",
    ),
    Option(
        "--group", "COLUMN", "Column of groups; each group goes to one file (tables only).",
        excludes=["time", "in_order"],
    ),
    Option(
        "--time", "COLUMN",
        "Column of times (dates or numbers); the latest rows are held out (tables only).",
        excludes=["in_order"],
    ),
    Option("--in-order", None, "Hold out the last rows."),
    Option(
        "--output -o", typed(options.LocalPath(), "FOLDER"),
        "Folder for the files.  [default: the folder of DATA]",
    ),
)  # fmt: skip


@command(
    options.DATA, *SPLIT_OPTIONS, options.RANDOM_STATE, options.FILES, options.FORCE,
    options.AS_JSON,
)  # fmt: skip
def split(
    data: list[str], *, test_share: Fraction, validation: Fraction | None,
    target: str | None, group: str | None, time: str | None, in_order: bool, output: Path | None,
    random_state: int, files: dict[str, Any], force: bool, as_json: bool,
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
    outs = _parts(paths[0], output, len(shares) + 1, kind)
    check_all_free(force, *outs)
    never_overwrite(paths, *outs)
    parts = Split(
        paths, kind, shares, seed=random_state, target=target, group=group, time=time,
        in_order=in_order, reading=ReadingOptions.among(files),
    )  # fmt: skip
    written = (written_whole(out, force=force) for out in outs)
    with finishing(*written) as files_out, watching(parts), ExitStack() as streams:  # type: ignore[arg-type]
        compressed = [_compressed(file, outs[0]) for file in files_out]
        parts.write([streams.enter_context(file) for file in compressed])
    if kind == "svmlight" and SvmlightSource(paths).index_base == 0:
        files["index_base"] = 0  # which rows of one part may not show
    found = {
        "files": [
            {"part": name, "file": str(out), "rows": rows}
            for name, out, rows in zip(PARTS, outs, parts.rows, strict=False)
        ],
        "next": _next(outs, kind, target, group, files),
        "seconds": round(perf_counter() - started, 4),
    }
    (print_json if as_json else _print_split)(found)


def _print_split(found: dict[str, Any]) -> None:
    total = sum(part["rows"] for part in found["files"])
    pairs = [
        (part["part"], f"{part['file']}, {counted(part['rows'], 'row')} "
                       f"({percent(part['rows'] / total)})")
        for part in found["files"]
    ]  # fmt: skip
    pairs.append(("time", f"total {found['seconds']:.2f} s"))
    if found["next"] is not None:
        pairs.append(("next", found["next"]))
    print_pairs(pairs)


def _next(
    outs: list[Path], kind: str, target: str | None, group: str | None, how: dict[str, Any]
) -> str | None:
    """Return the command that ``linsep describe`` suggests for the training file, with the test
    file; None if no fit can use its rows.
    """
    data, typed = [str(outs[0])], {"target": target, **how}
    if target is None and kind not in ("svmlight", "vw"):
        return next_command(data, typed, {"label": None, "columns": []})
    try:
        description = Description(data, target=target, **how)
        with watching(description.source):  # type: ignore[arg-type]
            found = description.read(separable=False)
    except (LinsepError, KeyboardInterrupt):  # the files are there
        return None
    if found["label"] is None:
        return None
    if group is not None and group not in (target, *found["left_out"]):
        found["left_out"].append(group)
    return next_command(data, typed | {"test": str(outs[1])}, found)


def _kind(paths: list[File], format: str | None, column: str | None) -> str:
    kinds = {format_of(path, format): path for path in paths}
    if len(kinds) > 1:
        (one, path), (other, second), *_ = kinds.items()
        raise DataError(
            f"{path} is {one}, {second} {other}: split files of one format at a time.",
            code="mixed-formats",
            path=path,
        )
    (kind,) = kinds
    why = {
        "folder": "is a folder of texts, which cannot be split: write it to one file with "
        "`linsep convert`, such as texts.parquet, and split that file.",
        "rows": "holds parsed rows, which cannot be split: split the file that it was made from.",
    }.get(kind)
    if kind in ("svmlight", "vw") and column is not None:
        why = "has no named columns: leave out options that name columns; the classes are "
        why += "stratified anyway."
    if why is not None:
        raise DataError(f"{paths[0]} {why}", code="unsupported", path=paths[0], column=column)
    return kind


def _parts(path: File, folder: Path | None, parts: int, kind: str) -> list[Path]:
    """Return the files to write: STEM-train.csv for STEM.csv."""
    if path.name == NAME:
        path = Path(f"data.{kind}")
        folder = folder or Path()
    endings = "".join(path.suffixes[-2:] if path.suffix.lower() in CODECS else path.suffixes[-1:])
    stem = path.name.removesuffix(endings)
    return [(folder or path.parent) / f"{stem}-{part}{endings}" for part in PARTS[:parts]]

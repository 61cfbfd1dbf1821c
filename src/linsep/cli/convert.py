"""The command ``convert``: data in another format."""

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import pyarrow as pa
import typer

from linsep.cli import column_options, file_options, options, report
from linsep.cli.compressing import LeftOpen
from linsep.cli.failures import flag_of, note
from linsep.cli.file_options import Files
from linsep.cli.output import check_all_free, never_overwrite
from linsep.cli.progress import watching
from linsep.cli.screen import count, print_pairs
from linsep.cli.standard_input import reads_data
from linsep.interrupts import held, window
from linsep.rewriting.parquet import TableWriter, VectorWriter
from linsep.rewriting.rows import RowsWriter
from linsep.rewriting.svmlight_text import SvmlightWriter
from linsep.sources.chunks import CODECS
from linsep.sources.formats import format_by_name, format_of
from linsep.sources.limits import MAX_LINE, size_text
from linsep.sources.opening import find_files, kind_of, open_source
from linsep.sources.remote.file import File
from linsep.sources.tables.csv_records import Fields
from linsep.sources.tables.files import check_separated, open_tables
from linsep.written import written_whole

Out = Annotated[
    Path,
    typer.Argument(
        help="The file to write: svmlight text (.svm .svmlight .libsvm .txt, also with .gz .bz2 "
        ".zst), Parquet (.parquet .pq), or rows that are read without parsing (.rows).",
        metavar="OUT",
        show_default=False,
        callback=options.no_screen,
    ),
]
#: what writes rows of numbers in each format
WRITERS: dict[str, Any] = {
    "svmlight": SvmlightWriter, "parquet": VectorWriter, "rows": RowsWriter,
}  # fmt: skip


@reads_data
@column_options.added
@file_options.added
def convert(
    data: options.Data,
    out: Out,
    *,
    target: options.Target = None,
    missing: options.Missing = "error",
    hash_bits: options.HashBits = None,
    exclude: options.Exclude = None,
    scale: options.Scale = None,
    index_base: options.IndexBase = None,
    files: Files,
    force: options.Force = False,
    as_json: options.AsJson = False,
    **more: Any,
) -> None:
    """Write DATA to OUT in the format of its name: svmlight text, Parquet or rows.

    Numbers are read back to the same bits. Parquet keeps the columns of a table as they are; in
    svmlight text and rows they are features, as `linsep fit --scale none` makes them.

    Example: linsep convert train.csv train.svm --target species
    """
    started, written = perf_counter(), format_by_name(out)
    if written not in WRITERS:
        raise typer.BadParameter(
            f"{out} does not say what to write: end its name in .svm (svmlight text), .parquet "
            "or .rows."
        )
    check_all_free(force, out)
    how = {"target": target, "missing": missing, "hash_bits": hash_bits, "exclude": exclude}
    how |= {**more["columns"], "scale": scale or "none"}
    writer: Any
    reader: Any
    paths = find_files(list(data), files["format"])
    if written == "parquet" and kind_of(paths, files["format"]) == "table":
        writer = reader = _table_writer(paths, how | {"index_base": index_base}, files)
    else:
        reader = open_source(
            data, **how, **files, index_base=index_base, labelled=written != "parquet"
        )
        writer = WRITERS[written](reader)
    never_overwrite(paths, out)
    with held() as pressed:
        if written == "rows":
            with window(), watching(reader):
                writer.write_to(out)
        else:
            with written_whole(out, force=force) as file, window(), watching(reader):
                _write(writer, file, out)
        pressed.forget()  # it came after everything was done
    _print(writer, out, perf_counter() - started, as_json)


def _table_writer(paths: list[File], how: dict[str, Any], files: dict[str, Any]) -> TableWriter:
    """Return what writes a table as it is; BadParameter for options of features."""
    roles = {"target", "weight", "group", "exclude"}
    for name, value in how.items():
        if name not in roles and value not in (None, "error", "none", False):
            raise typer.BadParameter(
                f"{flag_of(name)} is about features, but Parquet keeps the columns as they are; "
                "leave it out."
            )
    fields = Fields.among(files)
    check_separated(paths[0], [format_of(path, files["format"]) for path in paths], fields)
    limit = files["max_line"] or MAX_LINE
    opened = open_tables(paths, files["format"], fields, limit, mixed=True)
    needed = [how[name] for name in ("target", "weight", "group") if how[name] is not None]
    return TableWriter(opened, how["exclude"] or [], needed)


def _write(writer: Any, file: Any, out: Path) -> None:
    """Write to a file, compressed as its name says."""
    codec = CODECS.get(out.suffix.lower())
    if codec is None:
        writer.write(file)
        return
    with pa.CompressedOutputStream(pa.PythonFile(LeftOpen(file), "w"), codec) as stream:
        writer.write(stream)


def _print(writer: Any, out: Path, seconds: float, as_json: bool) -> None:
    size = out.stat().st_size
    if as_json:
        found = {"rows": writer.rows, "written": str(out), "bytes": size, "lost": writer.lost}
        report.print_json(found | {"seconds": round(seconds, 4)})
        return
    print_pairs(
        [
            ("written", f"{out}, {count(writer.rows, 'row')}, {size_text(size)}"),
            ("time", f"total {seconds:.2f} s"),
        ]
    )
    for sentence in writer.lost:
        note(f"{sentence}.")

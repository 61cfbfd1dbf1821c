"""The command ``split``: held-out files."""

import re
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import pyarrow as pa
import typer

from linsep.cli import file_options, options, report
from linsep.cli.compressing import LeftOpen
from linsep.cli.file_options import Files
from linsep.cli.output import check_all_free, never_overwrite
from linsep.cli.progress import watching
from linsep.cli.screen import count, percent, print_pairs
from linsep.cli.standard_input import NAME, reads_data
from linsep.describing.advice import next_command
from linsep.describing.describing import Description
from linsep.errors import DataError, LinsepError
from linsep.interrupts import held, window
from linsep.rewriting.splitting import PARTS, Split
from linsep.sources.chunks import CODECS
from linsep.sources.formats import format_of
from linsep.sources.opening import find_files
from linsep.sources.remote.file import File
from linsep.sources.tables.csv_records import Fields
from linsep.written import written_whole


def _share(text: Any) -> Fraction:
    if re.fullmatch(r"0?\.\d{1,18}", str(text)) and Fraction(text):
        return Fraction(text)
    raise typer.BadParameter(f"must be a share between 0 and 1, such as 0.2, not {text!r}.")


def _share_option(name: str, help: str) -> Any:
    return typer.Option(f"--{name}", parser=_share, help=help, metavar="SHARE", show_default=False)


TestShare = Annotated[Any, _share_option("test", "Share of the rows for the test file.")]
Validation = Annotated[
    Any, _share_option("validation", "Share of the rows for a third file, for model selection.")
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        help="Label column; each file gets the same share of every class (tables only).",
        metavar="COLUMN",
        show_default=False,
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        "--group",
        help="Column of groups; each group goes to one file (tables only).",
        metavar="COLUMN",
        show_default=False,
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        help="Column of times, dates or numbers: the latest rows are held out (tables only).",
        metavar="COLUMN",
        show_default=False,
    ),
]
InOrder = Annotated[bool, typer.Option("--in-order", help="Hold out the last rows.")]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Folder for the files.  [default: that of DATA]",
        metavar="FOLDER",
        show_default=False,
    ),
]


@reads_data
@file_options.added
def split(
    data: options.Data,
    *,
    test_share: TestShare = None,
    validation: Validation = None,
    target: Target = None,
    group: Group = None,
    time: Time = None,
    in_order: InOrder = False,
    output: Folder = None,
    random_state: options.RandomState = 0,
    files: Files,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Split the rows of DATA, unchanged, into a training file and held-out files.

    Example: linsep split patients.csv --test 0.2 --target ill --group patient
    """
    started = perf_counter()
    if test_share is None:
        raise typer.BadParameter("name the share to hold out with --test, such as --test 0.2.")
    shares = [test_share, *([] if validation is None else [validation])]
    if sum(shares) >= 1:
        raise typer.BadParameter("--test and --validation leave no row to learn from.")
    ways = [name for name, given in (("--group", group), ("--time", time), ("--in-order", in_order))
            if given]  # fmt: skip
    if len(ways) > 1:
        raise typer.BadParameter(f"{' and '.join(ways)} exclude each other.")
    paths = find_files(list(data), files["format"])
    kind = _kind(paths, files["format"], target or group or time)
    outs = _names(paths[0], output, len(shares) + 1, kind)
    check_all_free(force, *outs)
    never_overwrite(paths, *outs)
    parts = Split(
        paths, kind, shares, seed=random_state, target=target, group=group, time=time,
        in_order=in_order, fields=Fields.among(files),
        max_line=files["max_line"],
    )  # fmt: skip
    with held() as pressed:
        with ExitStack() as stack:
            outputs = [stack.enter_context(written_whole(out, force=force)) for out in outs]
            with window(), watching(parts):  # type: ignore[arg-type]
                _write(parts, outputs, outs)
        pressed.forget()  # it came after everything was done
    found = {
        "files": [
            {"part": name, "file": str(out), "rows": rows}
            for name, out, rows in zip(PARTS, outs, parts.rows, strict=False)
        ],
        "next": _next(outs, kind, target, group, files),
        "seconds": round(perf_counter() - started, 4),
    }
    (report.print_json if as_json else print_split)(found)


def print_split(found: dict[str, Any]) -> None:
    """Print the output of ``linsep split``."""
    total = sum(part["rows"] for part in found["files"])
    pairs = [
        (part["part"], f"{part['file']}, {count(part['rows'], 'row')} "
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
    """Return the command that ``linsep describe`` gives for the training file, with the test file;
    None if that holds rows that no fit takes.
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
    """Return the format of all files; DataError if they differ, or have no columns."""
    kinds = {format_of(path, format): path for path in paths}
    if len(kinds) > 1:
        (one, path), (other, second), *_ = kinds.items()
        raise DataError(f"{path} is {one}, {second} {other}: split files of one format at a time.")
    (kind,) = kinds
    if kind == "folder":
        raise DataError(
            f"{paths[0]} holds texts, which are not moved: write them to one file with linsep "
            "convert, such as texts.parquet, and split that."
        )
    if kind == "rows":
        raise DataError(f"{paths[0]} holds rows as they are learnt: split what it was made from.")
    if kind in ("svmlight", "vw") and column is not None:
        raise DataError(
            f"{paths[0]} has labels first and no columns: leave out the options of columns; its "
            "classes are split alike."
        )
    return kind


def _names(path: File, folder: Path | None, parts: int, kind: str) -> list[Path]:
    """Return the files to write: STEM-train.csv for STEM.csv."""
    if path.name == NAME:
        path = Path(f"data.{kind}")
        folder = folder or Path()
    endings = "".join(path.suffixes[-2:] if path.suffix.lower() in CODECS else path.suffixes[-1:])
    stem = path.name.removesuffix(endings)
    return [(folder or path.parent) / f"{stem}-{part}{endings}" for part in PARTS[:parts]]


def _write(parts: Split, files: list[Any], outs: list[Path]) -> None:
    """Write the parts, compressed as the data are."""
    codec = CODECS.get(outs[0].suffix.lower())
    if codec is None:
        parts.write(files)
        return
    with ExitStack() as stack:
        streams = [pa.CompressedOutputStream(pa.PythonFile(LeftOpen(f), "w"), codec) for f in files]
        parts.write([stack.enter_context(stream) for stream in streams])

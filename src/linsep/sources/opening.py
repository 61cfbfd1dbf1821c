"""Open a source: a path, several paths, a folder or a glob."""

from collections.abc import Iterable
from glob import glob, has_magic
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from linsep._system.files import is_address
from linsep.errors import ArgumentError, DataError, ParameterError, hint
from linsep.sources.base import Source, is_frame
from linsep.sources.formats import ENDINGS, LABEL, TEXT, WORDS, format_by_name, format_of
from linsep.sources.remote.address import is_remote, shown
from linsep.sources.remote.file import (
    File,
    RemoteFile,
    find_remote,
    is_hidden,
    located,
    no_file,
)
from linsep.sources.svmlight import SvmlightSource
from linsep.sources.tables.reading_options import DEFAULTS, OF_CSV, names_of


def open_source(
    data: Any, *, format: str | None = None, recipe: dict[str, Any] | None = None,
    labeled: bool | None = True, max_line: int | str | None = None,
    max_features: int | None = None, cache: Path | None = None, **options: Any,
) -> Source:  # fmt: skip
    """Open files or a data frame as a source; checks names and formats only.

    Parameters
    ----------
    data : data frame, path or list of paths
        A data frame of pandas or polars, an Arrow table, or any object with an Arrow C stream; or
        files, folders or globs, in reading order, local or remote, such as
        ``s3://bucket/rows.csv``, ``gs://bucket/part-*.parquet``, ``https://host/rows.svm.gz``;
        svmlight text (.svm .svmlight .libsvm .txt), Vowpal Wabbit's text (.vw) or tables (.csv .tsv
        .jsonl .parquet .arrow and their kin), plain or .gz .bz2 .xz .zst; a folder with a folder of
        texts per label.
    format : str, default None
        "svmlight", "vw", "csv", "tsv", "jsonl", "parquet", "arrow" or "folder" (of texts), for
        files whose names do not show it.
    recipe : dict, default None
        The ``recipe_`` of a model, to read files as its training data were; overrides all of the
        below except ``delimiter``, ``quotes``, ``header`` and ``missing="skip"``.
    labeled : bool, default True
        Whether a table must have its target column. With a recipe, False does not read labels,
        weights and groups, and None reads the ones that exist.
    max_line : int or str, default None
        Maximum length of a line in bytes, or with a unit; None is "64MB". The limit protects
        against small compressed files that expand to one endless line.
    max_features : int, default None
        Maximum number of features to learn weights for; None is what the size of the files
        justifies. Raise it for the first lines of a file with millions of features.
    cache : path, default None
        Folder for parsed rows that do not fit in memory, for later passes and later runs; None
        keeps them in a temporary folder for one run.

    Of tables:

    target : str, default None
        Name of the label column.
    missing : {"error", "zero", "drop", "mean", "indicator", "skip"}, default "error"
        How to treat missing values. "indicator" makes a missing text a level of its own,
        ``column=(missing)``, and fills numbers with the mean, beside such a feature. With a recipe
        and ``labeled=False`` also "skip": a row with a missing value gets None or NaN as
        prediction, whatever the model was trained with.
    unlabeled : {"error", "drop"}, default "error"
        Whether rows without a label are left out; ``missing="drop"`` leaves them out, too.
    exclude, include : str or list of str, default ()
        Columns to leave out, and the only columns that become features; here and below, globs such
        as "code_*" stand for all matching columns.
    categorical, numeric : str or list of str, default ()
        Columns to read as categories, with one feature per value, such as numeric codes; and to
        read as numbers.
    date : str or list of str or dict, default ()
        Columns of dates, read as days since 1970; ISO 8601, or in a format of
        :meth:`datetime.datetime.strptime`: "day=%d.%m.%Y", or {"day": "%d.%m.%Y"}.
    text : str or list of str or dict, default None
        Text columns whose words become features (see :class:`linsep.Text`), or {column: Text} with
        settings. Other text columns have one indicator per value.
    scale : {"none", "standard"}, default "none"
        "standard" scales numeric columns to mean 0 and standard deviation 1.
    reference_level : "first" or dict, default None
        Text values without an indicator: None, "first" for the first value of every column, or
        {column: value} to choose other values.
    min_count : int, default None
        Values of a text column in fewer rows of the training data share one indicator,
        ``column=(rare)``.
    hash_bits : int, default None
        Hash text columns into 2**hash_bits features instead of one feature per value; for Vowpal
        Wabbit's text, 2**hash_bits is the number of columns, by default 2**18.
    weight, group, offset : str, default None
        Columns of row weights, finite numbers of at least 0, like ``sample_weight`` for arrays
        (Vowpal Wabbit's text has importances); of groups, which are never divided between training
        and held-out rows; of offsets, finite numbers that a linear or logistic regression adds to
        its linear predictor, also for predictions.
    successes, trials : str, default None
        Columns of counts of binomial groups, instead of labels: a row stands for its successes, of
        class 1, and for its other trials, of class 0.
    products : str or list of str, default None
        Products of two columns, such as "age:income", as additional features: of two numbers, of a
        number and each value of a text column, or of the values of two text columns.
    formula : str, default None
        The label and the features as in R, such as "admit ~ gre * C(rank) + poly(gpa, 2)", instead
        of ``target``; see docs/how-to/formulas.md. ``- 1`` in it corresponds to
        ``fit_intercept=False`` of an estimator.
    decimal, thousands : str, default None
        Decimal mark of numbers in text, "." by default, and separator of groups of three digits.
    units : bool, default None
        Whether numbers in text may have a percent sign or a currency, brackets around negative
        numbers, minus signs other than the hyphen, digits of other scripts, and apostrophes or thin
        spaces between thousands; 5% is read as 5.

    Of CSV:

    delimiter : str, default None
        One character that separates the fields, or "whitespace" for any run of blanks; by default
        a comma, in TSV a tab.
    quotes : bool, default None
        Whether double quotes enclose fields, in which delimiters, line breaks and, when written
        twice, quotes are text; False reads quotes as ordinary characters. By default True.
    header : bool, default None
        Whether the first row holds the names of the columns; with False they are "column_1",
        "column_2" and so on. By default True, and a first row that looks like data is an error.
    null_values : str or list of str, default None
        Text that marks a missing value, such as "?", in addition to empty cells, and to "NA",
        "NaN", "null" and the like in columns of numbers; also in data frames.
    comment, skip_rows : str, int, default None
        Lines that begin with this text, such as "#", and so many lines before the header are
        skipped.
    encoding : str, default None
        Character encoding, such as "latin-1" or "utf-16"; UTF-8 by default.
    index_base : {0, 1}, default None
        The first feature index of svmlight text; None detects it.
    interactions : str or list of str, default None
        Pairs of first letters of namespaces of Vowpal Wabbit's text, such as "ab", whose features
        are multiplied.
    ignore_namespaces, keep_namespaces : str or list of str, default None
        First letters of the namespaces to leave out, or of the only ones to read.

    Raises
    ------
    DataError
        If there are no files, formats are mixed, or an option does not apply to the format.
    """
    if unknown := sorted(options.keys() - _DEFAULTS.keys()):
        raise ArgumentError(f"open_source has no argument {unknown[0]!r}.")
    options = _DEFAULTS | options
    options["interactions"] = names_of(options["interactions"]) or None
    target, missing = options["target"], options["missing"]
    if isinstance(target, int):
        options["target"] = str(target)  # as columns of frames are named
    elif not isinstance(target, str | None):
        raise ArgumentError(
            f"target is of type {type(target).__name__}: give the name of the label column, or "
            "call the method fit of an estimator with rows and labels."
        )
    if missing == "skip" and (recipe is None or labeled is not False):
        raise DataError(
            "Rows with missing values can be skipped for predictions only",
            hint("leave such rows out with {}", missing="drop"),
            code="bad-option", option="missing", value="skip",
        )  # fmt: skip
    read = recipe
    if recipe and labeled is False:  # columns of labels, weights and groups are not read
        unread = {"target", "weight", "group", "successes", "trials"} & recipe.keys()
        read = recipe | dict.fromkeys(unread)
        if missing == "skip" or recipe.get("missing") == "drop":
            read["missing"] = "skip" if missing == "skip" else "error"
    place: Any
    paths: list[Any]
    if is_frame(data):
        from linsep.sources.tables.frames import to_arrow

        kind, place, paths = "frame", "the table", [to_arrow(data)]
        options |= {"format": format, "cache": cache}
    else:
        names = names_in(data)
        if (recipe or {}).get("documents") and all(located(name).is_dir() for name in names):
            format = format or "folder"
        paths = find_files(names, format)
        kind, place = kind_of(paths, format), paths[0]
    read_as = "table" if kind == "frame" else kind
    if recipe is not None and read_as != recipe.get("format"):
        learned, texts = WORDS.get(str(recipe.get("format")), "other data"), "words" in recipe
        raise DataError(
            f"{place} is {WORDS[read_as]}, but the model was trained on {learned}",
            "give it files of that kind",
            *["name its folder, each file of which is a text"] * (kind == "svmlight") * texts,
            code="wrong-format", path=place,
        )  # fmt: skip
    options = of_kind(place, kind, options)
    if kind in ("table", "frame"):
        from linsep.sources.tables.table import TableSource

        folders = kind == "table" and all(format_of(path, format) == "folder" for path in paths)
        if recipe is None and folders:
            options |= {"target": options["target"] or LABEL, "text": options["text"] or TEXT}
        source: Source = TableSource(
            paths, format=format, recipe=read, require_target=bool(labeled), max_line=max_line,
            **options,
        )  # fmt: skip
    else:
        from linsep.sources.vw import VwSource

        opener: Any = {"svmlight": SvmlightSource, "vw": VwSource}[kind]
        given = {{"hash_bits": "bits"}.get(name, name): value for name, value in options.items()}
        own = given if read is None else {name: read.get(name) for name in given}
        own = {name: value for name, value in own.items() if value is not None}
        source = opener(paths, require_labels=bool(labeled), max_line=max_line, **own)
    source.cache, source.by_recipe = _cache_of(cache, paths), recipe is not None
    source.max_features = max_features
    return source


_NAMESPACES = ("interactions", "ignore_namespaces", "keep_namespaces")
_DEFAULTS = DEFAULTS | dict.fromkeys(("index_base", *_NAMESPACES))
_said = signature(open_source)
open_source.__signature__ = _said.replace(parameters=[  # type: ignore[attr-defined]
    *[*_said.parameters.values()][:-1],
    *(Parameter(name, Parameter.KEYWORD_ONLY, default=value) for name, value in _DEFAULTS.items()),
])  # fmt: skip
#: the options of each kind of data
_OPTIONS = {
    "table": {*DEFAULTS}, "frame": {*DEFAULTS} - {*OF_CSV} | {"null_values"},
    "svmlight": {"index_base"}, "vw": {"hash_bits", *_NAMESPACES},
}  # fmt: skip


def of_kind(path: File | str, kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a kind of data; DataError for others that are not at their defaults."""
    defaults: tuple[Any, ...] = (None, "error", "none", [], (), {}, "")
    given = [n for n, value in options.items() if n not in _OPTIONS[kind] and value not in defaults]
    if given:
        leave = hint("leave out {}", **dict.fromkeys(given))
        said = f"{path} is {WORDS[kind]}, which has no such options"
        raise DataError(said, leave, code="conflict", path=path)
    return {name: value for name, value in options.items() if name in _OPTIONS[kind]}


def names_in(data: Any) -> list[Any]:
    """Return the names of files; raises TypeError for anything else, such as an array."""
    several = isinstance(data, Iterable) and not isinstance(data, str | dict)
    names = list(data) if several and not hasattr(data, "__array__") else [data]
    if all(isinstance(name, str | Path | RemoteFile) for name in names):
        return names
    raise ArgumentError(
        f"data is of type {type(data).__name__}: pass a path, a list of paths or a data frame; "
        "pass arrays to the methods of estimators."
    )


def _cache_of(cache: Path | None, paths: list[File]) -> Path | None:
    """Return the folder for parsed rows; None if a later run could not detect a changed file, for
    whose server sends neither an ETag nor a date.
    """
    if cache is not None and is_address(Path(cache)):
        raise ParameterError(
            f"The cache for parsed rows must be local, not at {Path(cache).parts[0]}//",
            hint("name a local folder by {}", cache="FOLDER"), option="cache", value=cache,
        )  # fmt: skip
    dated = (path.state[2] for path in paths if cache and isinstance(path, RemoteFile))
    return None if None in dated else cache


def find_files(data: list[Any], format: str | None = None) -> list[File]:
    """Return the files of names, folders and globs, folders and globs sorted by name.

    Folders yield files with known endings, or all files if ``format`` is given; a folder of folders
    of texts is a single source. As in a shell, hidden files are skipped.
    """
    found: list[File] = []
    for item in data:
        inside: list[Any] = [item]
        if is_remote(item):
            item, (files, of_folder) = shown(item), find_remote(item)  # noqa: PLW2901
            inside = [file for file in files if not of_folder or _is_data(file, format)]
        elif not isinstance(item, RemoteFile):
            inside = _local(item, format)
        if not inside:
            raise DataError(
                f"There are no data files in {item}",
                f"name files, a folder of {' '.join(ENDINGS)} files, or a local folder with one "
                "folder of texts per label",
                code="no-file", path=item,
            )  # fmt: skip
        found += inside
    if not found:
        raise DataError("There are no files: name at least one.", code="no-file")
    if gone := [file for file in found if not file.exists()]:
        raise no_file(gone[0])
    return found


def _local(item: Any, format: str | None) -> list[Path]:
    """Return the files of a name, folder or glob; the folder itself if it has folders of texts."""
    path = Path(str(located(item))).expanduser()
    if not path.exists() and has_magic(str(path)):
        matches = map(Path, sorted(glob(str(path), recursive=True)))  # which hides hidden files
        return [p for p in matches if p.is_file() and not is_hidden(p.name.lstrip("."))]
    if not path.is_dir() or format == "folder":
        return [path]
    labels = [one for one in path.iterdir() if one.is_dir() and one.name[0] != "."]
    hive = any("=" in label.name for label in labels)
    inside = [one for one in sorted(path.rglob("*") if hive else path.iterdir())
              if _is_data(one, format)]  # fmt: skip
    # Beside folders of texts, README.txt is not svmlight text.
    if format is None and all(one.suffix.lower() == ".txt" for one in inside):
        return [path] if len(labels) > (1 if inside else 0) else inside
    return inside


def kind_of(paths: list[File], format: str | None = None) -> str:
    """Return "svmlight", "vw" or "table"; raise DataError if the files are mixed."""
    formats = ((format_of(path, format), path) for path in paths)
    kinds = {kind if kind in ("svmlight", "vw") else "table": path for kind, path in formats}
    if len(kinds) > 1:
        (one, path), (other, second) = sorted(kinds.items(), reverse=True)[:2]
        said = f"{path} is {WORDS[one]}, {second} {WORDS[other]} by its name"
        raise DataError(said, "name files of one kind", code="mixed-formats", path=path)
    return next(iter(kinds))


def _is_data(path: File, format: str | None) -> bool:
    known = format is not None or format_by_name(path) is not None
    return known and not is_hidden(path.name) and path.is_file()

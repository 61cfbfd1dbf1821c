"""Options of commands: the types of their values, and every option that commands share."""

import gc
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from linsep._system.files import is_address
from linsep.catalog import ESTIMATORS, LINEAR, is_scaled
from linsep.cli.errors import TYPED, flag_of, in_options
from linsep.cli.recognized import tell_recognized
from linsep.cli.standard_input import reads_data
from linsep.errors import DataError
from linsep.fitting import OF_TEXT, USUAL_LEARNER
from linsep.other_names import advice_for
from linsep.parameters import INTERVALS, Parameter
from linsep.sources.formats import FORMATS
from linsep.sources.limits import bytes_of
from linsep.sources.tables.columns import ANALYZERS, NORMS
from linsep.sources.tables.reading_options import MISSING, SCALES, is_delimiter
from linsep.words import either


class Option(click.Option):
    """An option with the section of the help that it is in, where the help has sections.

    Help that names learners is a function, since only the help needs to import all of them.
    """

    def __init__(
        self, *flags: str, section: str = "Output", help: str | Callable[[], str] = "", **how: Any
    ):
        super().__init__(flags, help="" if callable(help) else help, **how)
        self.section, self._help = section, help

    def get_help_record(self, ctx: Any) -> tuple[str, str] | None:
        """Return the flags, and the help."""
        if callable(self._help):
            self.help = self._help()
        return super().get_help_record(ctx)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return the completions of a word: for a column, the columns of the files typed."""
        if not str(self.metavar).startswith("COLUMN"):
            return super().shell_complete(ctx, incomplete)
        # The option without a value ends click's parsing before arguments have names.
        data = ctx.params.get("data") or ctx.args
        return _completed(columns_typed(data, ctx.params), incomplete)


class Repeatable(Option):
    """An option that may be given several times: a list, or None."""

    def __init__(self, *flags: str, **how: Any):
        super().__init__(*flags, multiple=True, callback=as_list, **how)


class Argument(click.Argument):
    """An argument with a line of help; several values are a list, or None."""

    def __init__(self, name: str, *, help: str, metavar: str, **how: Any):
        several: dict[str, Any] = {}
        if metavar.endswith("..."):
            several = {"nargs": -1, "callback": as_list}
        super().__init__([name], metavar=metavar, **several | how)
        self.line = help  # newer versions of click have a section of their own for ``help``

    def get_help_record(self, ctx: Any) -> tuple[str, str]:
        """Return the name and the line."""
        return self.make_metavar(ctx), self.line + "  [required]" * self.required

    def get_error_hint(self, ctx: Any, *more: Any) -> str:
        """Return the name for error messages."""
        return f"'{str(self.metavar).removesuffix('...')}'"

    def make_metavar(self, ctx: Any) -> str:
        """Return the name, in brackets if it is optional."""
        shown = str(self.metavar)
        return shown if self.required else f"[{shown}]"


def _completed(words: Iterable[str], incomplete: str) -> list[Any]:
    return [CompletionItem(word) for word in words if word.startswith(incomplete)]


def columns_typed(data: list[str], typed: dict[str, Any]) -> list[str]:
    """Return the columns of the first data file, of which only the head is read, with the options
    that are typed.
    """
    from linsep.sources.opening import find_files
    from linsep.sources.tables.files import open_table
    from linsep.sources.tables.reading_options import ReadingOptions

    try:
        reading = ReadingOptions.among({n: typed.get(n) for n in ReadingOptions._fields})
        files = find_files(list(data), typed.get("format"))
        return list(open_table(files[0], typed.get("format"), reading).columns())
    except Exception:  # errors are reported when the command runs, not while it is typed
        return []


def as_list(ctx: Any, param: Any, value: Sequence[Any]) -> list[Any] | None:
    """Return the values of a repeated option."""
    return list(value) or None


class Gathered(NamedTuple):
    """Options that a command receives as one argument, which ``into`` makes from their values."""

    name: str
    options: tuple[Any, ...]
    into: Callable[[dict[str, Any]], Any] = dict

    @property
    def names(self) -> list[str]:
        """The names of the options."""
        return [option.name for option in self.options]


#: sections of the help, in their order
SECTIONS = ("Data", "Text", "Learner", "Validation", "Checkpoints", "Cluster")
#: what the help shows of these sections; `--help-all` shows all
FIRST = (
    "target", "formula", "missing", "exclude", "test", "text", "learner", "max_rounds", "grid",
    "metric", "cv",
)  # fmt: skip
#: the key of the context that says that the whole help is asked for
WHOLE = "whole_help"


class Command(click.Command):
    """A command whose help explains its arguments."""

    def flags(self) -> dict[str, str]:
        """Return the option of each parameter by its name."""
        return {str(one.name): one.opts[0] for one in self.params}

    def shown(self, ctx: Any) -> list[Any]:
        """Return the options of the help: unless all are asked for, those that most people need."""
        options = [one for one in self.get_params(ctx) if not isinstance(one, Argument)]
        if ctx.meta.get(WHOLE):
            return options
        return [one for one in options if _section(one) == "Output" or one.name in FIRST]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options: all of them by section."""
        arguments = [one for one in self.get_params(ctx) if isinstance(one, Argument)]
        sections = {"Arguments": [one.get_help_record(ctx) for one in arguments]}
        for option in sorted(self.shown(ctx), key=lambda one: _rank(_section(one))):
            title = _section(option) if ctx.meta.get(WHOLE) else "Options"
            sections.setdefault(title, []).append(option.get_help_record(ctx))
        for title, records in sections.items():
            if shown := [record for record in records if record is not None]:
                with formatter.section(title):
                    formatter.write_dl(shown)


def _section(option: Any) -> str:
    return getattr(option, "section", "Output")  # click's own option for help


def _rank(title: str) -> int:
    """Return the place of a section: options of a learner come before those of the output."""
    return SECTIONS.index(title) if title in SECTIONS else len(SECTIONS) + (title == "Output")


def _print_whole(ctx: Any, param: Any, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[WHOLE] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def command(
    *parameters: Any, cls: Callable[..., Command] = Command
) -> Callable[[Callable], Command]:
    """Make a command of a function: its arguments and options, in the order of the help."""
    gathered = [one for one in parameters if isinstance(one, Gathered)]
    params = [p for one in parameters for p in (one.options if one in gathered else (one,))]

    def made(function: Callable) -> Command:
        def run(**given: Any) -> Any:
            gc.freeze()  # what has been imported so far is never garbage
            gc.enable()
            for group in gathered:
                values = {option.name: given.pop(option.name) for option in group.options}
                given[group.name] = group.into(values)
            return function(**given)

        return cls(
            function.__name__, params=[*params, HELP_ALL],
            callback=reads_data(run, tell_recognized), help=function.__doc__,
            context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
        )  # fmt: skip

    return made


HELP_ALL = Option(
    "--help-all", is_flag=True, is_eager=True, expose_value=False, callback=_print_whole,
    help="Show all options and exit.",
)  # fmt: skip


class Value(click.ParamType):
    """A value that one of ``declared`` parameters accepts.

    Parameters may differ between learners, whose names are ``owners``.
    """

    name = "value"

    def __init__(self, *declared: Parameter, owners: Sequence[list[str]] = ()):
        self.declared, self.owners = declared, owners or [[] for _ in declared]

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value of a text; BadParameter if it is not valid."""
        if not isinstance(value, str):
            return value
        for parameter in self.declared:
            if parameter.accepts(found := parameter.parse(value)):
                return found
        advice = (
            advice_for(str(param.name)) if param is not None and param.name == "penalty" else None
        )
        told = "." if advice is None else f"; {advice.render(in_options)}."
        raise click.BadParameter(f"must be {self._wanted()}, not {value!r}{told}")

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[Any]:
        """Return the completions of a word."""
        words = [word for one in self.declared for word in (*one.choices, *one.words)]
        return _completed(dict.fromkeys(words), incomplete)

    def _wanted(self) -> str:
        kinds: dict[str, list[str]] = {}
        for parameter, names in zip(self.declared, self.owners, strict=True):
            kinds.setdefault(parameter.typed, []).extend(names)
        wanted = []
        for kind, names in kinds.items():
            if not any(kind != other and other.startswith(kind + " or") for other in kinds):
                some = any(kind.startswith(other + " or") for other in kinds)
                wanted.append(f"{kind} with --learner {' or '.join(names)}" if some else kind)
        return " or ".join(wanted)


def number(kind: type = int, **bounds: Any) -> dict[str, Any]:
    """Return the type and the metavar of a number within bounds."""
    return {"type": Value(Parameter(kind=kind, **bounds)), "metavar": "N" if kind is int else "X"}


def choice(choices: Iterable[str]) -> dict[str, Any]:
    """Return the type and the metavar of one of several words."""
    known = tuple(choices)
    return {"type": Value(Parameter(choices=known)), "metavar": "|".join(known)}


class LocalPath(click.Path):
    """A local path: only text arguments may be URLs.

    ``dash`` allows - for standard output.
    """

    def __init__(self, dash: bool = True):
        super().__init__(path_type=Path)
        self.dash = dash

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the path; BadParameter, which does not show credentials of a URL."""
        path = Path(value)
        if is_address(path):
            raise click.BadParameter(
                f"is a URL ({path.parts[0]}//...), but only DATA may be a URL; give a local path."
            )
        if not self.dash and path == Path("-"):
            raise click.BadParameter(
                "- is standard output, which cannot be read again: give a file."
            )
        return path


class PicturePath(LocalPath):
    """A picture to write; its ending selects the format."""

    formats: tuple[str, ...] = (".png", ".svg", ".pdf")

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the path; BadParameter for an unknown ending."""
        path = super().convert(value, param, ctx)
        if path.suffix.lower() not in self.formats:
            raise click.BadParameter(f"must end in {either(self.formats)}, not {str(path)!r}.")
        return path


def size_of(what: str) -> Callable[[Any], int]:
    """Return a type of option: bytes, the size of ``what``."""

    def size(text: Any) -> int:
        try:
            return bytes_of(text, what)
        except DataError as problem:
            raise click.BadParameter(str(problem)) from None

    return size


def numbers(text: Any) -> list[float]:
    """Return the numbers of an option."""
    with suppress(ValueError):
        found = [float(number) for number in text.split(",")]
        if all(map(isfinite, found)):
            return found
    raise click.BadParameter(f"must be finite numbers separated by commas, not {text!r}.")


def vectors(text: Any) -> list[list[float]]:
    """Return the lists of numbers of an option, which are separated by semicolons."""
    found = [numbers(part) for part in text.split(";")]
    if len({len(vector) for vector in found}) > 1:
        raise click.BadParameter(f"must be lists of equally many numbers, not {text!r}.")
    return found


def delimiter(text: str) -> str:
    """Return the character that separates fields."""
    by_name = {name: character for character, name in TYPED.items()} | {"\\t": "\t"}
    character = by_name.get(text, text)
    if not is_delimiter(character):
        raise click.BadParameter(
            "must be 'tab', 'whitespace' or one character that is not a letter or digit, not "
            f"{text!r}."
        )
    return character


def ngram_range(text: Any) -> tuple[int, int]:
    """Return the lowest and highest length of n-grams."""
    found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", text)
    low, high = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= low <= high <= 100:
        raise click.BadParameter(
            f"must be a number from 1 to 100, or a range such as 1-2, not {text!r}."
        )
    return low, high


def rows_or_share(text: Any) -> float:
    """Return a number of rows, or a share of them."""
    if re.fullmatch(r"\d{1,18}", text) and int(text):
        return int(text)
    if re.fullmatch(r"0?\.\d+|[01]\.\d*", text) and float(text) <= 1:
        return float(text)
    raise click.BadParameter(
        f"must be a number of rows (1 or more) or a share of the rows (0.0 to 1.0), not {text!r}."
    )


DATA = Argument(
    "data",
    required=True,
    metavar="DATA...",
    help="Files, folders, globs or URLs: CSV, TSV, JSON lines, Parquet, Arrow, svmlight text "
    "(.svm) or Vowpal Wabbit's (.vw); plain or compressed. - is standard input; name its format.",
)
MODEL = Argument(
    "model", type=LocalPath(), metavar="MODEL", help="A model saved by `linsep fit --model`."
)

AS_JSON = Option("--json", "as_json", is_flag=True, help="Print JSON.")
FORCE = Option("--force", is_flag=True, help="Overwrite an existing file.")
MODEL_OUT = Option(
    "--model", "-m", type=LocalPath(dash=False), metavar="FILE", help="Save the model here."
)
OUTPUT = Option(
    "--output", "-o", type=LocalPath(), metavar="FILE",
    callback=lambda ctx, param, path: None if path == Path("-") else path,
    help="Write to this file; - is standard output.",
)  # fmt: skip
PLOT = Option(
    "--plot", type=PicturePath(), metavar="FILE",
    help="Draw the result in this file: .png, .svg or .pdf.",
)  # fmt: skip
TOP_WEIGHTS = Option(
    "--top", **number(at_least=0),
    help="Number of weights to show.  [default: 10, or 3 each for several classes or pairs]",
)  # fmt: skip
TOP_COEFFICIENTS = Option(
    "--top", **number(at_least=1),
    help="Show the N coefficients with the largest statistics.  [default: all, up to 60]",
)  # fmt: skip
SCORES = Option("--scores", is_flag=True, help="Add the scores, separated by tabs.")
PROBABILITIES = Option(
    "--probabilities", is_flag=True, help="Add the probability of each class, separated by tabs."
)
INTERVAL = Option(
    "--interval", **choice(INTERVALS),
    help="Add a confidence interval for the mean (linear) or the probabilities (logistic), "
    "or a prediction interval (linear), separated by tabs.",
)  # fmt: skip
LEVEL = Option(
    "--level", default=0.95, **number(float, above=0.0, below=1.0),
    help="Coverage of the intervals.",
)  # fmt: skip
CURVE = Option(
    "--curve",
    section="Learner",
    is_flag=True,
    help="Print validation errors per pass; needs --early-stopping.",
)

# How columns of tables become features.

TARGET = Option(
    "--target", section="Data", metavar="COLUMN", help="Column to predict (tables only)."
)
FORMULA = Option(
    "--formula", section="Data", metavar="FORMULA",
    help="Label and features as in R, such as 'y ~ x * C(rank) + poly(age, 2)', instead of "
    "--target (tables only).",
)  # fmt: skip
PRODUCTS = Repeatable(
    "--products", section="Data", metavar="COLUMN:COLUMN",
    help="Add products of two columns, numeric or text, as features; repeatable (tables only).",
)  # fmt: skip
ROW_NAMES = Option(
    "--row-names", section="Data", metavar="COLUMN",
    help="Column of row names, not a feature (tables only).  [default: row numbers]",
)  # fmt: skip
EXCLUDE = Repeatable(
    "--exclude", section="Data", metavar="COLUMN",
    help="Column to exclude, or a glob such as 'id_*'; repeatable.",
)  # fmt: skip
#: what users say of columns; names may be globs
TYPES = (
    Repeatable(
        "--include", section="Data", metavar="COLUMN",
        help="Column to use; all others are excluded; repeatable (tables only).",
    ),
    Repeatable(
        "--categorical", section="Data", metavar="COLUMN",
        help="Column to read as categories, with one feature per value; repeatable (tables only).",
    ),
    Repeatable(
        "--numeric", section="Data", metavar="COLUMN",
        help="Column to read as numbers; repeatable (tables only).",
    ),
    Repeatable(
        "--date", section="Data", metavar="COLUMN[=FORMAT]",
        help="Column of dates, read as days since 1970; FORMAT as in 'day=%d.%m.%Y', by "
        "default ISO 8601; repeatable (tables only).",
    ),
)  # fmt: skip
WEIGHT = Option(
    "--weight", section="Data", metavar="COLUMN",
    help="Column of sample weights of at least 0, not a feature (tables only).",
)  # fmt: skip
GROUP = Option(
    "--group", section="Data", metavar="COLUMN",
    help="Column of groups, which are held out whole; not a feature (tables only).",
)  # fmt: skip
#: what else regressions take from columns
OF_REGRESSIONS = (
    Option(
        "--offset", section="Data", metavar="COLUMN",
        help="Column of offsets, added to the linear predictor of a linear or logistic "
        "regression, also for predictions; not a feature (tables only).",
    ),
    Option(
        "--successes", section="Data", metavar="COLUMN",
        help="Column of successes among --trials, instead of --target (tables only).",
    ),
    Option(
        "--trials", section="Data", metavar="COLUMN",
        help="Column of numbers of trials (tables only).",
    ),
)  # fmt: skip
MISSING_VALUES = Option(
    "--missing", section="Data", default="error", **choice(MISSING),
    help="How to treat missing values (tables only).",
)  # fmt: skip
SCALE = Option(
    "--scale", section="Data", **choice(SCALES),
    help=lambda: "Scale numeric columns to mean 0 and standard deviation 1 (standard), or not "
    "(tables only).  [default: standard; none for "
    f"{', '.join(name for name in ESTIMATORS if not is_scaled(name))}]",
)  # fmt: skip
HASH_BITS = Option(
    "--hash-bits", section="Data", **number(at_least=1, at_most=30) | {"metavar": "BITS"},
    help="Hash text columns, or the features of Vowpal Wabbit's text, into 2^BITS columns.  "
    "[default: 18 for Vowpal Wabbit's text]",
)  # fmt: skip
MIN_COUNT = Option(
    "--min-count", section="Data", **number(at_least=1),
    help="Merge the values of a text column that occur in fewer than N rows into one "
    "indicator (tables only).",
)  # fmt: skip
REFERENCE_LEVEL = Repeatable(
    "--reference-level", section="Data", metavar="COLUMN=VALUE",
    help="Reference value of a text column, without an indicator; repeatable. Other columns use "
    "their first value. 'first' uses the first value of every column, 'none' no reference values.  "
    "[default: first for linear and logistic with an intercept, else none]",
)  # fmt: skip
INDEX_BASE = Option(
    "--index-base", section="Data", **number(at_least=0, at_most=1) | {"metavar": "0|1"},
    help="First feature index of svmlight text.  [default: detected]",
)  # fmt: skip
TEST = Repeatable(
    "--test", section="Data", metavar="DATA",
    help="Held-out data to score; repeatable.",
)  # fmt: skip
CACHE = (
    Option(
        "--cache", section="Data", type=LocalPath(), metavar="FOLDER",
        help="Folder for parsed rows that do not fit in memory.  [default: the user's cache]",
    ),
    Option(
        "--no-cache", section="Data", is_flag=True, help="Do not keep parsed rows for later runs."
    ),
)  # fmt: skip


def _files(format_flag: str) -> Gathered:
    """Return the options for reading files, arguments of :func:`linsep.open_source`."""
    options = (
        Option(
            format_flag, "format", section="Data", **choice(FORMATS),
            help="Format of DATA.  [default: inferred from file names or first lines]",
        ),
        Option(
            "--delimiter", section="Data", type=delimiter, metavar="CHARACTER",
            help="Delimiter of CSV fields: one character, 'tab', or 'whitespace' for any run of "
            "blanks.",
        ),
        Option(
            "--quotes/--no-quotes", section="Data", default=None,
            help="Whether double quotes enclose CSV fields or are ordinary characters.  "
            "[default: quotes]",
        ),
        Option(
            "--header/--no-header", section="Data", default=None,
            help="Whether the first row of CSV holds the column names; without a header they "
            "are column_1, column_2, ...  [default: header]",
        ),
        Repeatable(
            "--null-values", section="Data", metavar="TEXT",
            help="Text that marks a missing value in CSV, such as ?, in addition to empty cells; "
            "repeatable.",
        ),
        Option(
            "--decimal", section="Data", metavar="CHARACTER",
            help="Decimal mark of numbers.  [default: .]",
        ),
        Option(
            "--thousands", section="Data", metavar="CHARACTER",
            help="Thousands separator of numbers.",
        ),
        Option(
            "--units/--no-units", section="Data", default=None,
            help="Read 5%, $5, (5) and numbers with unusual signs, digits and spaces as numbers.",
        ),
        Option(
            "--comment", section="Data", metavar="TEXT",
            help="Skip CSV lines that begin with TEXT.",
        ),
        Option(
            "--skip-rows", section="Data", **number(at_least=0) | {"metavar": "N"},
            help="Skip N lines before the header of CSV.",
        ),
        Option(
            "--encoding", section="Data", metavar="NAME",
            help="Encoding of CSV, such as latin-1 or utf-16.  [default: utf-8]",
        ),
        Option(
            "--max-line", section="Data", type=size_of("a line"), metavar="SIZE",
            help="Maximum length of a line of text.  [default: 64MB]",
        ),
    )  # fmt: skip
    return Gathered("files", options)


FILES, _FILES_OF_TRACE = _files("--format"), _files("--data-format")
_ROWS = (TARGET, MISSING_VALUES, HASH_BITS, MIN_COUNT, EXCLUDE, *TYPES, INDEX_BASE)


def reference_levels(given: list[str] | None) -> Any:
    """Return the text values without indicator: {column: value}, "first" for all columns, {} for
    none; None by default.
    """
    if given in (None, ["first"]):
        return given and "first"
    levels = dict(pair.split("=", 1) for pair in given if "=" in pair)
    if len(levels) < len(given) and given != ["none"]:
        raise click.BadParameter(
            "--reference-level takes COLUMN=VALUE, once per column, or 'first' or 'none', not "
            f"{' '.join(map(repr, given))}."
        )
    return levels


def _of_rows(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of :func:`linsep.open_source`."""
    return given | {"reference_level": reference_levels(given["reference_level"]) or None}


#: reading options of commands whose features match Python's ``open_source``
ROWS = Gathered("how", (*_ROWS, FORMULA, PRODUCTS, REFERENCE_LEVEL, *FILES.options), _of_rows)
ROWS_OF_TRACE = Gathered("how", (*_ROWS, *_FILES_OF_TRACE.options))


# Words of text, and namespaces of Vowpal Wabbit's text.

TEXT = Repeatable(
    "--text", section="Text", metavar="COLUMN",
    help="Text column to split into words; repeatable. Other text columns have one feature "
    "per value (tables only).",
)  # fmt: skip
#: options for words, each with its parameter of :class:`linsep.Text`
WORDS = {
    Option(
        "--analyzer", section="Text", **choice(ANALYZERS),
        help="Unit of n-grams: words, characters, or characters within words.  [default: word]",
    ): "analyzer",
    Option(
        "--ngrams", section="Text", type=ngram_range, metavar="N|N-N",
        help="Words or characters per n-gram, or a range such as 1-2.  [default: 1]",
    ): "ngram_range",
    Option(
        "--vocabulary", section="Text", is_flag=True,
        help="Build a vocabulary in a first pass instead of hashing words.",
    ): "vocabulary",
    Option(
        "--min-df", section="Text", type=rows_or_share, metavar="N|SHARE",
        help="Ignore words that occur in fewer rows; needs --vocabulary.",
    ): "min_df",
    Option(
        "--max-df", section="Text", type=rows_or_share, metavar="N|SHARE",
        help="Ignore words that occur in more rows; needs --vocabulary.",
    ): "max_df",
    Option(
        "--text-bits", section="Text", **number(at_least=1, at_most=30) | {"metavar": "BITS"},
        help="Hash words into 2^BITS features.  [default: 18]",
    ): "n_features",
    Option(
        "--binary", section="Text", is_flag=True, help="Count each word once per row."
    ): "binary",
    Option(
        "--sublinear", section="Text", is_flag=True, help="Replace a count c by 1 + ln(c)."
    ): "sublinear_tf",
    Option(
        "--tf-idf", section="Text", is_flag=True,
        help="Weight words by inverse document frequency (reads the data twice).",
    ): "use_idf",
    Option(
        "--norm", section="Text", **choice(NORMS),
        help="Divide the word counts of a row by their norm.  [default: l2]",
    ): "norm",
    Option(
        "--keep-case", section="Text", is_flag=True, help="Do not convert text to lower case."
    ): "lowercase",
}  # fmt: skip
NAMESPACES = (
    Repeatable(
        "--interactions", section="Data", metavar="LETTERS",
        help="First letters of two namespaces to multiply (Vowpal Wabbit's text only); repeatable.",
    ),
    Option(
        "--ignore-namespaces", section="Data", metavar="LETTERS",
        help="First letters of namespaces to leave out (Vowpal Wabbit's text only).",
    ),
    Option(
        "--keep-namespaces", section="Data", metavar="LETTERS",
        help="First letters of the only namespaces to read (Vowpal Wabbit's text only).",
    ),
)  # fmt: skip


def _columns(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of :func:`linsep.open_source` about columns and namespaces."""
    chosen = {option.name: given.pop(option.name) for option in WORDS}
    given["text"] = _text_columns(given.pop("text"), chosen)
    return given


def _text_columns(columns: list[str] | None, given: dict[str, Any]) -> dict[str, Any] | None:
    """Return the settings of each text column, None without text columns.

    ``given`` has a value for each of :data:`WORDS`, None or False for an option that is not given.
    """
    chosen = {name: value for name, value in given.items() if value not in (None, False)}
    if not columns:
        if chosen:
            raise click.BadParameter(
                f"{flag_of(next(iter(chosen)))} needs --text COLUMN (--text text for folders)."
            )
        return None
    limits = [name for name in ("min_df", "max_df") if name in chosen]
    if limits and "vocabulary" not in chosen:
        raise click.BadParameter(f"{flag_of(limits[0])} needs --vocabulary.")
    if "text_bits" in chosen:
        if "vocabulary" in chosen:
            raise click.BadParameter("--text-bits hashes words, --vocabulary does not.")
        chosen["text_bits"] = 1 << chosen["text_bits"]
    if "norm" in chosen:
        chosen["norm"] = NORMS[chosen["norm"]]
    if "keep_case" in chosen:
        chosen["keep_case"] = False
    from linsep.sources.text import Text as TextColumn

    parameters = {option.name: parameter for option, parameter in WORDS.items()}
    how = TextColumn(**{parameters[name]: value for name, value in chosen.items()})
    return dict.fromkeys(columns, how)


COLUMNS = Gathered("columns", (WEIGHT, GROUP, *NAMESPACES, TEXT, *WORDS), _columns)
FIT_COLUMNS = Gathered(
    "columns", (WEIGHT, GROUP, *OF_REGRESSIONS, *NAMESPACES, TEXT, *WORDS), _columns
)
UNGROUPED_COLUMNS = Gathered("columns", (WEIGHT, *NAMESPACES, TEXT, *WORDS), _columns)


def as_typed(columns: dict[str, Any]) -> dict[str, Any]:
    """Return the values of options by name that became ``columns``."""
    given = {name: value for name, value in columns.items() if name != "text" and value}
    if not columns["text"]:
        return given
    from linsep.sources.text import Text as TextColumn

    how, usual = next(iter(columns["text"].values())), TextColumn()
    given["text"] = list(columns["text"])
    for option, parameter in WORDS.items():
        value = getattr(how, parameter)
        if value != getattr(usual, parameter):
            given[str(option.name)] = True if option.is_flag else _typed(str(option.name), value)
    return given


def _typed(name: str, value: Any) -> Any:
    """Return the value of an option from a parameter of :class:`linsep.Text`."""
    if name == "ngrams":
        return "-".join(map(str, value))
    if name == "text_bits":
        return value.bit_length() - 1
    if name == "norm":
        return {parameter: norm for norm, parameter in NORMS.items()}[value]
    return value


# What is learned, and how.


class LearnerName(click.ParamType):
    """The name of one of several learners, which imports as little as possible."""

    name = "learner"

    def __init__(self, known: Mapping[str, Any]):
        self.known = known

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the name; BadParameter, which lists all names, for an unknown one."""
        return (
            value if value in self.known else choice(self.known)["type"].convert(value, None, ctx)
        )

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[Any]:
        """Return the names that may complete a word."""
        return _completed(self.known, incomplete)

    def get_metavar(self, param: Any, ctx: Any) -> str:
        """Return a word for a name; the help lists all names."""
        return "NAME"


def learner(known: Mapping[str, Any], usual: str = "", **how: Any) -> Option:
    """Return the option that names a learner; ``usual`` is added to its help."""
    return Option(
        "--learner", section="Learner", type=LearnerName(known),
        help=lambda: f"Learning algorithm: {', '.join(known)}.{usual}", **how,
    )  # fmt: skip


LEARNER = learner(
    ESTIMATORS,
    f"  [default: {OF_TEXT} for texts and similar wide, sparse rows, else {USUAL_LEARNER}]",
)
# Traces need learners with a weight per feature; kernel learners have one per row.
TRACEABLE_LEARNER = learner(LINEAR, default=USUAL_LEARNER)
CLASS_WEIGHT = Repeatable(
    "--class-weight", section="Learner", metavar="LABEL=WEIGHT",
    help="Weight of the rows of a class, or 'balanced'; separate several by commas; repeatable.",
)  # fmt: skip
INIT_WEIGHTS = Option(
    "--init-weights", section="Learner", type=vectors, metavar="X,X,...",
    help="Initial weights: the intercept, then one number per feature (after scaling); for "
    "several classes, one such list per class or pair, separated by semicolons.",
)  # fmt: skip
RANDOM_STATE = Option(
    "--random-state", section="Learner", default=0, **number(at_least=0, at_most=2**32 - 1),
    help="Seed of the random number generator.",
)  # fmt: skip
REFERENCE = Option(
    "--reference", section="Learner", metavar="LABEL",
    help="The class encoded as -1; for logistic regression, the reference class, which has "
    "no weights.  [default: the smaller of two, else the last]",
)  # fmt: skip
FIT_INTERCEPT = Option(
    "--fit-intercept/--no-fit-intercept", default=True,
    help="Whether the hyperplane has an intercept.",
)  # fmt: skip

# Work on a cluster.

DASK = Option(
    "--dask", section="Cluster", metavar="ADDRESS",
    help="Train on the Dask cluster at ADDRESS, such as tcp://10.0.0.1:8786; its workers "
    "read DATA under the same paths. local: worker processes on this machine.",
)  # fmt: skip
MIXING = Option(
    "--mixing", section="Cluster", metavar="uniform|mistakes",
    help="With --dask: weight shards in the mixture equally (the default) or by their mistakes.",
)  # fmt: skip
SHARD_MB = Option(
    "--shard-mb", section="Cluster", type=float, metavar="MB",
    help="With --dask: size of a shard (64), on which the result depends.",
)  # fmt: skip

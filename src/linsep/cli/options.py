"""Options of commands: the types of their values, and every option that commands share."""

import gc
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from linsep._system.files import is_address
from linsep.catalog import ESTIMATORS, LINEAR, OF_TEXT, USUAL_LEARNER, is_scaled
from linsep.cli.errors import TYPED, in_options
from linsep.cli.standard_input import reads_data
from linsep.errors import DataError
from linsep.other_names import advice_for
from linsep.parameters import INTERVALS, Parameter
from linsep.sources.formats import FORMATS, MISSING, SCALES, is_delimiter
from linsep.sources.limits import bytes_of
from linsep.words import either

#: keys of the context: whether the whole help is asked for, and the values of options as typed
WHOLE, WORDS_TYPED = "whole_help", "typed"


class Option(click.Option):
    """An option of a command.

    Parameters
    ----------
    flags : str
    kind : the name of the value in the help, or a type by :func:`typed`; None for a flag
    help : str, or a function that returns it, since only the help needs to import all learners
    section : the section of the help, where it has sections
    needs, excludes : names of options without which this one has no effect, and that it contradicts
    many : whether it may be given several times: a list, or None
    """

    def __init__(
        self, flags: str, kind: Any = None, help: str | Callable[[], str] = "", *,
        section: str = "Output", needs: Sequence[str] = (), excludes: Sequence[str] = (),
        many: bool = False, **how: Any,
    ):  # fmt: skip
        if kind is None:
            how.setdefault("is_flag", True)
        how |= kind if isinstance(kind, dict) else {"metavar": kind}
        if many:
            how |= {"multiple": True, "callback": as_list}
        super().__init__(flags.split(), help="" if callable(help) else help, **how)
        self.section, self._help, self.needs, self.excludes = section, help, needs, excludes

    def get_help_record(self, ctx: Any) -> tuple[str, str] | None:
        """Return the flags, and the help."""
        if callable(self._help):
            self.help = self._help()
        return super().get_help_record(ctx)

    def process_value(self, ctx: Any, value: Any) -> Any:
        """Return the value of what was typed, and remember what was."""
        ctx.meta.setdefault(WORDS_TYPED, {})[self.name] = value
        return super().process_value(ctx, value)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return the completions of a word: for a column, the columns of the files typed."""
        if not str(self.metavar).startswith("COLUMN"):
            return super().shell_complete(ctx, incomplete)
        # The option without a value ends click's parsing before arguments have names.
        data = ctx.params.get("data") or ctx.args
        return _completed(_columns_typed(data, ctx.params), incomplete)

    def check(self, given: dict[str, Any], options: dict[str, Any]) -> None:
        """Raise BadParameter for options that this one, which is given, needs or contradicts."""
        for name in self.needs:
            if name in options and name not in given:
                wanted = " ".join([options[name].opts[0], *filter(None, [options[name].metavar])])
                raise click.BadParameter(f"{self.opts[0]} needs {wanted}.")
        for name in self.excludes:
            if name in given:
                other = options[name]
                called = other.human_readable_name if isinstance(other, Argument) else other.opts[0]
                raise click.BadParameter(f"{self.opts[0]} and {called} cannot be combined.")


class Argument(click.Argument):
    """An argument with a line of help; several values are a list, or None."""

    def __init__(self, name: str, metavar: str, help: str, **how: Any):
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


def _columns_typed(data: list[str], typed: dict[str, Any]) -> list[str]:
    """Return the columns of the first data file, of which only the head is read."""
    from linsep.sources.opening import find_files
    from linsep.sources.tables.files import open_table
    from linsep.sources.tables.reading_options import ReadingOptions

    try:
        reading = ReadingOptions.among(typed)
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


def as_typed(names: Iterable[str]) -> list[str]:
    """Return options of the command that is running, by name, as they were typed."""
    context, known = click.get_current_context(), {*names}
    flags = {str(one.name): one.opts[0] for one in context.command.get_params(context)}
    return [
        in_options(name, list(value) if isinstance(value, tuple) else value, flags[name])
        for name, value in context.meta[WORDS_TYPED].items()
        if name in known and context.get_parameter_source(name) == ParameterSource.COMMANDLINE
    ]


#: sections of the help, in their order
SECTIONS = ("Data", "Text", "Learner", "Validation", "Checkpoints", "Cluster")
#: what the help shows of these sections; `--help-all` shows all
FIRST = (
    "target", "formula", "missing", "exclude", "test", "text", "learner", "max_rounds", "grid",
    "metric", "cv",
)  # fmt: skip


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
        return [one for one in options if section_of(one) == "Output" or one.name in FIRST]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options: all of them by section."""
        arguments = [one for one in self.get_params(ctx) if isinstance(one, Argument)]
        sections = {"Arguments": [one.get_help_record(ctx) for one in arguments]}
        for option in sorted(self.shown(ctx), key=lambda one: _rank(section_of(one))):
            title = section_of(option) if ctx.meta.get(WHOLE) else "Options"
            sections.setdefault(title, []).append(option.get_help_record(ctx))
        for title, records in sections.items():
            if shown := [record for record in records if record is not None]:
                with formatter.section(title):
                    formatter.write_dl(shown)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, unless its options contradict each other."""
        options = {str(one.name): one for one in self.get_params(ctx)}
        values = ctx.params | ctx.params.get("parameters", {})
        given = {name: value for name, value in values.items() if value not in (None, False)}
        for name, option in options.items():
            if name in given and isinstance(option, Option):
                option.check(given, options)
        return super().invoke(ctx)


def section_of(option: Any) -> str:
    """Return the section of an option; click's own option for help has none."""
    return getattr(option, "section", "Output")


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
            function.__name__, params=[*params, HELP_ALL], callback=reads_data(run),
            help=function.__doc__,
            context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
        )  # fmt: skip

    return made


HELP_ALL = Option(
    "--help-all", None, "Show all options and exit.",
    is_eager=True, expose_value=False, callback=_print_whole,
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
        advice = advice_for("penalty") if getattr(param, "name", "") == "penalty" else None
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


def typed(type: Any, metavar: str) -> dict[str, Any]:
    """Return the kind of an option: the type of its values, and their name in the help."""
    return {"type": type, "metavar": metavar}


def number(kind: type = int, metavar: str = "", **bounds: Any) -> dict[str, Any]:
    """Return the kind of a number within bounds."""
    usual = "N" if kind is int else "X"
    return typed(Value(Parameter(kind=kind, **bounds)), metavar or usual)


def choice(choices: Iterable[str]) -> dict[str, Any]:
    """Return the kind of one of several words."""
    known = tuple(choices)
    return typed(Value(Parameter(choices=known)), "|".join(known))


class LocalPath(click.Path):
    """A local path, of one of some formats if any are named: only text arguments may be URLs.

    ``dash`` allows - for standard output.
    """

    def __init__(self, dash: bool = True, formats: Sequence[str] = ()):
        super().__init__(path_type=Path)
        self.dash, self.formats = dash, formats

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
        if self.formats and path.suffix.lower() not in self.formats:
            raise click.BadParameter(f"must end in {either(self.formats)}, not {str(path)!r}.")
        return path


def size_of(what: str) -> dict[str, Any]:
    """Return the kind of bytes, the size of ``what``."""

    def size(text: Any) -> int:
        try:
            return bytes_of(text, what)
        except DataError as problem:
            raise click.BadParameter(str(problem)) from None

    return typed(size, "SIZE")


def numbers(text: Any) -> list[float]:
    """Return the numbers of an option."""
    try:
        found = [float(number) for number in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(map(isfinite, found)):
        raise click.BadParameter(f"must be finite numbers separated by commas, not {text!r}.")
    return found


def _vectors(text: Any) -> list[list[float]]:
    found = [numbers(part) for part in text.split(";")]
    if len({len(vector) for vector in found}) > 1:
        raise click.BadParameter(f"must be lists of equally many numbers, not {text!r}.")
    return found


def _delimiter(text: str) -> str:
    by_name = {name: character for character, name in TYPED.items()} | {"\\t": "\t"}
    character = by_name.get(text, text)
    if not is_delimiter(character):
        raise click.BadParameter(
            "must be 'tab', 'whitespace' or one character that is not a letter or digit, not "
            f"{text!r}."
        )
    return character


def _ngram_range(text: Any) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", text)
    low, high = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= low <= high <= 100:
        raise click.BadParameter(
            f"must be a number from 1 to 100, or a range such as 1-2, not {text!r}."
        )
    return low, high


def _rows_or_share(text: Any) -> float:
    if re.fullmatch(r"\d{1,18}", text) and int(text):
        return int(text)
    if re.fullmatch(r"0?\.\d+|[01]\.\d*", text) and float(text) <= 1:
        return float(text)
    raise click.BadParameter(
        f"must be a number of rows (1 or more) or a share of the rows (0.0 to 1.0), not {text!r}."
    )


def _reference_levels(ctx: Any, param: Any, value: Sequence[str]) -> Any:
    """Return the text values without indicator: {column: value}, "first" for all columns, {} for
    none; None by default.
    """
    if not value or value == ("first",):
        return "first" if value else None
    levels = dict(pair.split("=", 1) for pair in value if "=" in pair)
    if len(levels) < len(value) and value != ("none",):
        raise click.BadParameter(
            "takes COLUMN=VALUE, once per column, or 'first' or 'none', not "
            f"{' '.join(map(repr, value))}."
        )
    return levels


DATA = Argument(
    "data", "DATA...",
    "Files, folders, globs or URLs: CSV, TSV, JSON lines, Parquet, Arrow, svmlight text "
    "(.svm) or Vowpal Wabbit's (.vw); plain or compressed. - is standard input; name its format.",
    required=True,
)  # fmt: skip
MODEL = Argument("model", "MODEL", "A model saved by `linsep fit --model`.", type=LocalPath())

PICTURES = (".png", ".svg", ".pdf")
FILE, NEW_FILE = typed(LocalPath(), "FILE"), typed(LocalPath(dash=False), "FILE")
AS_JSON = Option("--json as_json", None, "Print JSON.")
FORCE = Option("--force", None, "Overwrite an existing file.")
MODEL_OUT = Option("--model -m", NEW_FILE, "Save the model here.")
OUTPUT = Option(
    "--output -o", FILE, "Write to this file; - is standard output.",
    callback=lambda ctx, param, path: None if path == Path("-") else path,
)  # fmt: skip
PLOT = Option(
    "--plot", typed(LocalPath(formats=PICTURES), "FILE"),
    "Draw the result in this file: .png, .svg or .pdf.",
)  # fmt: skip
TOP_WEIGHTS = Option(
    "--top", number(at_least=0),
    "Number of weights to show.  [default: 10, or 3 each for several classes or pairs]",
)  # fmt: skip
TOP_COEFFICIENTS = Option(
    "--top", number(at_least=1),
    "Show the N coefficients with the largest statistics.  [default: all, up to 60]",
)  # fmt: skip
SCORES = Option("--scores", None, "Add the scores, separated by tabs.", excludes=["probabilities"])
PROBABILITIES = Option(
    "--probabilities", None, "Add the probability of each class, separated by tabs."
)
INTERVAL = Option(
    "--interval", choice(INTERVALS),
    "Add a confidence interval for the mean (linear) or the probabilities (logistic), "
    "or a prediction interval (linear), separated by tabs.",
)  # fmt: skip
LEVEL = Option(
    "--level", number(float, above=0.0, below=1.0), "Coverage of the intervals.", default=0.95
)

# How columns of tables become features.

_Data, _Text = partial(Option, section="Data"), partial(Option, section="Text")
TARGET = _Data("--target", "COLUMN", "Column to predict (tables only).")
FORMULA = _Data(
    "--formula", "FORMULA",
    "Label and features as in R, such as 'y ~ x * C(rank) + poly(age, 2)', instead of "
    "--target (tables only).",
)  # fmt: skip
PRODUCTS = _Data(
    "--products", "COLUMN:COLUMN",
    "Add products of two columns, numeric or text, as features; repeatable (tables only).",
    many=True,
)  # fmt: skip
ROW_NAMES = _Data(
    "--row-names", "COLUMN",
    "Column of row names, not a feature (tables only).  [default: row numbers]",
)  # fmt: skip
EXCLUDE = _Data(
    "--exclude", "COLUMN", "Column to exclude, or a glob such as 'id_*'; repeatable.", many=True
)
#: what users say of columns; names may be globs
TYPES = (
    _Data(
        "--include", "COLUMN",
        "Column to use; all others are excluded; repeatable (tables only).", many=True,
    ),
    _Data(
        "--categorical", "COLUMN",
        "Column to read as categories, with one feature per value; repeatable (tables only).",
        many=True,
    ),
    _Data(
        "--numeric", "COLUMN", "Column to read as numbers; repeatable (tables only).", many=True
    ),
    _Data(
        "--date", "COLUMN[=FORMAT]",
        "Column of dates, read as days since 1970; FORMAT as in 'day=%d.%m.%Y', by "
        "default ISO 8601; repeatable (tables only).",
        many=True,
    ),
)  # fmt: skip
WEIGHT = _Data(
    "--weight", "COLUMN",
    "Column of sample weights of at least 0, not a feature (tables only).",
)  # fmt: skip
GROUP = _Data(
    "--group", "COLUMN",
    "Column of groups, which are held out whole; not a feature (tables only).",
)  # fmt: skip
#: what else regressions take from columns
OF_REGRESSIONS = (
    _Data(
        "--offset", "COLUMN",
        "Column of offsets, added to the linear predictor of a linear or logistic "
        "regression, also for predictions; not a feature (tables only).",
    ),
    _Data(
        "--successes", "COLUMN",
        "Column of successes among --trials, instead of --target (tables only).",
    ),
    _Data("--trials", "COLUMN", "Column of numbers of trials (tables only)."),
)  # fmt: skip
MISSING_VALUES = _Data(
    "--missing", choice(MISSING), "How to treat missing values (tables only).", default="error"
)
SCALE = _Data(
    "--scale", choice(SCALES),
    lambda: "Scale numeric columns to mean 0 and standard deviation 1 (standard), or not "
    "(tables only).  [default: standard; none for "
    f"{', '.join(name for name in ESTIMATORS if not is_scaled(name))}]",
)  # fmt: skip
HASH_BITS = _Data(
    "--hash-bits", number(metavar="BITS", at_least=1, at_most=30),
    "Hash text columns, or the features of Vowpal Wabbit's text, into 2^BITS columns.  "
    "[default: 18 for Vowpal Wabbit's text]",
)  # fmt: skip
MIN_COUNT = _Data(
    "--min-count", number(at_least=1),
    "Merge the values of a text column that occur in fewer than N rows into one "
    "indicator (tables only).",
)  # fmt: skip
REFERENCE_LEVEL = _Data(
    "--reference-level", "COLUMN=VALUE",
    "Reference value of a text column, without an indicator; repeatable. Other columns use "
    "their first value. 'first' uses the first value of every column, 'none' no reference values.  "
    "[default: first for linear and logistic with an intercept, else none]",
    multiple=True, callback=_reference_levels,
)  # fmt: skip
INDEX_BASE = _Data(
    "--index-base", number(metavar="0|1", at_least=0, at_most=1),
    "First feature index of svmlight text.  [default: detected]",
)  # fmt: skip
TEST = _Data("--test", "DATA", "Held-out data to score; repeatable.", many=True)
CACHE = (
    _Data(
        "--cache", typed(LocalPath(), "FOLDER"),
        "Folder for parsed rows that do not fit in memory.  [default: the user's cache]",
    ),
    _Data("--no-cache", None, "Do not keep parsed rows for later runs."),
)  # fmt: skip
#: how files are read: arguments of :func:`linsep.open_source`
FILES = Gathered("files", (
    _Data(
        "--format", choice(FORMATS),
        "Format of DATA.  [default: inferred from file names or first lines]",
    ),
    _Data(
        "--delimiter", typed(_delimiter, "CHARACTER"),
        "Delimiter of CSV fields: one character, 'tab', or 'whitespace' for any run of blanks.",
    ),
    _Data(
        "--quotes/--no-quotes", None,
        "Whether double quotes enclose CSV fields or are ordinary characters.  [default: quotes]",
        default=None,
    ),
    _Data(
        "--header/--no-header", None,
        "Whether the first row of CSV holds the column names; without a header they "
        "are column_1, column_2, ...  [default: header]",
        default=None,
    ),
    _Data(
        "--null-values", "TEXT",
        "Text that marks a missing value in CSV, such as ?, in addition to empty cells; "
        "repeatable.",
        many=True,
    ),
    _Data("--decimal", "CHARACTER", "Decimal mark of numbers.  [default: .]"),
    _Data("--thousands", "CHARACTER", "Thousands separator of numbers."),
    _Data(
        "--units/--no-units", None,
        "Read 5%, $5, (5) and numbers with unusual signs, digits and spaces as numbers.",
        default=None,
    ),
    _Data("--comment", "TEXT", "Skip CSV lines that begin with TEXT."),
    _Data("--skip-rows", number(at_least=0), "Skip N lines before the header of CSV."),
    _Data(
        "--encoding", "NAME", "Encoding of CSV, such as latin-1 or utf-16.  [default: utf-8]"
    ),
    _Data("--max-line", size_of("a line"), "Maximum length of a line of text.  [default: 64MB]"),
))  # fmt: skip
_ROWS = (TARGET, MISSING_VALUES, HASH_BITS, MIN_COUNT, EXCLUDE, *TYPES, INDEX_BASE)
#: reading options of commands whose features match Python's ``open_source``
ROWS = Gathered("how", (*_ROWS, FORMULA, PRODUCTS, REFERENCE_LEVEL, *FILES.options))
ROWS_OF_TRACE = Gathered("how", (
    *_ROWS, _Data("--data-format format", choice(FORMATS), FILES.options[0].help),
    *FILES.options[1:],
))  # fmt: skip
READING = Gathered("reading", (
    TARGET, FORMULA, MISSING_VALUES, HASH_BITS, MIN_COUNT, EXCLUDE, *TYPES, PRODUCTS, SCALE,
    REFERENCE_LEVEL, INDEX_BASE, *FILES.options, *CACHE,
))  # fmt: skip


# Words of text, and namespaces of Vowpal Wabbit's text.

TEXT = _Text(
    "--text", "COLUMN",
    "Text column to split into words; repeatable. Other text columns have one feature "
    "per value (tables only).",
    many=True,
)  # fmt: skip
_Words, _Counted = partial(_Text, needs=["text"]), partial(_Text, needs=["text", "vocabulary"])
#: options for words, each with its parameter of :class:`linsep.Text`
WORDS = {
    _Words(
        "--analyzer", choice(("word", "char", "char_wb")),
        "Unit of n-grams: words, characters, or characters within words.  [default: word]",
    ): "analyzer",
    _Words(
        "--ngrams", typed(_ngram_range, "N|N-N"),
        "Words or characters per n-gram, or a range such as 1-2.  [default: 1]",
    ): "ngram_range",
    _Words(
        "--vocabulary", None, "Build a vocabulary in a first pass instead of hashing words."
    ): "vocabulary",
    _Counted(
        "--min-df", typed(_rows_or_share, "N|SHARE"),
        "Ignore words that occur in fewer rows; needs --vocabulary.",
    ): "min_df",
    _Counted(
        "--max-df", typed(_rows_or_share, "N|SHARE"),
        "Ignore words that occur in more rows; needs --vocabulary.",
    ): "max_df",
    _Words(
        "--text-bits", number(metavar="BITS", at_least=1, at_most=30),
        "Hash words into 2^BITS features.  [default: 18]", excludes=["vocabulary"],
    ): "n_features",
    _Words("--binary", None, "Count each word once per row."): "binary",
    _Words("--sublinear", None, "Replace a count c by 1 + ln(c)."): "sublinear_tf",
    _Words(
        "--tf-idf", None, "Weight words by inverse document frequency (reads the data twice)."
    ): "use_idf",
    _Words(
        "--norm", choice(("l2", "l1", "none")),
        "Divide the word counts of a row by their norm.  [default: l2]",
    ): "norm",
    _Words("--keep-case", None, "Do not convert text to lower case."): "lowercase",
}  # fmt: skip
NAMESPACES = (
    _Data(
        "--interactions", "LETTERS",
        "First letters of two namespaces to multiply (Vowpal Wabbit's text only); repeatable.",
        many=True,
    ),
    _Data(
        "--ignore-namespaces", "LETTERS",
        "First letters of namespaces to leave out (Vowpal Wabbit's text only).",
    ),
    _Data(
        "--keep-namespaces", "LETTERS",
        "First letters of the only namespaces to read (Vowpal Wabbit's text only).",
    ),
)  # fmt: skip
#: values of :class:`linsep.Text` by options whose own values differ
_AS_PARAMETER: dict[str, Callable[[Any], Any]] = {
    "n_features": lambda bits: 1 << bits,
    "norm": lambda name: None if name == "none" else name,
    "lowercase": lambda kept: not kept,
}  # fmt: skip


def _columns(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of :func:`linsep.open_source` about columns and namespaces."""
    chosen = {parameter: given.pop(option.name) for option, parameter in WORDS.items()}
    if given["text"]:
        from linsep.sources.text import Text as TextColumn

        parameters = {
            name: _AS_PARAMETER.get(name, lambda same: same)(value)
            for name, value in chosen.items()
            if value not in (None, False)
        }
        given["text"] = dict.fromkeys(given["text"], TextColumn(**parameters))
    return given


COLUMNS = Gathered("columns", (WEIGHT, GROUP, *NAMESPACES, TEXT, *WORDS), _columns)
FIT_COLUMNS = Gathered(
    "columns", (WEIGHT, GROUP, *OF_REGRESSIONS, *NAMESPACES, TEXT, *WORDS), _columns
)
UNGROUPED_COLUMNS = Gathered("columns", (WEIGHT, *NAMESPACES, TEXT, *WORDS), _columns)

# What is learned, and how.

_Learner, _Cluster = partial(Option, section="Learner"), partial(Option, section="Cluster")


class LearnerNames(click.ParamType):
    """Names of learners, with commas between them if ``several``; imports as little as possible."""

    name = "learner"

    def __init__(self, known: Iterable[str], several: bool = False):
        self.known, self.several = tuple(known), several

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the text; BadParameter, which lists all names, for an unknown one."""
        for name in value.split(",") if self.several else [value]:
            choice(self.known)["type"].convert(name, None, ctx)
        return value

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[Any]:
        """Return the names that may complete a word."""
        return _completed(self.known, incomplete)


LEARNER = _Learner(
    "--learner", typed(LearnerNames(ESTIMATORS), "NAME"),
    f"Learning algorithm: {', '.join(ESTIMATORS)}.  [default: {OF_TEXT} for texts and similar "
    f"wide, sparse rows, else {USUAL_LEARNER}]",
)  # fmt: skip
# Traces need learners with a weight per feature; kernel learners have one per row.
TRACEABLE_LEARNER = _Learner(
    "--learner", typed(LearnerNames(LINEAR), "NAME"), f"Learning algorithm: {', '.join(LINEAR)}.",
    default=USUAL_LEARNER,
)  # fmt: skip
CURVE = _Learner("--curve", None, "Print validation errors per pass; needs --early-stopping.")
CLASS_WEIGHT = _Learner(
    "--class-weight", "LABEL=WEIGHT",
    "Weight of the rows of a class, or 'balanced'; separate several by commas; repeatable.",
    many=True,
)  # fmt: skip
INIT_WEIGHTS = _Learner(
    "--init-weights", typed(_vectors, "X,X,..."),
    "Initial weights: the intercept, then one number per feature (after scaling); for "
    "several classes, one such list per class or pair, separated by semicolons.",
)  # fmt: skip
RANDOM_STATE = _Learner(
    "--random-state", number(at_least=0, at_most=2**32 - 1),
    "Seed of the random number generator.", default=0,
)  # fmt: skip
REFERENCE = _Learner(
    "--reference", "LABEL",
    "The class encoded as -1; for logistic regression, the reference class, which has "
    "no weights.  [default: the smaller of two, else the last]",
)  # fmt: skip
FIT_INTERCEPT = Option(
    "--fit-intercept/--no-fit-intercept", None, "Whether the hyperplane has an intercept.",
    default=True,
)  # fmt: skip

# Work on a cluster.

DASK = _Cluster(
    "--dask", "ADDRESS",
    "Train on the Dask cluster at ADDRESS, such as tcp://10.0.0.1:8786; its workers "
    "read DATA under the same paths. local: worker processes on this machine.",
    excludes=["cv"],
)  # fmt: skip
MIXING = _Cluster(
    "--mixing", "uniform|mistakes",
    "With --dask: weight shards in the mixture equally (the default) or by their mistakes.",
    needs=["dask"],
)  # fmt: skip
SHARD_MB = _Cluster(
    "--shard-mb", typed(float, "MB"),
    "With --dask: size of a shard (64), on which the result depends.", needs=["dask"],
)  # fmt: skip

# Cross-validation.

_Validation = partial(Option, section="Validation")


def _folds(given: dict[str, Any]) -> Any:
    """Return how rows are divided; None without --cv."""
    if given["cv"] is None:
        return None
    from linsep.cross_validation import Folds

    seed = click.get_current_context().params["random_state"]
    return Folds(given["cv"], given["repeats"] or 1, given["by_time"], random_state=seed)


FOLDS = Gathered("folds", (
    _Validation("--cv", number(at_least=2), "Number of folds of cross-validation."),
    _Validation(
        "--repeats", number(at_least=1),
        "Number of times the rows are divided into folds at random.  [default: 1]", needs=["cv"],
    ),
    _Validation(
        "--by-time", None,
        "The rows are ordered by time: predict each fold from earlier rows.", needs=["cv"],
    ),
), _folds)  # fmt: skip

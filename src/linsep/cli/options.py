"""Options of commands: the types of their values, and every option that commands share."""

import ast
import gc
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from inspect import cleandoc, signature
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

import linsep
from linsep._system.files import is_address, scratch_folder
from linsep.catalog import ESTIMATORS, is_scaled
from linsep.cli.errors import NAME, TYPED, copies, in_options
from linsep.errors import DataError, LinsepError
from linsep.other_names import advice_for, meant
from linsep.parameters import Parameter
from linsep.sources import formats
from linsep.sources.limits import bytes_of
from linsep.words import either

#: keys of the context: whether the whole help is asked for, and the values of options as typed
WHOLE, WORDS_TYPED = "whole_help", "typed"


class Option(click.Option):
    """An option whose value has a name in the help, or a ``kind`` by :func:`typed`, or is a flag.

    It has no effect without the options that it ``needs``, contradicts those that it ``excludes``,
    and is a list, or None, if it may be given ``many`` times; ``help`` may be a function.
    """

    def __init__(
        self, flags: str, kind: Any = None, help: str | Callable[[], str] = "", *,
        section: str = "Output", needs: Sequence[str] = (), excludes: Sequence[str] = (),
        many: bool = False, **how: Any,
    ):  # fmt: skip
        if kind is None:
            how.setdefault("is_flag", True)
        how |= kind if isinstance(kind, dict) else {"metavar": kind}
        if str(how["metavar"]).startswith("COLUMN"):
            how["shell_complete"] = _columns_typed
        if many:
            how |= {"multiple": True, "callback": as_list}
        super().__init__(flags.split(), help="" if callable(help) else help, **how)
        self.section, self._help, self.needs, self.excludes = section, help, needs, excludes

    def get_help_record(self, ctx: Any) -> tuple[str, str] | None:
        if callable(self._help):
            self.help = self._help()
        return super().get_help_record(ctx)

    def process_value(self, ctx: Any, value: Any) -> Any:
        ctx.meta.setdefault(WORDS_TYPED, {})[self.name] = value
        return super().process_value(ctx, value)

    def check(self, given: dict[str, Any], options: dict[str, Any]) -> None:
        for name in self.needs:
            if name in options and name not in given:
                wanted = " ".join([options[name].opts[0], *filter(None, [options[name].metavar])])
                raise click.BadParameter(f"{self.opts[0]} needs {wanted}.")
        for name in self.excludes:
            if name in given:
                other = options[name]
                called = str(other.metavar).strip("[.]") if name == "data" else other.opts[0]
                raise click.BadParameter(f"{self.opts[0]} and {called} cannot be combined.")


class Argument(click.Argument):
    """An argument with a line of help; several values are a list, or None."""

    def __init__(self, name: str, metavar: str, help: str, **how: Any):
        several = metavar.endswith("...")
        if several:
            how |= {"nargs": -1, "callback": as_list}
        shown = metavar if how.get("required", not several) else f"[{metavar}]"
        super().__init__([name], metavar=shown, **how)
        self.line = help  # newer versions of click have a section of their own for ``help``

    def get_help_record(self, ctx: Any) -> tuple[str, str]:
        return str(self.metavar), self.line + "  [required]" * self.required


def _completed(words: Iterable[str], incomplete: str) -> list[Any]:
    return [CompletionItem(word) for word in words if word.startswith(incomplete)]


def _columns_typed(ctx: Any, param: Any, incomplete: str) -> list[Any]:
    from linsep.sources.opening import find_files
    from linsep.sources.tables.files import open_table
    from linsep.sources.tables.reading_options import ReadingOptions

    # The option without a value ends click's parsing before arguments have names.
    data, format = ctx.params.get("data") or ctx.args, ctx.params.get("format")
    try:
        table = open_table(
            find_files(list(data), format)[0], format, ReadingOptions.among(ctx.params)
        )
        return _completed(table.columns(), incomplete)
    except Exception:  # errors are reported when the command runs, not while it is typed
        return []


def as_list(ctx: Any, param: Any, value: Sequence[Any]) -> list[Any] | None:
    return list(value) or None


class Gathered(NamedTuple):
    """Options that a command receives as one argument, which ``into`` makes from their values."""

    name: str
    options: tuple[Any, ...]
    into: Callable[[dict[str, Any]], Any] = dict

    @property
    def names(self) -> list[str]:
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


#: what the help shows of sections other than Output; `--help-all` shows all
FIRST = (
    "target", "formula", "missing", "exclude", "test", "text", "learner", "max_rounds", "grid",
    "metric", "cv",
)  # fmt: skip


class Command(click.Command):
    """A command whose help explains its arguments."""

    def flag(self, name: str) -> str | None:
        return next((one.opts[0] for one in self.params if one.name == name), None)

    def shown(self, ctx: Any) -> list[Any]:
        """Return the options of the help: unless all are asked for, those that most people need."""
        options = [one for one in self.get_params(ctx) if not isinstance(one, Argument)]
        if ctx.meta.get(WHOLE):
            return options
        return [one for one in options if section_of(one) == "Output" or one.name in FIRST]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        arguments = [one for one in self.get_params(ctx) if isinstance(one, Argument)]
        sections = {"Arguments": [one.get_help_record(ctx) for one in arguments]}
        for option in sorted(self.shown(ctx), key=lambda one: section_of(one) == "Output"):
            title = section_of(option) if ctx.meta.get(WHOLE) else "Options"
            sections.setdefault(title, []).append(option.get_help_record(ctx))
        for title, records in sections.items():
            if shown := [record for record in records if record is not None]:
                with formatter.section(title):
                    formatter.write_dl(shown)

    def invoke(self, ctx: Any) -> Any:
        options = {str(one.name): one for one in self.get_params(ctx)}
        values = ctx.params | ctx.params.get("parameters", {})
        given = {name: value for name, value in values.items() if value not in (None, False)}
        for name, option in options.items():
            if name in given and isinstance(option, Option):
                option.check(given, options)
        return super().invoke(ctx)


def section_of(option: Any) -> str:
    return getattr(option, "section", "Output")


def _print_whole(ctx: Any, param: Any, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[WHOLE] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


# DATA: standard input, which - stands for, and formats that are inferred.


def as_given(data: list[str]) -> list[str]:
    return ["-" if item in copies else item for item in data]


@contextmanager
def _opened_data(given: dict[str, Any]) -> Iterator[None]:
    """Let ``-`` among ``data`` and ``test`` stand for standard input, copied to a file."""
    named = [name for name in ("data", "test") if given.get(name)]
    count = [item for name in named for item in given[name]].count("-")
    if count > 1:
        raise click.BadParameter("- is standard input, which can be read only once.")
    with scratch_folder() if count else nullcontext() as folder:
        if count:
            if sys.stdin is None:
                raise DataError("There is no standard input: name a file.", code="no-file")
            path = Path(str(folder)) / NAME
            with path.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
            copies[:] = [str(path)]
            for name in named:
                given[name] = [str(path) if item == "-" else item for item in given[name]]
            if "no_cache" in given:
                given["no_cache"] = True  # its rows are never read again
            if given["format"] is None and not formats.is_svmlight(path):
                flag = "--data-format" if "written" in given else "--format"
                raise click.BadParameter(f"The format of - cannot be inferred: add {flag}.")
        yield


def command(*parameters: Any, cls: Callable[..., Command] = Command) -> Callable[[Any], Command]:
    """Make a command of a function: its arguments and options, in the order of the help, are
    ``parameters``, or the defaults of its arguments.
    """

    def made(function: Callable) -> Command:
        defaults = [one.default for one in signature(function).parameters.values()]
        kinds = click.Parameter | Gathered
        declared = parameters or [one for one in defaults if isinstance(one, kinds)]
        gathered = [one for one in declared if isinstance(one, Gathered)]

        def run(**given: Any) -> Any:
            gc.freeze()  # what has been imported so far is never garbage
            gc.enable()
            with _opened_data(given):
                for group in gathered:
                    values = {option.name: given.pop(option.name) for option in group.options}
                    given[group.name] = group.into(values)
                return function(**given)

        params = [p for one in declared for p in (one.options if one in gathered else (one,))]
        return cls(
            function.__name__, params=[*params, HELP_ALL], callback=run,
            help=cleandoc(function.__doc__ or "").replace("Example:", "\b\nExample:"),  # one line
            context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
        )  # fmt: skip

    return made


#: options and arguments of commands that are declared as defaults of arguments of functions
option: Any = Option
argument: Any = Argument
gathered: Any = Gathered
HELP_ALL = Option(
    "--help-all", None, "Show all options and exit.",
    is_eager=True, expose_value=False, callback=_print_whole,
)  # fmt: skip


class Value(click.ParamType):
    """A value that one of some parameters accepts, or ``several`` with commas between them."""

    name = "value"

    def __init__(self, *declared: Parameter, several: bool = False):
        self.declared, self.several = declared, several
        self.words = [word for one in declared for word in (*one.choices, *one.words)]

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str):
            return value
        if self.several and "," in value:
            return ",".join(self.convert(one, param, ctx) for one in value.split(","))
        for parameter in self.declared:
            if parameter.accepts(found := parameter.parse(value)):
                return found
        wanted = " or ".join(dict.fromkeys(parameter.typed for parameter in self.declared))
        told, advice = meant(value, self.words), advice_for("penalty")
        if advice and not told and getattr(param, "name", "") == "penalty":
            told = [f"{advice.render(in_options)}."]
        said = f"must be {wanted}, not {value!r}"
        raise click.BadParameter(f"{said}; {told[0]}" if told else f"{said}.")

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[Any]:
        return _completed(dict.fromkeys(self.words), incomplete)


def typed(type: Any, metavar: str) -> dict[str, Any]:
    return {"type": type, "metavar": metavar}


def number(kind: type = int, metavar: str = "", **bounds: Any) -> dict[str, Any]:
    usual = "N" if kind is int else "X"
    return typed(Value(Parameter(kind=kind, **bounds)), metavar or usual)


def choice(choices: Iterable[str], metavar: str = "", several: bool = False) -> dict[str, Any]:
    known = tuple(choices)
    return typed(Value(Parameter(choices=known), several=several), metavar or "|".join(known))


class LocalPath(click.Path):
    """A local path, of one of some formats if any are named; ``dash`` allows standard output."""

    def __init__(self, dash: bool = True, formats: Sequence[str] = ()):
        super().__init__(path_type=Path)
        self.dash, self.formats = dash, formats

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        path = Path(value)
        if is_address(path):
            raise click.BadParameter("is a URL, but only DATA may be one: give a local path.")
        if not self.dash and path == Path("-"):
            raise click.BadParameter("- is standard output: give a file, which is read again.")
        if self.formats and path.suffix.lower() not in self.formats:
            raise click.BadParameter(f"must end in {either(self.formats)}, not {str(path)!r}.")
        return path


def parsed(metavar: str, wanted: str, made: Callable[[str], Any]) -> dict[str, Any]:
    """Return the kind of a text of which ``made`` makes a value, or raises ValueError."""

    def value(text: str) -> Any:
        try:
            return made(text)
        except (ValueError, ArithmeticError, LinsepError):
            raise click.BadParameter(f"must be {wanted}, not {text!r}.") from None

    return typed(value, metavar)


def valid(value: Any, condition: bool) -> Any:
    if not condition:
        raise ValueError
    return value


def size_of(what: str) -> dict[str, Any]:
    return parsed("SIZE", "a size such as 64MB", lambda text: bytes_of(text, what))


def _numbers(text: str) -> list[float]:
    found = [float(number) for number in text.split(",")]
    return valid(found, all(map(isfinite, found)))


def _vectors(text: str) -> list[list[float]]:
    found = [_numbers(part) for part in text.split(";")]
    return valid(found, len({len(vector) for vector in found}) == 1)


NUMBERS = parsed("X,X,...", "finite numbers separated by commas", _numbers)


def _delimiter(text: str) -> str:
    by_name = {name: character for character, name in TYPED.items()} | {"\\t": "\t"}
    character = by_name.get(text, text)
    return valid(character, formats.is_delimiter(character))


def _ngram_range(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    found = int(low), int(high or low)
    return valid(found, 1 <= found[0] <= found[1] <= 100)


def _rows_or_share(text: str) -> float:
    if text.isdecimal():
        return valid(int(text), int(text) > 0)
    return valid(float(text), 0 <= float(text) <= 1)


def _reference_levels(ctx: Any, param: Any, value: Sequence[str]) -> Any:
    """Return {column: value}, "first" for all columns, {} for none; None by default."""
    if not value or value == ("first",):
        return "first" if value else None
    levels = dict(pair.split("=", 1) for pair in value if "=" in pair)
    if len(levels) < len(value) and value != ("none",):
        told = f"COLUMN=VALUE, once per column, or 'first' or 'none', not {' '.join(value)!r}."
        raise click.BadParameter(f"takes {told}")
    return levels


@cache
def _documented(path: str, name: str) -> dict[str, str]:
    """Return what a docstring, which is read, not imported, says first about each parameter."""
    tree = ast.parse(Path(linsep.__file__).with_name("sources").joinpath(path).read_text("utf-8"))
    (owner,) = [node for node in tree.body if getattr(node, "name", "") == name]
    _, _, text = str(ast.get_docstring(owner)).partition("----------\n")  # type: ignore[arg-type]
    found: dict[str, str] = {}
    for names, lines in re.findall(r"^(\S.*) : .*\n((?: .*\n?)+)", text, re.M):
        sentence = " ".join(lines.replace("`", "").split()).split(". ")[0].rstrip(".")
        found |= dict.fromkeys(names.split(", "), sentence)
    return found


DATA: Any = Argument(
    "data", "DATA...",
    "Files, folders, globs or URLs: CSV, TSV, JSON lines, Parquet, Arrow, svmlight text (.svm) or "
    "Vowpal Wabbit's (.vw); plain or compressed. - is standard input.", required=True,
)  # fmt: skip
MODEL: Any = Argument("model", "MODEL", "A model saved by `linsep fit --model`.", type=LocalPath())

PICTURES = (".png", ".svg", ".pdf")
FILE, NEW_FILE = typed(LocalPath(), "FILE"), typed(LocalPath(dash=False), "FILE")
AS_JSON: Any = Option("--json as_json", None, "Print JSON.")
FORCE: Any = Option("--force", None, "Overwrite an existing file.")
MODEL_OUT = Option("--model -m", NEW_FILE, "Save the model here.")
OUTPUT: Any = Option(
    "--output -o to", FILE, "Write to this file; - is standard output.",
    callback=lambda ctx, param, path: None if path == Path("-") else path,
)  # fmt: skip
PLOT: Any = Option(
    "--plot", typed(LocalPath(formats=PICTURES), "FILE"), "Draw it: .png, .svg or .pdf."
)  # fmt: skip
LEVEL: Any = Option(
    "--level", number(float, above=0.0, below=1.0), "Coverage of the intervals.", default=0.95
)

# How columns of tables become features.


def of_data(
    flags: str, kind: Any = "COLUMN", help: str = "", *, section: str = "Data", **how: Any
) -> Any:
    """Return an option of reading, if it has no help with that of :func:`linsep.open_source`, or
    for words of :class:`linsep.Text`.
    """
    place = ("text.py", "Text") if section == "Text" else ("opening.py", "open_source")
    repeated = "; repeatable" * bool(how.get("many"))

    def documented() -> str:
        name = str(option.name)
        return _documented(*place)[_AS_PARAMETER.get(name, name)] + repeated + "."

    option = Option(flags, kind, help or documented, section=section, **how)
    return option


TARGET: Any = of_data("--target")
FORMULA = of_data("--formula", "FORMULA")
PRODUCTS = of_data("--products", "COLUMN:COLUMN", many=True)
EXCLUDE = of_data("--exclude", "COLUMN", "Column to leave out, or a glob; repeatable.", many=True)
#: what users say of columns; names may be globs
TYPES = (
    of_data("--include", "COLUMN", "The only columns to use; repeatable.", many=True),
    of_data("--categorical", "COLUMN", "Column to read as categories; repeatable.", many=True),
    of_data("--numeric", "COLUMN", "Column to read as numbers; repeatable.", many=True),
    of_data(
        "--date", "COLUMN[=FORMAT]",
        "Column of dates, ISO 8601 or in a format: 'day=%d.%m.%Y'; repeatable.", many=True,
    ),
)  # fmt: skip
WEIGHT = of_data("--weight", help="Column of row weights of at least 0, not a feature.")
GROUP = of_data("--group", help="Column of groups, which are held out whole; not a feature.")
#: what else regressions take from columns
OF_REGRESSIONS = (
    of_data("--offset", help="Column of offsets, added to the linear predictor of a regression."),
    of_data("--successes", help="Column of successes among --trials, instead of --target."),
    of_data("--trials", help="Column of numbers of trials."),
)
MISSING_VALUES = of_data("--missing", choice(formats.MISSING), default="error")
UNLABELED = of_data("--unlabeled", choice(("error", "drop")), default="error")
SCALE = Option(
    "--scale", choice(formats.SCALES),
    lambda: "Scale numeric columns to mean 0, standard deviation 1.  [default: standard; none for "
    f"{', '.join(name for name in ESTIMATORS if not is_scaled(name))}]", section="Data",
)  # fmt: skip
HASH_BITS = of_data("--hash-bits", number(metavar="BITS", at_least=1, at_most=30))
MIN_COUNT = of_data("--min-count", number(at_least=1))
REFERENCE_LEVEL = of_data(
    "--reference-level", "COLUMN=VALUE",
    "Value of a text column without an indicator, for other columns the first; repeatable. "
    "'first': of every column; 'none': of no column.  "
    "[default: first for linear and logistic with an intercept, else none]",
    multiple=True, callback=_reference_levels,
)  # fmt: skip
INDEX_BASE: Any = of_data("--index-base", number(metavar="0|1", at_least=0, at_most=1))
TEST = of_data("--test", "DATA", "Held-out data to score; repeatable.", many=True)
#: how files are read: arguments of :func:`linsep.open_source`
FILES: Any = Gathered("files", (
    of_data("--format", choice(formats.FORMATS)),
    of_data("--delimiter", parsed(
        "CHARACTER", "'tab', 'whitespace' or one character that is not a letter or digit",
        _delimiter,
    )),
    of_data("--quotes/--no-quotes", None, default=None),
    of_data("--header/--no-header", None, default=None),
    of_data("--null-values", "TEXT", many=True),
    of_data("--decimal", "CHARACTER", "Decimal mark of numbers.  [default: .]"),
    of_data("--thousands", "CHARACTER", "Thousands separator of numbers."),
    of_data("--units/--no-units", None, default=None),
    of_data("--comment", "TEXT", "Skip lines of CSV that begin with TEXT."),
    of_data("--skip-rows", number(at_least=0), "Skip N lines before the header of CSV."),
    of_data("--encoding", "NAME"),
    of_data("--max-line", size_of("a line")),
))  # fmt: skip
TABLE_ROWS = (TARGET, MISSING_VALUES, UNLABELED, HASH_BITS, MIN_COUNT, EXCLUDE, *TYPES, INDEX_BASE)
#: reading options of commands whose features match Python's ``open_source``
ROWS: Any = Gathered("how", (*TABLE_ROWS, FORMULA, PRODUCTS, REFERENCE_LEVEL, *FILES.options))
READING = Gathered("reading", (
    *TABLE_ROWS, FORMULA, PRODUCTS, SCALE, REFERENCE_LEVEL, *FILES.options,
    of_data("--max-features", number(at_least=1)),
    of_data(
        "--cache", typed(LocalPath(), "FOLDER"), "Folder for parsed rows.  [default: the user's]"
    ),
    of_data("--no-cache", None, "Do not keep parsed rows for later runs."),
))  # fmt: skip


# Words of text, and namespaces of Vowpal Wabbit's text.

TEXT = Option(
    "--text", "COLUMN", "Column whose words become features; repeatable.", section="Text", many=True
)  # fmt: skip
_COUNT = parsed(
    "N|SHARE", "a number of rows (1 or more) or a share of the rows (0.0 to 1.0)", _rows_or_share
)
_word = partial(of_data, section="Text", needs=["text"])
_count = partial(of_data, kind=_COUNT, section="Text", needs=["text", "vocabulary"])
WORDS = (
    _word("--analyzer", choice(("word", "char", "char_wb"))),
    _word("--ngrams", parsed(
        "N|N-N", "a number from 1 to 100, or a range such as 1-2", _ngram_range
    )),
    _word("--vocabulary", None), _count("--min-df"), _count("--max-df"),
    _word(
        "--text-bits", number(metavar="BITS", at_least=1, at_most=30),
        "Hash words into 2^BITS features.  [default: 18]", excludes=["vocabulary"],
    ),
    _word("--binary", None), _word("--sublinear", None), _word("--tf-idf", None),
    _word("--norm", choice(("l2", "l1", "none"))),
    _word("--keep-case", None, "Do not convert text to lower case."),
)  # fmt: skip
NAMESPACES = (
    of_data("--interactions", "LETTERS", many=True),
    of_data("--ignore-namespaces", "LETTERS"), of_data("--keep-namespaces", "LETTERS"),
)  # fmt: skip
#: parameters of :class:`linsep.Text` by options of another name
_AS_PARAMETER = {"ngrams": "ngram_range", "sublinear": "sublinear_tf", "tf_idf": "use_idf"}


def _columns(given: dict[str, Any]) -> dict[str, Any]:
    chosen = {option.name: given.pop(option.name) for option in WORDS}
    if given["text"]:
        from linsep.sources.text import Text as TextColumn

        words = {_AS_PARAMETER.get(n, n): x for n, x in chosen.items() if x not in (None, False)}
        if (bits := words.pop("text_bits", None)) is not None:
            words["n_features"] = 1 << bits
        if words.get("norm") == "none":
            words["norm"] = None
        words["lowercase"] = not words.pop("keep_case", False)
        given["text"] = dict.fromkeys(given["text"], TextColumn(**words))
    return given


COLUMNS: Any = Gathered("columns", (WEIGHT, GROUP, *NAMESPACES, TEXT, *WORDS), _columns)
FIT_COLUMNS = Gathered(
    "columns", (WEIGHT, GROUP, *OF_REGRESSIONS, *NAMESPACES, TEXT, *WORDS), _columns
)
UNGROUPED_COLUMNS: Any = Gathered("columns", (WEIGHT, *NAMESPACES, TEXT, *WORDS), _columns)

# What is learned, and how.

_Learner = partial(Option, section="Learner")


CLASS_WEIGHT: Any = _Learner(
    "--class-weight", "LABEL=WEIGHT,...", "Weights of classes, or 'balanced'; repeatable.",
    many=True,
)  # fmt: skip
INIT_WEIGHTS: Any = _Learner(
    "--init-weights", parsed("X,X,...", "lists of equally many finite numbers", _vectors),
    "Initial weights: the intercept, then one number per (scaled) feature; semicolons separate "
    "the lists of several classes or pairs.",
)  # fmt: skip
RANDOM_STATE: Any = _Learner(
    "--random-state", number(at_least=0, at_most=2**32 - 1), "Seed of random numbers.", default=0
)  # fmt: skip
REFERENCE: Any = _Learner(
    "--reference", "LABEL", "The class encoded as -1, or without weights in logistic regression.  "
    "[default: the smaller of two, else the last]",
)  # fmt: skip
FIT_INTERCEPT: Any = Option(
    "--fit-intercept/--no-fit-intercept", None, "Whether to have an intercept.", default=True
)  # fmt: skip

# Cross-validation.

_Validation = partial(Option, section="Validation")


FOLDS = (
    _Validation("--cv", number(at_least=2), "Number of folds of cross-validation."),
    _Validation(
        "--repeats", number(at_least=1), "Number of divisions into folds.  [default: 1]",
        needs=["cv"],
    ),
    _Validation(
        "--by-time", None, "Rows are in time order: predict from earlier ones.", needs=["cv"],
    ),
)  # fmt: skip

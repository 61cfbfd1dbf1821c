"""Options shared by commands."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from linsep.catalog import LEARNERS, REGRESSIONS, UNSCALED
from linsep.errors import DataError
from linsep.linear.estimator import INTERVALS
from linsep.parameters import Parameter
from linsep.sources.limits import bytes_of
from linsep.sources.tables.roles import MISSING, SCALES


def reader(*parameters: Parameter, owners: Sequence[list[str]] = ()) -> Callable[[Any], Any]:
    """Return a parser of an option's text into a value that one of ``parameters`` accepts (they
    differ between learners, whose names are ``owners``); BadParameter if none does.
    """

    def read(text: Any) -> Any:
        for parameter in parameters:
            value = parameter.parse(text)
            if parameter.accepts(value):
                return value
        kinds: dict[str, list[str]] = {}
        for parameter, names in zip(parameters, owners or [[]] * len(parameters), strict=True):
            kinds.setdefault(parameter.typed, []).extend(names)
        wanted = []
        for kind, names in kinds.items():
            if not any(kind != other and other.startswith(kind + " or") for other in kinds):
                some = any(kind.startswith(other + " or") for other in kinds)
                wanted.append(f"{kind} with --learner {' or '.join(names)}" if some else kind)
        raise typer.BadParameter(f"must be {' or '.join(wanted)}, not {text!r}.")

    return read


def size_of(what: str) -> Callable[[Any], int]:
    """Return a parser of an option's text into bytes, the size of ``what``."""

    def read(text: Any) -> int:
        try:
            return bytes_of(text, what)
        except DataError as problem:
            raise typer.BadParameter(str(problem)) from None

    return read


def numbers(text: Any) -> list[float]:
    """Return the numbers of an option."""
    with suppress(ValueError):
        found = [float(number) for number in text.split(",")]
        if all(map(isfinite, found)):
            return found
    raise typer.BadParameter(f"must be finite numbers with commas between them, not {text!r}.")


def vectors(text: Any) -> list[list[float]]:
    """Return the lists of numbers of an option, with semicolons between them."""
    found = [numbers(part) for part in text.split(";")]
    if len({len(vector) for vector in found}) > 1:
        raise typer.BadParameter(f"must be lists of as many numbers each, not {text!r}.")
    return found


def no_screen(path: Path | None) -> Path | None:
    """Refuse "-" for a file that must be a real one."""
    if path == Path("-"):
        raise typer.BadParameter("- is standard output, which cannot be read again: name a file.")
    return path


#: learners with weights to show; kernel learners have one per row
TRACEABLE = tuple(name for name, kind in LEARNERS.items() if hasattr(kind, "coef_"))
TRACE_FORMATS = ("text", "csv", "markdown", "latex", "html")

Data = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders or globs, or addresses such as s3://bucket/x.csv: svmlight text "
        "(.svm .svmlight .libsvm .txt), Vowpal Wabbit's text (.vw), CSV, TSV, JSON lines, Parquet, "
        "Arrow; plain or .gz .bz2 .zst. With --format, - is standard input.",
        metavar="DATA",
        show_default=False,
    ),
]
ModelIn = Annotated[
    Path, typer.Argument(help="A model saved by `linsep fit --model`.", metavar="MODEL")
]
Target = Annotated[
    str | None,
    typer.Option("--target", help="Column to predict (tables only).", metavar="COLUMN"),
]
Weight = Annotated[
    str | None,
    typer.Option(
        "--weight",
        help="Column of sample weights of at least 0, not a feature (tables only).",
        metavar="COLUMN",
        show_default=False,
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        "--group",
        help="Column of groups to hold out whole, not a feature (tables only).",
        metavar="COLUMN",
        show_default=False,
    ),
]
Missing = Annotated[
    Any,
    typer.Option(
        "--missing",
        parser=reader(Parameter(name="missing", kind=str, choices=MISSING)),
        help="How to treat missing values (tables only).",
        metavar="error|zero|drop|mean",
    ),
]
HashBits = Annotated[
    Any,
    typer.Option(
        "--hash-bits",
        parser=reader(Parameter(name="hash_bits", kind=int, at_least=1, at_most=30)),
        help="Hash text columns, or the features of Vowpal Wabbit's text, into 2^BITS columns.  "
        "[default: 18 for Vowpal Wabbit's text]",
        metavar="BITS",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", help="Column to leave out; repeatable.", metavar="COLUMN"),
]
Scale = Annotated[
    Any,
    typer.Option(
        "--scale",
        parser=reader(Parameter(name="scale", kind=str, choices=SCALES)),
        help="standard: scale numeric columns to mean 0 and standard deviation 1 (tables only).  "
        f"[default: standard; none for {', '.join(UNSCALED)}]",
        metavar="|".join(SCALES),
        show_default=False,
    ),
]
ReferenceLevel = Annotated[
    list[str] | None,
    typer.Option(
        "--reference-level",
        help="Reference value of a text column, which gets no indicator; repeatable. Other columns "
        "use their first value; 'none' sets no reference values.  [default: first values for "
        "linear and logistic with an intercept, else none]",
        metavar="COLUMN=VALUE",
        show_default=False,
    ),
]
IndexBase = Annotated[
    Any,
    typer.Option(
        "--index-base",
        parser=reader(Parameter(name="index_base", kind=int, at_least=0, at_most=1)),
        help="First feature index of svmlight text.  [default: detected]",
        metavar="0|1",
        show_default=False,
    ),
]
CacheFolder = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        help="Folder for parsed rows that do not fit in memory.  [default: the user's cache "
        "folder]",
        metavar="FOLDER",
        show_default=False,
    ),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Do not keep parsed rows afterwards.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
ModelOut = Annotated[
    Path | None,
    typer.Option(
        "--model",
        "-m",
        help="Save the model here.",
        callback=no_screen,
        metavar="FILE",
        show_default=False,
    ),
]
Test = Annotated[
    list[str] | None,
    typer.Option(
        "--test",
        help="Held-out data to score at the end; repeatable.",
        metavar="DATA",
        show_default=False,
    ),
]
Learner = Annotated[
    Any,
    typer.Option(
        "--learner",
        help="Learning algorithm.",
        parser=reader(Parameter(name="learner", kind=str, choices=(*LEARNERS, *REGRESSIONS))),
        metavar="|".join([*LEARNERS, *REGRESSIONS]),
    ),
]
TraceLearner = Annotated[
    Any,
    typer.Option(
        "--learner",
        help="Learning algorithm.",
        parser=reader(Parameter(name="learner", kind=str, choices=TRACEABLE)),
        metavar="|".join(TRACEABLE),
    ),
]
Reference = Annotated[
    str | None,
    typer.Option(
        "--reference",
        help="Which of two classes is -1; for logistic regression, the reference class, which has "
        "no weights.  [default: the smaller of two, else the last]",
        metavar="LABEL",
        show_default=False,
    ),
]
Probabilities = Annotated[
    bool,
    typer.Option("--probabilities", help="Add the probability of each class, tab separated."),
]
Interval = Annotated[
    Any,
    typer.Option(
        "--interval",
        help="Add a confidence interval for the mean or a prediction interval, tab separated "
        "(linear).",
        parser=reader(Parameter(name="interval", kind=str, choices=INTERVALS)),
        metavar="|".join(INTERVALS),
        show_default=False,
    ),
]
Level = Annotated[
    Any,
    typer.Option(
        "--level",
        help="Coverage of the intervals.",
        parser=reader(Parameter(name="level", kind=float, above=0.0, below=1.0)),
        metavar="X",
    ),
]
TopWeights = Annotated[
    Any,
    typer.Option(
        "--top",
        parser=reader(Parameter(name="top", kind=int, at_least=1)),
        metavar="N",
        help="Show the N coefficients with the largest statistics.  [default: all, up to 60]",
        show_default=False,
    ),
]
Curve = Annotated[
    bool,
    typer.Option("--curve", help="Print validation errors by pass; needs --early-stopping."),
]
RandomState = Annotated[
    Any,
    typer.Option(
        "--random-state",
        parser=reader(Parameter(name="random_state", kind=int, at_least=0, at_most=2**32 - 1)),
        metavar="N",
        help="Seed of the random numbers.",
    ),
]
InitWeights = Annotated[
    Any,
    typer.Option(
        "--init-weights",
        parser=vectors,
        help="Initial weights: the intercept, then one number per feature (of scaled columns, if "
        "they are scaled); for several classes, one such list per class or pair, separated by "
        "semicolons.",
        metavar="X,X,...",
        show_default=False,
    ),
]
ClassWeight = Annotated[
    list[str] | None,
    typer.Option(
        "--class-weight",
        help="Weight of the rows of a class; repeatable; or 'balanced'.",
        metavar="LABEL=WEIGHT",
        show_default=False,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Write to this file; - is standard output.",
        callback=lambda path: None if path == Path("-") else path,
        metavar="FILE",
        show_default=False,
    ),
]
Scores = Annotated[bool, typer.Option("--scores", help="Add the scores, tab separated.")]
Top = Annotated[
    Any,
    typer.Option(
        "--top",
        parser=reader(Parameter(name="top", kind=int, at_least=0)),
        metavar="N",
        help="Number of weights to show.  [default: 10, or 3 each for several classes or pairs]",
        show_default=False,
    ),
]
TraceFormat = Annotated[
    Any,
    typer.Option(
        "--format",
        help="Output format.",
        parser=reader(Parameter(name="written", kind=str, choices=TRACE_FORMATS)),
        metavar="|".join(TRACE_FORMATS),
    ),
]
MaxRounds = Annotated[
    Any,
    typer.Option(
        "--max-rounds",
        parser=reader(Parameter(name="max_rounds", kind=int, at_least=1)),
        help="Stop the trace after N rounds.",
        metavar="N",
    ),
]
Rounds = Annotated[
    Any,
    typer.Option(
        "--rounds",
        parser=reader(Parameter(name="rounds", kind=int, at_least=1)),
        help="Run N rounds, however many passes that takes, even beyond a cycle.",
        metavar="N",
        show_default=False,
    ),
]
RowNames = Annotated[
    str | None,
    typer.Option(
        "--row-names",
        help="Column of row names, not a feature (tables only).  [default: line numbers]",
        metavar="COLUMN",
        show_default=False,
    ),
]

"""Options shared by commands, and those of learners, made from the facts about parameters."""

import inspect
from collections.abc import Callable
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Annotated, Any

import typer

from linsep.cli.failures import TYPED, flag_of
from linsep.estimators.facts import Parameter
from linsep.estimators.learners import LEARNERS
from linsep.sources.base import Source
from linsep.sources.formats import FORMATS
from linsep.sources.roles import MISSING, is_delimiter


def reader(*parameters: Parameter) -> Callable[[Any], Any]:
    """Turns the text of an option into a value that one of ``parameters``, which differ from
    learner to learner, takes; wrong use where it is none of any.
    """

    def read(text: Any) -> Any:
        for parameter in parameters:
            value = text
            if parameter.kind is not str and text != parameter.or_word:
                with suppress(ValueError):
                    value = parameter.kind(text)
            if parameter.accepts(value):
                return value
        wanted = " or ".join(dict.fromkeys(parameter.typed for parameter in parameters))
        raise typer.BadParameter(f"must be {wanted}, not {text!r}.")

    return read


def _delimiter(text: str) -> str:
    by_name = {name: character for character, name in TYPED.items()} | {"\\t": "\t"}
    character = by_name.get(text, text)
    if not is_delimiter(character):
        raise typer.BadParameter(
            f"must be one character that is no letter or digit, or 'tab', not {text!r}."
        )
    return character


# A file may be large, and most data are not separable: ten passes, not a thousand.
MAX_ITER = 10
#: learners with weights to show; those of a kernel are as many as rows
TRACEABLE = tuple(name for name, kind in LEARNERS.items() if hasattr(kind, "coef_"))
TRACE_FORMATS = ("text", "csv", "markdown", "latex", "html")

Data = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders or globs: svmlight text (.svm .svmlight .libsvm .txt), CSV, TSV, "
        "JSON lines, Parquet, Arrow; plain or .gz .bz2 .zst. With the format told, - is standard "
        "input.",
        metavar="DATA",
        show_default=False,
    ),
]
ModelIn = Annotated[
    Path, typer.Argument(help="A model that `linsep fit --model` wrote.", metavar="MODEL")
]
Target = Annotated[
    str | None,
    typer.Option("--target", help="Column to learn (tables only).", metavar="COLUMN"),
]
Missing = Annotated[
    Any,
    typer.Option(
        "--missing",
        parser=reader(Parameter("missing", str, "", choices=MISSING)),
        help="What to do about missing values (tables only).",
        metavar="error|zero|drop|mean",
    ),
]
HashBits = Annotated[
    Any,
    typer.Option(
        "--hash-bits",
        parser=reader(Parameter("hash_bits", int, "", low=1, high=30)),
        help="Hash text columns into 2^BITS features instead of learning their values.",
        metavar="BITS",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", help="Column to leave out; repeatable.", metavar="COLUMN"),
]
Scale = Annotated[
    bool,
    typer.Option(
        "--scale",
        help="Bring numeric columns to mean 0 and standard deviation 1 (tables only).",
    ),
]
IndexBase = Annotated[
    Any,
    typer.Option(
        "--index-base",
        parser=reader(Parameter("index_base", int, "", low=0, high=1)),
        help="First feature index of svmlight text; detected if not given.",
        metavar="0|1",
        show_default=False,
    ),
]
_DATA_FORMAT = {
    "help": "What DATA is where names do not say it.",
    "parser": reader(Parameter("format", str, "", choices=FORMATS)),
    "metavar": "|".join(FORMATS),
    "show_default": False,
}
DataFormat = Annotated[Any, typer.Option("--format", **_DATA_FORMAT)]
TraceDataFormat = Annotated[Any, typer.Option("--data-format", **_DATA_FORMAT)]
Delimiter = Annotated[
    Any,
    typer.Option(
        "--delimiter",
        help="What separates the fields of CSV: one character, or 'tab'.",
        parser=_delimiter,
        metavar="CHARACTER",
        show_default=False,
    ),
]
CacheFolder = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        help="Folder for parsed rows that do not fit in memory; the user's cache folder if not "
        "given.",
        metavar="FOLDER",
        show_default=False,
    ),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Keep no parsed rows afterwards.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
ModelOut = Annotated[
    Path | None,
    typer.Option("--model", "-m", help="Save the model here.", metavar="FILE", show_default=False),
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
        help="What learns.",
        parser=reader(Parameter("learner", str, "", choices=tuple(LEARNERS))),
        metavar="|".join(LEARNERS),
    ),
]
TraceLearner = Annotated[
    Any,
    typer.Option(
        "--learner",
        help="What learns.",
        parser=reader(Parameter("learner", str, "", choices=TRACEABLE)),
        metavar="|".join(TRACEABLE),
    ),
]
Curve = Annotated[
    bool,
    typer.Option("--curve", help="Print the errors after each pass; needs --early-stopping."),
]
RandomState = Annotated[
    Any,
    typer.Option(
        "--random-state",
        parser=reader(Parameter("random_state", int, "", low=0, high=2**32 - 1)),
        metavar="N",
        help="Seed of all draws.",
    ),
]
ClassWeight = Annotated[
    list[str] | None,
    typer.Option(
        "--class-weight",
        help="What the rows of a class count, repeatable; or 'balanced'.",
        metavar="LABEL=WEIGHT",
        show_default=False,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Write to this file instead; - is the screen.",
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
        parser=reader(Parameter("top", int, "", low=0)),
        metavar="N",
        help="How many weights to show: 10, or 3 of each where there are several machines.",
        show_default=False,
    ),
]
TraceFormat = Annotated[
    Any,
    typer.Option(
        "--format",
        help="How to write it.",
        parser=reader(Parameter("written", str, "", choices=TRACE_FORMATS)),
        metavar="|".join(TRACE_FORMATS),
    ),
]
MaxRounds = Annotated[
    Any,
    typer.Option(
        "--max-rounds",
        parser=reader(Parameter("max_rounds", int, "", low=1)),
        help="Cut the trace after N rounds.",
        metavar="N",
    ),
]
RowNames = Annotated[
    str | None,
    typer.Option(
        "--row-names",
        help="Column that names the rows, not learnt from (tables only); their lines if not given.",
        metavar="COLUMN",
        show_default=False,
    ),
]


def learner_options(command: Callable) -> Callable:
    """Give a command that takes ``**parameters`` one option for every parameter of a learner.

    Those that are not given are None.
    """
    signature = inspect.signature(command, eval_str=True)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    owners = _owners()
    made = [_option(name, names) for name, names in owners.items()]
    command.__signature__ = signature.replace(parameters=[*own, *made])  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in [*own, *made]}
    return command


def make_learner(name: str, given: dict[str, Any], **others: Any) -> Any:
    """The learner of this name with the options that were given and defaults for the rest."""
    given = {option: value for option, value in given.items() if value is not None}
    owners = _owners()
    for option, value in given.items():
        if name not in owners[option]:
            raise typer.BadParameter(
                f"{flag_of(option)} is for --learner {' or '.join(owners[option])}, not {name}."
            )
        own = _facts(name)[option]
        if not own.accepts(value):
            raise typer.BadParameter(f"{flag_of(option)} must be {own.typed}, not {value!r}.")
    return LEARNERS[name](**{"max_iter": MAX_ITER} | given, **others)


def _owners() -> dict[str, list[str]]:
    """Names of the learners that have each parameter, in the order of the parameters."""
    owners: dict[str, list[str]] = {}
    for name, learner in LEARNERS.items():
        facts = _facts(name)
        for parameter in inspect.signature(learner).parameters:
            if parameter in facts and parameter != "warm_start":  # a command starts from nothing
                owners.setdefault(parameter, []).append(name)
    return owners


def _facts(learner: str) -> dict[str, Parameter]:
    return {parameter.name: parameter for parameter in LEARNERS[learner]._parameters}


def _option(name: str, owners: list[str]) -> inspect.Parameter:
    """The option of one parameter, which may mean other things to other learners."""
    kinds: dict[Parameter, list[str]] = {}
    for owner in owners:
        kinds.setdefault(_facts(owner)[name], []).append(owner)
    parameter = next(iter(kinds))
    defaults = {inspect.signature(LEARNERS[owner]).parameters[name].default for owner in owners}
    default = defaults.pop() if len(defaults) == 1 else None
    default = {"max_iter": MAX_ITER}.get(parameter.name, default)
    flag = flag_of(parameter.name)
    meant: dict[str, list[str]] = {}
    for kind, names in kinds.items():
        meant.setdefault(kind.help, []).extend(names)
    whose = len(owners) < len(LEARNERS)
    help = "; ".join(
        f"{text} ({', '.join(names)})" if whose else text for text, names in meant.items()
    )
    shown = "" if default is None or default is False else f"  [default: {default}]"
    choices = dict.fromkeys(choice for kind in kinds for choice in kind.choices)
    words = {int: "N", float: "X", str: "|".join(choices)}
    either = [kind.or_word for kind in kinds if kind.or_word]
    about = typer.Option(
        f"{flag}/--no-{flag[2:]}" if default is True else flag,
        help=f"{help[0].upper()}{help[1:]}.{shown}",
        metavar="|".join(["X", *either]) if either else words.get(parameter.kind),
        parser=None if parameter.kind is bool else reader(*kinds),
        show_default=False,
    )
    return inspect.Parameter(
        parameter.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[bool | None if parameter.kind is bool else Any, about],
    )


def class_weights(given: list[str] | None, source: Source) -> Any:
    """``balanced`` or LABEL=WEIGHT pairs as class_weight, labels of the type they have there."""
    if not given:
        return None
    if given == ["balanced"]:
        return "balanced"
    weights = {}
    for pair in given:
        label, equals, weight = pair.rpartition("=")
        number = _number(weight)
        if not equals or number is None or not 0 <= number < inf:
            raise typer.BadParameter(
                "--class-weight takes 'balanced' or LABEL=WEIGHT with a weight of at least 0, got "
                f"{pair!r}."
            )
        weights[_label(label, source.recipe().get("target_kind"))] = number
    return weights


def _label(text: str, kind: str | None) -> Any:
    """A label from the command line, ``kind`` being that of a table's labels, None of svmlight."""
    if kind == "text":
        return text
    if kind == "bool" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return int(text)  # all of its digits count
    except ValueError:
        number = _number(text)
        return text if number is None else number


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

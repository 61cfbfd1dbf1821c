"""Options of columns: weights, groups, and texts with what their words become."""

import inspect
import re
from collections.abc import Callable, Collection, Iterable
from functools import wraps
from typing import Annotated, Any

import typer

from linsep.cli.failures import flag_of
from linsep.cli.options import Group, Weight, reader
from linsep.parameters import Parameter
from linsep.sources.tables.words import ANALYZERS, NORMS


def _ngrams(text: Any) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", text)
    low, high = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= low <= high <= 100:
        raise typer.BadParameter(f"must be a number from 1 to 100 or two, as in 1-2, not {text!r}.")
    return low, high


def _limit(text: Any) -> float:
    if re.fullmatch(r"\d{1,18}", text) and int(text):
        return int(text)
    if re.fullmatch(r"0?\.\d+|[01]\.\d*", text) and float(text) <= 1:
        return float(text)
    raise typer.BadParameter(
        f"must be a number of rows, 1 or more, or a share of them from 0.0 to 1.0, not {text!r}."
    )


def _limit_option(about: str) -> Any:
    return typer.Option(parser=_limit, help=about, metavar="N|SHARE", show_default=False)


def _choice_option(name: str, choices: Iterable[str], about: str) -> Any:
    known = tuple(choices)
    return typer.Option(
        f"--{name}",
        parser=reader(Parameter(name=name, kind=str, choices=known)),
        help=about,
        metavar="|".join(known),
        show_default=False,
    )


def _letters_option(name: str, about: str) -> Any:
    return typer.Option(
        f"--{name}",
        help=f"{about} (Vowpal Wabbit's text only).",
        metavar="LETTERS",
        show_default=False,
    )


Text = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        help="Text column to split into words; repeatable. Other text columns become one feature "
        "per value (tables only).",
        metavar="COLUMN",
        show_default=False,
    ),
]
Analyzer = Annotated[
    Any,
    _choice_option(
        "analyzer",
        ANALYZERS,
        "N-grams of words, of characters, or of characters within words.  [default: word]",
    ),
]
Ngrams = Annotated[
    Any,
    typer.Option(
        "--ngrams",
        parser=_ngrams,
        help="Words or characters per n-gram, or a range such as 1-2.  [default: 1]",
        metavar="N|N-N",
        show_default=False,
    ),
]
Vocabulary = Annotated[
    bool,
    typer.Option(
        "--vocabulary", help="Learn the words in a first reading instead of hashing them."
    ),
]
MinDf = Annotated[
    Any, _limit_option("Leave out words that occur in fewer rows; needs --vocabulary.")
]
MaxDf = Annotated[
    Any, _limit_option("Leave out words that occur in more rows; needs --vocabulary.")
]
TextBits = Annotated[
    Any,
    typer.Option(
        "--text-bits",
        parser=reader(Parameter(name="text_bits", kind=int, at_least=1, at_most=30)),
        help="Hash words into 2^BITS features.  [default: 18]",
        metavar="BITS",
        show_default=False,
    ),
]
Binary = Annotated[bool, typer.Option("--binary", help="Count each word once per row.")]
Sublinear = Annotated[bool, typer.Option("--sublinear", help="Replace a count c by 1 + ln(c).")]
TfIdf = Annotated[
    bool, typer.Option("--tf-idf", help="Give rare words more weight (reads the data twice).")
]
Norm = Annotated[
    Any,
    _choice_option("norm", NORMS, "Divide the word counts of a row by their norm.  [default: l2]"),
]
KeepCase = Annotated[bool, typer.Option("--keep-case", help="Do not convert text to lower case.")]

Interactions = Annotated[
    list[str] | None,
    typer.Option(
        "--interactions",
        help="First letters of two namespaces to multiply (Vowpal Wabbit's text only); repeatable.",
        metavar="LETTERS",
        show_default=False,
    ),
]
IgnoreNamespaces = Annotated[
    str | None, _letters_option("ignore-namespaces", "First letters of namespaces to leave out")
]
KeepNamespaces = Annotated[
    str | None, _letters_option("keep-namespaces", "First letters of the only namespaces to read")
]

#: options, in the order of the help, and their parameters of :class:`linsep.Text`
OPTIONS: dict[str, tuple[str, Any]] = {
    "analyzer": ("analyzer", Analyzer), "ngrams": ("ngram_range", Ngrams),
    "vocabulary": ("vocabulary", Vocabulary), "min_df": ("min_df", MinDf),
    "max_df": ("max_df", MaxDf), "text_bits": ("n_features", TextBits),
    "binary": ("binary", Binary), "sublinear": ("sublinear_tf", Sublinear),
    "tf_idf": ("use_idf", TfIdf), "norm": ("norm", Norm), "keep_case": ("lowercase", KeepCase),
}  # fmt: skip
NAMESPACES = {
    "interactions": Interactions, "ignore_namespaces": IgnoreNamespaces,
    "keep_namespaces": KeepNamespaces,
}  # fmt: skip
#: columns that are no features, and namespaces
ROLES = {"weight": Weight, "group": Group, **NAMESPACES}
_FLAGS = ("vocabulary", "binary", "sublinear", "tf_idf", "keep_case")


def added(command: Callable, without: Collection[str] = ()) -> Callable:
    """Give a command with ``**parameters`` the options of columns of weights, groups and text,
    and of namespaces, but for those ``without``.

    Its ``columns`` among these are arguments of :func:`linsep.open_source`.
    """
    roles = {name: kind for name, kind in ROLES.items() if name not in without}
    signature = inspect.signature(command, eval_str=True)

    @wraps(command)
    def run(**given: Any) -> Any:
        chosen = {name: given.pop(name) for name in OPTIONS}
        columns = {name: given.pop(name) for name in roles}
        columns["text"] = text_columns(given.pop("text"), chosen)
        return command(**given, columns=columns)

    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    kinds = roles | {"text": Text} | {name: kind for name, (_, kind) in OPTIONS.items()}
    made = [
        inspect.Parameter(
            name, own[-1].kind, default=False if name in _FLAGS else None, annotation=kind
        )
        for name, kind in kinds.items()
    ]
    output = next((at for at, p in enumerate(own) if p.name == "force"), len(own))
    parameters = [*own[:output], *made, *own[output:]]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def as_typed(columns: dict[str, Any]) -> dict[str, Any]:
    """Return the values of options by name that became ``columns``."""
    given = {name: value for name, value in columns.items() if name != "text" and value}
    if not columns["text"]:
        return given
    from linsep.sources.text.transformer import Text as TextColumn

    how, usual = next(iter(columns["text"].values())), TextColumn()
    given["text"] = list(columns["text"])
    for name, (parameter, _) in OPTIONS.items():
        value = getattr(how, parameter)
        if value != getattr(usual, parameter):
            given[name] = _typed(name, value)
    return given


def _typed(name: str, value: Any) -> Any:
    """Return the value of an option from that of a parameter of :class:`linsep.Text`."""
    if name == "ngrams":
        return "-".join(map(str, value))
    if name == "text_bits":
        return value.bit_length() - 1
    if name == "norm":
        return {parameter: norm for norm, parameter in NORMS.items()}[value]
    return True if name in _FLAGS else value


def text_columns(columns: list[str] | None, given: dict[str, Any]) -> dict[str, Any] | None:
    """Return what each text column becomes, None without any.

    ``given`` has a value for each of :data:`OPTIONS`, None or False if it is not an option given.
    """
    chosen = {name: value for name, value in given.items() if value not in (None, False)}
    if not columns:
        if chosen:
            raise typer.BadParameter(
                f"{flag_of(next(iter(chosen)))} needs --text COLUMN (--text text for folders)."
            )
        return None
    limits = [name for name in ("min_df", "max_df") if name in chosen]
    if limits and "vocabulary" not in chosen:
        raise typer.BadParameter(f"{flag_of(limits[0])} needs --vocabulary.")
    if "text_bits" in chosen:
        if "vocabulary" in chosen:
            raise typer.BadParameter("--text-bits hashes words, --vocabulary does not.")
        chosen["text_bits"] = 1 << chosen["text_bits"]
    if "norm" in chosen:
        chosen["norm"] = NORMS[chosen["norm"]]
    if "keep_case" in chosen:
        chosen["keep_case"] = False
    from linsep.sources.text.transformer import Text as TextColumn

    how = TextColumn(**{OPTIONS[name][0]: value for name, value in chosen.items()})
    return dict.fromkeys(columns, how)

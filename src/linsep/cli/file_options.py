"""Options of how files are read, which commands share."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from linsep.cli.failures import TYPED
from linsep.cli.options import reader, size_of
from linsep.parameters import Parameter
from linsep.sources.formats import FORMATS
from linsep.sources.tables.roles import is_delimiter


def _delimiter(text: str) -> str:
    by_name = {name: character for character, name in TYPED.items()} | {"\\t": "\t"}
    character = by_name.get(text, text)
    if not is_delimiter(character):
        raise typer.BadParameter(
            f"must be one character other than a letter or digit, 'tab' or 'whitespace', not "
            f"{text!r}."
        )
    return character


_DATA_FORMAT = {
    "help": "Format of DATA if file names do not show it.",
    "parser": reader(Parameter(name="format", kind=str, choices=FORMATS)),
    "metavar": "|".join(FORMATS),
    "show_default": False,
}
DataFormat = Annotated[Any, typer.Option("--format", **_DATA_FORMAT)]
TraceDataFormat = Annotated[Any, typer.Option("--data-format", **_DATA_FORMAT)]
Delimiter = Annotated[
    Any,
    typer.Option(
        "--delimiter",
        help="Delimiter of CSV fields: one character, 'tab', or 'whitespace' for any run of "
        "blanks.",
        parser=_delimiter,
        metavar="CHARACTER",
        show_default=False,
    ),
]
Quotes = Annotated[
    bool | None,
    typer.Option(
        "--quotes/--no-quotes",
        help="Whether quotes in CSV enclose fields or are ordinary characters.  [default: quotes]",
        show_default=False,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row of CSV holds column names; otherwise they are column_1, "
        "column_2, ...  [default: header]",
        show_default=False,
    ),
]
NullValues = Annotated[
    list[str] | None,
    typer.Option(
        "--null-values",
        help="Text that marks a missing value in CSV, such as ?, in addition to empty cells; "
        "repeatable.",
        metavar="TEXT",
        show_default=False,
    ),
]
MaxLine = Annotated[
    Any,
    typer.Option(
        "--max-line",
        help="Refuse longer lines of text.  [default: 64MB]",
        parser=size_of("a line"),
        metavar="SIZE",
        show_default=False,
    ),
]

#: what a command gets of them, arguments of :func:`linsep.open_source` by name
Files = dict[str, Any]
#: the options in the order of the help, with their defaults
FILES: dict[str, tuple[Any, Any]] = {
    "format": (DataFormat, None),
    "delimiter": (Delimiter, None),
    "quotes": (Quotes, None),
    "header": (Header, None),
    "null_values": (NullValues, None),
    "max_line": (MaxLine, None),
}


def added(command: Callable, format: Any = DataFormat) -> Callable:
    """Give a command these options in place of its parameter ``files``."""
    return in_place_of(command, "files", FILES | {"format": (format, None)}, dict)


def in_place_of(
    command: Callable, name: str, given: dict[str, tuple[Any, Any]], gathered: Callable
) -> Callable:
    """Give a command options in place of a parameter, which becomes what ``gathered`` makes of a
    dict of their values.

    Parameters
    ----------
    given : kind and default of each option
    """
    signature = inspect.signature(command, eval_str=True)

    @wraps(command)
    def run(*args: Any, **values: Any) -> Any:
        made = gathered({option: values.pop(option) for option in given})
        return command(*args, **values, **{name: made})

    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        if parameter.name != name:
            parameters.append(parameter)
            continue
        parameters += [
            inspect.Parameter(option, parameter.kind, default=default, annotation=kind)
            for option, (kind, default) in given.items()
        ]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run

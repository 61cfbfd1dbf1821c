"""Options of how files are read, which commands share."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from linsep.cli import options

NullValues = Annotated[
    list[str] | None,
    typer.Option(
        "--null-values",
        help="What stands for a missing value in CSV, such as ?, beside empty cells; repeatable.",
        metavar="TEXT",
        show_default=False,
    ),
]

#: what a command gets of them, arguments of :func:`linsep.open_source` by name
Files = dict[str, Any]
#: the options in the order of the help, with their defaults
FILES: dict[str, tuple[Any, Any]] = {
    "format": (options.DataFormat, None),
    "delimiter": (options.Delimiter, None),
    "quotes": (options.Quotes, None),
    "header": (options.Header, None),
    "null_values": (NullValues, None),
    "max_line": (options.MaxLine, None),
}


def added(command: Callable, format: Any = options.DataFormat) -> Callable:
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

"""Commands refuse addresses where files of this machine are named, before these are looked for."""

from inspect import signature
from pathlib import Path
from typing import Any, get_args

from typer import BadParameter
from typer.core import TyperCommand, TyperOption

from linsep.paths import is_address


class LocalPaths(TyperCommand):
    """A command whose paths are on this machine; only what is text may be an address."""

    #: the names of its parameters that are paths
    paths: frozenset[str] = frozenset()

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the arguments; BadParameter if a path is an address."""
        rest = super().parse_args(ctx, args)
        for option in self.get_params(ctx):
            path = ctx.params.get(option.name) if option.name in self.paths else None
            if path is not None and is_address(Path(path)):
                _refuse(Path(path).parts[0], option)
        return rest


def paths_of(function: Any) -> frozenset[str]:
    """Return the names of the parameters that are paths."""
    parameters = signature(function, eval_str=True).parameters
    return frozenset(name for name, one in parameters.items() if _has_path(one.annotation))


def _has_path(kind: Any) -> bool:
    return kind is Path or any(map(_has_path, get_args(kind)))


def _refuse(protocol: str, option: Any) -> None:
    """Raise BadParameter, which shows nothing of the address that may be secret."""
    name = option.opts[0] if isinstance(option, TyperOption) else option.name.upper()
    raise BadParameter(
        f"{name} is an address ({protocol}//...): only DATA are read from other machines, and "
        "nothing is written there; name a file or a folder of this machine."
    )

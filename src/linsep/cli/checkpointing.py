"""The options ``--checkpoint``, ``--every`` and ``--resume`` of ``fit``."""

import inspect
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from linsep.checkpoints.file import Checkpoint
from linsep.cli.failures import note
from linsep.cli.help import OptionsInGroups
from linsep.cli.standard_input import NAME
from linsep.errors import CheckpointError
from linsep.sources.base import Source
from linsep.sources.remote.address import is_remote, normal, shown

CheckpointFile = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        help="Save the state of training regularly; the same command resumes from there.",
        metavar="FILE",
        show_default=False,
    ),
]
Every = Annotated[
    str | None,
    typer.Option(
        help="Time or rows between checkpoints: 90s, 10m, 2h, 1000000rows.  [default: 60s]",
        metavar="INTERVAL",
        show_default=False,
    ),
]
Resume = Annotated[
    Path | None,
    typer.Option(
        help="Resume the fit of this checkpoint, in the folder where it began; takes no other "
        "arguments.",
        metavar="FILE",
        show_default=False,
    ),
]


class Resumable(OptionsInGroups):
    """A command that ``--resume FILE`` repeats with the arguments stored in a checkpoint."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Put the stored arguments in the place of ``--resume FILE``; remember them."""
        if any(arg.split("=")[0] == "--resume" for arg in args):
            args = _stored(args)
        ctx.meta["arguments"] = list(args)
        rest = super().parse_args(ctx, args)
        path = ctx.params.get("checkpoint")  # older releases of typer convert it later
        ctx.meta["checkpoint"] = None if path is None else Path(path)
        return rest


def _stored(args: list[str]) -> list[str]:
    """Return the arguments of the command that wrote the checkpoint; go to its folder."""
    words = args[0].split("=", 1) if len(args) == 1 else args
    if words in (["--resume"], ["--resume", ""]):
        raise typer.BadParameter("--resume needs the FILE of a checkpoint.")
    if len(words) != 2 or words[0] != "--resume":
        raise typer.BadParameter("--resume FILE takes no other arguments: all are in the file.")
    path = Path(words[1]).absolute()
    found = Checkpoint(path).read()
    if found is None:
        raise CheckpointError(f"There is no checkpoint {words[1]}.")
    command = found[1].get("command")
    if not isinstance(command, dict) or not all(
        isinstance(arg, str) for arg in [command.get("folder"), *command.get("arguments", [None])]
    ):
        raise CheckpointError(
            f"{words[1]} has no command: give the one that wrote it, or call fit in Python."
        )
    try:
        os.chdir(command["folder"])
    except OSError as problem:
        raise CheckpointError(
            f"The folder {command['folder']}, where this fit began, cannot be entered: "
            f"{problem.strerror}."
        ) from None
    return ["--checkpoint", str(path), *command["arguments"]]


def goes_on(path: Path | None) -> bool:
    """Return whether there is a checkpoint to go on from."""
    return path is not None and path.exists()


def check(path: Path | None, every: str | None, model: Path | None, context: typer.Context) -> None:
    """Raise BadParameter for options that do not go together."""
    if path is None and every is not None:
        raise typer.BadParameter("--every needs --checkpoint FILE.")
    if path is not None and model is None:
        raise typer.BadParameter("--checkpoint needs --model FILE, where the fit ends.")
    if path is not None:
        _check_secrets(context.meta["arguments"])


def opened(
    path: Path | None, every: str | None, context: typer.Context, source: Source, estimator: Any
) -> Checkpoint | None:
    """Return the checkpoint of these options, None without one; it says where its fit goes on."""
    if path is None:
        return None
    if "checkpoint" not in inspect.signature(estimator.fit).parameters:
        raise typer.BadParameter(
            "--checkpoint is for learners that make passes; this one reads its rows once."
        )
    for file in source.paths:
        if file.name == NAME:
            raise typer.BadParameter(
                "--checkpoint needs a file: standard input cannot be read again."
            )
    try:
        checkpoint = Checkpoint(path, every or "60s", keep=True)
    except ValueError as problem:
        raise typer.BadParameter(str(problem).replace("every=", "--every ")) from None
    checkpoint.command = {"folder": os.getcwd(), "arguments": _without(context.meta["arguments"])}
    checkpoint.on_resume = lambda place: note(f"going on from {path}: {place}.")
    return checkpoint


def _check_secrets(args: list[str]) -> None:
    """Raise BadParameter for an address with credentials among arguments that will be stored."""
    for word in args:
        address = word.partition("=")[2] if word.startswith("--") else word
        if is_remote(address) and shown(address) != normal(address):
            raise typer.BadParameter(
                f"--checkpoint keeps the command, so {shown(address)} must be an address without "
                "user, password and query: let fsspec find the credentials."
            )


def _without(args: list[str]) -> list[str]:
    """Return the arguments without ``--checkpoint FILE``, which may have been moved."""
    kept, words = [], iter(args)
    for word in words:
        if word == "--checkpoint":
            next(words, None)
        elif not word.startswith("--checkpoint="):
            kept.append(word)
    return kept


def remove(checkpoint: Checkpoint | None) -> None:
    """Remove the file, now that all is written."""
    if checkpoint is not None:
        checkpoint.remove()

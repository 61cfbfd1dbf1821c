"""The command ``compare``: compare nested regressions of the same rows."""

from pathlib import Path

import click

from linsep import model_files
from linsep.cli import options
from linsep.cli.options import Argument, LocalPath, command
from linsep.cli.output import print_json
from linsep.inference.refitting import compare as compared

MODELS = Argument(
    "models",
    metavar="MODEL MODEL...",
    type=LocalPath(),
    required=True,
    help="Regressions saved by `linsep fit --model`, the smallest first.",
)


@command(MODELS, options.AS_JSON)
def compare(models: list[Path], *, as_json: bool) -> None:
    """Compare nested regressions of the same rows: F or likelihood-ratio tests, AIC, BIC.

    Example: linsep compare few.linsep more.linsep
    """
    if len(models) < 2:
        raise click.BadParameter("give two or more models, the smallest first.", param_hint="MODEL")
    found = compared(*map(model_files.load, models), names=list(map(str, models)))
    if as_json:
        print_json(found.to_dict())
    else:
        print(found)

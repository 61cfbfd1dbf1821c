"""The command ``summary``: what a regression infers."""

from linsep.cli import options
from linsep.cli.regressions import show
from linsep.model_files import format as model_file


def summary(
    model: options.ModelIn,
    *,
    top: options.TopWeights = None,
    as_json: options.AsJson = False,
) -> None:
    """Show what a regression infers: estimates, standard errors, tests, intervals.

    Example: linsep summary pressure.linsep
    """
    show(model_file.load(model), model, top, as_json)

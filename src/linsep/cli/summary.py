"""The command ``summary``: the statistics of a regression."""

from linsep.cli import options
from linsep.cli.regressions import show
from linsep.model_files import format as model_file


def summary(
    model: options.ModelIn,
    *,
    top: options.TopWeights = None,
    as_json: options.AsJson = False,
) -> None:
    """Show the statistics of a regression: estimates, standard errors, tests, intervals.

    Example: linsep summary pressure.linsep
    """
    show(model_file.load(model), model, top, as_json)

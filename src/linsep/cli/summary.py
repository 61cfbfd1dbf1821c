"""The command ``summary``: the statistics of a regression."""

from linsep.cli import options
from linsep.cli.output import check_all_free, never_overwrite
from linsep.cli.pictures import PlotFile, write_picture
from linsep.cli.regressions import show
from linsep.model_files import format as model_file


def summary(
    model: options.ModelIn,
    *,
    top: options.TopWeights = None,
    as_json: options.AsJson = False,
    plot: PlotFile = None,
    force: options.Force = False,
) -> None:
    """Show the statistics of a regression: estimates, standard errors, tests, intervals.

    Example: linsep summary pressure.linsep
    """
    check_all_free(force, plot)
    never_overwrite([model], plot)
    fitted = model_file.load(model)
    show(fitted, model, top, as_json)
    if plot is not None:
        from linsep.plot import CoefficientDisplay

        write_picture(CoefficientDisplay.from_estimator(fitted, top=top or 30), plot, force)

"""The command ``summary``: the statistics of a regression."""

import warnings
from typing import Annotated

import typer

from linsep.cli import file_options, options
from linsep.cli.file_options import Files
from linsep.cli.output import check_all_free, never_overwrite
from linsep.cli.pictures import PlotFile, rows_of, write_picture
from linsep.cli.regressions import refuse, show
from linsep.cli.score import open_like
from linsep.cli.standard_input import reads_data
from linsep.estimators._common.predicting_sources import numbers
from linsep.model_files import format as model_file

RowsOfFit = Annotated[
    list[str] | None,
    typer.Argument(
        help="The training rows of a linear regression, to show residuals and test assumptions.",
        metavar="[DATA]...",
    ),
]


@reads_data
@file_options.added
def summary(
    model: options.ModelIn,
    data: RowsOfFit = None,
    *,
    files: Files,
    top: options.TopWeights = None,
    as_json: options.AsJson = False,
    plot: PlotFile = None,
    force: options.Force = False,
) -> None:
    """Show the statistics of a regression: estimates, standard errors, tests, intervals.

    Example: linsep summary pressure.linsep pressure.csv
    """
    check_all_free(force, plot)
    never_overwrite([model], plot)
    fitted, rows = model_file.load(model), None
    refuse(fitted, model, bool(data))
    with warnings.catch_warnings():  # the columns are those of the recipe, in its order
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        if data:
            source = open_like(fitted, model, data, **files)
            never_overwrite(source.paths, plot)
            X, y, weights = rows_of(source, fitted.n_features_in_, None)
            rows = X, numbers(y, source, 0), weights
        found = None if rows is None else fitted.assumptions(*rows)
        show(fitted, rows, found, top, as_json)
        if plot is not None:
            from linsep.plot import AssumptionsDisplay, CoefficientDisplay

            drawn = (
                CoefficientDisplay.from_estimator(fitted, top=top or 30)
                if found is None
                else AssumptionsDisplay.from_assumptions(found)
            )
            write_picture(drawn, plot, force)

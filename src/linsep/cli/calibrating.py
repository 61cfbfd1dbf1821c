"""The options ``--calibrate`` and ``--calibration`` of ``fit``."""

from typing import Annotated, Any, NamedTuple

import typer

from linsep.catalog import REGRESSIONS
from linsep.cli import options
from linsep.cli.progress import watching
from linsep.cli.reading import Reading
from linsep.errors import LinsepError
from linsep.interrupts import window
from linsep.parameters import Parameter
from linsep.sources.remote.address import shown

Calibrate = Annotated[
    list[str] | None,
    typer.Option(
        "--calibrate",
        help="Held-out data on which to calibrate probabilities; repeatable.",
        metavar="DATA",
        show_default=False,
    ),
]
Method = Annotated[
    Any,
    typer.Option(
        "--calibration",
        help="Calibration method.  [default: sigmoid]",
        parser=options.reader(
            Parameter(name="calibration", kind=str, choices=("sigmoid", "isotonic"))
        ),
        metavar="sigmoid|isotonic",
        show_default=False,
    ),
]


class Calibrated(NamedTuple):
    """What was calibrated; or the error, or whether Ctrl-C ended it."""

    told: dict[str, Any] | None = None
    error: LinsepError | None = None
    interrupted: bool = False

    @property
    def missing(self) -> bool:
        """Return whether a calibration that was asked for is not in the model."""
        return self.interrupted or self.error is not None


def check_calibration(data: list[str] | None, method: str | None, learner: str) -> None:
    """Raise BadParameter for options of calibration that do not fit."""
    if method is not None and not data:
        raise typer.BadParameter("--calibration needs --calibrate FILE.")
    if data and learner in REGRESSIONS:
        raise typer.BadParameter(
            f"--calibrate is for online learners, whose scores are no probabilities; {learner} "
            "is none."
        )


def calibrated(
    estimator: Any, data: list[str] | None, method: str | None, reading: Reading
) -> Calibrated:
    """Calibrate a fitted model if it was asked for."""
    if not data:
        return Calibrated()
    from linsep.estimators._common.calibration import calibrate

    try:
        with window():
            source = reading.like(estimator, None, data)
            with watching(source):
                calibrate(estimator, source, method=method or "sigmoid")
    except LinsepError as problem:
        return Calibrated(error=problem)
    except KeyboardInterrupt:
        return Calibrated(interrupted=True)
    names = [shown(name) for name in data]
    told = {"method": estimator.calibration_.method, "rows": source.n_rows, "data": names}
    return Calibrated(told)

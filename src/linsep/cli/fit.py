"""The command ``fit``: its options, and the commands that checkpoints hold."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import click

from linsep.catalog import ESTIMATORS, OF_TEXT, USUAL_LEARNER
from linsep.cli import options
from linsep.cli.learner_options import LearningCommand
from linsep.cli.options import Option, choice, command, typed
from linsep.errors import CheckpointError

_learner, _checkpoints, _cluster = (
    partial(Option, section=name) for name in ("Learner", "Checkpoints", "Cluster")
)


class Resumable(LearningCommand):
    """A command that ``--resume FILE`` repeats with the arguments stored in a checkpoint."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        if any(arg.split("=")[0] == "--resume" for arg in args):
            args = _stored(args)
        ctx.meta["arguments"] = list(args)
        rest = super().parse_args(ctx, args)
        ctx.meta["checkpoint"] = ctx.params.get("checkpoint")
        return rest


def _stored(args: list[str]) -> list[str]:
    """Return the arguments of the command that wrote the checkpoint; go to its folder."""
    from linsep.checkpoints.saving import Checkpoint

    words = args[0].split("=", 1) if len(args) == 1 else args
    if len(words) != 2 or words[0] != "--resume" or not words[1]:
        raise click.BadParameter("--resume takes a checkpoint FILE, which contains all arguments.")
    path = Path(words[1]).absolute()
    found = Checkpoint(path).read()
    if found is None:
        raise CheckpointError(f"There is no checkpoint {words[1]}.", code="no-file", path=words[1])
    command = found[1].get("command")
    if command is None:
        told = f"{words[1]} stores no command: repeat the one that wrote it, or call fit in Python."
        raise CheckpointError(told, code="unsupported", path=words[1])
    os.chdir(command["folder"])
    return [*command["arguments"], "--checkpoint", str(path)]  # which may have been moved


@command(
    options.DATA, options.READING, options.MODEL_OUT, options.FORCE, options.TEST,
    Option(
        "--calibrate", "DATA", "Data to calibrate probabilities; repeatable.", section="Data",
        many=True,
    ),
    Option(
        "--calibration", choice(("sigmoid", "isotonic")), "By default sigmoid.", section="Data",
        needs=["calibrate"],
    ),
    Option(
        "--threshold", "RULE",
        "From where on the positive of two classes is predicted: recall=0.9, precision=0.8, "
        "cost=10:1 (a missed positive : a false alarm), f1 or balanced_accuracy on the rows of "
        "--calibrate, else in the folds of --cv (5); or a number, of the probability or the score.",
        section="Data",
    ),
    _learner(
        "--learner", choice(ESTIMATORS, "NAME"),
        f"Learning algorithm: {', '.join(ESTIMATORS)}.  [default: {OF_TEXT} for texts and similar "
        f"wide, sparse rows, else {USUAL_LEARNER}]",
    ),
    options.AS_JSON,
    options.RANDOM_STATE, options.CLASS_WEIGHT, options.INIT_WEIGHTS, options.REFERENCE,
    _learner(
        "--cluster-by", "COLUMN", "Column of clusters for --covariance CR1, not a feature.",
        excludes=["group"],
    ),
    options.FIT_COLUMNS, *options.FOLDS,
    _cluster(
        "--dask", "ADDRESS",
        "Train on this Dask cluster, such as tcp://10.0.0.1:8786, whose workers read DATA under "
        "the same paths; local: on worker processes of this machine.", excludes=["cv"],
    ),
    _cluster(
        "--mixing", "uniform|mistakes",
        "Weight shards equally (the default) or by their mistakes.", needs=["dask"],
    ),
    _cluster(
        "--shard-mb", typed(float, "MB"),
        "With --dask: size of a shard (64), on which the result depends.", needs=["dask"],
    ),
    Option(
        "--continue continued", typed(options.LocalPath(), "MODEL"),
        "Train this model on the rows of DATA, once, as if they had followed its own.",
        section="Learner", needs=["model"],
    ),
    _checkpoints(
        "--checkpoint", options.FILE,
        "Save the state of training, from which repeating the command resumes.",
        needs=["model"], excludes=["cv"],
    ),
    _checkpoints(
        "--every", "INTERVAL", "Time between them: 90s, 10m, 2h.  [default: 60s]",
        needs=["checkpoint"],
    ),
    _checkpoints(
        "--resume", options.FILE,
        "Resume the fit of this checkpoint, in its folder; no other arguments.",
    ),
    cls=Resumable,
)  # fmt: skip
def fit(**given: Any) -> None:
    """Train a model on DATA and save it.

    Example: linsep fit train.csv --target species --test test.csv --model species.linsep
    """
    from linsep.cli.training import Training  # imports what the help does not need

    Training(**given).run()

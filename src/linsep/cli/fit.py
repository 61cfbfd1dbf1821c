"""The command ``fit``: its options, and the commands that checkpoints hold."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import click

from linsep.cli import options
from linsep.cli.learner_options import LearningCommand
from linsep.cli.options import Option, choice, command, typed
from linsep.errors import CheckpointError, ParameterError

CALIBRATE = Option(
    "--calibrate", "DATA", "Held-out data on which to calibrate probabilities; repeatable.",
    section="Data", many=True,
)  # fmt: skip
CALIBRATION = Option(
    "--calibration", choice(("sigmoid", "isotonic")), "Calibration method.  [default: sigmoid]",
    section="Data", needs=["calibrate"],
)  # fmt: skip


def _rule(text: Any) -> Any:
    from linsep.estimators.thresholds import Rule

    try:
        return Rule.of(text)
    except ParameterError as problem:
        raise click.BadParameter(str(problem).removeprefix("threshold ")) from None


THRESHOLD = Option(
    "--threshold", typed(_rule, "RULE"),
    "Threshold that the model stores, from which on it predicts the positive of two "
    "classes. A rule: recall=0.9, precision=0.8, cost=10:1 (a missed positive : a false "
    "alarm), f1 or balanced_accuracy, applied to the rows of --calibrate, else in the "
    "folds of --cv (5). Or a number: a probability, or a score for learners without "
    "probabilities. For winnow and balanced-winnow, a number is the score that positive "
    "rows exceed, in training, too.",
    section="Data",
)  # fmt: skip
CLUSTER_BY = Option(
    "--cluster-by", "COLUMN",
    "Column of clusters for --covariance CR1, not a feature (tables only).",
    section="Learner", excludes=["group"],
)  # fmt: skip
_Checkpoints = partial(Option, section="Checkpoints")
CHECKPOINT = _Checkpoints(
    "--checkpoint", options.FILE,
    "Save the state of training regularly; repeating the command resumes from it.",
    needs=["model"], excludes=["cv"],
)  # fmt: skip
EVERY = _Checkpoints(
    "--every", "INTERVAL", "Time between checkpoints: 90s, 10m, 2h.  [default: 60s]",
    needs=["checkpoint"],
)  # fmt: skip
RESUME = _Checkpoints(
    "--resume", options.FILE,
    "Resume the fit of this checkpoint in its original folder; takes no other arguments.",
)  # fmt: skip


class Resumable(LearningCommand):
    """A command that ``--resume FILE`` repeats with the arguments stored in a checkpoint."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Replace ``--resume FILE`` by the stored arguments; remember them."""
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
        raise click.BadParameter(
            "--resume needs a checkpoint FILE and takes no other arguments: the file contains all "
            "of them."
        )
    path = Path(words[1]).absolute()
    found = Checkpoint(path).read()
    if found is None:
        raise CheckpointError(f"There is no checkpoint {words[1]}.", code="no-file", path=words[1])
    command = found[1].get("command")
    if not isinstance(command, dict) or not all(
        isinstance(arg, str) for arg in [command.get("folder"), *command.get("arguments", [None])]
    ):
        raise CheckpointError(
            f"{words[1]} does not store a command: repeat the command that wrote it, or call fit "
            "in Python.",
            code="unsupported",
            path=words[1],
        )
    try:
        os.chdir(command["folder"])
    except OSError as problem:
        raise CheckpointError(
            f"The folder {command['folder']}, where this fit began, cannot be entered: "
            f"{problem.strerror}.",
            code="cannot-read",
            path=command["folder"],
        ) from None
    return ["--checkpoint", str(path), *command["arguments"]]


@command(
    options.DATA, options.READING, options.MODEL_OUT, options.FORCE, options.TEST, CALIBRATE,
    CALIBRATION, THRESHOLD, options.LEARNER, options.AS_JSON, options.CURVE, options.RANDOM_STATE,
    options.CLASS_WEIGHT, options.INIT_WEIGHTS, options.REFERENCE, CLUSTER_BY,
    options.FIT_COLUMNS, options.FOLDS, options.DASK, options.MIXING, options.SHARD_MB, CHECKPOINT,
    EVERY, RESUME,
    cls=Resumable,
)  # fmt: skip
def fit(**given: Any) -> None:
    """Train a model on DATA and save it.

    Example: linsep fit train.csv --target species --test test.csv --model species.linsep
    """
    from linsep.cli.training import Training  # imports what the help does not need

    Training(**given).run()

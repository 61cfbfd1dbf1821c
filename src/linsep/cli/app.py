"""The commands, each imported only when it is run."""

import gc
from importlib import import_module
from typing import Any

import click
from click.shell_completion import get_completion_class

import linsep
from linsep.cli.errors import Commands
from linsep.cli.lazy_imports import import_lazily

#: every command: its module, and one line of help
COMMANDS = {
    "describe": ("data", "Show what DATA holds and the command to run next."),
    "fit": ("fit", "Learn from DATA and save a model."),
    "convert": ("data", "Write DATA as svmlight text, Parquet or rows."),
    "split": ("data", "Split the rows of DATA into training and held-out files."),
    "tune": ("tune", "Compare parameters on held-out rows of DATA; learn the best."),
    "predict": ("predict", "Predict the class, or the number, of every row of DATA."),
    "score": ("predict", "Compare predictions with the labels in DATA."),
    "trace": ("trace", "Show every round of training on small DATA."),
    "summary": ("summary", "Show what a regression infers: estimates, tests, intervals."),
    "inspect": ("models", "Show how a model was trained and its largest weights."),
    "audit": ("models", "Show why one row of DATA has its score, feature by feature."),
    "serve": ("servers", "Serve a model over HTTP for predictions and training."),
    "export": ("models", "Write a model for other programs: ONNX, SQL, Python and others."),
    "plot": ("plot", "Draw a picture of a model."),
    "separate": ("proofs", "Decide whether a hyperplane separates the classes of DATA."),
    "bounds": ("proofs", "Bound the mistakes of learners on DATA; margins of weights."),
    "verify": ("proofs", "Check a proof against DATA, in exact arithmetic."),
    "lab": ("servers", "Open the lab: points, a learner and its run in a browser."),
    "compile": ("compile", "Compile the loops of learners ahead of their first use."),
}


class LazyCommands(Commands):
    """Commands that are imported on demand."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List the names of all commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, name: str) -> Any:
        """Import the command of this name; None if there is none."""
        return _imported(name) if name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the names of all commands with a line each."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def _imported(name: str) -> Any:
    import_lazily("pandas")
    import_lazily("scipy.stats")
    # Importing creates no garbage, and collecting costs a sixth of the start-up time.
    gc.disable()
    try:
        return getattr(import_module(f"linsep.cli.{COMMANDS[name][0]}"), name)
    finally:
        gc.freeze()
        gc.enable()


def _print_version(ctx: Any, param: Any, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        print(f"linsep {linsep.__version__}")
        ctx.exit()


def _print_completion(ctx: Any, param: Any, shell: str | None) -> None:
    if shell is not None and (complete := get_completion_class(shell)) is not None:
        print(complete(ctx.command, {}, "linsep", "_LINSEP_COMPLETE").source())
        ctx.exit()


@click.group(
    cls=LazyCommands, no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
@click.option(
    "--version", is_flag=True, callback=_print_version, is_eager=True, expose_value=False,
    help="Print the version.",
)  # fmt: skip
@click.option(
    "--show-completion", type=click.Choice(["bash", "zsh", "fish"]), callback=_print_completion,
    is_eager=True, expose_value=False, help="Show completion for this shell, to source it.",
)  # fmt: skip
def app() -> None:
    """Learn linear separators from files of any size.

    Example: linsep fit train.svm --model m.linsep; linsep COMMAND --help says more.
    """

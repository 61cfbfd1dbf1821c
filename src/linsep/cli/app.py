"""The commands, each imported only when it is run."""

import gc
from importlib import import_module
from typing import Annotated, Any

import typer

import linsep
from linsep.cli.failures import Commands
from linsep.cli.help import OptionsInGroups
from linsep.cli.lazy_imports import import_lazily
from linsep.cli.local_paths import paths_of

_LIKE_ALL: dict[str, Any] = {
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
#: every command: its module, and one line of help
COMMANDS = {
    "describe": ("describe", "Show what DATA holds and the command to run next."),
    "fit": ("fit", "Learn from DATA and save a model."),
    "convert": ("convert", "Write DATA as svmlight text, Parquet or rows."),
    "split": ("split", "Split the rows of DATA into training and held-out files."),
    "tune": ("tune", "Compare parameters on held-out rows of DATA; learn the best."),
    "predict": ("predict", "Predict the class, or the number, of every row of DATA."),
    "score": ("score", "Compare predictions with the labels in DATA."),
    "trace": ("trace", "Show every round of training on small DATA."),
    "summary": ("summary", "Show what a regression infers: estimates, tests, intervals."),
    "inspect": ("inspect", "Show how a model was trained and its largest weights."),
    "audit": ("audit", "Show why one row of DATA has its score, feature by feature."),
    "serve": ("serve", "Serve a model over HTTP for predictions and training."),
    "export": ("export", "Write a model for other programs: ONNX, SQL, Python and others."),
    "plot": ("plot", "Draw a picture of a model."),
    "separate": ("proofs", "Decide whether a hyperplane separates the classes of DATA."),
    "bounds": ("bounds", "Bound the mistakes of learners on DATA; margins of weights."),
    "verify": ("proofs", "Check a proof against DATA, in exact arithmetic."),
    "lab": ("lab", "Open the lab: points, a learner and its run in a browser."),
    "compile": ("compile", "Compile the loops of learners ahead of their first use."),
}


class LazyCommands(Commands):
    """Commands that are imported on demand."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List the names of all commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, name: str) -> Any:
        """Import the command of this name; None if there is none."""
        if name in COMMANDS and name not in self.commands:
            self.commands[name] = _imported(name)
        return self.commands.get(name)

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
        module = import_module(f"linsep.cli.{COMMANDS[name][0]}")
    finally:
        gc.freeze()
        gc.enable()
    alone, function = typer.Typer(add_completion=False, **_LIKE_ALL), getattr(module, name)
    alone.command(name, cls=getattr(module, "COMMAND", OptionsInGroups))(function)
    command: Any = typer.main.get_command(alone)
    command.paths = paths_of(function)
    return command


app = typer.Typer(cls=LazyCommands, no_args_is_help=True, **_LIKE_ALL)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"linsep {linsep.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Learn linear separators from files of any size.

    Example: linsep fit train.svm --model m.linsep; linsep COMMAND --help says more.
    """

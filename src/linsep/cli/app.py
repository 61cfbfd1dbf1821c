"""The commands. Each is imported only when it runs; unused libraries are not loaded."""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import click

import linsep
from linsep.catalog import entries
from linsep.cli.errors import Commands

#: every command: its module, and one line of help
COMMANDS = {
    "describe": ("data", "Show what DATA holds and the command to run next."),
    "fit": ("fit", "Train a model on DATA and save it."),
    "convert": ("data", "Write DATA as svmlight text or Parquet."),
    "split": ("data", "Split the rows of DATA into training and held-out files."),
    "tune": ("tune", "Compare models on held-out rows of DATA and train the best."),
    "predict": ("predict", "Predict the class or the number for every row of DATA."),
    "score": ("predict", "Compare predictions with the labels in DATA."),
    "trace": ("trace", "Show every step of training on small DATA."),
    "summary": ("models", "Show the estimates, tests and intervals of a regression."),
    "effects": ("models", "Show marginal effects: how features change a probability."),
    "compare": ("models", "Compare nested regressions of the same rows: tests, AIC, BIC."),
    "inspect": ("models", "Show how a model was trained and its largest weights."),
    "audit": ("models", "Explain the score of one row of DATA, feature by feature."),
    "serve": ("serve", "Serve a model over HTTP for predictions and training."),
    "export": ("models", "Write a model for other programs: SQL, JSON, CSV or ONNX."),
    "plot": ("pictures", "Draw a picture of a model."),
    "separate": ("proofs", "Decide whether a hyperplane separates the classes of DATA."),
    "bounds": ("proofs", "Bound the mistakes of learners on DATA; show margins."),
    "verify": ("proofs", "Check a proof against DATA, in exact arithmetic."),
    "lab": ("lab", "Open the lab: run a learner on points in a browser."),
    "compile": ("compile", "Compile the learners before their first use."),
}


class LazyCommands(Commands):
    """Commands that are imported on demand."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS, *entries("linsep.commands")]

    def get_command(self, ctx: Any, name: str) -> Any:
        if name in COMMANDS:
            for unused in UNUSED:
                import_lazily(unused)
            return getattr(import_module(f"linsep.cli.{COMMANDS[name][0]}"), name)
        other = entries("linsep.commands").get(name)
        return None if other is None else other.load()

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        others = entries("linsep.commands").items()
        lines = [(name, line) for name, (_, line) in COMMANDS.items()]
        with formatter.section("Commands"):
            formatter.write_dl(
                [*lines, *((n, one.load().get_short_help_str()) for n, one in others)]
            )


#: what scikit-learn, SciPy, numba and Arrow import and most commands do not use: half of the
#: start-up time
UNUSED = (
    "pandas", "scipy.stats", "scipy.special", "numpy.f2py", "numpy.testing", "narwhals",
    "narwhals.stable", "narwhals.stable.v2", "yaml", "asyncio",
)  # fmt: skip


class LazyModule(ModuleType):
    """A placeholder for a module until one of its attributes is used.

    :class:`importlib.util.LazyLoader` would load it as soon as it is imported again.
    """

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


class _NoPandas:
    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def import_lazily(name: str) -> None:
    """Let ``import name`` succeed at once; the module is executed on first use."""
    package, _, own = name.rpartition(".")
    inside = isinstance(sys.modules.get(package), LazyModule)  # to look into it would load it
    spec = None if inside or name in sys.modules else find_spec(name)
    if name in sys.modules or not (inside or spec):
        return
    module = LazyModule(name)
    module.__spec__ = spec  # others test for it to find out whether the module is installed
    if name == "pandas":  # Arrow looks for it with its first value, and would import it
        import pyarrow as pa

        sys.meta_path.insert(0, _NoPandas)
        pa.scalar(0)
        sys.meta_path.remove(_NoPandas)
    sys.modules[name] = module
    if package:  # NumPy imports a submodule that it does not have as an attribute
        setattr(sys.modules[package], own, module)


@click.group(
    cls=LazyCommands, no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
@click.version_option(linsep.__version__, message="%(prog)s %(version)s", help="Print the version.")
def app() -> None:
    """Learn linear separators from files of any size.

    Example: linsep fit train.svm --model m.linsep. `linsep COMMAND --help` describes a command.
    """

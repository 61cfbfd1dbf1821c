"""Options shared by commands, and those of learners, made from the facts about parameters."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from linsep.estimators.facts import Parameter
from linsep.estimators.perceptron import Perceptron

LEARNERS: dict[str, type] = {"perceptron": Perceptron}
# A file may be large, and most data are not separable: ten passes, not a thousand.
MAX_ITER = 10

Data = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders or globs: svmlight text (.svm .svmlight .libsvm .txt), CSV, TSV, "
        "JSON lines, Parquet, Arrow; plain or .gz .bz2 .zst.",
        show_default=False,
    ),
]
ModelIn = Annotated[Path, typer.Argument(help="A model that `linsep fit --model` wrote.")]
Target = Annotated[
    str | None,
    typer.Option("--target", help="Column to learn (tables only).", rich_help_panel="Data"),
]
Missing = Annotated[
    Literal["error", "zero", "drop", "mean"],
    typer.Option(
        "--missing",
        help="What to do about missing values (tables only).",
        rich_help_panel="Data",
    ),
]
HashBits = Annotated[
    int | None,
    typer.Option(
        "--hash-bits",
        min=1,
        max=30,
        help="Hash text columns into 2^BITS features instead of learning their values.",
        rich_help_panel="Data",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", help="Column to leave out; repeatable.", rich_help_panel="Data"),
]
IndexBase = Annotated[
    int | None,
    typer.Option(
        "--index-base",
        min=0,
        max=1,
        help="First feature index of svmlight text; detected if not given.",
        rich_help_panel="Data",
        show_default=False,
    ),
]
CacheFolder = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        help="Folder for parsed rows that do not fit in memory; the user's cache folder if not "
        "given.",
        rich_help_panel="Data",
        show_default=False,
    ),
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Keep no parsed rows afterwards.", rich_help_panel="Data")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
ModelOut = Annotated[
    Path | None, typer.Option("--model", "-m", help="Save the model here.", show_default=False)
]
Test = Annotated[
    list[str] | None,
    typer.Option("--test", help="Held-out data to score at the end.", show_default=False),
]
Learner = Annotated[Literal["perceptron"], typer.Option("--learner", help="What learns.")]
RandomState = Annotated[
    int,
    typer.Option("--random-state", min=0, help="Seed of all draws.", rich_help_panel="Learner"),
]
ClassWeight = Annotated[
    list[str] | None,
    typer.Option(
        "--class-weight",
        help="'balanced', or LABEL=WEIGHT, repeatable.",
        rich_help_panel="Learner",
        show_default=False,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write to this file instead.", show_default=False),
]
Scores = Annotated[bool, typer.Option("--scores", help="Add the scores, tab separated.")]
Top = Annotated[int, typer.Option("--top", min=0, help="How many weights to show.")]


def learner_options(command: Callable) -> Callable:
    """Give a command that takes ``**parameters`` one option for every parameter of a learner."""
    signature = inspect.signature(command, eval_str=True)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    defaults = {"max_iter": MAX_ITER}
    made = []
    for learner in LEARNERS.values():
        for name, given in inspect.signature(learner).parameters.items():
            facts = {p.name: p for p in learner._parameters}  # type: ignore[attr-defined]
            if name in facts:
                default = defaults.get(name, given.default)
                made.append(_option(facts[name], default))
    command.__signature__ = signature.replace(parameters=[*own, *made])  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in [*own, *made]}
    return command


def _option(parameter: Parameter, default: Any) -> inspect.Parameter:
    flag = "--" + parameter.name.replace("_", "-")
    names = (f"{flag}/--no-{flag[2:]}",) if parameter.kind is bool else (flag,)
    kind: Any = Literal[parameter.choices] if parameter.choices else parameter.kind
    about = typer.Option(*names, help=parameter.help, rich_help_panel="Learner")
    return inspect.Parameter(
        parameter.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, about],
    )


def class_weights(given: list[str] | None) -> Any:
    """``balanced`` or LABEL=WEIGHT pairs as the estimator's class_weight."""
    if not given:
        return None
    if given == ["balanced"]:
        return "balanced"
    weights = {}
    for pair in given:
        label, equals, weight = pair.rpartition("=")
        if not equals or (number := _number(weight)) is None:
            raise typer.BadParameter(
                f"--class-weight takes 'balanced' or LABEL=WEIGHT, got {pair!r}."
            )
        as_number = _number(label)
        weights[label if as_number is None else as_number] = number
    return weights


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

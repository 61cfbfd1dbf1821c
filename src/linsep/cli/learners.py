"""The learners of the command line, and their options, made from parameter specs."""

import inspect
from collections.abc import Callable, Mapping
from math import inf, prod
from typing import Annotated, Any

import typer

from linsep.catalog import LEARNERS, REGRESSIONS, UNSCALED
from linsep.cli.column_options import ROLES
from linsep.cli.failures import flag_of, in_options
from linsep.cli.help import GROUPS
from linsep.cli.options import TRACEABLE, reader
from linsep.parameters import Parameter, parameters_of as declared
from linsep.sources.base import Source

ALL = LEARNERS | REGRESSIONS
#: Defaults of the command line for learners in passes. Files may be large, and most data are not
#: separable: ten passes, not a thousand. If classes overlap, the last weights depend on the last
#: few rows; averaged weights do not.
DEFAULTS: dict[str, dict[str, Any]] = {
    "fit": {"max_iter": 10, "keep": "average"},
    "trace": {"max_iter": 10},
    "tune": {"max_iter": 10, "keep": "average", "validation_fraction": 0.2},
}
#: parameters that are no options of a command, which has them for all its models
FIXED = {"tune": ("early_stopping", "n_iter_no_change", "verbose")}
#: parameters that have an effect only if another one has one of these values
NEEDED: dict[str, tuple[str, tuple[Any, ...]]] = {
    "validation_fraction": ("early_stopping", (True,)),
    "n_iter_no_change": ("early_stopping", (True,)),
    "vote_mb": ("keep", ("vote",)),
    "degree": ("kernel", ("poly", "polynomial")),
    "coef0": ("kernel", ("poly", "polynomial", "sigmoid")),
    "gamma": ("kernel", ("poly", "polynomial", "rbf", "laplacian", "chi2", "sigmoid")),
    "learning_rate": ("solver", ("gradient_ascent",)),
    "schedule": ("solver", ("gradient_ascent",)),
}
#: most models of a grid
MOST_MODELS = 1000
#: not options: a command starts from scratch, and keeps no iterates
NOT_HERE = ("warm_start", "trace")


def options_of(learners: Mapping[str, type]) -> Callable[[Callable], Callable]:
    """Give a command with ``**parameters`` one option for every parameter of a learner.

    Options that are not given are None.
    """

    def with_options(command: Callable) -> Callable:
        signature = inspect.signature(command, eval_str=True)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        fixed = FIXED.get(command.__name__, ())
        owners = {name: of for name, of in _owners(learners).items() if name not in fixed}
        defaults = DEFAULTS[command.__name__]
        made = [_option(name, names, learners, defaults) for name, names in owners.items()]
        command.__signature__ = signature.replace(parameters=[*own, *made])  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in [*own, *made]}
        return command

    return with_options


def parameters_of(learner: str) -> list[str]:
    """Return the names of a learner's parameters that are options."""
    return list(_owners({learner: ALL[learner]}))


def takes(learner: str, name: str) -> bool:
    """Return whether an option applies to a learner: a common one, or one of its own."""
    if name == "init_weights":
        return learner in TRACEABLE
    if name == "curve":
        name = "early_stopping"
    of_some = any(name in inspect.signature(kind).parameters for kind in ALL.values())
    return not of_some or name in inspect.signature(ALL[learner]).parameters


def of_learner(command: str, learner: str, name: str) -> tuple[str, str]:
    """Return the line of help about an option for one learner."""
    own = _option(name, [learner], {learner: ALL[learner]}, DEFAULTS[command])
    about = own.annotation.__metadata__[0]
    flag = about.default.replace("/", " / ")
    return f"{flag} {about.metavar or ''}".rstrip(), about.help


def make_learner(command: str, name: str, given: dict[str, Any], **others: Any) -> Any:
    """Return the learner of this name with the given options, and defaults for the rest.

    ``others`` are options common to all learners: class weights, a reference label, a seed.
    Learners without randomness ignore the seed.
    """
    given = {option: value for option, value in given.items() if value is not None}
    owners, takes = _owners(ALL), inspect.signature(ALL[name]).parameters
    if "random_state" not in takes:
        others.pop("random_state", None)
    for option in [option for option in others if option not in takes]:
        if others.pop(option) is not None:
            having = [n for n, kind in ALL.items() if option in inspect.signature(kind).parameters]
            raise typer.BadParameter(_not_of(name, option, having))
    for option, value in given.items():
        if name not in owners[option]:
            raise typer.BadParameter(_not_of(name, option, owners[option]))
        own = _specs(name)[option]
        if not own.accepts(value):
            raise typer.BadParameter(f"{flag_of(option)} must be {own.typed}, not {value!r}.")
    return ALL[name](**(DEFAULTS[command] if name in LEARNERS else {}) | given, **others)


def check_effects(estimator: Any, given: Mapping[str, Any]) -> None:
    """Raise BadParameter for an option in ``given`` that another one leaves without effect."""
    values = estimator.get_params(deep=False)
    for option, (other, wanted) in NEEDED.items():
        if given.get(option) is None or values.get(other, wanted[0]) in wanted:
            continue
        values_wanted = "" if wanted == (True,) else " " + "|".join(wanted)
        raise typer.BadParameter(
            f"{flag_of(option)} has no effect without {flag_of(other)}{values_wanted}: give both "
            "or neither."
        )


def grid_of(given: list[str] | None, learner: str, options: Mapping[str, Any]) -> dict[str, list]:
    """Return the values of each parameter in the PARAMETER=VALUE,... pairs of a grid.

    ``options`` are the parameters given as options, which may not be in the grid.
    """
    example = {"pa": "C=0.01,0.1,1", "margin": "gamma=0.01,0.1"}.get(learner, "keep=last,average")
    if not given:
        raise typer.BadParameter(f"name values to compare with --grid, such as --grid {example}.")
    grid: dict[str, list] = {}
    for pair in given:
        name, equals, texts = pair.partition("=")
        name = name.strip().removeprefix("--").replace("-", "_")
        if not equals or not name or not all(text.strip() for text in texts.split(",")):
            raise typer.BadParameter(
                f"--grid takes PARAMETER=VALUE,VALUE,..., such as {example}, not {pair!r}."
            )
        if name in grid or options.get(name) is not None:
            both = "twice in --grid" if name in grid else "an option and in --grid"
            raise typer.BadParameter(f"{flag_of(name)} is {both}: give its values once.")
        grid[name] = list(dict.fromkeys(_values(name, texts, learner)))
    if (n_models := prod(map(len, grid.values()))) > MOST_MODELS:
        raise typer.BadParameter(
            f"--grid asks for {n_models:,} models side by side, more than {MOST_MODELS:,}: name "
            "fewer values."
        )
    return grid


def _values(name: str, texts: str, learner: str) -> list[Any]:
    """Return the values of one parameter of a grid, each as if it were typed as an option."""
    owners = _owners(ALL)
    if name not in owners:
        if name in (*GROUPS["Data"], *GROUPS["Text"], *ROLES):
            raise typer.BadParameter(
                f"{flag_of(name)} is about the data, which all models of a --grid share: give it "
                "as an option of its own, and tune once for each value."
            )
        if name in GROUPS["Learner"]:
            raise typer.BadParameter(_of_all(name))
        raise typer.BadParameter(
            f"{flag_of(name)} is no parameter of a learner; `linsep tune --learner {learner} "
            "--help` shows those of this one."
        )
    if learner not in owners[name]:
        raise typer.BadParameter(_not_of(learner, name, owners[name]))
    if name in (*FIXED["tune"], "validation_fraction"):
        raise typer.BadParameter(_of_all(name))
    spec = _specs(learner)[name]
    if spec.kind is bool:
        known = {"true": True, "false": False}
        values = [known.get(text.strip().lower()) for text in texts.split(",")]
        if None in values:
            raise typer.BadParameter(f"{flag_of(name)} must be true or false, not {texts!r}.")
        return values
    try:
        return [reader(spec)(text.strip()) for text in texts.split(",")]
    except typer.BadParameter as problem:
        raise typer.BadParameter(f"{flag_of(name)} {problem.message}") from None


def _of_all(option: str) -> str:
    return f"{flag_of(option)} is not for --grid: it is the same for all."


def _not_of(learner: str, option: str, owners: list[str]) -> str:
    return f"{flag_of(option)} is for --learner {' or '.join(owners)}, not {learner}."


def options_of_model(model: Any) -> str:
    """Return the options of ``linsep fit`` that a model was learnt with, without defaults.

    A kernel object has no option; it is shown on a line of its own.
    """
    (name,) = (name for name, kind in ALL.items() if kind is type(model))
    words = []
    for option, value in model.get_params(deep=False).items():
        kernel = option == "kernel" and not isinstance(value, str)
        if option in NOT_HERE or kernel or value == _default(name, option, DEFAULTS["fit"]):
            continue
        if value is None or value is False:
            words.append(
                f"no {flag_of(option)}" if value is None else f"--no-{flag_of(option)[2:]}"
            )
        elif isinstance(value, dict):
            pairs = [f"{label}={weight}" for label, weight in value.items()]
            words.append(in_options(option, pairs))
        else:
            words.append(in_options(option, value))
    return " ".join(words)


def _owners(learners: Mapping[str, type]) -> dict[str, list[str]]:
    """Return {parameter: names of the learners that have it}, in the order of the parameters."""
    owners: dict[str, list[str]] = {}
    for name in learners:
        specs = _specs(name)
        for parameter in specs:
            if parameter not in NOT_HERE:
                owners.setdefault(parameter, []).append(name)
    return owners


def _specs(learner: str) -> dict[str, Parameter]:
    return declared(ALL[learner])


def _default(owner: str, name: str, defaults: Mapping[str, Any]) -> Any:
    if name in defaults and owner in LEARNERS:
        return defaults[name]
    return inspect.signature(ALL[owner]).parameters[name].default


def _option(
    name: str, owners: list[str], learners: Mapping[str, type], command: Mapping[str, Any]
) -> inspect.Parameter:
    """Return the option of one parameter, which may differ between learners."""
    kinds: dict[Parameter, list[str]] = {}
    for owner in owners:
        kinds.setdefault(_specs(owner)[name], []).append(owner)
    parameter = next(iter(kinds))
    defaults = {_default(owner, name, command) for owner in owners}
    default = defaults.pop() if len(defaults) == 1 else None
    flag = flag_of(parameter.name)
    meant: dict[str, list[str]] = {}
    for kind, names in kinds.items():
        meant.setdefault(kind.help, []).extend(names)
    whose = len(owners) < len(learners)
    help = "; ".join(
        f"{text} ({', '.join(names)})" if whose else text for text, names in meant.items()
    )
    shown = "" if default is None or default is False else f"  [default: {default}]"
    choices = dict.fromkeys(choice for kind in kinds for choice in kind.choices)
    words = {int: "N", float: "X", str: "|".join(choices)}
    either = [word for kind in kinds for word in kind.words]
    about = typer.Option(
        f"{flag}/--no-{flag[2:]}" if default is True else flag,
        help=f"{help[0].upper()}{help[1:]}.{shown}",
        metavar="|".join(["X", *either]) if either else words.get(parameter.kind),
        parser=None if parameter.kind is bool else reader(*kinds, owners=[*kinds.values()]),
        show_default=False,
    )
    return inspect.Parameter(
        parameter.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[bool | None if parameter.kind is bool else Any, about],
    )


def scaling(given: str | None, learner: str, table: bool) -> str:
    """Return the scaling of columns: as given, else the learner's default; none for svmlight."""
    return given or ("standard" if table and learner not in UNSCALED else "none")


def reference_levels(given: list[str] | None, learner: str, intercept: bool, table: bool) -> Any:
    """Return the text values without indicator: as given, else the default of the learner."""
    if given:
        levels = dict(pair.split("=", 1) for pair in given if "=" in pair)
        if len(levels) < len(given) and given != ["none"]:
            raise typer.BadParameter(
                "--reference-level takes COLUMN=VALUE, once a column, or 'none', got "
                f"{' '.join(map(repr, given))}."
            )
        return levels or None
    # A full set of indicators adds up to the intercept, so that their estimates are not determined.
    return "first" if table and intercept and learner in ("linear", "logistic") else None


def reference_class(given: str | None, source: Source) -> Any:
    """Return the label that --reference names, in the type it has in the data."""
    return None if given is None else _label(given, source.layout().get("target_kind"))


def class_weights(given: list[str] | None, source: Source) -> Any:
    """Return ``balanced`` or LABEL=WEIGHT pairs as class_weight, labels in the type of the data."""
    if not given:
        return None
    if set(given) == {"balanced"}:
        return "balanced"
    weights = {}
    for pair in given:
        label, equals, weight = pair.rpartition("=")
        number = _number(weight)
        if not equals or number is None or not 0 <= number < inf:
            raise typer.BadParameter(
                "--class-weight takes 'balanced' or LABEL=WEIGHT with a weight of at least 0, got "
                f"{pair!r}."
            )
        weights[_label(label, source.layout().get("target_kind"))] = number
    return weights


def _label(text: str, kind: str | None) -> Any:
    """Return a label from the command line; ``kind`` is that of a table's labels, or None."""
    if kind == "text":
        return text
    if kind == "bool" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return int(text)  # keeps all digits
    except ValueError:
        number = _number(text)
        return text if number is None else number


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

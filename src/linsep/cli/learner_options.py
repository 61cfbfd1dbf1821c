"""The learners of the command line, their options, and the help for one learner at a time.

Options derive from the parameters that are declared beside the estimators.
"""

from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from itertools import chain
from math import inf, prod
from typing import Any

import click

from linsep.catalog import (
    ESTIMATORS,
    LEARNERS,
    LINEAR,
    USUAL,
    USUAL_LEARNER,
    is_margin,
    is_regression,
)
from linsep.cli.errors import flag_of, in_options
from linsep.cli.options import WHOLE, Command, Option, Value, section_of, typed
from linsep.errors import DataError
from linsep.other_names import advice_for
from linsep.parameters import Parameter, parameters_of
from linsep.words import counted, either

#: defaults of commands for learners in passes
DEFAULTS: dict[str, dict[str, Any]] = {
    "fit": USUAL,
    "trace": {"max_iter": USUAL["max_iter"]},  # which shows the weights of every round
    "tune": USUAL | {"validation_fraction": 0.2},
}
#: parameters without an option: commands set them for all their models
FIXED = {
    "fit": ("threshold",),
    "tune": ("early_stopping", "n_iter_no_change", "verbose", "covariance"),
}
#: parameters that have an effect only if another one has one of these values
NEEDED: dict[str, tuple[str, tuple[Any, ...]]] = {
    "validation_fraction": ("early_stopping", (True,)),
    "n_iter_no_change": ("early_stopping", (True,)),
    "penalize_intercept": ("fit_intercept", (True,)),
    "vote_mb": ("keep", ("vote",)),
    "degree": ("kernel", ("poly", "polynomial")),
    "coef0": ("kernel", ("poly", "polynomial")),
    "gamma": ("kernel", ("poly", "polynomial", "rbf")),
    "learning_rate": ("solver", ("gradient_ascent",)),
    "schedule": ("solver", ("gradient_ascent",)),
}
#: most models of a grid
MOST_MODELS = 1000
#: not options: a command starts from scratch, and keeps no iterates
NOT_HERE = ("warm_start", "trace")
HELP = {"-h", "--help"}


class LearningCommand(Command):
    """A command that has one more option for every parameter of a learner, as ``parameters``.

    Only the learner that --learner names is imported, unless an option is unknown, which may belong
    to another learner; and none for the help, unless it is named.
    """

    def __init__(self, *args: Any, learners: Mapping[str, Any] = ESTIMATORS, **how: Any):
        super().__init__(*args, **how)
        self.learners = learners

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the options of the learner that is named, or else of all."""
        named, given = _named(args, self.learners), list(args)
        ctx.meta["learner"] = named[0] if named else USUAL_LEARNER
        ctx.meta["named"] = bool(named)
        usual = [] if HELP & {*args} else [USUAL_LEARNER]
        ctx.meta["options"] = self._options(named or usual)
        try:
            rest = super().parse_args(ctx, args)
        except click.UsageError:
            ctx.params.clear()
            ctx.meta["options"] = self._options(self.learners)
            rest = super().parse_args(ctx, given)
        own = [str(option.name) for option in ctx.meta["options"]]
        ctx.params["parameters"] = {name: ctx.params.pop(name) for name in own}
        return rest

    def get_params(self, ctx: Any) -> list[click.Parameter]:
        """Return the options of the command and of the learners."""
        return [*super().get_params(ctx), *ctx.meta.get("options", ())]

    def flags(self) -> dict[str, str]:
        """Return the option of each parameter by its name, of all learners."""
        return super().flags() | {
            str(one.name): one.opts[0] for one in self._options(self.learners)
        }

    def _options(self, names: Iterable[str]) -> Sequence[Option]:
        learners = {name: self.learners[name] for name in names}
        fixed, defaults = FIXED.get(str(self.name), ()), DEFAULTS[str(self.name)]
        return [
            _option(parameter, having, len(having) < len(learners), defaults, next(iter(learners)))
            for parameter, having in _owners(learners).items()
            if parameter not in fixed
        ]

    def shown(self, ctx: Any) -> list[Any]:
        """Return the options of the help; the help of a learner that is named has its own only."""
        own = list(ctx.meta["options"])
        if not ctx.meta.get(WHOLE):
            return own if ctx.meta["named"] else super().shown(ctx)
        options = super().shown(ctx)
        return [one for one in options if one in own or _takes(ctx.meta["learner"], str(one.name))]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options, and where the others are."""
        super().format_options(ctx, formatter)
        formatter.write_paragraph()
        formatter.write_text(
            f"`linsep {self.name} --learner NAME --help` shows the options of a learner, "
            f"`linsep {self.name} --help-all` all others."
        )


def _option(
    name: str, owners: list[str], whose: bool, defaults: Mapping[str, Any], chosen: str
) -> Option:
    """Return the option of a parameter, None if it is not given, whose default and values may
    differ between learners; its help names them if ``whose``.
    """
    kinds: dict[Parameter, list[str]] = {}
    meant: dict[str, list[str]] = {}
    for owner in owners:
        parameter = parameters_of(ESTIMATORS[owner])[name]
        kinds.setdefault(parameter, []).append(owner)
        meant.setdefault(parameter.help, []).append(owner)
    help = "; ".join(
        f"{text} ({', '.join(names)})" if whose else text for text, names in meant.items()
    )
    usual = {_default(ESTIMATORS[owner], name, defaults) for owner in owners}
    default = usual.pop() if len(usual) == 1 else None
    flag = flag_of(name)
    told = flag[2:] if default is True else default
    shown = "" if default is None or default is False else f"  [default: {told}]"
    return Option(
        f"{name} {flag}/--no-{flag[2:]}" if default is True else f"{name} {flag}", _kind(kinds),
        f"{help[:1].upper()}{help[1:]}.{shown}", default=None,
        section=f"Options of --learner {chosen}",
    )  # fmt: skip


def _kind(kinds: Mapping[Parameter, list[str]]) -> dict[str, Any] | None:
    kind = next(iter(kinds)).kind
    if kind is bool:
        return None
    choices = dict.fromkeys(choice for one in kinds for choice in one.choices)
    words = [word for one in kinds for word in one.words]
    usual = {int: "N", float: "X", str: "|".join(choices)}[kind]
    return typed(
        Value(*kinds, owners=[*kinds.values()]), "|".join(["X", *words]) if words else usual
    )


def _named(args: list[str], known: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for word, following in zip(args, [*args[1:], ""], strict=False):
        names = following if word == "--learner" else word.removeprefix("--learner=")
        if word == "--learner" or names != word:
            found += [name for name in names.split(",") if name in known and name not in found]
    return found


def _takes(learner: str, name: str) -> bool:
    """Return whether an option applies to a learner: a common one, or one of its own."""
    if name == "init_weights":
        return learner in LINEAR
    if name == "threshold":  # also a parameter, but of Winnow only
        return hasattr(ESTIMATORS[learner], "decision_function")
    having = _having({"curve": "early_stopping", "cluster_by": "covariance"}.get(name, name))
    return not having or learner in having


def _having(name: str) -> list[str]:
    return [learner for learner, kind in ESTIMATORS.items() if name in signature(kind).parameters]


def make_learner(command: str, name: str, given: dict[str, Any], **others: Any) -> Any:
    """Return the learner of this name with the given options and default values for the others.

    ``others`` are options common to all learners: class weights, a reference label, a seed.
    Learners without randomness ignore the seed.
    """
    from linsep.fitting import make_estimator

    given = {option: value for option, value in given.items() if value is not None}
    own, takes = parameters_of(ESTIMATORS[name]), signature(ESTIMATORS[name]).parameters
    common = {option: value for option, value in others.items() if option in takes}
    unknown = given.keys() - own.keys() | others.keys() - takes.keys() - {"random_state"}
    for option in sorted(unknown):
        if option in given or others[option] is not None:
            raise not_of(name, option)
    for option, value in given.items():
        if not own[option].accepts(value):
            raise click.BadParameter(
                f"{flag_of(option)} must be {own[option].typed}, not {value!r}."
            )
    return make_estimator(name, given | common, DEFAULTS[command])


def check_effects(estimator: Any, given: Mapping[str, Any]) -> None:
    """Raise BadParameter for an option in ``given`` that another one leaves without effect."""
    values = estimator.get_params(deep=False)
    for option, (other, wanted) in NEEDED.items():
        if given.get(option) is not None and values.get(other, wanted[0]) not in wanted:
            needed = flag_of(other) if wanted == (True,) else f"{flag_of(other)} {'|'.join(wanted)}"
            raise click.BadParameter(f"{flag_of(option)} has no effect without {needed}.")


def _parts(pair: str) -> tuple[str, str, str]:
    """Return the learner, the parameter and the values of LEARNER.PARAMETER=VALUE,..."""
    name, _, texts = pair.partition("=")
    owner, _, parameter = name.strip().removeprefix("--").rpartition(".")
    return owner, parameter.replace("-", "_"), texts


def in_grid(grid: list[str] | None) -> dict[str, str]:
    """Return the parameters in a grid, each with its values as typed."""
    return {parameter: texts for _, parameter, texts in map(_parts, grid or ())}


def grids_of(
    given: list[str] | None, names: list[str], options: Mapping[str, Any]
) -> dict[str, dict[str, list]]:
    """Return the values of each parameter in the PARAMETER=VALUE,... pairs of a grid, by learner.

    With several learners, LEARNER.PARAMETER applies to one of them, and PARAMETER to all that have
    it. ``options`` are the parameters given as options, which the grid must not repeat.
    """
    grids: dict[str, dict[str, list]] = {name: {} for name in names}
    for pair in given or ():
        owner, parameter, texts = _parts(pair)
        if not parameter or not all(text.strip() for text in texts.split(",")):
            raise click.BadParameter(
                f"--grid takes PARAMETER=VALUE,VALUE,..., such as {grid_example(names[0])}, not "
                f"{pair!r}."
            )
        if owner and owner not in grids:
            raise click.BadParameter(
                f"--grid {owner}.{parameter} is not for a learner that is compared: choose from "
                f"{', '.join(names)}, or add --learner {owner}."
            )
        having = [name for name in names if parameter in parameters_of(ESTIMATORS[name])]
        for learner in [owner] if owner else having or names[:1]:
            if parameter in grids[learner] or options.get(parameter) is not None:
                raise click.BadParameter(
                    f"--grid {parameter} is given again: give its values once."
                )
            values = _values(parameter, texts, learner)
            grids[learner][parameter] = list(dict.fromkeys(values))
    if (n_models := sum(prod(map(len, grid.values())) for grid in grids.values())) > MOST_MODELS:
        raise click.BadParameter(
            f"--grid defines {n_models:,} models side by side, more than {MOST_MODELS:,}: give "
            "fewer values."
        )
    return grids


def usual_grid(learner: str, options: Mapping[str, Any]) -> dict[str, list]:
    """Return the default grid of a learner, without parameters given as options."""
    pairs = [pair.split("=") for pair in grid_example(learner).split()]
    return {
        name: _values(name, texts, learner) for name, texts in pairs if options.get(name) is None
    }


#: grids of learners other than online learners with a weight per feature
GRIDS = {
    "kernel": "gamma=scale,0.01,0.1,1",
    "linear": "",
    "logistic": "l2=0.01,0.1,1,10",
    "soft-margin": "C=0.01,0.1,1,10,100",
    "kernel-soft-margin": "C=0.1,1,10,100 gamma=scale,0.01,0.1,1",
    "naive-bayes": "variances=shared,by_class",
}


def grid_example(learner: str) -> str:
    """Return values of parameters that are worth comparing."""
    return GRIDS[learner] if learner in GRIDS else str(LEARNERS[learner].grid_example)


def _values(name: str, texts: str, learner: str) -> list[Any]:
    owners, asked = _owners(ESTIMATORS).get(name, ()), f"--grid {name}"
    common = [one for one in click.get_current_context().command.params if one.name == name]
    shared = not owners and common and section_of(common[0]) in ("Data", "Text", "Learner")
    if shared or (learner in owners and name in (*FIXED["tune"], "validation_fraction")):
        raise click.BadParameter(f"{asked} is not allowed: all models share {flag_of(name)}.")
    if not owners:
        raise click.BadParameter(
            f"{asked} is not a parameter of {learner}; `linsep tune --learner {learner} --help` "
            "lists its parameters."
        )
    if learner not in owners:
        raise not_of(learner, name, asked)
    spec = parameters_of(ESTIMATORS[learner])[name]
    if spec.kind is bool:
        known = {"true": True, "false": False}
        values = [known.get(text.strip().lower()) for text in texts.split(",")]
        if None in values:
            raise click.BadParameter(f"{asked} must be true or false, not {texts!r}.")
        return values
    try:
        return [Value(spec).convert(text.strip(), None, None) for text in texts.split(",")]
    except click.BadParameter as problem:
        raise click.BadParameter(f"{asked} {problem.message}") from None


def not_of(learner: str, option: str, asked: str = "") -> click.BadParameter:
    """Return the error for the parameter of an option that a learner, or several, do not have."""
    owners = _owners(ESTIMATORS).get(option) or _having(option)
    advice = advice_for(option)
    told = "." if advice is None else f"; {advice.render(in_options)}."
    return click.BadParameter(
        f"{asked or flag_of(option)} is for --learner {either(owners)}, not {learner}{told}"
    )


def options_of_model(model: Any) -> str:
    """Return the options of ``linsep fit`` that a model was trained with, without defaults.

    A kernel object does not have an option; it is shown on a line of its own.
    """
    words = []
    for option, value in model.get_params(deep=False).items():
        kernel = option == "kernel" and not isinstance(value, str)
        if option in NOT_HERE or kernel or value == _default(type(model), option, DEFAULTS["fit"]):
            continue
        pairs = value.items() if isinstance(value, dict) else ()
        typed = [f"{label}={weight}" for label, weight in pairs] or value
        words.append(f"no {flag_of(option)}" if value is None else in_options(option, typed))
    return " ".join(words)


def _owners(learners: Mapping[str, type]) -> dict[str, list[str]]:
    """Return {parameter: names of the learners that have it}, in the order of the parameters."""
    owners: dict[str, list[str]] = {}
    for name, learner in learners.items():
        for parameter in parameters_of(learner):
            if parameter not in NOT_HERE:
                owners.setdefault(parameter, []).append(name)
    return owners


def _default(kind: Any, name: str, defaults: Mapping[str, Any]) -> Any:
    """Return the default of a parameter of a class, or the default of commands for learners in
    passes."""
    usual = signature(kind).parameters[name].default
    passes = not (is_regression(kind) or is_margin(kind))
    return defaults.get(name, usual) if passes else usual


def common_parameters(
    source: Any, class_weight: list[str] | None, reference: str | None, random_state: int
) -> dict[str, Any]:
    """Return the parameters that learners share, their labels in the type of the source's."""
    kind = source.layout().get("target_kind")
    return {
        "random_state": random_state,
        "class_weight": _class_weights(class_weight, kind),
        "reference": None if reference is None else _label(reference, kind),
    }


def _class_weights(given: list[str] | None, kind: str | None) -> Any:
    """Return ``balanced`` or LABEL=WEIGHT pairs as class_weight."""
    if not given or set(given) == {"balanced"}:
        return "balanced" if given else None
    weights = {}
    for pair in chain.from_iterable(map(_pairs, given)):
        label, equals, weight = pair.rpartition("=")
        number = _number(weight)
        if not equals or number is None or not 0 <= number < inf:
            raise click.BadParameter(
                "--class-weight takes 'balanced' or LABEL=WEIGHT with a weight of at least 0, "
                f"not {pair!r}."
            )
        weights[_label(label, kind)] = number
    return weights


def _pairs(given: str) -> list[str]:
    """Return LABEL=WEIGHT pairs that commas separate; a label may contain commas, too."""
    cells = [part.rpartition("=") for part in given.split(",")]
    pairs = all(equals and _number(weight) is not None for _, equals, weight in cells)
    return given.split(",") if pairs else [given]


def _label(text: str, kind: str | None) -> Any:
    """Return a label from the command line; ``kind`` is the kind of a table's labels, or None."""
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


def initial_weights(
    vectors: list[list[float]] | None, learner: str, estimator: Any
) -> dict[str, Any]:
    """Return ``coef_init`` and ``intercept_init`` from lists of numbers, one for two classes, else
    one for each class or pair, whose first is the intercept; nothing without numbers.
    """
    if vectors is None:
        return {}
    if learner not in LINEAR:
        raise click.BadParameter(
            f"--init-weights is for --learner {either(list(LINEAR))}, not {learner}."
        )
    if estimator.positive_only and min(map(min, vectors)) <= 0:
        kind = type(estimator).__name__
        raise click.BadParameter(f"--init-weights must be numbers above 0 for {kind}.")
    if getattr(estimator, "gamma", None) == "auto":
        raise click.BadParameter("--init-weights needs a number for --gamma, not 'auto'.")
    intercept = int(estimator.learns_intercept)
    if len(vectors[0]) == intercept:
        raise click.BadParameter(
            "--init-weights needs a number for each feature, after the intercept."
        )
    coef = {"coef_init": [vector[intercept:] for vector in vectors]}
    return coef | ({"intercept_init": [vector[0] for vector in vectors]} if intercept else {})


def told_by_option(problem: Any) -> DataError:
    """Return the error of initial weights of another shape, in terms of --init-weights."""
    vectors, features = problem.needed if len(problem.needed) > 1 else (1, problem.needed[0])
    return DataError(
        f"--init-weights needs {counted(vectors, 'list')} of one number for each of "
        f"{counted(features, 'feature')}, after the intercept if there is one.",
        code="shape", option="init_weights",
    )  # fmt: skip

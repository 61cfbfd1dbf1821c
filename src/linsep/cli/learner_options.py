"""The learners of the command line, their options, and the help for one learner at a time.

Options derive from the parameters that are declared beside the estimators.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from inspect import signature
from typing import Any

import click

from linsep.catalog import ESTIMATORS, LINEAR, USUAL, USUAL_LEARNER, WITHOUT_PASSES
from linsep.cli.errors import flag_of, in_options
from linsep.cli.options import WHOLE, Command, Option, Value, typed
from linsep.errors import ParameterError
from linsep.other_names import advice_for
from linsep.parameters import parameters_of
from linsep.words import either

#: defaults of commands for learners in passes
DEFAULTS: dict[str, dict[str, Any]] = {
    "fit": USUAL,
    "trace": {"max_iter": USUAL["max_iter"]},  # which shows the weights of every round
    "tune": USUAL | {"validation_fraction": 0.2},
}
#: parameters without an option: commands set them for all their models
FIXED = {"fit": ("threshold",), "tune": ("early_stopping", "n_iter_no_change", "covariance")}
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
#: LABEL=WEIGHT pairs that commas separate; a label may contain commas, too
LABEL_WEIGHTS = re.compile(r"(.+?)=(\d+\.?\d*(?:e[-+]?\d+)?|\.\d+)(?:,|$)", re.I)
#: not options: a command starts from scratch, and keeps no iterates
NOT_HERE = ("warm_start", "trace")
HELP = {"-h", "--help"}


class LearningCommand(Command):
    """A command that has one more option for every parameter of a learner, as ``parameters``.

    It imports only the learner that is named, unless an option is unknown.
    """

    def __init__(self, *args: Any, learners: Mapping[str, Any] = ESTIMATORS, **how: Any):
        super().__init__(*args, **how)
        self.learners = learners

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the options of the learner that is named, or else of all."""
        named, given = _named(args, self.learners), list(args)
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
        return [*super().get_params(ctx), *ctx.meta.get("options", ())]

    def flag(self, name: str) -> str | None:
        fixed = FIXED.get(str(self.name), ())
        known = name not in fixed and name in _owners(self.learners)
        return super().flag(name) or (flag_of(name) if known else None)

    def _options(self, names: Iterable[str]) -> Sequence[Option]:
        learners = {name: self.learners[name] for name in names}
        fixed, defaults = FIXED.get(str(self.name), ()), DEFAULTS[str(self.name)]
        return [
            _option(parameter, having, defaults)
            for parameter, having in _owners(learners).items()
            if parameter not in fixed
        ]

    def shown(self, ctx: Any) -> list[Any]:
        alone = ctx.meta["named"] and not ctx.meta.get(WHOLE)
        return list(ctx.meta["options"]) if alone else super().shown(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        super().format_options(ctx, formatter)
        formatter.write_paragraph()
        formatter.write_text(
            f"`linsep {self.name} --learner NAME --help` shows the options of a learner, "
            f"`linsep {self.name} --help-all` all others."
        )


def _option(name: str, owners: list[str], defaults: Mapping[str, Any]) -> Option:
    """Return the option of a parameter, whose default and values may differ between learners."""
    kinds = dict.fromkeys(parameters_of(ESTIMATORS[owner])[name] for owner in owners)
    first, help = next(iter(kinds)), next(iter(kinds)).help
    usual = {_default(ESTIMATORS[owner], name, defaults) for owner in owners}
    default = usual.pop() if len(usual) == 1 else None
    flag = flag_of(name)
    told = flag[2:] if default is True else default
    shown = "" if default is None or default is False else f"  [default: {told}]"
    typed_as = None
    if first.kind is not bool:
        words = [word for one in kinds for word in one.words]
        known = ["X", *words] if words else dict.fromkeys(x for one in kinds for x in one.choices)
        metavar = "|".join(known) or {int: "N", float: "X"}[first.kind]
        typed_as = typed(Value(*kinds), metavar)
    return Option(
        f"{name} {flag}/--no-{flag[2:]}" if default is True else f"{name} {flag}", typed_as,
        f"{help[:1].upper()}{help[1:]}.{shown}", default=None,
        section=f"Options of --learner {owners[0]}",
    )  # fmt: skip


def _named(args: list[str], known: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for word, following in zip(args, [*args[1:], ""], strict=False):
        names = following if word == "--learner" else word.removeprefix("--learner=")
        if word == "--learner" or names != word:
            found += [name for name in names.split(",") if name in known and name not in found]
    return found


def make_learner(command: str, name: str, given: dict[str, Any], **others: Any) -> Any:
    """Return a learner with the given options, and ``others`` that all learners have."""
    from linsep.fitting import make_estimator

    given = {option: value for option, value in given.items() if value is not None}
    own, takes = parameters_of(ESTIMATORS[name]), signature(ESTIMATORS[name]).parameters
    asked = given.keys() | {n for n, v in others.items() if v is not None} - {"random_state"}
    for option in sorted(asked - own.keys() - takes.keys()):
        raise not_of(name, option)
    common = {option: value for option, value in others.items() if option in takes}
    return make_estimator(name, given | common, DEFAULTS[command])


def check_effects(estimator: Any, given: Mapping[str, Any]) -> None:
    """Raise BadParameter for an option in ``given`` that another one leaves without effect."""
    values = estimator.get_params(deep=False)
    for option, (other, wanted) in NEEDED.items():
        if given.get(option) is not None and values.get(other, wanted[0]) not in wanted:
            needed = flag_of(other) if wanted == (True,) else f"{flag_of(other)} {'|'.join(wanted)}"
            raise click.BadParameter(f"{flag_of(option)} has no effect without {needed}.")


def parsed_grid(pairs: Iterable[str]) -> dict[str, list[str]]:
    """Return what [LEARNER.]PARAMETER=VALUE,... pairs name, and the texts of the values."""
    found: dict[str, list[str]] = {}
    for pair in pairs:
        name, _, texts = pair.partition("=")
        owner, dot, parameter = name.strip().removeprefix("--").rpartition(".")
        name = owner + dot + parameter.replace("-", "_")
        if not parameter or not all(text.strip() for text in texts.split(",")):
            told = "needs values: PARAMETER=VALUE,VALUE,..., as in C=0.01,0.1,1."
            raise click.BadParameter(f"--grid {name} {told}")
        if name in found:
            raise click.BadParameter(f"--grid {name} is given again: give its values once.")
        found[name] = [text.strip() for text in texts.split(",")]
    return found


def not_of(learner: str, option: str) -> ParameterError:
    having = [name for name, kind in ESTIMATORS.items() if option in signature(kind).parameters]
    owners = [*LINEAR] if option == "init_weights" else having
    told = f"{flag_of(option)} is for --learner {either(owners)}, not {learner}"
    hints = [*filter(None, [advice_for(option)])]
    return ParameterError(told + "." * (not hints), *hints, option=option)


def options_of_model(model: Any) -> str:
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
    owners: dict[str, list[str]] = {}
    for name, learner in learners.items():
        for parameter in parameters_of(learner):
            if parameter not in NOT_HERE:
                owners.setdefault(parameter, []).append(name)
    return owners


def _default(kind: Any, name: str, defaults: Mapping[str, Any]) -> Any:
    usual = signature(kind).parameters[name].default
    passes = kind.__name__ not in WITHOUT_PASSES.classes.values()
    return defaults.get(name, usual) if passes else usual


def common_parameters(
    source: Any, class_weight: list[str] | None, reference: str | None, random_state: int
) -> dict[str, Any]:
    """Return the parameters that learners share, their labels in the type of the source's."""
    kind = source.layout().get("target_kind")
    weights: Any = "balanced" if class_weight else None
    if {*(class_weight or ())} - {"balanced"}:
        weights = {}
        for text in class_weight or ():
            if LABEL_WEIGHTS.sub("", text):
                told = "takes 'balanced' or LABEL=WEIGHT with a weight of at least 0"
                raise click.BadParameter(f"--class-weight {told}, not {text!r}.")
            pairs = LABEL_WEIGHTS.findall(text)
            weights |= {_label(label, kind): float(weight) for label, weight in pairs}
    named = None if reference is None else _label(reference, kind)
    return {"random_state": random_state, "class_weight": weights, "reference": named}


def _label(text: str, kind: str | None) -> Any:
    """Return a label from the command line; ``kind`` is the kind of a table's labels, or None."""
    if kind == "bool" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    for number in (int, float) if kind != "text" else ():  # int keeps all digits
        with suppress(ValueError):
            return number(text)
    return text


def initial_weights(
    vectors: list[list[float]] | None, learner: str, estimator: Any
) -> dict[str, Any]:
    if vectors is None:
        return {}
    if learner not in LINEAR:
        raise not_of(learner, "init_weights")
    intercept = int(estimator.learns_intercept)
    if len(vectors[0]) == intercept:
        raise click.BadParameter("--init-weights needs a number for each feature, too.")
    coef = {"coef_init": [vector[intercept:] for vector in vectors]}
    return coef | ({"intercept_init": [vector[0] for vector in vectors]} if intercept else {})

"""The values of a grid, by learner."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import prod
from typing import Any

from linsep.catalog import ESTIMATORS, LEARNERS
from linsep.errors import ParameterError
from linsep.parameters import parameters_of

#: most models of a grid
MOST_MODELS = 1000
#: parameters that are the same in all models, or change no weights
NOT_COMPARED = (
    "warm_start", "trace", "early_stopping", "n_iter_no_change", "covariance",
    "validation_fraction",
)  # fmt: skip
#: grids of learners other than online learners with a weight per feature
GRIDS = {
    "kernel": "gamma=scale,0.01,0.1,1",
    "linear": "",
    "logistic": "l2=0.01,0.1,1,10",
    "soft-margin": "C=0.01,0.1,1,10,100",
    "kernel-soft-margin": "C=0.1,1,10,100 gamma=scale,0.01,0.1,1",
    "naive-bayes": "variances=shared,by_class",
}


def grids_of(
    grid: Mapping[str, Any] | None, given: Mapping[str, Mapping[str, Any]], usual: bool = False
) -> dict[str, list[dict[str, Any]]]:
    """Return every combination of the values of a grid, by learner, the last parameter varying
    fastest; ``given`` are the learners, with parameters that the grid must not repeat. Learners
    without values have the ``usual`` ones, if asked for.
    """
    grids: dict[str, dict[str, list]] = {name: {} for name in given}
    for name, values in (grid or {}).items():
        owner, _, parameter = name.rpartition(".")
        if owner and owner not in grids:
            raise _refused(name, f"needs the learner {owner}")
        having = [one for one in grids if parameter in parameters_of(ESTIMATORS[one])]
        for learner in [owner] if owner else having or [*grids][:1]:
            if parameter in grids[learner] or parameter in given[learner]:
                raise _refused(name, "is given again: give its values once")
            grids[learner][parameter] = list(dict.fromkeys(_values(parameter, values, learner)))
    if (n_models := sum(prod(map(len, each.values())) for each in grids.values())) > MOST_MODELS:
        told = f"The grid has {n_models:,} models, more than {MOST_MODELS:,}."
        raise ParameterError(told, option="grid", value=n_models)
    for learner in [name for name, values in grids.items() if usual and not values]:
        example = GRIDS[learner] if learner in GRIDS else str(LEARNERS[learner].grid_example)
        for name, texts in (pair.split("=") for pair in example.split()):
            if name not in given[learner]:
                grids[learner][name] = list(_values(name, texts.split(","), learner))
    return {
        learner: [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]
        for learner, values in grids.items()
    }


def _refused(name: str, why: str) -> ParameterError:
    return ParameterError(f"grid {name} {why}.", option="grid", value=name)


def _values(name: str, values: Iterable[Any], learner: str) -> Iterator[Any]:
    """Yield the values of a parameter, or what texts of them spell."""
    spec = parameters_of(ESTIMATORS[learner]).get(name)
    if spec is None or name in NOT_COMPARED:
        listed = f"`linsep tune --learner {learner} --help` lists its parameters"
        raise _refused(name, f"is not a parameter of {learner} to compare; {listed}")
    words = {"true": True, "false": False} if spec.kind is bool else {}
    for text in values:
        value = text
        if isinstance(text, str):
            value = words.get(text.lower(), text) if spec.kind is bool else spec.parse(text)
        if not spec.accepts(value):
            raise _refused(name, f"must be {spec.typed}, not {text!r}")
        yield value

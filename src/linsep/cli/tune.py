"""The command ``tune``: compare models on held-out rows or in folds, and train the best."""

import shlex
from time import perf_counter
from typing import Any

import click

import linsep
from linsep import model_files
from linsep.catalog import ESTIMATORS, REGRESSIONS, USUAL_LEARNER, is_scaled
from linsep.cli import learner_options as learners, options, output
from linsep.cli.errors import in_options
from linsep.cli.options import Option, as_typed, choice, command
from linsep.cli.predict import score_source
from linsep.cli.reading import Reading
from linsep.fitting import chosen_learner, with_intercept
from linsep.parameters import parameters_of
from linsep.sources.base import Source

#: options of tune that a fit of the chosen model does not take, or takes from the model
NOT_OF_FIT = {
    "learner", "grid", "cv", "repeats", "by_time", "metric", "one_se", "force", "as_json",
    "class_weight", "random_state", "reference", "group", "scale", "reference_level",
    "model", "test",
}  # fmt: skip


@command(
    options.DATA, options.READING,
    Option(
        "--grid", "PARAMETER=VALUE,...",
        "Values to compare, or LEARNER.PARAMETER=... of one learner; repeatable.",
        section="Learner", many=True,
    ),
    options.MODEL_OUT, options.FORCE, options.TEST,
    Option(
        "--learner", choice(ESTIMATORS, "NAME,...", several=True),
        f"Learning algorithm: {', '.join(ESTIMATORS)}; with --cv, several to compare, the "
        "simplest first.  [default: as for `linsep fit`]",
        section="Learner", many=True,
    ),
    options.AS_JSON, options.RANDOM_STATE, options.CLASS_WEIGHT, options.REFERENCE,
    options.COLUMNS, *options.FOLDS,
    Option(
        "--metric", "NAME",
        "Metric to compare by, such as log_loss.  [default: accuracy, or r2 for regressions]",
        section="Validation", needs=["cv"],
    ),
    Option(
        "--one-se", None, "Choose the simplest model within one standard error of the best.",
        section="Validation", needs=["cv"],
    ),
    cls=learners.LearningCommand,
)  # fmt: skip
def tune(**given: Any) -> None:
    """Compare models on held-out rows of DATA, and train the best.

    Example: linsep tune train.csv --target species --learner pa --grid C=0.01,0.1,1 --model m
    """
    data, model, test = given["data"], given["model"], given["test"]
    started, formula = perf_counter(), given["reading"]["formula"]
    reader = Reading(given["reading"], given["columns"]["group"])
    names = list(dict.fromkeys(name for part in given["learner"] or () for name in part.split(",")))
    first = names[0] if len(names) == 1 else USUAL_LEARNER
    opened = with_intercept(first, formula, given["parameters"])
    source = reader.source(data, first, given["columns"], opened)
    output.check_outputs(given["force"], source.paths, model)
    reader.check(source, test=test)
    common = learners.common_parameters(
        source, given["class_weight"], given["reference"], given["random_state"]
    )
    found = linsep.tune(
        source, learner=names, grid=learners.parsed_grid(given["grid"] or ()), cv=given["cv"],
        repeats=given["repeats"] or 1, by_time=given["by_time"], metric=given["metric"],
        one_se=given["one_se"], refit=bool(model or test), formula=formula,
        **common, **given["parameters"],
    )  # fmt: skip
    fit = _fit_command(found, source, data, given["columns"]["group"])
    if model is not None:
        model_files.save(found.fitted, model, force=given["force"])
    tested = None
    if test:
        tested = score_source(found._model, reader.like(found._model, test, reader.group))
    vars(found).update(
        command=fit, test=tested, seconds=round(perf_counter() - started, 4),
        model=model and str(model),
    )  # fmt: skip
    output.tell(found, given["as_json"])


def _fit_command(found: Any, files: Source, data: list[str], group: str | None) -> str:
    known = {str(one.name) for one in click.get_current_context().command.params}
    words = ["linsep fit", *map(shlex.quote, data), *as_typed(known - NOT_OF_FIT)]
    if group is not None:  # which a fit uses for held-out rows only
        words.append(in_options("exclude", [group]))
    # the options that make the same features as for all learners
    given, own = found._source.options(), parameters_of(ESTIMATORS[found.learner])
    scale = given.get("scale")
    if scale is not None and (scale == "standard") != is_scaled(found.learner):
        words.append(f"--scale {scale}")
    coded = found._source.recipe().get("text") and not given.get("reference_level")
    if coded and found.learner in REGRESSIONS and "fit_intercept" in own:
        words.append("--reference-level none")
    if found.learner != USUAL_LEARNER or chosen_learner(files)[0] != USUAL_LEARNER:
        words.append(f"--learner {found.learner}")
    return " ".join([*words, learners.options_of_model(found._model)]).strip()
